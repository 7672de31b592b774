//! The commits of a range, as git lists them.
//!
//! They are those of the line of history from the lower end to the higher one, as
//! [`pinpoint_midpoint`] defines it: first parents, except where only another parent has the
//! lower end in its history.

use std::collections::HashMap;

use crate::git::repository::Repository;
use crate::git::repository_error::RepositoryError;

impl Repository {
    /// The number of commits strictly between two, named by full hashes; with
    /// `paths`, as [`paths_between`](Self::paths_between) gives them, only those
    /// that touch one of them.
    ///
    /// # Errors
    ///
    /// As [`steps_between`](Self::steps_between).
    pub fn count_between(
        &self,
        good: &str,
        bad: &str,
        paths: &[String],
    ) -> Result<u64, RepositoryError> {
        Ok(self.steps_between(good, bad, paths)?.len() as u64 - 1)
    }

    /// The commit of each step from one end to the other, in order: the one that it adds, so
    /// that the bad end is the last. Where the histories of the ends parted, the steps back
    /// from the good end come first, each by the commit that it takes back. With `paths`, only
    /// commits that touch one of them, and the bad end.
    ///
    /// # Errors
    ///
    /// [`RepositoryError::Git`] when an end does not exist, [`RepositoryError::Parted`] when
    /// the ends parted at several commits, and [`RepositoryError::NoCommonHistory`].
    pub fn steps_between(
        &self,
        good: &str,
        bad: &str,
        paths: &[String],
    ) -> Result<Vec<String>, RepositoryError> {
        let merge_bases = self.range_check(good, bad)?;
        let mut steps = Vec::new();
        let from = match &merge_bases[..] {
            [] => good,
            [base] => {
                steps.push(good.to_owned());
                let back = self.range(base, good, &[])?;
                let newest_first = (0..back.count()).rev();
                steps.extend(
                    newest_first
                        .filter_map(|place| back.get(place))
                        .map(str::to_owned),
                );
                base
            }
            _ => {
                return Err(RepositoryError::Parted {
                    good: good.into(),
                    bad: bad.into(),
                    merge_bases,
                    what: "the commits between them can't be listed beforehand",
                });
            }
        };
        let forth = self.range(from, bad, paths)?;
        steps.extend(
            (0..forth.count())
                .filter_map(|place| forth.get(place))
                .map(str::to_owned),
        );
        steps.push(bad.to_owned());
        Ok(steps)
    }

    /// Rejects paths where the histories of the ends parted: a commit that takes back another is a
    /// state that touches the other's files, and not its own.
    pub(crate) fn check_paths(
        &self,
        good: &str,
        bad: &str,
        paths: &[String],
    ) -> Result<(), RepositoryError> {
        if paths.is_empty() {
            return Ok(());
        }
        let merge_bases = self.range_check(good, bad)?;
        if merge_bases.is_empty() {
            return Ok(());
        }
        Err(RepositoryError::Parted {
            good: good.into(),
            bad: bad.into(),
            merge_bases,
            what: "the range can't be narrowed to paths; leave them out, or name that commit as the good one if it is good",
        })
    }

    /// The commits strictly between two, oldest first: of the line from the lower to the
    /// higher. With `paths`, only those that touch one of them, and the merges that brought
    /// the lower end in from another line.
    ///
    /// # Errors
    ///
    /// [`RepositoryError::Git`] when an end does not exist.
    pub(crate) fn range(
        &self,
        lower: &str,
        higher: &str,
        paths: &[String],
    ) -> Result<Hashes, RepositoryError> {
        let mut hashes = match self.pieces(lower, higher)? {
            None => self.first_parents(lower, higher, paths, false)?,
            Some(pieces) => self.listed(lower, &pieces, paths)?,
        };
        // The higher end, if it is listed, comes last.
        if let Some(before) = hashes.strip_suffix(&format!("{higher}\n")) {
            hashes.truncate(before.len());
        }
        Ok(Hashes(hashes))
    }

