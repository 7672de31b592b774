//! Commits by the names that people and programs give them, in mirrors of this machine.

use std::fmt;
use std::str::FromStr;

use pinpoint_midpoint::{History, HistoryError, MidpointError};

use crate::blocking::blocking;
use crate::error::LocalError;
use crate::git::history::LocalHistory;
use crate::git::mirror_error::MirrorError;
use crate::git::mirrors::{LocatedRepository, Mirrors};
use crate::git::repository::Repository;
use crate::git::repository_error::RepositoryError;

/// The most bytes of a message that are kept.
const MOST_MESSAGE_BYTES: usize = 64 << 10;

/// The longest name of a branch.
const LONGEST_BRANCH: usize = 255;

/// The fewest digits of an abbreviated hash, as git abbreviates.
const FEWEST_DIGITS: usize = 7;

/// The name of a commit. Nothing else is looked up: git would accept much more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitName {
    /// `HEAD`: the newest commit of the default branch.
    Head,
    /// A hash, or the beginning of one.
    Hash(String),
    /// At least 7 decimal digits alone: a position on the branch `main`, or where no commit has
    /// it, the beginning of a hash. One hash in 27 begins so.
    Digits(String),
    /// A commit's position on a branch, from its own footer `Cr-Commit-Position:
    /// refs/heads/main@{#1234}`: written so, or `main@{#1234}`, or `1234` for the branch `main`,
    /// with fewer digits than the beginning of a hash.
    Position {
        /// The branch, without `refs/heads/`.
        branch: String,
        /// The number.
        number: u64,
    },
    /// A branch or a tag: `v1.2`, `release/1.x`, or with all of its name, `refs/tags/v1.2`.
    Ref(String),
}

/// A text is not the name of a commit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "it does not name a commit; give a hash of at least {FEWEST_DIGITS} digits, a position such as 1234 or refs/heads/main@{{#1234}}, a branch, a tag, or HEAD"
)]
pub struct NoCommitName;

impl CommitName {
    /// Checks whether it is a full hash.
    pub fn is_full_hash(&self) -> bool {
        matches!(self, Self::Hash(hash) if matches!(hash.len(), 40 | 64))
    }

    fn on_main(number: u64) -> Self {
        let branch = "main".to_owned();
        Self::Position { branch, number }
    }

    /// The revisions to try, in this order, until one names a commit.
    fn revisions(&self) -> Vec<String> {
        match self {
            Self::Digits(digits) => {
                let position = digits.parse().map(Self::on_main);
                let position = position.iter().map(Self::to_string);
                position.chain([digits.clone()]).collect()
            }
            Self::Ref(name) if name.starts_with("refs/") => vec![name.clone()],
            Self::Ref(name) => vec![format!("refs/heads/{name}"), format!("refs/tags/{name}")],
            _ => vec![self.to_string()],
        }
    }
}

impl FromStr for CommitName {
    type Err = NoCommitName;

    fn from_str(text: &str) -> Result<Self, NoCommitName> {
        if text == "HEAD" {
            return Ok(Self::Head);
        }
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if let Some((branch, number)) = text
            .strip_suffix('}')
            .and_then(|text| text.split_once("@{#"))
        {
            let branch = branch.strip_prefix("refs/heads/").unwrap_or(branch);
            return match number.parse() {
                Ok(place) if is_ref(branch) && is_number(number) => Ok(Self::Position {
                    branch: branch.to_owned(),
                    number: place,
                }),
                _ => Err(NoCommitName),
            };
        }
        if is_number(text)
            && let Ok(number) = text.parse::<u64>()
        {
            if text.len() < FEWEST_DIGITS {
                return Ok(Self::on_main(number));
            }
            // No position begins with a zero.
            if !text.starts_with('0') {
                return Ok(Self::Digits(text.to_owned()));
            }
        }
        let is_hash = (FEWEST_DIGITS..=64).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match is_hash {
            true => Ok(Self::Hash(text.to_ascii_lowercase())),
            false if is_ref(text) => Ok(Self::Ref(text.to_owned())),
            false => Err(NoCommitName),
        }
    }
}

/// Checks whether it may be the name of a branch or a tag: other characters have meanings to git.
fn is_ref(name: &str) -> bool {
    let is_fit = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
    (1..=LONGEST_BRANCH).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.chars().all(is_fit)
        && !name.contains("..")
}

