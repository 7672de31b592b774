//! Warnings of keys and values in queries that no trace has.

use std::fmt;

use serde::Serialize;
use strsim::damerau_levenshtein;

use crate::param_set::ParamSet;
use crate::query::{Query, ValueTest};

/// A key or value of a query that no trace has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownName {
    /// No trace has the key.
    Key {
        /// The key of the query.
        key: String,
        /// The known key that is spelled most like it, if any comes near.
        nearest: Option<String>,
    },
    /// No trace has the value of the key.
    Value {
        /// A known key.
        key: String,
        /// The value in the query.
        value: String,
        /// The known value of the key that is spelled most like it, if any comes near.
        nearest: Option<String>,
    },
}

impl fmt::Display for UnknownName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nearest = match self {
            Self::Key { key, nearest } => {
                write!(formatter, "no trace has the key `{key}`")?;
                nearest
            }
            Self::Value {
                key,
                value,
                nearest,
            } => {
                write!(formatter, "no trace has `{value}` as `{key}`")?;
                nearest
            }
        };
        match nearest {
            Some(nearest) => write!(formatter, "; the nearest is `{nearest}`"),
            None => Ok(()),
        }
    }
}

/// The keys and values of a query that these parameters lack. Exclusions are looked at, too: one
/// that excludes nothing is a typing error.
pub fn unknown_names(query: &Query, known: &ParamSet) -> Vec<UnknownName> {
    let mut unknown = Vec::new();
    for conditions in query.keys() {
        let key = conditions.key();
        let Some(values) = known.values(key) else {
            unknown.push(UnknownName::Key {
                key: key.to_owned(),
                nearest: nearest(key, known.keys()).map(str::to_owned),
            });
            continue;
        };
        for test in conditions.excluded().iter().chain(conditions.accepted()) {
            match test {
                ValueTest::Equal(value) if !values.contains(value) => {
                    unknown.push(UnknownName::Value {
                        key: key.to_owned(),
                        value: value.clone(),
                        nearest: nearest(value, values.iter().map(String::as_str))
                            .map(str::to_owned),
                    });
                }
                _ => {}
            }
        }
    }
    unknown
}

/// The candidate with the fewest typing errors between it and the text, case apart; of equal ones
/// the first. `None` if that many errors make up more than half of the longer of the two.
///
/// Takes the product of the lengths for each candidate.
pub fn nearest<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = text.to_lowercase();
    let distance = |it: &'a str| (damerau_levenshtein(&wanted, &it.to_lowercase()), it);
    let (errors, found) =
        (candidates.into_iter().map(distance)).min_by_key(|(errors, _)| *errors)?;
    let longer = found.chars().count().max(text.chars().count());
    (errors * 2 <= longer).then_some(found)
}
