//! Parameters, and the ids of traces.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use md5::{Digest, Md5};
use serde::{Deserialize, Serialize};

/// The parameters of a trace: values by key, keys ascending.
///
/// Keys and values hold only `[a-zA-Z0-9._-]` and are not empty: [`Params::new`] replaces every
/// other character, and an empty text, by `_`.
///
/// ```
/// use pinpoint_traces::Params;
///
/// let params = Params::new([("test", "a b"), ("arch", "")])?;
/// assert_eq!(params.iter().collect::<Vec<_>>(), [("arch", "_"), ("test", "a_b")]);
/// # Ok::<(), pinpoint_traces::IdError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(
    try_from = "BTreeMap<String, String>",
    into = "BTreeMap<String, String>"
)]
pub struct Params(BTreeMap<String, String>);

impl Params {
    /// Makes parameters of pairs of key and value in any order, each sanitized.
    ///
    /// # Errors
    ///
    /// [`IdError::SameKey`] when two keys are equal, or become equal.
    pub fn new<K: AsRef<str>, V: AsRef<str>>(
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Self, IdError> {
        let mut params = BTreeMap::new();
        let mut raw: BTreeMap<String, String> = BTreeMap::new();
        for (key, value) in pairs {
            let written = sanitized(key.as_ref());
            if params.contains_key(&written) {
                let first = raw.remove(&written).unwrap_or_else(|| written.clone());
                return Err(IdError::SameKey {
                    first,
                    second: key.as_ref().to_owned(),
                    written,
                });
            }
            if written != key.as_ref() {
                raw.insert(written.clone(), key.as_ref().to_owned());
            }
            params.insert(written, sanitized(value.as_ref()));
        }
        Ok(Self(params))
    }

    /// The value of this key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Sets the value of a key; both are sanitized. Returns the value that it had.
    pub fn set(&mut self, key: &str, value: &str) -> Option<String> {
        self.0.insert(sanitized(key), sanitized(value))
    }

    /// Removes a key. Returns the value that it had.
    pub fn remove(&mut self, key: &str) -> Option<String> {
        self.0.remove(key)
    }

    /// Keys and values, keys ascending.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true without any key.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl TryFrom<BTreeMap<String, String>> for Params {
    type Error = IdError;

    fn try_from(pairs: BTreeMap<String, String>) -> Result<Self, IdError> {
        Self::new(pairs)
    }
}

impl From<Params> for BTreeMap<String, String> {
    fn from(params: Params) -> Self {
        params.0
    }
}

/// The id of a stored trace: its parameters as text, `,arch=x86,config=8888,`.
///
/// The text is canonical: keys strictly ascending (by bytes), at least one, and nothing but
/// `[a-zA-Z0-9._-]` in keys and values. So equal ids are equal texts. Cloning is cheap.
///
/// ```
/// use pinpoint_traces::{Params, TraceId};
///
/// let id = TraceId::new(&Params::new([("config", "8888"), ("arch", "x86")])?)?;
/// assert_eq!(id.as_str(), ",arch=x86,config=8888,");
/// assert_eq!(id.get("config"), Some("8888"));
/// assert_eq!(",arch=x86,config=8888,".parse(), Ok(id));
/// # Ok::<(), pinpoint_traces::IdError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TraceId(Arc<str>);

impl TraceId {
    /// The id of these parameters.
    ///
    /// # Errors
    ///
    /// [`IdError::NoKey`] without any.
    pub fn new(params: &Params) -> Result<Self, IdError> {
        if params.is_empty() {
            return Err(IdError::NoKey);
        }
        let mut text = String::from(",");
        for (key, value) in params.iter() {
            text.extend([key, "=", value, ","]);
        }
        Ok(Self(text.into()))
    }

    /// The id of these parameters and one more, which replaces the one that has its key.
    pub(crate) fn with(params: &Params, key: &str, value: &str) -> Self {
        let written = sanitized(key);
        let mut text = String::with_capacity(32 * (params.len() + 1));
        text.push(',');
        let value = sanitized(value);
        let mut added = Some((&*written, &*value));
        for (key, value) in params.iter() {
            if let Some((new, new_value)) = added.take_if(|(new, _)| *new <= key) {
                text.extend([new, "=", new_value, ","]);
            }
            if key != written {
                text.extend([key, "=", value, ","]);
            }
        }
        if let Some((new, new_value)) = added {
            text.extend([new, "=", new_value, ","]);
        }
        Self(text.into())
    }

