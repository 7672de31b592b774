//! Regular expressions in queries.

use std::fmt;

use regex::{Regex, RegexBuilder};

/// The longest text of a pattern, in bytes.
const MAX_LENGTH: usize = 1000;
/// The most memory of a compiled pattern, in bytes.
const MAX_SIZE: usize = 1 << 20;

/// A regular expression in the syntax of the crate `regex`, which matches a value if it matches
/// any part of it. Equal patterns are equal texts.
#[derive(Clone)]
pub struct Pattern(Regex);

impl Pattern {
    /// Compiles a pattern. The time to match it is linear in the length of the value.
    ///
    /// # Errors
    ///
    /// [`PatternError`] for one that can't be read, or is too large.
    pub fn new(text: &str) -> Result<Self, PatternError> {
        if text.len() > MAX_LENGTH {
            return Err(PatternError::TooLong { length: text.len() });
        }
        match RegexBuilder::new(text).size_limit(MAX_SIZE).build() {
            Ok(regex) => Ok(Self(regex)),
            Err(regex::Error::CompiledTooBig(_)) => Err(PatternError::TooLarge(text.to_owned())),
            Err(error) => Err(PatternError::Syntax {
                pattern: text.to_owned(),
                // The parser's message has several lines, and its last one says what is wrong.
                reason: (error.to_string().lines().last().unwrap_or_default())
                    .trim_start_matches("error: ")
                    .to_owned(),
            }),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns true if any part of the value matches.
    pub fn is_match(&self, value: &str) -> bool {
        self.0.is_match(value)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Pattern {}

impl PartialOrd for Pattern {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Pattern {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Pattern({:?})", self.as_str())
    }
}

/// A regular expression that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// It is not a regular expression.
    #[error("the regular expression `{pattern}` can't be read: {reason}")]
    Syntax {
        /// Its text.
        pattern: String,
        /// The fault.
        reason: String,
    },
    /// Its text is too long.
    #[error("a regular expression of {length} bytes is too long: at most {MAX_LENGTH} are read")]
    TooLong {
        /// Of the text, in bytes.
        length: usize,
    },
    /// Its compiled form would be too large.
    #[error("the regular expression `{0}` is too large when it is compiled; use fewer repetitions")]
    TooLarge(String),
}
