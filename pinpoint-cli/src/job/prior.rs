//! `--prior`: the suspicion of each commit.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use pinpoint_backends::local::Repository;
use pinpoint_core::Strategy;
use pinpoint_core::suspicion::{self, FileKind, Touched};
use pinpoint_report::quantity::count;
use pinpoint_report::text::shortened;

use crate::arguments::{Display, PriorArgument};
use crate::error::CliError;
use crate::show::output::errln;
use crate::show::text::DIM;

/// The suspicion of the commits between two ends, before the first run.
#[derive(Debug, Default)]
pub(crate) struct Prior {
    /// Of each commit, the bad one last; absent if all are alike.
    pub(crate) weights: Option<Vec<f64>>,
    /// The commits by the files they touch, unless the weights come from elsewhere.
    changes: Vec<Touched>,
    /// The reason why the touched files are unknown.
    pub(crate) unknown: Option<String>,
}

/// Commits that are suspected for the same reason.
#[derive(Debug, PartialEq)]
pub(crate) struct Group {
    /// The most suspicious kind of file that each of them touches.
    pub(crate) touches: &'static str,
    pub(crate) commits: u64,
    /// The least and the largest.
    pub(crate) weights: [f64; 2],
}

impl Prior {
    pub(crate) fn new(
        argument: &PriorArgument,
        strategy: Strategy,
        repository: &Repository,
        ends: (&str, &str),
        paths: &[String],
    ) -> Result<Self, CliError> {
        match argument {
            PriorArgument::File(file) => Ok(Self {
                weights: read(file, repository, ends, paths)?,
                ..Self::default()
            }),
            PriorArgument::Changes if strategy == Strategy::Adaptive => {
                Ok(match repository.touched_between(ends.0, ends.1, paths) {
                    Ok(Some(changes)) => Self::of_changes(changes),
                    Ok(None) => Self::unknown("the commits change too many files".into()),
                    Err(error) => Self::unknown(error.to_string()),
                })
            }
            PriorArgument::Changes | PriorArgument::None => Ok(Self::default()),
        }
    }

    pub(crate) fn of_changes(changes: Vec<Touched>) -> Self {
        Self {
            weights: suspicion::priors(&changes),
            changes,
            unknown: None,
        }
    }

    pub(crate) fn unknown(reason: String) -> Self {
        Self {
            unknown: Some(reason),
            ..Self::default()
        }
    }

    /// The commits by the files they touch, the most suspicious first; none if all are alike.
    pub(crate) fn groups(&self) -> Vec<Group> {
        if self.weights.is_none() {
            return Vec::new();
        }
        let mut groups: BTreeMap<u8, Group> = BTreeMap::new();
        for touched in &self.changes {
            let (place, touches) = match touched.kind() {
                Some(FileKind::Build) => (0, "manifests, lock files or the build"),
                Some(FileKind::Code) => (1, "code"),
                Some(FileKind::Test) => (2, "only tests, examples, documents or CI"),
                Some(_) => (3, "only documents or CI"),
                None => (4, "nothing"),
            };
            let weight = touched.weight();
            let group = groups.entry(place).or_insert(Group {
                touches,
                commits: 0,
                weights: [weight; 2],
            });
            group.commits += 1;
            group.weights = [group.weights[0].min(weight), group.weights[1].max(weight)];
        }
        groups.into_values().collect()
    }

    /// Names the commits that are suspected less than code, and the reason; absent if all are
    /// alike.
    fn summary(&self) -> Option<String> {
        if let Some(reason) = &self.unknown {
            return Some(format!("all commits are equally suspected: {reason}"));
        }
        let less: Vec<Group> = (self.groups().into_iter())
            .filter(|group| group.weights[1] < 1.0)
            .collect();
        let commits: u64 = less.iter().map(|group| group.commits).sum();
        (commits > 0).then(|| {
            format!(
                "{commits} of {} touch no code, or only tests, and are suspected less \
                 (--prior none: all alike)",
                count(self.changes.len() as u64, "commit")
            )
        })
    }

    /// Prints the less suspected commits on standard error.
    pub(crate) fn say(&self, display: &Display) {
        if let Some(summary) = self.summary().filter(|_| !display.quiet) {
            errln!("{DIM}{summary}{DIM:#}");
        }
    }
}

/// The weight of a commit that the file does not name.
const UNNAMED: f64 = 1.0;

