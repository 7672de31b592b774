//! `pinpoint midpoint`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

use super::values::repository;

/// List the commits between two commits, through merges and dependency rolls.
///
/// The commits of the branch come first. Between two neighbors on it lie the commits of a merged
/// branch, and then those of the dependencies that DEPS, .gitmodules, Cargo.lock or go.mod rolled,
/// one dependency after the other; the commits of a dependency are expanded in the same way.
///
/// Exits with 3 when nothing lies between them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint midpoint v1.2 main
  pinpoint midpoint HEAD~1 HEAD --all
  pinpoint midpoint 'HEAD~1,third_party/skia@4c5b6a7' HEAD \\
      --repository https://skia.googlesource.com/skia=../skia")]
pub(crate) struct Midpoint {
    /// The repository, or any directory inside it.
    #[arg(short = 'C', long, value_name = "DIR", default_value = ".")]
    pub(crate) repo: PathBuf,
    /// A local clone of a dependency, by its URL; may be repeated. Submodules that are
    /// checked out are found without it.
    #[arg(long, value_name = "URL=DIR", value_parser = repository)]
    pub(crate) repository: Vec<(String, PathBuf)>,
    /// List all commits between the two, not only the one in the middle.
    #[arg(long)]
    pub(crate) all: bool,
    /// The older commit. Dependencies at other revisions follow after commas, each by
    /// its path or URL: COMMIT,DEPENDENCY@REVISION
    pub(crate) lower: StateArgument,
    /// The newer commit, in the same form.
    pub(crate) higher: StateArgument,
}

/// A commit, and dependencies at other revisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StateArgument {
    pub(crate) main: String,
    pub(crate) held: Vec<(String, String)>,
}

impl FromStr for StateArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',');
        let main = parts.next().unwrap_or_default().to_owned();
        // A URL may have an @, a revision may not.
        let held = parts
            .map(|part| match part.rsplit_once('@') {
                Some((dependency, revision)) if !dependency.is_empty() && !revision.is_empty() => {
                    Ok((dependency.to_owned(), revision.to_owned()))
                }
                _ => Err(format!("{part:?} is not DEPENDENCY@REVISION")),
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { main, held })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_a_commit_with_dependencies_after_commas() {
        let parsed: StateArgument = "HEAD~1,skia@4c5b,git@host:v8.git@refs/tags/1"
            .parse()
            .expect("well-formed");
        assert_eq!(parsed.main, "HEAD~1");
        let held = |name: &str, revision: &str| (name.to_owned(), revision.to_owned());
        assert_eq!(
            parsed.held,
            [held("skia", "4c5b"), held("git@host:v8.git", "refs/tags/1")]
        );
        for wrong in ["HEAD,skia", "HEAD,skia@", "HEAD,@1", "HEAD,"] {
            assert!(wrong.parse::<StateArgument>().is_err(), "{wrong}");
        }
    }
}