impl fmt::Display for CommitName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Head => formatter.write_str("HEAD"),
            Self::Hash(text) | Self::Digits(text) | Self::Ref(text) => formatter.write_str(text),
            Self::Position { branch, number } => write!(formatter, "{branch}@{{#{number}}}"),
        }
    }
}

/// A repository's description of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitDetails {
    /// The full hash.
    pub git_hash: String,
    /// The author, as `NAME <ADDRESS>`.
    pub author: String,
    /// The time of the commit, in RFC 3339.
    pub created: String,
    /// The first line of the message.
    pub subject: String,
    /// The message; its first 64 KiB where it is longer.
    pub message: String,
}

impl CommitDetails {
    /// The value of the last footer of this name: a line `NAME: VALUE`.
    pub fn footer(&self, name: &str) -> Option<&str> {
        self.message.lines().rev().find_map(|line| {
            let value = line.strip_prefix(name)?.strip_prefix(':')?;
            Some(value.trim())
        })
    }

    /// The branch and the number of its position, where it has one.
    pub fn position(&self) -> Option<(&str, u64)> {
        let (branch, number) = self.footer("Cr-Commit-Position")?.split_once("@{#")?;
        Some((branch, number.strip_suffix('}')?.parse().ok()?))
    }
}

impl Mirrors {
    /// Brings the mirror of a URL up to date; creates it if missing. A given clone stays unchanged.
    ///
    /// # Errors
    ///
    /// [`LocalError::Mirror`].
    pub async fn update(&self, url: &str) -> Result<(), LocalError> {
        match self.repository_during(url, None).await?.mirror {
            Some(mirror) => mirror.update().await,
            None => Ok(()),
        }
    }

    /// The commit of this name, in the mirror of a URL, without fetching.
    ///
    /// # Errors
    ///
    /// [`LocalError::Mirror`] where the URL may not be fetched, and when the mirror can't be read.
    pub async fn find(
        &self,
        url: &str,
        name: &CommitName,
    ) -> Result<Option<CommitDetails>, LocalError> {
        let Some(located) = self.repository_here(url).await? else {
            return Ok(None);
        };
        let history = self.history(&located.repository).await?;
        for revision in name.revisions() {
            let hash = match history.resolve(&revision).await {
                Ok(hash) => hash,
                Err(HistoryError::UnknownRevision { .. }) => continue,
                Err(error) => return Err(MidpointError::from(error).into()),
            };
            let repository = located.repository.clone();
            let found = blocking(located, move || Ok(repository.details(&hash)?));
            return found.await.map(Some);
        }
        Ok(None)
    }

