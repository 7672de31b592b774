//! Trees of rules over the statistics of one window.

use super::error::StepError;
use super::fit::{StepFit, fit_with};
use super::statistic::{Side, Statistic};
use crate::scratch::Scratch;

/// The nesting that a tree may have.
const MOST_DEPTH: usize = 32;

/// A node of a rule tree, as alerts have it: exactly one of the two is present.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Rule {
    /// A statistic and its threshold.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub simple_rule: Option<SimpleRule>,
    /// Several rules.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub complex_rule: Option<ComplexRule>,
}

/// A statistic that triggers at a threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct SimpleRule {
    /// The statistic.
    pub step: Statistic,
    /// The threshold of R, or of the p-value.
    pub threshold: f64,
}

/// Rules that trigger together.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct ComplexRule {
    /// The operator.
    pub op: Operator,
    /// The operands: at least one.
    pub rules: Vec<Rule>,
}

/// The operator of a complex rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "UPPERCASE"))]
pub enum Operator {
    /// All of them trigger.
    And,
    /// At least one of them triggers.
    Or,
}

/// The answer of a rule tree about a window.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Judgement {
    /// True if the whole tree triggers.
    pub triggers: bool,
    /// The fit to report: one that triggers before one that does not; among those, the order is
    /// stepiness, cohen, percent, absolute or const, mannwhitneyu, original.
    pub reported: StepFit,
}

impl Rule {
    /// A tree of one rule.
    pub const fn simple(step: Statistic, threshold: f64) -> Self {
        Self {
            simple_rule: Some(SimpleRule { step, threshold }),
            complex_rule: None,
        }
    }

    /// A tree of several rules.
    pub const fn complex(op: Operator, rules: Vec<Self>) -> Self {
        Self {
            simple_rule: None,
            complex_rule: Some(ComplexRule { op, rules }),
        }
    }

    /// Checks the tree without a window.
    ///
    /// # Errors
    ///
    /// [`StepError::AmbiguousRule`], [`StepError::EmptyRule`], [`StepError::RuleTooDeep`] and
    /// [`StepError::BadThreshold`]; the first two name the path of the node.
    pub fn check(&self) -> Result<(), StepError> {
        self.check_at("", 0)
    }

    fn check_at(&self, path: &str, depth: usize) -> Result<(), StepError> {
        if depth >= MOST_DEPTH {
            return Err(StepError::RuleTooDeep { most: MOST_DEPTH });
        }
        match (&self.simple_rule, &self.complex_rule) {
            (Some(rule), None) => rule.step.check_threshold(rule.threshold),
            (None, Some(rule)) if rule.rules.is_empty() => Err(StepError::EmptyRule {
                path: path.to_owned(),
            }),
            (None, Some(rule)) => {
                let dot = if path.is_empty() { "" } else { "." };
                rule.rules.iter().enumerate().try_for_each(|(i, node)| {
                    node.check_at(&format!("{path}{dot}complex_rule.rules[{i}]"), depth + 1)
                })
            }
            (simple, _) => Err(StepError::AmbiguousRule {
                path: path.to_owned(),
                both: simple.is_some(),
            }),
        }
    }

    /// The statistics in the tree, each once, in the order of their first place.
    pub fn statistics(&self) -> Vec<Statistic> {
        let mut found = Vec::new();
        self.collect(&mut found);
        found
    }

    fn collect(&self, found: &mut Vec<Statistic>) {
        if let Some(rule) = &self.simple_rule
            && !found.contains(&rule.step)
        {
            found.push(rule.step);
        }
        if let Some(rule) = &self.complex_rule {
            rule.rules.iter().for_each(|node| node.collect(found));
        }
    }

    /// Judges a window of [`Statistic::window_length`] values of the original, 2r + 1: the other
    /// statistics leave its last value out.
    ///
    /// # Errors
    ///
    /// Those of [`check`](Self::check) and of [`fit`](super::fit()).
    pub fn judge(&self, window: &[f64], floor: f64) -> Result<Judgement, StepError> {
        self.check()?;
        self.judge_with(window, floor, &mut Scratch::new())
    }

    fn judge_with(
        &self,
        window: &[f64],
        floor: f64,
        scratch: &mut Scratch,
    ) -> Result<Judgement, StepError> {
        if let Some(rule) = &self.simple_rule {
            let reported = fit_with(window, rule.step, rule.threshold, floor, scratch)?;
            return Ok(Judgement {
                triggers: reported.side != Side::Uninteresting,
                reported,
            });
        }
        let empty = || StepError::EmptyRule {
            path: String::new(),
        };
        let rule = self.complex_rule.as_ref().ok_or_else(empty)?;
        let mut parts = Vec::with_capacity(rule.rules.len());
        for node in &rule.rules {
            parts.push(node.judge_with(window, floor, scratch)?);
        }
        let triggers = match rule.op {
            Operator::And => parts.iter().all(|part| part.triggers),
            Operator::Or => parts.iter().any(|part| part.triggers),
        };
        let fits = parts.into_iter().map(|part| part.reported);
        let reported = fits.min_by_key(place).ok_or_else(empty)?;
        Ok(Judgement { triggers, reported })
    }
}

/// The place of a fit among those of which one is reported.
fn place(fit: &StepFit) -> (bool, u8) {
    let order = match fit.statistic {
        Statistic::Stepiness => 0,
        Statistic::Cohen => 1,
        Statistic::Percent | Statistic::PercentMedian => 2,
        Statistic::Absolute | Statistic::Const => 3,
        Statistic::MannWhitneyU => 4,
        Statistic::Original => 5,
    };
    (fit.side == Side::Uninteresting, order)
}
