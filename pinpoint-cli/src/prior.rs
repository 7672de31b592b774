//! `--prior`: which commits are suspected, and how much.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use pinpoint_backends::local::Repository;

use crate::error::CliError;
use crate::text::shortened;

/// The weight of a commit that the file does not name.
const UNNAMED: f64 = 1.0;

/// The weights of the commits between two ends, the bad one last.
///
/// The file names a commit and its weight on each line, with a blank between:
/// `HEAD~3 10`. Empty lines and those that begin with `#` are ignored. Without a
/// commit between the ends there is nothing to weigh.
pub(crate) fn read(
    path: &Path,
    repository: &Repository,
    (good, bad): (&str, &str),
    paths: &[String],
) -> Result<Option<Vec<f64>>, CliError> {
    let text = fs::read_to_string(path).map_err(|error| {
        CliError::Input(format!("--prior: can't read {}: {error}", path.display()))
    })?;
    let mut commits = repository.commits_between(good, bad, paths)?;
    if commits.is_empty() {
        return Ok(None);
    }
    commits.push(bad.to_owned());
    let offsets: HashMap<&str, usize> = commits
        .iter()
        .enumerate()
        .map(|(offset, hash)| (hash.as_str(), offset))
        .collect();
    let mut weights = vec![UNNAMED; commits.len()];
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
        weights[*offset] = weight;
    }
    if weights.iter().all(|weight| *weight == 0.0) {
        return Err(CliError::Input(format!(
            "--prior: {} leaves no commit that may be the culprit",
            path.display()
        )));
    }
    Ok(Some(weights))
}