    /// Checks whether the repository of a URL has the commit of this full hash. If the mirror lacks
    /// it, it is fetched, even if it is on no branch.
    ///
    /// # Errors
    ///
    /// [`LocalError::Mirror`].
    pub async fn has_commit(&self, url: &str, hash: &str) -> Result<bool, LocalError> {
        let LocatedRepository { repository, mirror } = self.repository_during(url, None).await?;
        let Some(mirror) = mirror else {
            let hash = hash.to_owned();
            let found = blocking((), move || match repository.full_hash(&hash) {
                Ok(_) => Ok(true),
                Err(RepositoryError::UnknownRevision { .. }) => Ok(false),
                Err(error) => Err(error.into()),
            });
            return found.await;
        };
        match mirror.bring(hash, None).await {
            Ok(()) => Ok(true),
            Err(LocalError::Mirror(MirrorError::NoCommit { .. })) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The number of commits strictly between two, named by full hashes, in the mirror of a URL,
    /// without fetching; absent where it lacks one of them.
    ///
    /// # Errors
    ///
    /// [`LocalError::Mirror`] where the URL may not be fetched, and when the mirror can't be read.
    pub async fn count_between(
        &self,
        url: &str,
        good: &str,
        bad: &str,
    ) -> Result<Option<u64>, LocalError> {
        let Some(located) = self.repository_here(url).await? else {
            return Ok(None);
        };
        let history = self.history(&located.repository).await?;
        for end in [good, bad] {
            match history.resolve(end).await {
                Ok(_) => {}
                Err(HistoryError::UnknownRevision { .. }) => return Ok(None),
                Err(error) => return Err(MidpointError::from(error).into()),
            }
        }
        let counted = history.count(good, bad).await;
        // It counts the newer end, too.
        counted
            .map(|commits| Some(commits.saturating_sub(1)))
            .map_err(|error| MidpointError::from(error).into())
    }

    async fn history(&self, repository: &Repository) -> Result<LocalHistory, LocalError> {
        let (repository, state_dir) = (repository.clone(), self.state_dir().to_owned());
        let history = blocking((), move || {
            LocalHistory::open(&repository, &state_dir)
                .map_err(|error| MidpointError::from(error).into())
        });
        history.await
    }
}

impl Repository {
    /// Describes a commit, by its full hash.
    fn details(&self, hash: &str) -> Result<CommitDetails, RepositoryError> {
        let answer = self.ask(&[
            "log",
            "--max-count=1",
            "--no-show-signature",
            "--no-mailmap",
            "--encoding=UTF-8",
            "--format=%H%x00%an <%ae>%x00%cI%x00%s%x00%B",
            "--end-of-options",
            hash,
            "--",
        ])?;
        let mut fields = answer.splitn(5, '\0').map(str::to_owned);
        let mut next = || fields.next().unwrap_or_default();
        let [git_hash, author, created, subject, message] =
            [next(), next(), next(), next(), next()];
        let mut end = message.len().min(MOST_MESSAGE_BYTES);
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        Ok(CommitDetails {
            git_hash,
            author,
            created,
            subject,
            message: message[..end].trim_end().to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_hashes_positions_refs_and_head() {
        let position = |branch: &str, number| CommitName::Position {
            branch: branch.into(),
            number,
        };
        let hash = "a1".repeat(20);
        for (text, expected, written) in [
            ("HEAD", CommitName::Head, "HEAD"),
            ("ABCDEF0", CommitName::Hash("abcdef0".into()), "abcdef0"),
            (&hash, CommitName::Hash(hash.clone()), &hash),
            ("123456", position("main", 123_456), "main@{#123456}"),
            ("1234567", CommitName::Digits("1234567".into()), "1234567"),
            ("0012345", CommitName::Hash("0012345".into()), "0012345"),
            ("main@{#7}", position("main", 7), "main@{#7}"),
            (
                "refs/heads/release/1.x@{#7}",
                position("release/1.x", 7),
                "release/1.x@{#7}",
            ),
            ("v1.2-rc1", CommitName::Ref("v1.2-rc1".into()), "v1.2-rc1"),
            (
                "refs/tags/v1",
                CommitName::Ref("refs/tags/v1".into()),
                "refs/tags/v1",
            ),
        ] {
            let name: CommitName = text.parse().unwrap();
            assert_eq!((&name, &*name.to_string()), (&expected, written));
        }
        let full: CommitName = hash.parse().unwrap();
        assert!(full.is_full_hash() && !CommitName::Head.is_full_hash());
        // In theory, a hash may be all decimal digits.
        for digit in ["0", "1"] {
            let full: CommitName = digit.repeat(40).parse().unwrap();
            assert!(full.is_full_hash());
        }
    }

    /// To git, some of these would be options, other revisions, or searches.
    #[test]
    fn what_is_no_name_is_refused() {
        for text in [
            "",
            "HEAD~1",
            "HEAD^{tree}",
            "main..next",
            "v1 2",
            ":/fix",
            "--output=x",
            "-1",
            "+7@{#+7}",
            "main@{#+7}",
            "main@{#}",
            "main@{#7}x",
            "main@{1.day.ago}",
            "-x@{#7}",
            "--output=x@{#7}",
            "a b@{#7}",
            "main^@{#7}",
            "@{#7}",
            "a..b@{",
        ] {
            assert!(text.parse::<CommitName>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_last_footer_counts() {
        let details = CommitDetails {
            git_hash: String::new(),
            author: String::new(),
            created: String::new(),
            subject: String::new(),
            message: "Change\n\nCr-Commit-Position: refs/heads/main@{#1}\n\n\
                      Change-Id: Iab\nCr-Commit-Position: refs/heads/main@{#22}"
                .into(),
        };
        assert_eq!(details.position(), Some(("refs/heads/main", 22)));
        assert_eq!(details.footer("Change-Id"), Some("Iab"));
        assert_eq!(details.footer("Change"), None);
    }
}