    /// The merges on the line between two commits that brought in the line's past: before each is a
    /// parent other than the first.
    pub(crate) fn joints(&self, lower: &str, higher: &str) -> Result<Vec<String>, RepositoryError> {
        let pieces = self.pieces(lower, higher)?.unwrap_or_default();
        let firsts = pieces.into_iter().map(|(first, _)| first);
        Ok(firsts.filter(|first| first != lower).collect())
    }

    /// The line between two commits in pieces of first parents, newest first: the commit that each
    /// begins after, or begins with if that is a joint, and its last one. Empty where it is one
    /// piece.
    fn pieces(
        &self,
        lower: &str,
        higher: &str,
    ) -> Result<Option<Vec<(String, String)>>, RepositoryError> {
        let line = self.first_parents(lower, higher, &[], true)?;
        let oldest = line.lines().next().unwrap_or_default();
        if oldest.is_empty() || oldest.split(' ').nth(1) == Some(lower) {
            return Ok(None);
        }
        let excluded = format!("^{lower}");
        let arguments = [
            "rev-list",
            "--ancestry-path",
            "--parents",
            higher,
            &excluded,
            "--",
        ];
        let answer = self.ask(&arguments)?;
        let commits: HashMap<&str, Vec<&str>> = { answer.lines() }
            .filter_map(|line| {
                let (commit, parents) = line.split_once(' ')?;
                Some((commit, parents.split(' ').collect()))
            })
            .collect();
        let mut pieces = Vec::new();
        let mut add = |first: &str, last: &str| pieces.push((first.to_owned(), last.to_owned()));
        let (mut commit, mut last) = (higher, higher);
        while let Some((place, parent)) = commits.get(commit).and_then(|parents| {
            let mut parents = parents.iter().copied().enumerate();
            parents.find(|(_, parent)| *parent == lower || commits.contains_key(parent))
        }) {
            if place > 0 {
                add(commit, last);
                last = parent;
            }
            if parent == lower {
                if place == 0 {
                    add(lower, last);
                }
                break;
            }
            commit = parent;
        }
        Ok(Some(pieces))
    }

    /// The commits of pieces of a line, oldest first.
    fn listed(
        &self,
        lower: &str,
        pieces: &[(String, String)],
        paths: &[String],
    ) -> Result<String, RepositoryError> {
        let mut hashes = String::new();
        for (first, last) in pieces.iter().rev() {
            if first != lower {
                hashes.push_str(first);
                hashes.push('\n');
            }
            if first != last {
                hashes.push_str(&self.first_parents(first, last, paths, false)?);
            }
        }
        Ok(hashes)
    }

    /// The commits of a line of first parents that another commit's history does not hold, oldest
    /// first; with their parents, if requested.
    fn first_parents(
        &self,
        lower: &str,
        higher: &str,
        paths: &[String],
        parents: bool,
    ) -> Result<String, RepositoryError> {
        let excluded = format!("^{lower}");
        let mut arguments = vec!["rev-list", "--first-parent", "--reverse"];
        arguments.extend(parents.then_some("--parents"));
        arguments.extend([higher, &excluded, "--"]);
        arguments.extend(paths.iter().map(String::as_str));
        self.ask(&arguments)
    }
}

/// Full hashes, one to a line: 41 bytes a commit, however long the range.
#[derive(Debug)]
pub(crate) struct Hashes(pub(crate) String);

impl Hashes {
    fn line(&self) -> usize {
        self.0.find('\n').map_or(1, |end| end + 1)
    }

    pub(crate) fn count(&self) -> u64 {
        (self.0.len() / self.line()) as u64
    }

    pub(crate) fn get(&self, offset: u64) -> Option<&str> {
        let start = usize::try_from(offset).ok()?.checked_mul(self.line())?;
        self.0.get(start..)?.lines().next()
    }
}