/// The weights of the commits between two ends, the bad one last.
///
/// The file names a commit and its weight on each line, with a blank between:
/// `HEAD~3 10`. Empty lines and those that begin with `#` are ignored.
fn read(
    path: &Path,
    repository: &Repository,
    (good, bad): (&str, &str),
    paths: &[String],
) -> Result<Option<Vec<f64>>, CliError> {
    let text = fs::read_to_string(path).map_err(|error| {
        CliError::Input(format!(
            "--prior: can't read {:?}: {error}; name a file, or say `changes` or `none`",
            path.display().to_string()
        ))
    })?;
    let commits = repository.steps_between(good, bad, paths)?;
    let offsets: HashMap<&str, usize> = commits
        .iter()
        .enumerate()
        .map(|(offset, hash)| (hash.as_str(), offset))
        .collect();
    let mut named = BTreeMap::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |what: String| {
            CliError::Input(format!(
                "--prior: {}, line {number}: {what}",
                path.display()
            ))
        };
        let Some((revision, weight)) = line.rsplit_once(char::is_whitespace) else {
            return Err(wrong(format!(
                "{:?} is not COMMIT WEIGHT",
                shortened(line, 100)
            )));
        };
        let weight: f64 = weight
            .parse()
            .ok()
            .filter(|weight: &f64| weight.is_finite() && *weight >= 0.0)
            .ok_or_else(|| {
                wrong(format!(
                    "the weight {:?} is not a number of 0 or more",
                    shortened(weight, 100)
                ))
            })?;
        let commit = (repository.resolve_revision(revision.trim()))
            .map_err(|error| wrong(error.to_string()))?;
        let offset = offsets.get(commit.git_hash.as_str()).ok_or_else(|| {
            wrong(format!(
                "{revision} is not one of the {} commits after the good end up to the bad one",
                commits.len()
            ))
        })?;
        if let Some((first, _)) = named.insert(*offset, (number, weight)) {
            return Err(wrong(format!("{revision} was named in line {first}")));
        }
    }
    let weight = |offset| named.get(&offset).map_or(UNNAMED, |(_, weight)| *weight);
    let weights: Vec<f64> = (0..commits.len()).map(weight).collect();
    let sum: f64 = weights.iter().sum();
    if sum == 0.0 || sum.is_infinite() {
        let wrong = match sum {
            0.0 => "leaves no commit that may be the culprit",
            _ => "has weights that are too large to be added up",
        };
        return Err(CliError::Input(format!(
            "--prior: {} {wrong}",
            path.display()
        )));
    }
    // Without a commit between the ends there is nothing to weigh.
    Ok((commits.len() > 1).then_some(weights))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touched(kinds: &[FileKind]) -> Touched {
        kinds.iter().copied().collect()
    }

    #[test]
    fn commits_are_grouped_by_the_most_suspicious_of_what_they_touch() {
        use FileKind::{Build, Code, Document, Housekeeping, Test};
        let prior = Prior::of_changes(vec![
            touched(&[Code]),
            touched(&[Document]),
            touched(&[Code; 4]),
            touched(&[Housekeeping, Document]),
            touched(&[Test, Document]),
            touched(&[Build]),
            touched(&[]),
        ]);
        let group = |touches, commits, weights| Group {
            touches,
            commits,
            weights,
        };
        assert_eq!(
            prior.groups(),
            [
                group("manifests, lock files or the build", 1, [2.0, 2.0]),
                group("code", 2, [1.0, 2.0]),
                group("only tests, examples, documents or CI", 1, [0.2, 0.2]),
                group("only documents or CI", 2, [0.1, 0.1]),
                group("nothing", 1, [0.1, 0.1]),
            ]
        );
        assert_eq!(
            prior.summary().as_deref(),
            Some(
                "4 of 7 commits touch no code, or only tests, and are suspected less \
                 (--prior none: all alike)"
            )
        );
    }

    #[test]
    fn nothing_is_said_of_commits_that_are_alike() {
        let alike = Prior::of_changes(vec![touched(&[FileKind::Document]); 3]);
        assert!(alike.weights.is_none() && alike.groups().is_empty());
        assert_eq!(alike.summary(), None);
        let code = Prior::of_changes(vec![
            touched(&[FileKind::Code; 4]),
            touched(&[FileKind::Code]),
        ]);
        assert_eq!(code.weights, Some(vec![2.0, 1.0]));
        assert_eq!(code.summary(), None);
        let unknown = Prior::unknown("because".into());
        assert!(unknown.summary().unwrap().ends_with(": because"));
    }
}
