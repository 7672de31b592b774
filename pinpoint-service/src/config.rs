//! The configuration of `pinpoint-service serve`: one TOML file.
//!
//! ```
//! use pinpoint_service::config::Config;
//!
//! let config = Config::read(r#"
//!     listen = "127.0.0.1:7467"
//!     state_dir = "/var/lib/pinpoint"
//!     bots = ["/etc/pinpoint/bots.toml"]
//!
//!     [worker]
//!     bots = ["lab"]
//!     allow_repositories = ["https://example.org/**"]
//! "#)?;
//! assert_eq!(config.worker.unwrap().bots, ["lab"]);
//! // Nothing is left to guess: a name that is not known is an error.
//! assert!(Config::read("listn = '127.0.0.1:7467'").is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod commits;
mod error;
mod limits;
mod presets;
mod seconds;
mod sign_in;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use pinpoint_backends::local::RepositoryPattern;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::jobs::hosts::is_name;

pub use self::commits::Commits;
pub use self::error::ConfigError;
pub use self::limits::{Limit, LimitsConfig, OwnLimits};
pub(crate) use self::presets::MOST_ATTEMPTS;
pub use self::presets::{Preset, PresetKind};
pub use self::sign_in::{
    Address, AddressError, Algorithm, ClientSecret, Issuer, Member, MemberError, Names, Oidc,
    Proof, Proxy, ProxyCertificate, Roles, SignInConfig, Ways,
};

/// The configuration of a service.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The address and the port that it listens on.
    pub listen: SocketAddr,
    /// The directory of its jobs, or of this machine's work where `store` names a database.
    pub state_dir: PathBuf,
    /// The database of the jobs, as `postgres://USER@HOST/DATABASE`; a password belongs in
    /// the environment variable PGPASSWORD or into ~/.pgpass.
    #[serde(default)]
    pub store: Option<String>,
    /// The files that describe bots and benchmarks.
    pub bots: Vec<PathBuf>,
    /// The ways in which callers say who they are.
    #[serde(default)]
    pub sign_in: SignInConfig,
    /// The certificate that it shows; without one it speaks HTTP alone.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// A worker in the same process.
    #[serde(default)]
    pub worker: Option<Worker>,
    /// The lookup of commits that requests name by less than a full hash; off if absent.
    #[serde(default)]
    pub commits: Option<Commits>,
    /// The hosts of Gerrit, and their subdomains, that may be asked for changes: as
    /// `googlesource.com`.
    #[serde(default)]
    pub gerrit_hosts: Vec<String>,
    /// The time left to requests under way, and to a run of the worker, when the service has to
    /// end.
    #[serde(default = "drain", with = "seconds")]
    pub drain: Duration,
    /// The time between reporting that it is not ready and draining: longer than load balancers
    /// take to notice.
    #[serde(default, with = "seconds")]
    pub notice: Duration,
    /// The address of `/metrics`, which only operators should reach; absent to serve none.
    #[serde(default)]
    pub metrics: Option<SocketAddr>,
    /// The limits of users and addresses.
    #[serde(default)]
    pub limits: LimitsConfig,
    /// Arguments that the form of a new job can begin with.
    #[serde(default)]
    pub presets: Vec<Preset>,
}

/// Files with the service's certificate and its key, in PEM. They are read again when they
/// change.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// The certificate, followed by those that sign it.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// A worker in the same process: see `pinpoint worker --help`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Worker {
    /// The bots whose jobs it takes.
    pub bots: Vec<String>,
    /// The repositories that it may fetch: patterns of their URLs.
    #[serde(default, deserialize_with = "patterns")]
    pub allow_repositories: Vec<RepositoryPattern>,
}

fn patterns<'de, D: Deserializer<'de>>(reader: D) -> Result<Vec<RepositoryPattern>, D::Error> {
    let texts = Vec::<String>::deserialize(reader)?;
    let pattern = |text: &String| {
        let read = text.parse::<RepositoryPattern>();
        read.map_err(|error| D::Error::custom(format_args!("{text:?}: {error}")))
    };
    texts.iter().map(pattern).collect()
}

fn drain() -> Duration {
    Duration::from_secs(30)
}

impl Config {
    /// Reads the text of a configuration file.
    ///
    /// # Errors
    ///
    /// The first problem, with its place in the text.
    pub fn read(text: &str) -> Result<Self, ConfigError> {
        let config: Self = toml::from_str(text)?;
        let is_local = config.listen.ip().is_loopback();
        match config.sign_in {
            SignInConfig::None if !is_local => return Err(ConfigError::Open(config.listen)),
            SignInConfig::None => {}
            _ if !is_local && config.tls.is_none() => {
                return Err(ConfigError::Readable(config.listen));
            }
            _ => config.sign_in.check(config.tls.is_some())?,
        }
        config.limits.check()?;
        presets::check(&config.presets)?;
        if let Some(host) = { config.gerrit_hosts.iter() }.find(|host| !is_name(host)) {
            return Err(ConfigError::GerritHost(host.clone()));
        }
        if config
            .worker
            .as_ref()
            .is_some_and(|worker| worker.bots.is_empty())
        {
            return Err(ConfigError::NoBots);
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_not_be_meant_is_refused() {
        let cases = [
            (
                "listen = '0.0.0.0:80'\nstate_dir = '/s'\nbots = []",
                "nobody signs in",
            ),
            (
                "listen = '0.0.0.0:80'\nstate_dir = '/s'\nbots = []\nsign_in = 'tokens'",
                "in the clear",
            ),
            (
                "listen = '127.0.0.1:80'\nbots = []",
                "missing field `state_dir`",
            ),
            (
                "listen = '127.0.0.1:80'\nstate_dir = '/s'\nbots = []\ndrain = 'soon'",
                "\"soon\" is not a duration",
            ),
            (
                "listen = '127.0.0.1:80'\nstate_dir = '/s'\nbots = []\n[worker]\nbots = []",
                "names no bot",
            ),
            (
                "listen = '127.0.0.1:80'\nstate_dir = '/s'\nbots = []\ngerrit_hosts = ['https://a.example']",
                "is not the name of a host",
            ),
            (
                "listen = '127.0.0.1:80'\nstate_dir = '/s'\nbots = []\n[commits]\nallow_repositories = ['x']",
                "does not begin with https://",
            ),
            (
                "listen = '127.0.0.1:80'\nstate_dir = '/s'\nbots = []\n[[presets]]\nname = 'a'\nbenchmark = 'b'\nbot = 'c'\nattempts = 151",
                "`presets.a.attempts` lies between 1 and 150",
            ),
            (
                "listen = '127.0.0.1:80'\nstate_dir = '/s'\nbots = []\n[[presets]]\nname = ' '\nbenchmark = 'b'\nbot = 'c'",
                "has to be there, and once",
            ),
        ];
        let zero = ["deadline", "headers", "sending"].map(|name| {
            format!("listen = '[::1]:80'\nstate_dir = '/s'\nbots = []\n[limits]\n{name} = '0s'")
        });
        let zero = zero
            .iter()
            .map(|text| (text.as_str(), "must be longer than zero"));
        for (text, expected) in cases.into_iter().chain(zero) {
            let error = Config::read(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let config = Config::read("listen = '[::1]:80'\nstate_dir = '/s'\nbots = []\ndrain = '2m'");
        assert_eq!(config.unwrap().drain, Duration::from_secs(120));
    }
}
