//! The rule by which subtests become the summary of their suite.
//!
//! Source: `construct_results` in `testing/talos/talos/output.py` of mozilla-central (of 2015, for
//! CanvasMark).

use crate::{Aggregate, AggregateError, Method};

/// The rule of a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SuiteRule {
    /// Talos' rule, which follows from the suite's name: for responsiveness the sum of squares in
    /// millions, for V8 its score, for Kraken and CanvasMark the sum, for any other one the only value
    /// or Talos' geometric mean.
    #[default]
    ByName,
    /// The same for every name.
    Given(Aggregate),
}

/// The summary of a suite.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SuiteSummary {
    /// The summary.
    pub value: f64,
    /// The aggregate by which it was made.
    pub aggregate: Aggregate,
    /// The subtests left out, whose value is -1 or less: Talos gives such a value to one that
    /// failed.
    pub left_out: Vec<String>,
}

/// A suite has no summary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SuiteRuleError {
    /// No subtest is left.
    #[error("no subtest of `{suite}` has a value above -1{}", left_out_in_words(.left_out))]
    NoSubtest {
        /// The suite.
        suite: String,
        /// The subtests left out.
        left_out: Vec<String>,
    },
    /// The values have no such number.
    #[error("the suite has no summary")]
    Aggregate(#[from] AggregateError),
}

fn left_out_in_words(names: &[String]) -> String {
    match names {
        [] => String::new(),
        names => format!("; left out are {}", names.join(", ")),
    }
}

/// The value of a subtest that failed, at most.
const FAILED: f64 = -1.0;

impl SuiteRule {
    /// Returns true for a suite whose name asks for another rule than the only value or Talos'
    /// geometric mean.
    pub fn is_of_its_own(suite: &str) -> bool {
        own_method(suite).is_some()
    }

    /// Makes the summary of a suite from the filtered values of its subtests.
    ///
    /// # Errors
    ///
    /// Fails if no subtest is left, or the values have no such number.
    pub fn summary<'a>(
        self,
        suite: &str,
        subtests: impl IntoIterator<Item = (&'a str, f64)>,
    ) -> Result<SuiteSummary, SuiteRuleError> {
        let mut left_out = Vec::new();
        let mut values = Vec::new();
        for (name, value) in subtests {
            if value <= FAILED {
                left_out.push(name.to_owned());
            } else {
                values.push(value);
            }
        }
        if values.is_empty() {
            return Err(SuiteRuleError::NoSubtest {
                suite: suite.to_owned(),
                left_out,
            });
        }
        let aggregate = match self {
            Self::ByName => method(suite, values.len()).into(),
            Self::Given(aggregate) => aggregate,
        };
        Ok(SuiteSummary {
            value: aggregate.apply_to(suite, &values)?,
            aggregate,
            left_out,
        })
    }
}

/// The method of a suite's own rule.
fn own_method(suite: &str) -> Option<Method> {
    if suite.contains("responsiveness") {
        Some(Method::Responsiveness)
    } else if suite.starts_with("v8_7") {
        Some(Method::V8)
    } else if suite.starts_with("kraken") {
        Some(Method::Js)
    } else if suite.starts_with("tcanvasmark") {
        Some(Method::Canvasmark)
    } else {
        None
    }
}

fn method(suite: &str, subtests: usize) -> Method {
    own_method(suite).unwrap_or(match subtests {
        1 => Method::Mean,
        _ => Method::TalosGeometricMean,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() <= 1e-12 * right.abs()
    }

    #[test]
    fn the_name_decides() {
        let two = [("a", 3.0), ("b", 15.0)];
        for (suite, expected) in [
            ("tp5o_responsiveness", 234e-6),
            ("v8_7", 700.0),
            ("v8_7.1", 700.0),
            ("kraken", 18.0),
            ("tcanvasmark", 18.0),
            // (1 + 3) × (1 + 15) is 64.
            ("tp5o", 7.0),
        ] {
            let summary = SuiteRule::ByName.summary(suite, two).unwrap();
            assert!(close(summary.value, expected), "{suite}: {summary:?}");
            assert!(summary.left_out.is_empty());
        }
        let given = SuiteRule::Given(Method::Max.into());
        assert_eq!(given.summary("kraken", two).unwrap().value, 15.0);
    }

    #[test]
    fn subtests_that_failed_are_named() {
        let subtests = [("a", -1.0), ("b", 15.0), ("c", -0.5), ("d", -7.0)];
        let summary = SuiteRule::ByName.summary("kraken", subtests).unwrap();
        assert_eq!(summary.value, 14.5);
        assert_eq!(summary.left_out, ["a", "d"]);
        // Of those that are left, one counts as it is.
        let one = SuiteRule::ByName.summary("tp5o", [("a", -1.0), ("b", 15.0)]);
        let one = one.unwrap();
        assert_eq!((one.value, one.aggregate), (15.0, Method::Mean.into()));
        let error = SuiteRule::ByName.summary("tp5o", [("a", -1.0)]);
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("`tp5o`") && error.ends_with("left out are a"),
            "{error}"
        );
    }
}
