//! Commit positions of Chromium: `refs/heads/main@{#1234}`.
//!
//! [crrev] finds the commit for a number, and for a hash its project. The reverse is the footer
//! that each commit has: [`CommitPosition::of`].
//!
//! [crrev]: https://chromium.googlesource.com/infra/infra/+/HEAD/appengine/cr-rev/

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::Deserialize;

use crate::google::{
    AddressError, Backoff, Client, HttpRequest, ServiceError, TokenSource, Tokens, Transport,
};

/// The address of the service.
pub const ADDRESS: &str = "https://cr-rev.appspot.com";

/// The footer of a commit that has a number.
const FOOTER: &str = "Cr-Commit-Position:";

/// The number of a commit on its branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitPosition {
    /// The whole name of the branch: `refs/heads/main`.
    pub branch: String,
    /// From 1 on, along the branch.
    pub number: u64,
}

impl CommitPosition {
    /// The branch whose commits crrev knows by number.
    pub const MAIN: &str = "refs/heads/main";

    /// The position in the last footer of a commit's message: a cherry-pick may quote the footers
    /// of its original.
    ///
    /// ```
    /// use pinpoint_luci::crrev::CommitPosition;
    ///
    /// let message = "Sort faster\n\nCr-Commit-Position: refs/heads/main@{#1234}";
    /// assert_eq!(CommitPosition::of(message).unwrap().number, 1234);
    /// ```
    pub fn of(message: &str) -> Option<Self> {
        let footer = message
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix(FOOTER));
        let footer = footer?.trim();
        // A number alone is not such a footer.
        footer.contains('@').then(|| footer.parse().ok())?
    }
}

/// A text that is not a commit position.
#[derive(Debug, thiserror::Error)]
#[error("a commit position is a number, or written refs/heads/main@{{#NUMBER}}")]
pub struct NoCommitPosition;

impl FromStr for CommitPosition {
    type Err = NoCommitPosition;

    /// `refs/heads/main@{#1234}`, `main@{#1234}`, or the number alone: of at most 9 digits, so
    /// that no hash reads as one by chance.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (branch, number) = match text.split_once("@{#") {
            Some((branch, rest)) => (branch, rest.strip_suffix('}').ok_or(NoCommitPosition)?),
            None => ("main", text),
        };
        let is_number =
            (1..=9).contains(&number.len()) && number.bytes().all(|it| it.is_ascii_digit());
        let number = number.parse().ok().filter(|_| is_number);
        let branch = branch.strip_prefix("refs/heads/").unwrap_or(branch);
        match number {
            Some(number) if !branch.is_empty() => Ok(Self {
                branch: format!("refs/heads/{branch}"),
                number,
            }),
            _ => Err(NoCommitPosition),
        }
    }
}

impl fmt::Display for CommitPosition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}@{{#{}}}", self.branch, self.number)
    }
}

/// The commit that a number or a hash means.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ResolvedCommit {
    /// The full hash.
    pub git_sha: String,
    /// The host without its domain: `chromium`.
    #[serde(default)]
    pub project: String,
    /// The project there: `chromium/src`.
    #[serde(default)]
    pub repo: String,
}

impl ResolvedCommit {
    /// Returns whether it is a commit of this project, such as `chromium/src`.
    pub fn is_of(&self, project: &str) -> bool {
        self.repo == project
    }

    /// Its location, for messages.
    pub fn place(&self) -> String {
        format!("{}/{}", self.project, self.repo)
    }
}

/// The client of crrev.
pub struct Crrev(Client);

impl Crrev {
    /// A client of the service at this address; it asks without a token.
    ///
    /// # Errors
    ///
    /// When the address is invalid.
    pub fn new(address: &str, transport: Arc<dyn Transport>) -> Result<Self, AddressError> {
        let tokens = Tokens::new(TokenSource::None, &[], transport.clone());
        Ok(Self(Client::new("crrev", address, tokens, transport)?))
    }

    /// Sets the waits between tries.
    #[must_use]
    pub fn with_backoff(self, backoff: Backoff) -> Self {
        Self(self.0.with_backoff(backoff))
    }

    /// Sets the seed of the jitter, which is random by default.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self(self.0.with_seed(seed))
    }

    /// The commit for a number or a hash, if it exists.
    ///
    /// # Errors
    ///
    /// When crrev cannot be asked.
    pub async fn commit(
        &self,
        number_or_hash: &str,
    ) -> Result<Option<ResolvedCommit>, ServiceError> {
        let is_plain = number_or_hash
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric());
        if number_or_hash.is_empty() || !is_plain {
            return Ok(None);
        }
        let path = format!("/_ah/api/crrev/v1/redirect/{number_or_hash}");
        let read = |answer: crate::google::HttpResponse| {
            let answer = self.0.successful(answer)?;
            serde_json::from_slice(&answer.body).map_err(|error| ServiceError::Unreadable {
                service: self.0.service(),
                reason: error.to_string(),
            })
        };
        match self.0.call(&HttpRequest::get(path), read).await {
            Err(error) if error.is_not_found() => Ok(None),
            other => other.map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_read_and_written() {
        for (text, expected) in [
            ("1234", "refs/heads/main@{#1234}"),
            ("main@{#1234}", "refs/heads/main@{#1234}"),
            ("refs/heads/main@{#1234}", "refs/heads/main@{#1234}"),
            ("refs/heads/release/7@{#2}", "refs/heads/release/7@{#2}"),
        ] {
            assert_eq!(
                text.parse::<CommitPosition>().unwrap().to_string(),
                expected
            );
        }
        for text in [
            "",
            "main",
            "@{#1}",
            "main@{#}",
            "main@{#1",
            "main@{#-1}",
            "1234567890",
            "+1",
        ] {
            assert!(text.parse::<CommitPosition>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_last_footer_counts() {
        let message = "Pick\n\n> Cr-Commit-Position: refs/heads/main@{#3}\n\
                       Cr-Commit-Position: refs/heads/main@{#1}\n\
                       Cr-Commit-Position: refs/branch-heads/1@{#22}\nCr-Branched-From: x\n";
        let position = CommitPosition::of(message).unwrap();
        assert_eq!(position.number, 22);
        assert_eq!(CommitPosition::of("Cr-Commit-Position: 7"), None);
        assert_eq!(CommitPosition::of("no footer"), None);
    }
}