    /// Reads an old id, `x86:Win7:gradient:8888`, whose values have these keys in order.
    ///
    /// ```
    /// # use pinpoint_traces::TraceId;
    /// let id = TraceId::from_old("x86:Win7:gradient:8888", &["arch", "os", "test", "config"])?;
    /// assert_eq!(id.as_str(), ",arch=x86,config=8888,os=Win7,test=gradient,");
    /// # Ok::<(), pinpoint_traces::IdError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`IdError::OldParts`] when there are more or fewer values than keys, and as of
    /// [`Params::new`] and [`TraceId::new`].
    pub fn from_old<K: AsRef<str>>(text: &str, keys: &[K]) -> Result<Self, IdError> {
        let parts: Vec<&str> = text.split(':').collect();
        if parts.len() != keys.len() {
            return Err(IdError::OldParts {
                id: text.to_owned(),
                parts: parts.len(),
                keys: keys.len(),
            });
        }
        Self::new(&Params::new(keys.iter().map(AsRef::as_ref).zip(parts))?)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The parameters.
    pub fn params(&self) -> Params {
        let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        Params(self.iter().map(owned).collect())
    }

    /// Keys and values, keys ascending, without a copy.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.split(',').filter_map(|pair| pair.split_once('='))
    }

    /// The value of this key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.iter()
            .find_map(|(name, value)| (name == key).then_some(value))
    }

    /// The id's short form.
    pub fn trace_hash(&self) -> TraceHash {
        TraceHash(Md5::digest(self.0.as_bytes()).into())
    }
}

impl FromStr for TraceId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let wrong = |at: usize, expected: &'static str| IdError::Damaged {
            id: text.to_owned(),
            column: text.get(..at).unwrap_or(text).chars().count() + 1,
            expected,
        };
        let inner = text
            .strip_prefix(',')
            .ok_or_else(|| wrong(0, "`,` at the beginning"))?;
        let Some(inner) = inner.strip_suffix(',') else {
            return Err(if inner.is_empty() {
                IdError::NoKey
            } else {
                wrong(text.len(), "`,` at the end")
            });
        };
        let mut at = 1;
        let mut last: Option<&str> = None;
        for pair in inner.split(',') {
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| wrong(at, "a key, `=` and a value"))?;
            for (start, part) in [(at, key), (at + key.len() + 1, value)] {
                if part.is_empty() {
                    return Err(wrong(start, "at least one character"));
                }
                if let Some(index) = part.find(|it: char| !is_kept(it)) {
                    return Err(wrong(start + index, "one of `a-zA-Z0-9._-`"));
                }
            }
            if last.is_some_and(|last| last >= key) {
                return Err(wrong(
                    at,
                    "a key after the one before it, in ascending order",
                ));
            }
            last = Some(key);
            at += pair.len() + 1;
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl TryFrom<String> for TraceId {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<TraceId> for String {
    fn from(id: TraceId) -> Self {
        id.0.as_ref().to_owned()
    }
}

/// A trace's id in 16 bytes: the MD5 (RFC 1321) of its text. Written in lowercase hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceHash(pub [u8; 16]);

impl fmt::Display for TraceHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for TraceHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "TraceHash({self})")
    }
}

impl FromStr for TraceHash {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let mut bytes = [0; 16];
        match hex::decode_to_slice(text, &mut bytes) {
            Ok(()) => Ok(Self(bytes)),
            Err(_) => Err(IdError::Hash(text.to_owned())),
        }
    }
}

/// Returns true for a character that keys and values keep.
pub(crate) fn is_kept(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-')
}

/// A key or value as it is written in an id.
pub(crate) fn sanitized(text: &str) -> String {
    if text.is_empty() {
        return "_".into();
    }
    (text.chars())
        .map(|it| if is_kept(it) { it } else { '_' })
        .collect()
}

/// Parameters or an id that can't be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdError {
    /// Two keys that are equal, or become equal.
    #[error("the keys `{first}` and `{second}` are both written `{written}`")]
    SameKey {
        /// The earlier one, as given.
        first: String,
        /// The later one, as given.
        second: String,
        /// The key that both become.
        written: String,
    },
    /// An id has at least one key.
    #[error("a trace needs at least one key")]
    NoKey,
    /// The text is not the canonical form of an id.
    #[error("the trace id `{id}` is wrong at column {column}: expected {expected}")]
    Damaged {
        /// The text.
        id: String,
        /// The character, counted from 1.
        column: usize,
        /// The text that belongs there.
        expected: &'static str,
    },
    /// An old id has one value for each key.
    #[error("the old trace id `{id}` has {parts} parts, but {keys} keys are named for them")]
    OldParts {
        /// The text.
        id: String,
        /// The number of its values.
        parts: usize,
        /// The number of keys for them.
        keys: usize,
    },
    /// The text is not 32 hexadecimal digits.
    #[error("`{0}` is not the hash of a trace: expected 32 hexadecimal digits")]
    Hash(String),
}
