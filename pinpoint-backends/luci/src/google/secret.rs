//! Text that must not be shown.

use std::fmt;

/// A token or a key. Neither `Debug` nor any error shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, to be sent to its service and nowhere else.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("…")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_shown_nowhere() {
        let secret = Secret::new("ya29.hidden");
        assert_eq!(format!("{secret} {secret:?}"), "… Secret(…)");
        assert_eq!(secret.reveal(), "ya29.hidden");
    }
}
