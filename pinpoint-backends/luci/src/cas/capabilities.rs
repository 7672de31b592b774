//! The capabilities of a store.

use super::proto::{
    CacheCapabilities, GetCapabilitiesRequest, ServerCapabilities, compressor, digest_function,
};
use super::tries::Fault;
use super::{Cas, CasError, batch};

/// The capabilities of a store, queried once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Capabilities {
    /// The most bytes of content in one batch.
    pub(super) batch: u64,
    /// True if it sends data compressed with zstd.
    pub(super) has_zstd: bool,
}

impl Cas {
    pub(super) async fn capabilities(&self) -> Result<Capabilities, CasError> {
        let capabilities = &self.0.capabilities;
        let known = capabilities.get_or_try_init(|| self.ask_capabilities());
        known.await.copied()
    }

    async fn ask_capabilities(&self) -> Result<Capabilities, CasError> {
        let mut tries = self.connection().tries("GetCapabilities");
        loop {
            match self.ask_capabilities_once().await {
                Ok(answer) => {
                    return Capabilities::from_cache_capabilities(answer.cache_capabilities);
                }
                Err(fault) => tries.after(fault).await?,
            }
        }
    }

    async fn ask_capabilities_once(&self) -> Result<ServerCapabilities, Fault> {
        let request = GetCapabilitiesRequest {
            instance_name: self.instance().into(),
        };
        let (call, request) = self.connection().call(request).await?;
        let mut client = self.connection().capabilities();
        call.answer(client.get_capabilities(request)).await
    }
}

impl Capabilities {
    fn from_cache_capabilities(cache: Option<CacheCapabilities>) -> Result<Self, CasError> {
        let cache = cache.unwrap_or_default();
        let sha256 = digest_function::Value::Sha256 as i32;
        // A store that names no function implies it by the length of the hashes.
        if !cache.digest_functions.is_empty() && !cache.digest_functions.contains(&sha256) {
            return Err(CasError::NoSha256);
        }
        let limit = u64::try_from(cache.max_batch_total_size_bytes).unwrap_or(0);
        Ok(Self {
            batch: match limit {
                0 => batch::MAX_BATCH_BYTES,
                limit => limit.min(batch::MAX_BATCH_BYTES),
            },
            has_zstd: cache
                .supported_compressors
                .contains(&(compressor::Value::Zstd as i32)),
        })
    }
}
