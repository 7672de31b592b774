//! The error of a configuration.

use std::net::SocketAddr;

/// The configuration can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// It is not TOML, or not a configuration of this service.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// Everybody could use it without signing in.
    #[error(
        "nobody signs in, so that everybody who reaches {0} could run benchmarks: set `sign_in`, or listen on a loopback address such as 127.0.0.1:7467"
    )]
    Open(SocketAddr),
    /// Others on the network could read tokens and cookies.
    #[error(
        "tokens would cross the network in the clear: give `[tls]`, or listen on a loopback address, with a server before it that ends TLS, instead of {0}"
    )]
    Readable(SocketAddr),
    /// Not a host: a URL, or a host with a port.
    #[error("`gerrit_hosts`: {0:?} is not the name of a host; write it as googlesource.com")]
    GerritHost(String),
    /// People could sign in, and do nothing.
    #[error(
        "`[sign_in.roles]` names nobody, so that nobody who signs in could do anything: give roles, as viewer = [\"domain:example.org\"]"
    )]
    NoRoles,
    /// A proxy that proves itself by a certificate shows it in TLS.
    #[error("`sign_in.proxy.proof.certificate` needs `[tls]`: the proxy shows it to this service")]
    ProxyWithoutTls,
    /// A header that no request can have.
    #[error("`sign_in.proxy.header` is not a name of a header: {0:?}")]
    Header(String),
    /// A value with which nothing could work.
    #[error("`{name}` {problem}")]
    Field {
        /// Its place in the file.
        name: String,
        /// The problem.
        problem: &'static str,
    },
    /// A worker without bots.
    #[error(
        "`worker.bots` names no bot; name those whose jobs this process takes, or leave `[worker]` out"
    )]
    NoBots,
}

/// The problem of a zero duration.
pub(super) const NO_TIME: &str = "must be longer than zero; write it as 30s or 2m";

impl ConfigError {
    pub(super) fn field(name: &str, problem: &'static str) -> Self {
        let name = name.to_owned();
        Self::Field { name, problem }
    }
}
