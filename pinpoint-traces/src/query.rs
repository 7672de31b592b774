//! Queries: which traces, by their parameters.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use form_urlencoded::parse;
use serde::{Deserialize, Serialize};

use crate::id::{Params, TraceId};
use crate::pattern::{Pattern, PatternError};

/// The most conditions of a query.
const MAX_CONDITIONS: usize = 10_000;

/// Conditions on the parameters of traces, as URL-encoded text: `config=8888&arch=~^x&os=!Win7`.
///
/// | condition | the value of the key |
/// | --- | --- |
/// | `v` | is v |
/// | `!v` | is not v |
/// | `~re` | matches the regular expression, anywhere in the value |
/// | `!~re` | does not match it |
/// | `*` | may be anything |
///
/// Conditions of one key are alternatives, and the keys must all hold. Exclusions (`!v`, `!~re`) go
/// first: a value that one of them excludes is not accepted, whatever else the key has. A key with
/// only exclusions also accepts traces without it; with any other condition the trace must have it.
/// The empty query accepts each trace.
///
/// It is printed with keys and conditions in order and without repetitions. The text that is
/// printed gives the same query.
///
/// ```
/// use pinpoint_traces::{Params, Query};
///
/// let query: Query = "arch=~^x&os=!Win7".parse()?;
/// let matches = |pairs: &[(&str, &str)]| query.matches(&Params::new(pairs.iter().copied()).unwrap());
/// assert!(matches(&[("arch", "x86")]));
/// assert!(!matches(&[("arch", "x86"), ("os", "Win7")]));
/// assert!(!matches(&[("arch", "arm"), ("os", "Linux")]));
/// assert_eq!(query.to_string(), "arch=~^x&os=!Win7");
/// # Ok::<(), pinpoint_traces::QueryError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Query(Vec<KeyQuery>);

/// The conditions of a query on one key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyQuery {
    key: String,
    excluded: Vec<ValueTest>,
    accepted: Vec<ValueTest>,
}

/// A test of one value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ValueTest {
    /// Each value passes.
    Any,
    /// This value passes.
    Equal(String),
    /// Values that match pass.
    Matches(Pattern),
}

impl ValueTest {
    /// Returns true if the value passes.
    pub fn passes(&self, value: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Equal(wanted) => wanted == value,
            Self::Matches(pattern) => pattern.is_match(value),
        }
    }
}

impl KeyQuery {
    /// The key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The exclusions: a value that passes any of them is not accepted. Never [`ValueTest::Any`].
    pub fn excluded(&self) -> &[ValueTest] {
        &self.excluded
    }

    /// The alternatives, one of which a value must pass; without any, each value is accepted that
    /// is not excluded.
    pub fn accepted(&self) -> &[ValueTest] {
        &self.accepted
    }

    /// Returns true if traces without the key are accepted: there are only exclusions.
    pub fn accepts_absent(&self) -> bool {
        self.accepted.is_empty()
    }

    /// Returns true if a trace with this value of the key is accepted.
    pub fn accepts(&self, value: &str) -> bool {
        !self.excluded.iter().any(|it| it.passes(value))
            && (self.accepted.is_empty() || self.accepted.iter().any(|it| it.passes(value)))
    }
}

impl Query {
    /// The conditions of each key, keys ascending. A trace matches if all of them hold.
    pub fn keys(&self) -> &[KeyQuery] {
        &self.0
    }

    /// Returns true if a trace of these parameters matches.
    pub fn matches(&self, params: &Params) -> bool {
        self.matches_values(|key| params.get(key))
    }

    /// Returns true if this trace matches.
    pub fn matches_id(&self, trace: &TraceId) -> bool {
        self.matches_values(|key| trace.get(key))
    }

    fn matches_values<'a>(&self, value_of: impl Fn(&str) -> Option<&'a str>) -> bool {
        (self.0.iter()).all(|it| match value_of(&it.key) {
            Some(value) => it.accepts(value),
            None => it.accepts_absent(),
        })
    }
}

