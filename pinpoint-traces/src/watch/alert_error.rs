//! Errors of alerts.

use pinpoint_compare::steps::StepError;

use super::template::TemplateError;
use crate::query::QueryError;

/// An alert that can't be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AlertError {
    /// The text is not an alert in JSON.
    #[error("the alert can't be read as JSON: {0}")]
    Json(String),
    /// The text is an array.
    #[error("an alert is an object, as in {{\"query\": \"test=sort\"}}, and no array")]
    NotAnObject,
    /// The text is not an alert in TOML.
    #[error("the alert can't be read as TOML: {0}")]
    Toml(String),
    /// An id is a number, written as text.
    #[error("`{0}` is not the id of an alert: expected a number, or -1 before it is stored")]
    Id(String),
    /// A name that a field does not know.
    #[error("`{name}` can't be the `{field}` of an alert; expected {}", .names.join(", "))]
    UnknownName {
        /// The field.
        field: &'static str,
        /// The name given.
        name: String,
        /// The names that it knows.
        names: &'static [&'static str],
    },
    /// A query that can't be read.
    #[error("`{field}` of the alert: {reason}")]
    Query {
        /// The field.
        field: &'static str,
        /// The fault.
        #[source]
        reason: QueryError,
    },
    /// Statistic, threshold or rule tree can't be used.
    #[error("`{field}` of the alert: {reason}")]
    Step {
        /// The field.
        field: &'static str,
        /// The fault.
        #[source]
        reason: StepError,
    },
    /// Only `original` has a threshold by default.
    #[error("an alert with the step `{step}` needs `interesting`, its threshold")]
    NoThreshold {
        /// The statistic.
        step: &'static str,
    },
    /// The query has a key of `group_by`.
    #[error("`group_by` names `{0}`, which the query has a condition on: leave one of them out")]
    GroupedKeyInQuery(String),
    /// `group_by` has a key twice.
    #[error("`group_by` names `{0}` twice")]
    SameKey(String),
    /// Keys of traces hold only `[a-zA-Z0-9._-]`.
    #[error(
        "`{field}` names `{key}`, which can't be the key of a trace: use letters, digits, `.`, `_` and `-`"
    )]
    Key {
        /// The field.
        field: &'static str,
        /// The key.
        key: String,
    },
    /// A number outside of its range.
    #[error("`{field}` of the alert is {value}: it must {}", bounds(*value, *least, *most))]
    OutOfRange {
        /// The field.
        field: &'static str,
        /// The number given.
        value: f64,
        /// The least that it may be.
        least: f64,
        /// The most that it may be.
        most: f64,
    },
    /// A template that can't be read.
    #[error("`{field}` of the alert: {reason}")]
    Template {
        /// The field.
        field: &'static str,
        /// The fault.
        #[source]
        reason: TemplateError,
    },
}

/// The rule that a number breaks.
fn bounds(value: f64, least: f64, most: f64) -> String {
    if !value.is_finite() {
        "be a finite number".to_owned()
    } else if most == f64::MAX {
        format!("be {least} or more")
    } else {
        format!("lie between {least} and {most}")
    }
}
