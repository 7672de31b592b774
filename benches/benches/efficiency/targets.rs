//! The targets of each strategy, scenario by scenario.

use std::collections::BTreeMap;

use pinpoint_core::Strategy;
use pinpoint_core::simulation::{Mean, Summary};

use crate::IdealCost;
use crate::cells::{Cell, EffectHint, Kind};

/// A target and its outcome.
#[derive(Debug, Clone)]
pub(crate) struct Check {
    pub(crate) target: &'static str,
    pub(crate) result: Reached,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reached {
    Yes,
    /// Missed, by at most two standard errors.
    Nearly,
    No,
}

impl Reached {
    /// `value` is to be at least `limit`.
    fn at_least(value: f64, limit: f64, standard_error: f64) -> Self {
        if value >= limit {
            Self::Yes
        } else if value + 2.0 * standard_error >= limit {
            Self::Nearly
        } else {
            Self::No
        }
    }

    fn at_most(value: f64, limit: f64, standard_error: f64) -> Self {
        Self::at_least(-value, -limit, standard_error)
    }
}

/// The targets that this scenario has.
pub(crate) fn check(
    cell: &Cell,
    summary: &Summary,
    ideal: Option<&IdealCost>,
    reference: &Summary,
) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut add = |target, result| checks.push(Check { target, result });
    let at_least = |mean: Mean, limit| Reached::at_least(mean.value, limit, mean.standard_error);
    let at_most = |mean: Mean, limit| Reached::at_most(mean.value, limit, mean.standard_error);
    // Of a mean against a share of another mean.
    let at_most_of = |mean: Mean, share: f64, other: Mean, more: f64| {
        let error = mean.standard_error + share * other.standard_error;
        Reached::at_most(mean.value, share * other.value + more, error)
    };
    let (runs, builds) = (summary.runs.mean, summary.builds.mean);
    if let Some(calibration) = &summary.calibration {
        let error = calibration.observed.standard_error;
        // This target is one within sampling error.
        add(
            "calibrated",
            match Reached::at_least(calibration.observed.value, calibration.stated, error) {
                Reached::No => Reached::No,
                _ => Reached::Yes,
            },
        );
    }
    match cell.kind {
        // Below the default smallest change, and no other was asked for.
        Kind::OneChange(effect) if effect < 1.0 && cell.told == EffectHint::None => {}
        Kind::OneChange(effect) => {
            add(
                "right",
                if effect < 1.0 {
                    at_least(summary.exactly_right, 0.9).min(at_least(summary.holds, 0.95))
                } else {
                    at_least(summary.exactly_right, 0.95)
                },
            );
            if let Some(ideal) = ideal {
                add("ideal", at_most_of(runs, 2.5, ideal.runs, 15.0));
            }
            if cell.told == EffectHint::Right {
                add("reference", at_most_of(runs, 0.4, reference.runs.mean, 0.0));
            }
            if cell.spec.build_cost > 1.0 {
                let total = |summary: &Summary| {
                    let (runs, builds) = (summary.runs.mean, summary.builds.mean);
                    Mean {
                        value: runs.value + cell.spec.build_cost * builds.value,
                        standard_error: runs.standard_error
                            + cell.spec.build_cost * builds.standard_error,
                    }
                };
                add(
                    "total",
                    at_most_of(total(summary), 0.7, total(reference), 0.0),
                );
                add(
                    "builds",
                    at_most_of(builds, 1.1, reference.builds.mean, 0.0),
                );
            } else {
                add(
                    "builds",
                    at_most_of(builds, 1.5, reference.builds.mean, 0.0),
                );
            }
        }
        Kind::TwoChanges(effect) => {
            if effect >= 2.0 {
                add("right", at_least(summary.exactly_right, 0.9));
            }
        }
        Kind::Nothing => {
            add("right", at_least(summary.exactly_right, 0.95));
            if cell.told == EffectHint::None {
                add("runs", at_most(runs, 60.0));
            } else {
                add("reference", at_most_of(runs, 1.0, reference.runs.mean, 0.0));
            }
        }
        Kind::BesideTheModel => add("right", at_least(summary.exactly_right, 0.95)),
        Kind::PassFail {
            right,
            runs: bayesect,
        } => {
            add("right", at_least(summary.exactly_right, right));
            add("git-bayesect", at_most(runs, bayesect));
            if let Some(ideal) = ideal {
                add("ideal", at_most_of(runs, 1.6, ideal.runs, 5.0));
            }
        }
    }
    checks
}

/// The number of targets of each kind that each strategy reached.
#[derive(Debug, Default)]
pub(crate) struct Tally(BTreeMap<(String, &'static str), [u32; 3]>);

impl Tally {
    pub(crate) fn add(&mut self, strategy: Strategy, checks: &[Check]) {
        for check in checks {
            let key = (format!("{strategy:?}").to_lowercase(), check.target);
            self.0.entry(key).or_default()[check.result as usize] += 1;
        }
    }

    pub(crate) fn print(&self) {
        println!("\nstrategy  target           reached   within two standard errors   not");
        for ((strategy, target), [yes, nearly, no]) in &self.0 {
            println!("{strategy:9} {target:14} {yes:9} {nearly:28} {no:5}");
        }
    }
}