impl FromStr for Query {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Self, QueryError> {
        check_encoding(text)?;
        let mut keys: BTreeMap<String, KeyQuery> = BTreeMap::new();
        for (index, pair) in text.split('&').filter(|it| !it.is_empty()).enumerate() {
            if index == MAX_CONDITIONS {
                return Err(QueryError::TooManyConditions);
            }
            if !pair.contains('=') {
                return Err(QueryError::NoCondition(pair.to_owned()));
            }
            for (key, condition) in parse(pair.as_bytes()) {
                if key.is_empty() {
                    return Err(QueryError::NoKey(pair.to_owned()));
                }
                let conditions = keys.entry(key.to_string()).or_insert_with(|| KeyQuery {
                    key: key.to_string(),
                    excluded: Vec::new(),
                    accepted: Vec::new(),
                });
                match condition.strip_prefix('!') {
                    None => conditions.accepted.push(value_test(&key, &condition)?),
                    Some(excluded) => match value_test(&key, excluded)? {
                        ValueTest::Any => {
                            return Err(QueryError::NothingLeft(key.to_string()));
                        }
                        test => conditions.excluded.push(test),
                    },
                }
            }
        }
        let mut keys: Vec<KeyQuery> = keys.into_values().collect();
        for conditions in &mut keys {
            for tests in [&mut conditions.excluded, &mut conditions.accepted] {
                tests.sort_unstable();
                tests.dedup();
            }
        }
        Ok(Self(keys))
    }
}

fn value_test(key: &str, text: &str) -> Result<ValueTest, QueryError> {
    if text == "*" {
        return Ok(ValueTest::Any);
    }
    match text.strip_prefix('~') {
        Some(pattern) => match Pattern::new(pattern) {
            Ok(pattern) => Ok(ValueTest::Matches(pattern)),
            Err(reason) => Err(QueryError::Pattern {
                key: key.to_owned(),
                reason,
            }),
        },
        None if text.is_empty() => Err(QueryError::NoValue(key.to_owned())),
        None => Ok(ValueTest::Equal(text.to_owned())),
    }
}

/// Rejects an escape that is not one: it would be read as another text than was meant.
fn check_encoding(text: &str) -> Result<(), QueryError> {
    for (at, _) in text.match_indices('%') {
        let digits = text.as_bytes().get(at + 1..at + 3);
        if !digits.is_some_and(|it| it.iter().all(u8::is_ascii_hexdigit)) {
            let column = text.get(..at).unwrap_or(text).chars().count() + 1;
            return Err(QueryError::Escape { column });
        }
    }
    Ok(())
}

impl fmt::Display for Query {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for it in &self.0 {
            let excluded = it.excluded.iter().map(|test| ("!", test));
            for (sign, test) in excluded.chain(it.accepted.iter().map(|test| ("", test))) {
                let condition = match test {
                    ValueTest::Any => format!("{sign}*"),
                    ValueTest::Equal(value) => format!("{sign}{value}"),
                    ValueTest::Matches(pattern) => format!("{sign}~{}", pattern.as_str()),
                };
                formatter.write_str(separator)?;
                write_encoded(formatter, &it.key)?;
                formatter.write_str("=")?;
                write_encoded(formatter, &condition)?;
                separator = "&";
            }
        }
        Ok(())
    }
}

/// Escapes what has a meaning in the encoding or in the text of a formula, and keeps the rest
/// legible.
fn write_encoded(formatter: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && !b"&=%+#\"".contains(&byte) {
            write!(formatter, "{}", char::from(byte))?;
        } else {
            write!(formatter, "%{byte:02X}")?;
        }
    }
    Ok(())
}

impl TryFrom<String> for Query {
    type Error = QueryError;

    fn try_from(text: String) -> Result<Self, QueryError> {
        text.parse()
    }
}

impl From<Query> for String {
    fn from(query: Query) -> Self {
        query.to_string()
    }
}

/// A query that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// A part has no `=`.
    #[error("`{0}` in the query has no condition: write `key=value`")]
    NoCondition(String),
    /// A part has no key.
    #[error("`{0}` in the query has no key: write `key=value`")]
    NoKey(String),
    /// A condition without a value.
    #[error("the query's condition on `{0}` has no value; `*` is any value")]
    NoValue(String),
    /// `!*` excludes all values.
    #[error("the query excludes each value of `{0}`: `!` needs a value or a regular expression")]
    NothingLeft(String),
    /// A regular expression can't be used.
    #[error("the query's condition on `{key}`: {reason}")]
    Pattern {
        /// The key of the condition.
        key: String,
        /// The fault.
        #[source]
        reason: PatternError,
    },
    /// A `%` that two hexadecimal digits do not follow.
    #[error(
        "the query has a `%` at column {column} without two hexadecimal digits; write `%25` for `%`"
    )]
    Escape {
        /// The character, counted from 1.
        column: usize,
    },
    /// More conditions than are read.
    #[error("the query has more than {MAX_CONDITIONS} conditions")]
    TooManyConditions,
}
