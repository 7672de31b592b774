//! The beginning of a job's id.

use std::fmt;
use std::str::FromStr;

use super::StoreError;

/// The beginning of a job's id, as a person typed it: hexadecimal digits, in any case, with hyphens
/// anywhere. A whole id is the longest one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JobPrefix(String);

impl JobPrefix {
    /// The text as it was typed.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The digits as ids have them.
    pub(super) fn digits(&self) -> String {
        digits_of(&self.0)
    }
}

fn digits_of(text: &str) -> String {
    text.replace('-', "").to_ascii_lowercase()
}

impl FromStr for JobPrefix {
    type Err = StoreError;

    /// Reads what a person typed.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`] for a text that no id begins with.
    fn from_str(text: &str) -> Result<Self, StoreError> {
        let digits = digits_of(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(StoreError::Unknown {
                prefix: text.into(),
            });
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for JobPrefix {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_has_digits_only_and_keeps_what_was_typed() {
        let typed = "0190-AB".parse::<JobPrefix>().unwrap();
        assert_eq!((typed.as_str(), &*typed.digits()), ("0190-AB", "0190ab"));
        for text in ["", "-", "0190g", "é"] {
            let error = text.parse::<JobPrefix>().unwrap_err();
            assert_eq!(error.to_string(), format!("there is no job {text}"));
        }
    }
}
