//! The questions to one repository, and their cached answers.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use lru::LruCache;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::answers::{self, Commit, Log, Tree};
use super::cache::DiskCache;
use super::repositories::RepositoryUrl;
use super::time::rfc_3339;
use crate::google::{Client, HttpRequest, HttpResponse, ServiceError};

/// Commits of a page. Gitiles gives 10,000 at most; their messages are long.
const PAGE: usize = 1_000;

/// The most commits of a range: with their messages, some 200 MB.
const MOST_COMMITS: usize = 100_000;

/// Commits remembered in memory.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(16_384).unwrap();

/// Ranges remembered in memory.
const RANGES: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// A commit as its repository describes it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize, Serialize)]
pub struct CommitInfo {
    /// The full hash.
    pub git_hash: String,
    /// The hash of its tree.
    pub tree: String,
    /// The first one first.
    pub parents: Vec<String>,
    /// `NAME <ADDRESS>`.
    pub author: String,
    /// The time of the commit, in RFC 3339; absent where it cannot be parsed.
    pub created: Option<String>,
    /// The whole message.
    pub message: String,
}

impl CommitInfo {
    /// The first line of the message.
    pub fn subject(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }
}

impl From<Commit> for CommitInfo {
    fn from(commit: Commit) -> Self {
        let Commit {
            author, committer, ..
        } = commit;
        Self {
            git_hash: commit.commit,
            tree: commit.tree,
            parents: commit.parents,
            author: format!("{} <{}>", author.name, author.email),
            created: rfc_3339(&committer.time),
            message: commit.message,
        }
    }
}

/// Hashes, oldest first, by the two ends of the range.
type Ranges = LruCache<(String, String), Arc<Vec<String>>>;

/// One repository at Gitiles.
pub(super) struct Repository {
    url: RepositoryUrl,
    /// The normal form of the URL, for the cache and for messages.
    name: String,
    client: Arc<Client>,
    cache: Arc<DiskCache>,
    commits: Mutex<LruCache<String, Arc<CommitInfo>>>,
    ranges: Mutex<Ranges>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|it| it.into_inner())
}

