//! TLS: the service's certificate, which is read again when its files change, and the certificates
//! that proxies show.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::extract::Request;
use axum_server::tls::TlsInfo;
use axum_server::tls_rustls::RustlsConfig;
use http::uri::Scheme;
use pinpoint_service::ClientCertificate;
use pinpoint_service::config::{Config, Tls};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

use crate::Failure;
use crate::serve::named;

/// The time between two looks at the files.
const FILE_POLL_INTERVAL: Duration = Duration::from_secs(10);

/// The files of TLS.
pub(crate) struct Files {
    tls: Tls,
    /// The authorities that sign the certificate of a proxy.
    proxies: Option<PathBuf>,
}

impl Files {
    /// Those of a configuration with TLS.
    pub(crate) fn from_config(config: &Config) -> Option<Self> {
        let proxy = config.sign_in.proxy_certificate();
        Some(Self {
            tls: config.tls.clone()?,
            proxies: proxy.map(|proxy| proxy.authority.clone()),
        })
    }

    /// Reads their current contents.
    pub(crate) fn read(&self) -> Result<RustlsConfig, Failure> {
        Ok(RustlsConfig::from_config(self.config()?))
    }

    fn config(&self) -> Result<Arc<ServerConfig>, Failure> {
        // A test may have installed another already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = ServerConfig::builder();
        let builder = match &self.proxies {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let mut roots = RootCertStore::empty();
                for authority in certificates(path)? {
                    roots.add(authority).map_err(|error| named(path, error))?;
                }
                // Clients without a certificate just can't name anyone by a header.
                let verifier = WebPkiClientVerifier::builder(roots.into()).allow_unauthenticated();
                builder.with_client_cert_verifier(
                    verifier.build().map_err(|error| named(path, error))?,
                )
            }
        };
        let key = PrivateKeyDer::from_pem_file(&self.tls.key);
        let key = key.map_err(|error| named(&self.tls.key, error))?;
        let path = &self.tls.certificate;
        let mut config = builder
            .with_single_cert(certificates(path)?, key)
            .map_err(|error| named(path, error))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config.into())
    }

    fn changed(&self) -> Vec<Option<SystemTime>> {
        let paths = [&self.tls.certificate, &self.tls.key];
        let time = |path: &PathBuf| {
            std::fs::metadata(path)
                .and_then(|file| file.modified())
                .ok()
        };
        paths.into_iter().chain(&self.proxies).map(time).collect()
    }

    /// Shows a new certificate soon after its files have changed.
    pub(crate) async fn reread(self, tls: RustlsConfig) {
        let mut known = self.changed();
        loop {
            tokio::time::sleep(FILE_POLL_INTERVAL).await;
            let now = self.changed();
            if now == known {
                continue;
            }
            match self.config() {
                Ok(config) => {
                    tls.reload_from_config(config);
                    known = now;
                }
                // Half of it may be written; the old one stays.
                Err(error) => tracing::warn!(%error, "the new certificate can't be used"),
            }
        }
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let read = read.map_err(|error| named(path, error))?;
    match read.is_empty() {
        true => Err(named(path, "there is no certificate in it").into()),
        false => Ok(read),
    }
}

/// Tells a request that it came over TLS, and which certificate its client has shown.
pub(crate) async fn tell(mut request: Request) -> Request {
    let extensions = request.extensions_mut();
    let Some(info) = extensions.get::<Arc<TlsInfo>>() else {
        return request;
    };
    let shown = info.peer_certificates.first().cloned();
    extensions.insert(Scheme::HTTPS);
    if let Some(shown) = shown {
        extensions.insert(ClientCertificate(shown.into()));
    }
    request
}
