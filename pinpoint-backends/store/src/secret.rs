//! Secrets that authenticate their bearer. The store keeps their hashes only.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};

use super::{JobStore, StoreError};

/// A secret that cannot be guessed: 32 random bytes in URL-safe Base64, perhaps after a prefix.
/// `Debug` does not show it.
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

impl JobStore {
    /// The identity of this store: 16 hexadecimal digits, which may be shown. A copy of the store
    /// has the same one.
    ///
    /// # Errors
    ///
    /// When the store cannot be used.
    pub async fn identity(&self) -> Result<String, StoreError> {
        let secret = self.shared_secret("identity").await?;
        let hash = sha256(secret.as_str().as_bytes());
        Ok(hex::encode(&hash[..8]))
    }

    /// The secret of this name that all processes of the store share, to sign with. The first call
    /// makes it.
    ///
    /// # Errors
    ///
    /// When the store cannot be used.
    #[tracing::instrument(name = "store::shared_secret", level = "debug", skip_all)]
    pub async fn shared_secret(&self, name: &str) -> Result<Secret, StoreError> {
        let sql = "SELECT secret FROM shared_secrets WHERE name = $1";
        loop {
            let rows = self.database.fetch(sql, [name.into()]).await?;
            if let Some(row) = rows.first() {
                let secret = row.text(0);
                return Ok(Secret(
                    secret.map_err(|source| self.database.failed(source))?,
                ));
            }
            let sql = "INSERT INTO shared_secrets (name, secret) VALUES ($1, $2) \
                       ON CONFLICT DO NOTHING";
            let values = [name.into(), Secret::new("")?.0.into()];
            self.database.execute(sql, values).await?;
        }
    }
}

/// The hash by which a secret is found. A slow one is for secrets that can be guessed.
pub(super) fn sha256(bytes: &[u8]) -> Vec<u8> {
    digest(&SHA256, bytes).as_ref().to_vec()
}