impl Repository {
    pub(super) fn new(url: RepositoryUrl, client: Arc<Client>, cache: Arc<DiskCache>) -> Self {
        Self {
            name: url.to_string(),
            url,
            client,
            cache,
            commits: Mutex::new(LruCache::new(REMEMBERED)),
            ranges: Mutex::new(LruCache::new(RANGES)),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn project(&self) -> &str {
        &self.url.project
    }

    /// The commit that a name means at the moment, if any.
    pub(super) async fn named(&self, name: &str) -> Result<Option<Arc<CommitInfo>>, ServiceError> {
        let path = format!("+log/{}?format=JSON&n=1", encoded(name));
        let log: Option<Log> = self.json(&path).await?;
        let newest = log.and_then(|log| log.log.into_iter().next());
        Ok(newest.map(|commit| self.remember(commit.into())))
    }

    /// A commit by its full hash.
    pub(super) async fn commit(&self, hash: &str) -> Result<Option<Arc<CommitInfo>>, ServiceError> {
        if let Some(known) = locked(&self.commits).get(hash) {
            return Ok(Some(known.clone()));
        }
        let path = format!("+show/{}?format=JSON", encoded(hash));
        let info = self
            .kept(&["commit", hash], async {
                let commit: Option<Commit> = self.json(&path).await?;
                Ok(commit.map(CommitInfo::from))
            })
            .await?;
        Ok(info.map(|info| self.remember(info)))
    }

    fn remember(&self, info: CommitInfo) -> Arc<CommitInfo> {
        let info = Arc::new(info);
        locked(&self.commits).put(info.git_hash.clone(), info.clone());
        info
    }

    /// The hashes of the commits of `higher`'s line that are not part of the history of `lower`,
    /// oldest first; `None` when one of the two is unknown. Both are full hashes.
    pub(super) async fn range(
        &self,
        lower: &str,
        higher: &str,
    ) -> Result<Option<Arc<Vec<String>>>, ServiceError> {
        let ends = (lower.to_owned(), higher.to_owned());
        if let Some(known) = locked(&self.ranges).get(&ends) {
            return Ok(Some(known.clone()));
        }
        let range = self
            .kept(&["line", lower, higher], self.log(lower, higher))
            .await?;
        let Some(range) = range.map(Arc::new) else {
            return Ok(None);
        };
        locked(&self.ranges).put(ends, range.clone());
        Ok(Some(range))
    }

    async fn log(&self, lower: &str, higher: &str) -> Result<Option<Vec<String>>, ServiceError> {
        let (mut hashes, mut start) = (Vec::new(), String::new());
        loop {
            let path = log_path(lower, higher) + &start;
            let Some(page) = self.json::<Log>(&path).await? else {
                return Ok(None);
            };
            let is_empty = page.log.is_empty();
            for commit in page.log {
                hashes.push(commit.commit.clone());
                self.remember(commit.into());
            }
            match page.next {
                // A page without commits leads nowhere.
                Some(next) if !is_empty => start = format!("&s={}", encoded(&next)),
                _ => break,
            }
            if hashes.len() > MOST_COMMITS {
                let reason = format!("there are more than {MOST_COMMITS} commits in a range");
                return Err(self.unreadable(reason));
            }
        }
        hashes.reverse();
        self.without_history_of(lower, hashes).await.map(Some)
    }

    /// The commits of a line, oldest first, that are not part of the history of `lower`. Gitiles
    /// follows only the first parents of both ends, so what `lower` merged is in its answer.
    async fn without_history_of(
        &self,
        lower: &str,
        mut line: Vec<String>,
    ) -> Result<Vec<String>, ServiceError> {
        let follows_lower = match line.first() {
            Some(oldest) => {
                let oldest = locked(&self.commits).get(oldest).cloned();
                oldest.is_some_and(|it| it.parents.first().is_some_and(|it| it == lower))
            }
            None => true,
        };
        if follows_lower {
            return Ok(line);
        }
        // The history of `lower` holds the first commits of the line, up to one.
        let (mut from, mut to) = (0, line.len());
        while from < to {
            let middle = (from + to) / 2;
            let Some(hash) = line.get(middle) else { break };
            match self.is_ancestor(hash, lower).await? {
                Some(true) => from = middle + 1,
                _ => to = middle,
            }
        }
        Ok(line.split_off(from))
    }

    /// The first request of a range, as text for `--dry-run`.
    pub(super) fn rendered_range(&self, lower: &str, higher: &str) -> String {
        self.client.rendered(&self.get(&log_path(lower, higher)))
    }

    /// Returns whether a commit is another one, or part of its history; `None` when one of them is
    /// unknown.
    pub(super) async fn is_ancestor(
        &self,
        ancestor: &str,
        descendant: &str,
    ) -> Result<Option<bool>, ServiceError> {
        self.kept(&["ancestor", ancestor, descendant], async {
            let [ancestor, descendant] = [ancestor, descendant].map(encoded);
            let path = format!("+log/{descendant}..{ancestor}?format=JSON&n=1");
            let log: Option<Log> = self.json(&path).await?;
            Ok(log.map(|log| log.log.is_empty()))
        })
        .await
    }

    /// A file of a commit, named by its full hash; `None` when it does not exist.
    pub(super) async fn file(
        &self,
        commit: &str,
        path: &str,
    ) -> Result<Option<Vec<u8>>, ServiceError> {
        let address = format!("+show/{}/{}?format=TEXT", encoded(commit), encoded(path));
        let decoded = |text: &str| {
            let bytes = BASE64_STANDARD.decode(text.trim());
            bytes.map_err(|_| self.unreadable("a file is not in Base64".into()))
        };
        // Only decodable answers are kept.
        let read = |answer: HttpResponse| {
            let answer = self.client.successful(answer)?;
            // Of a folder or a link, the text is not a file's.
            let header = answer.headers.get("x-gitiles-path-mode");
            let mode = header.and_then(|mode| mode.to_str().ok());
            if mode.is_some_and(|mode| !mode.trim_start_matches('0').starts_with("100")) {
                return Ok(None);
            }
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            decoded(&text).map(|_| Some(text))
        };
        let text: Option<String> = self
            .kept(&["file", commit, path], async {
                match self.client.call(&self.get(&address), read).await {
                    Err(error) if error.is_not_found() => Ok(None),
                    other => other,
                }
            })
            .await?;
        text.map(|text| decoded(&text)).transpose()
    }

    /// The folder of a commit at a path that ends with a slash, whose tree has this hash.
    pub(super) async fn tree(
        &self,
        commit: &str,
        path: &str,
        tree: &str,
    ) -> Result<Option<Tree>, ServiceError> {
        self.kept(&["tree", tree], async {
            let path = format!("+show/{}/{}?format=JSON", encoded(commit), encoded(path));
            self.json(&path).await
        })
        .await
    }

    /// The kept answer to a question about full hashes, or else a new one, which is then kept. A
    /// missing object is not kept: it may arrive later.
    async fn kept<T: DeserializeOwned + Serialize>(
        &self,
        question: &[&str],
        ask: impl Future<Output = Result<Option<T>, ServiceError>>,
    ) -> Result<Option<T>, ServiceError> {
        let question = [&[&*self.name], question].concat();
        if let Some(kept) = self.cache.get(&question) {
            return Ok(Some(kept));
        }
        let answer = ask.await?;
        if let Some(answer) = &answer {
            self.cache.put(&question, answer);
        }
        Ok(answer)
    }

    /// An answer in JSON; `None` when the object does not exist.
    async fn json<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, ServiceError> {
        let read = |answer: HttpResponse| {
            let answer = self.client.successful(answer)?;
            answers::read(&answer.body).map_err(|reason| self.unreadable(reason))
        };
        match self.client.call(&self.get(path), read).await {
            Err(error) if error.is_not_found() => Ok(None),
            other => other.map(Some),
        }
    }

    fn get(&self, path: &str) -> HttpRequest {
        let signed_in = match self.client.is_signed_in() {
            true => "/a",
            false => "",
        };
        HttpRequest::get(format!("{signed_in}/{}/{path}", self.url.project))
    }

    fn unreadable(&self, reason: String) -> ServiceError {
        ServiceError::Unreadable {
            service: self.client.service(),
            reason,
        }
    }
}

/// The question for the commits of a range.
fn log_path(lower: &str, higher: &str) -> String {
    let [lower, higher] = [lower, higher].map(encoded);
    format!("+log/{lower}..{higher}?format=JSON&n={PAGE}&first-parent=1")
}

/// A part of a path, percent-encoded except for slashes.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}
