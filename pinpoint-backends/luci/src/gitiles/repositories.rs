//! Repositories by their URLs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pinpoint_midpoint::{History, HistoryError, Repositories};

use super::cache::DiskCache;
use super::history::GitilesHistory;
use super::repository::Repository;
use crate::crrev::Crrev;
use crate::google::{AddressError, Backoff, Client, Pace, TokenSource, Tokens, Transport, scope};

/// The bounds that Chromium's hosts ask for.
const AT_ONCE: usize = 40;
pub(crate) const PER_SECOND: u32 = 4;

/// The domain whose hosts are Gitiles.
const DOMAIN: &str = "googlesource.com";

/// The addresses of Gitiles, and the settings of its client.
#[derive(Debug, Clone)]
pub struct GitilesConfig {
    /// The folder of immutable answers.
    pub cache_dir: PathBuf,
    /// The most bytes in it. By default 1 GiB.
    pub cache_bytes: u64,
    /// The address of a host, in which `{host}` stands for its name. By default
    /// `https://{host}`.
    pub address: String,
    /// Hosts that may be asked in addition to those below `googlesource.com`.
    pub hosts: Vec<String>,
    /// Requests to a host in a second; any number when absent. By default 4.
    pub per_second: Option<u32>,
    /// The waits between tries.
    pub backoff: Backoff,
    /// The seed of the jitter of these waits; random when absent.
    pub seed: Option<u64>,
}

impl GitilesConfig {
    /// The usual settings, with a folder for answers.
    pub fn new(cache_dir: impl Into<PathBuf>) -> Self {
        Self {
            cache_dir: cache_dir.into(),
            cache_bytes: 1 << 30,
            address: "https://{host}".into(),
            hosts: Vec::new(),
            per_second: Some(PER_SECOND),
            backoff: Backoff::default(),
            seed: None,
        }
    }
}

/// All repositories at Gitiles. Clones share connections, bounds and read data.
#[derive(Clone)]
pub struct Gitiles(Arc<Inner>);

struct Inner {
    config: GitilesConfig,
    tokens: Tokens,
    transport: Arc<dyn Transport>,
    cache: Arc<DiskCache>,
    crrev: Option<Arc<Crrev>>,
    clients: Mutex<HashMap<String, Arc<Client>>>,
    open: Mutex<HashMap<RepositoryUrl, GitilesHistory>>,
}

impl Gitiles {
    /// # Errors
    ///
    /// When the address is invalid, or tokens would cross the network without HTTPS.
    pub fn new(
        config: GitilesConfig,
        tokens: TokenSource,
        transport: Arc<dyn Transport>,
    ) -> Result<Self, AddressError> {
        let tokens = Tokens::new(tokens, &[scope::GERRIT_CODE_REVIEW], transport.clone());
        let inner = Inner {
            cache: Arc::new(DiskCache::new(config.cache_dir.clone(), config.cache_bytes)),
            config,
            tokens,
            transport,
            crrev: None,
            clients: Mutex::default(),
            open: Mutex::default(),
        };
        inner.client(DOMAIN)?;
        Ok(Self(Arc::new(inner)))
    }

    /// Adds commit positions.
    #[must_use]
    pub fn with_crrev(self, crrev: Arc<Crrev>) -> Self {
        match Arc::try_unwrap(self.0) {
            Ok(inner) => Self(Arc::new(Inner {
                crrev: Some(crrev),
                ..inner
            })),
            // It is already shared, and stays as it is.
            Err(shared) => Self(shared),
        }
    }

    /// The history of a repository, by its URL.
    ///
    /// # Errors
    ///
    /// [`HistoryError::UnknownRepository`] when its host is not allowed.
    pub fn history(&self, repository: &str) -> Result<GitilesHistory, HistoryError> {
        let unknown = |hint: String| HistoryError::UnknownRepository {
            repository: repository.into(),
            hint,
        };
        let url: RepositoryUrl = repository
            .parse()
            .map_err(|error| unknown(format!("{error}")))?;
        let inner = &*self.0;
        if !inner.may_ask(&url.host) {
            let hint = format!("it is not at {DOMAIN}, nor at a host of the configuration");
            return Err(unknown(hint));
        }
        let mut open = inner.open.lock().unwrap_or_else(|it| it.into_inner());
        if let Some(history) = open.get(&url) {
            return Ok(history.clone());
        }
        let client = inner.client(&url.host);
        let client = client.map_err(|error| unknown(error.to_string()))?;
        let repository = Repository::new(url.clone(), client, inner.cache.clone());
        let history = GitilesHistory::new(repository, inner.crrev.clone());
        open.insert(url, history.clone());
        Ok(history)
    }
}

