//! Secrets that prove who their bearer is. The store keeps their hashes only.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};

use super::StoreError;

/// A secret that can't be guessed: 32 random bytes in URL-safe Base64, perhaps after a
/// prefix. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub(super) fn new(prefix: &str) -> Result<Self, StoreError> {
        let mut bytes = [0; 32];
        SystemRandom::new()
            .fill(&mut bytes)
            .map_err(|_| StoreError::NoRandomness)?;
        let text = BASE64_URL_SAFE_NO_PAD.encode(bytes);
        Ok(Self(format!("{prefix}{text}")))
    }

    /// The secret itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

/// The hash by which a secret is found. A slow one is for secrets that can be guessed.
pub(super) fn sha256(bytes: &[u8]) -> Vec<u8> {
    digest(&SHA256, bytes).as_ref().to_vec()
}
