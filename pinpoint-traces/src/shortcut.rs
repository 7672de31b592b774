//! Shortcuts: sets of traces with a short name.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use md5::{Digest, Md5};
use serde::{Deserialize, Serialize};

use crate::name::TraceName;

/// A set of stored traces and formulas, in the order of their texts.
///
/// ```
/// use pinpoint_traces::Shortcut;
///
/// let shortcut = Shortcut::new([",b=2,".parse()?, ",a=1,".parse()?, ",b=2,".parse()?])?;
/// assert_eq!(shortcut.iter().map(ToString::to_string).collect::<Vec<_>>(), [",a=1,", ",b=2,"]);
/// assert_eq!(shortcut.id().to_string().len(), 33);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<TraceName>", into = "Vec<TraceName>")]
pub struct Shortcut(BTreeSet<TraceName>);

impl Shortcut {
    /// The set of these names, in any order.
    ///
    /// # Errors
    ///
    /// [`ShortcutError::Calculated`]: such traces are made again when they are needed, and not
    /// kept; [`ShortcutError::Empty`].
    pub fn new(names: impl IntoIterator<Item = TraceName>) -> Result<Self, ShortcutError> {
        let names: BTreeSet<TraceName> = names.into_iter().collect();
        let is_calculated = |it: &&TraceName| matches!(it, TraceName::Calculated(_));
        if let Some(name) = names.iter().find(is_calculated) {
            return Err(ShortcutError::Calculated(name.to_string()));
        }
        if names.is_empty() {
            return Err(ShortcutError::Empty);
        }
        Ok(Self(names))
    }

    /// The names. Stored traces come first, as `,` comes before `@`.
    pub fn iter(&self) -> impl Iterator<Item = &TraceName> {
        self.0.iter()
    }

    /// The name of the set: `X` and the MD5 of its names, one after the other.
    pub fn id(&self) -> ShortcutId {
        let mut hash = Md5::new();
        for name in &self.0 {
            hash.update(name.to_string());
        }
        ShortcutId(format!("X{}", hex::encode(hash.finalize())))
    }
}

impl TryFrom<Vec<TraceName>> for Shortcut {
    type Error = ShortcutError;

    fn try_from(names: Vec<TraceName>) -> Result<Self, ShortcutError> {
        Self::new(names)
    }
}

impl From<Shortcut> for Vec<TraceName> {
    fn from(shortcut: Shortcut) -> Self {
        shortcut.0.into_iter().collect()
    }
}

/// The name of a shortcut: `X` and 32 lowercase hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ShortcutId(String);

impl ShortcutId {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ShortcutId {
    type Err = ShortcutError;

    fn from_str(text: &str) -> Result<Self, ShortcutError> {
        let is_digit = |it: u8| matches!(it, b'0'..=b'9' | b'a'..=b'f');
        let digits = text.strip_prefix('X').unwrap_or_default();
        if digits.len() == 32 && digits.bytes().all(is_digit) {
            Ok(Self(text.to_owned()))
        } else {
            Err(ShortcutError::Id(text.to_owned()))
        }
    }
}

impl fmt::Display for ShortcutId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl TryFrom<String> for ShortcutId {
    type Error = ShortcutError;

    fn try_from(text: String) -> Result<Self, ShortcutError> {
        text.parse()
    }
}

impl From<ShortcutId> for String {
    fn from(id: ShortcutId) -> Self {
        id.0
    }
}

/// A shortcut that can't be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShortcutError {
    /// Calculated traces are not kept.
    #[error("`{0}` is calculated and can't be part of a shortcut; use the traces it is made of")]
    Calculated(String),
    /// A shortcut has at least one trace.
    #[error("a shortcut needs at least one trace")]
    Empty,
    /// The text is not the name of a shortcut.
    #[error(
        "`{0}` is not the name of a shortcut: expected `X` and 32 lowercase hexadecimal digits"
    )]
    Id(String),
}