impl Inner {
    fn may_ask(&self, host: &str) -> bool {
        let is_below = |domain: &str| {
            host.strip_suffix(domain)
                .is_some_and(|it| it.ends_with('.'))
        };
        is_below(DOMAIN) || self.config.hosts.iter().any(|listed| listed == host)
    }

    fn client(&self, host: &str) -> Result<Arc<Client>, AddressError> {
        let mut clients = self.clients.lock().unwrap_or_else(|it| it.into_inner());
        if let Some(client) = clients.get(host) {
            return Ok(client.clone());
        }
        let address = self.config.address.replace("{host}", host);
        let (tokens, transport) = (self.tokens.clone(), self.transport.clone());
        let client = Client::new("Gitiles", &address, tokens, transport)?
            .with_pace(Pace::new(AT_ONCE, self.config.per_second))
            .with_backoff(self.config.backoff.clone());
        let client = Arc::new(match self.config.seed {
            Some(seed) => client.with_seed(seed),
            None => client,
        });
        clients.insert(host.into(), client.clone());
        Ok(client)
    }
}

#[async_trait]
impl Repositories for Gitiles {
    async fn open(&self, repository: &str) -> Result<Arc<dyn History>, HistoryError> {
        Ok(Arc::new(self.history(repository)?))
    }

    async fn identities(
        &self,
        repositories: BTreeSet<String>,
    ) -> Result<BTreeMap<String, String>, HistoryError> {
        let identity = |name: String| match name.parse::<RepositoryUrl>() {
            Ok(url) => (name, url.to_string()),
            Err(_) => (name.clone(), name),
        };
        Ok(repositories.into_iter().map(identity).collect())
    }
}

/// The URL of a repository, in normal form: `https://HOST/PROJECT`, the host in lower case, without
/// `.git` or a slash at the end, and without the `/a/` of signed-in users.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RepositoryUrl {
    /// Such as `chromium.googlesource.com`.
    pub host: String,
    /// Such as `chromium/src`.
    pub project: String,
}

/// The text is not the URL of a repository at Gitiles.
#[derive(Debug, thiserror::Error)]
#[error("repositories at Gitiles are named https://HOST/PROJECT")]
pub struct NoRepositoryUrl;

impl FromStr for RepositoryUrl {
    type Err = NoRepositoryUrl;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_plain = text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._~/:+".contains(&byte));
        let rest = text
            .split_once("://")
            .filter(|(scheme, _)| is_plain && scheme.eq_ignore_ascii_case("https"));
        let (host, project) = rest
            .and_then(|(_, rest)| rest.split_once('/'))
            .ok_or(NoRepositoryUrl)?;
        let project = project.trim_end_matches('/');
        let project = project.strip_suffix(".git").unwrap_or(project);
        let project = project.strip_prefix("a/").unwrap_or(project);
        let is_way = |part: &str| !matches!(part, "" | "." | ".." | "+");
        if host.is_empty() || host.contains([':', '+', '~']) || !project.split('/').all(is_way) {
            return Err(NoRepositoryUrl);
        }
        Ok(Self {
            host: host.to_ascii_lowercase(),
            project: project.into(),
        })
    }
}

impl fmt::Display for RepositoryUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "https://{}/{}", self.host, self.project)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_one_repository_are_equal() {
        let src = "https://chromium.googlesource.com/chromium/src";
        for text in [
            src,
            "HTTPS://Chromium.GoogleSource.com/chromium/src.git",
            "https://chromium.googlesource.com/a/chromium/src/",
        ] {
            assert_eq!(text.parse::<RepositoryUrl>().unwrap().to_string(), src);
        }
        for text in [
            "",
            "chromium/src",
            "http://chromium.googlesource.com/chromium/src",
            "https://chromium.googlesource.com",
            "https://chromium.googlesource.com/",
            "https://user:pass@chromium.googlesource.com/x",
            "https://chromium.googlesource.com/../x",
            "https://chromium.googlesource.com/x/+/y",
            "https://chromium.googlesource.com/x?y",
        ] {
            assert!(text.parse::<RepositoryUrl>().is_err(), "{text}");
        }
    }
}
