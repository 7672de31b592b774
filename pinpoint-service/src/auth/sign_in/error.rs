//! The error of a way to sign in.

/// A way to sign in can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignInError {
    /// The client's secret is not where the configuration says.
    #[error("the client's secret can't be read from {place}: {source}")]
    Secret {
        /// The file or the environment variable.
        place: String,
        /// The reason.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The name of a proxy's certificate is invalid.
    #[error("`sign_in.proxy.certificate.name` is not a name of a host: {0:?}")]
    Name(String),
    /// The client of identity providers can't be made.
    #[error("identity providers can't be asked over TLS: {0}; are root certificates installed?")]
    Client(#[from] reqwest::Error),
}
