//! The statistics by their names, and the sides of a step.

use super::error::StepError;

/// A statistic of a window split in the middle. Its sign follows the difference of the means,
/// left − right: **a rise is negative**.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Statistic {
    /// The step of the normalized window over its least squares error. Also the empty name.
    #[default]
    #[cfg_attr(feature = "serde", serde(alias = ""))]
    Original,
    /// The difference of the means, in units of the values.
    Absolute,
    /// The difference of the means over the left mean. A share, 0.1 for ten percent.
    Percent,
    /// The difference of the medians over the left median.
    PercentMedian,
    /// The size of the value in the middle.
    Const,
    /// Cohen's d: the difference of the means over the mean of both sample deviations.
    Cohen,
    /// The share of the deviation that a step explains, from −1 to 1.
    Stepiness,
    /// The two-sided p-value of the Mann-Whitney test of both halves.
    #[cfg_attr(feature = "serde", serde(rename = "mannwhitneyu"))]
    MannWhitneyU,
}

impl Statistic {
    /// All statistics.
    pub const ALL: [Self; 8] = [
        Self::Original,
        Self::Absolute,
        Self::Percent,
        Self::PercentMedian,
        Self::Const,
        Self::Cohen,
        Self::Stepiness,
        Self::MannWhitneyU,
    ];

    /// Their names, in the order of [`ALL`](Self::ALL).
    pub const NAMES: [&'static str; 8] = [
        "original",
        "absolute",
        "percent",
        "percent_median",
        "const",
        "cohen",
        "stepiness",
        "mannwhitneyu",
    ];

    /// The name in alerts.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Original => "original",
            Self::Absolute => "absolute",
            Self::Percent => "percent",
            Self::PercentMedian => "percent_median",
            Self::Const => "const",
            Self::Cohen => "cohen",
            Self::Stepiness => "stepiness",
            Self::MannWhitneyU => "mannwhitneyu",
        }
    }

    /// The number of points in a window with `radius` neighbors on the left: 2·radius + 1 for
    /// [`Original`](Self::Original), else 2·radius.
    pub const fn window_length(self, radius: usize) -> usize {
        match self {
            Self::Original => 2 * radius + 1,
            _ => 2 * radius,
        }
    }

    /// Rejects a threshold that is negative, not finite, or above 1 for a p-value.
    pub(super) fn check_threshold(self, threshold: f64) -> Result<(), StepError> {
        let most = match self {
            Self::MannWhitneyU => 1.0,
            _ => f64::MAX,
        };
        if (0.0..=most).contains(&threshold) {
            Ok(())
        } else {
            Err(StepError::BadThreshold {
                statistic: self.as_str(),
                threshold,
                most,
            })
        }
    }

    /// The side on which a window with this statistic and this step lies.
    pub(super) fn side(self, regression: f64, step_size: f64, threshold: f64) -> Side {
        match self {
            // A step of 0 has no direction.
            Self::MannWhitneyU if regression > threshold || step_size == 0.0 => Side::Uninteresting,
            Self::MannWhitneyU if step_size > 0.0 => Side::Low,
            Self::MannWhitneyU => Side::High,
            Self::Const if regression >= threshold => Side::Low,
            Self::Const => Side::Uninteresting,
            _ if regression >= threshold => Side::Low,
            _ if regression <= -threshold => Side::High,
            _ => Side::Uninteresting,
        }
    }
}

impl std::fmt::Display for Statistic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Statistic {
    type Err = StepError;

    fn from_str(name: &str) -> Result<Self, StepError> {
        if name.is_empty() {
            return Ok(Self::Original);
        }
        let found = Self::ALL.into_iter().find(|it| it.as_str() == name);
        found.ok_or_else(|| StepError::UnknownStatistic {
            name: name.to_owned(),
        })
    }
}

/// The side of a threshold on which a window lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Side {
    /// The values went down: the statistic is at least the threshold.
    Low,
    /// The values went up: the statistic is at most the negative threshold.
    High,
    /// The threshold is not reached.
    #[default]
    Uninteresting,
}
