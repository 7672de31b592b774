//! The name of a blob: the hash and the size of its content.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::proto;

/// The SHA-256 and the size of a blob, written `HASH/SIZE` as Buildbucket and Swarming write it.
///
/// ```
/// use pinpoint_luci::cas::Digest;
///
/// let digest: Digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855/0".parse()?;
/// assert_eq!(digest, Digest::of(b""));
/// # Ok::<(), pinpoint_luci::cas::DigestError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest {
    hash: [u8; 32],
    size: u64,
}

/// The text is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a digest; write HASH/SIZE, the SHA-256 in 64 lower-case hexadecimal digits and the size in bytes"
)]
pub struct DigestError(String);

impl Digest {
    /// The digest of this content.
    pub fn of(content: &[u8]) -> Self {
        Self::new(Sha256::digest(content).into(), content.len() as u64)
    }

    pub(super) fn new(hash: [u8; 32], size: u64) -> Self {
        Self { hash, size }
    }

    /// The SHA-256 in hexadecimal digits.
    pub fn hash(&self) -> String {
        hex::encode(self.hash)
    }

    /// The size in bytes, at most 2^63 - 1.
    pub fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn message(&self) -> proto::Digest {
        proto::Digest {
            hash: self.hash(),
            size_bytes: self.size as i64,
        }
    }

    pub(super) fn of_message(message: Option<&proto::Digest>) -> Option<Self> {
        let message = message?;
        Self::parse(&message.hash, u64::try_from(message.size_bytes).ok()?)
    }

    fn parse(hash: &str, size: u64) -> Option<Self> {
        let digits = hash.as_bytes();
        if digits.len() != 64 || i64::try_from(size).is_err() {
            return None;
        }
        let mut parsed = [0; 32];
        for (byte, pair) in parsed.iter_mut().zip(digits.chunks_exact(2)) {
            let [high, low] = [pair.first()?, pair.get(1)?].map(|digit| match digit {
                b'0'..=b'9' => Some(digit - b'0'),
                b'a'..=b'f' => Some(digit - b'a' + 10),
                _ => None,
            });
            *byte = high? << 4 | low?;
        }
        Some(Self::new(parsed, size))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.hash(), self.size)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let digest = text.split_once('/').and_then(|(hash, size)| {
            let canonical = size == "0" || size.starts_with(|first| matches!(first, '1'..='9'));
            Self::parse(hash, size.parse().ok().filter(|_| canonical)?)
        });
        digest.ok_or_else(|| DigestError(text.into()))
    }
}

impl TryFrom<String> for Digest {
    type Error = DigestError;

    fn try_from(text: String) -> Result<Self, DigestError> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_digest_is_refused() {
        let hash = "a".repeat(64);
        let sound = |text: &str| text.parse::<Digest>().is_ok();
        assert!(sound(&format!("{hash}/0")));
        assert!(sound(&format!("{hash}/{}", i64::MAX)));
        for bad in [
            String::new(),
            hash.clone(),
            format!("{hash}/"),
            format!("{hash}/-1"),
            format!("{hash}/+1"),
            format!("{hash}/01"),
            format!("{hash}/1 "),
            format!("{hash}/9223372036854775808"),
            format!("{}/1", hash.to_uppercase()),
            format!("{}/1", &hash[1..]),
            format!("{hash}a/1"),
            format!("{}é/1", &hash[2..]),
        ] {
            assert!(!sound(&bad), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_digest_is_read_as_it_is_written(content: Vec<u8>) {
            let digest = Digest::of(&content);
            prop_assert_eq!(digest.to_string().parse(), Ok(digest));
            prop_assert_eq!(Digest::of_message(Some(&digest.message())), Some(digest));
            prop_assert_eq!(digest.size(), content.len() as u64);
        }
    }
}
