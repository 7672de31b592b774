//! Files that the command names and that are in the user's checkout, but not in the work tree of a
//! commit, or not in the same state.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::git::git_command;
use crate::run::command_words::words;

/// The longest word that is taken for a path.
const MAX_PATH_BYTES: usize = 1024;

/// The state of a file in a checkout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Untracked,
    Ignored,
    Changed,
    Committed,
}

/// The reason why a benchmark may not find a file that its user has, a sentence on the first that
/// the command names. `tree` is the work tree of the commit, `users` are the user's own.
pub(crate) fn missing(command: &[String], tree: &Path, users: &[PathBuf]) -> Option<String> {
    paths_in(command).iter().find_map(|word| {
        if tree.join(word).exists() {
            return None;
        }
        let checkout = users.iter().find(|users| users.join(word).is_file());
        if let Some(checkout) = checkout {
            let where_it_is = match state(checkout, word) {
                State::Untracked => "is in your checkout, but in no commit (it is not tracked)",
                State::Ignored => "is in your checkout, but in no commit (it is ignored)",
                State::Changed | State::Committed => {
                    "is in your checkout, but not in the commit that is run"
                }
            };
            let advice = match installing(word) {
                Some(install) => format!("have the build install it there, as by `{install}`"),
                None => "commit it, have the build make it, or name it by its absolute path, so \
                         that all commits use the same one"
                    .into(),
            };
            return Some(format!(
                "{word} {where_it_is}: commands run in a work tree of each commit, which holds \
                 what was committed; {advice}"
            ));
        }
        let beside = below(tree, word)?;
        Some(format!(
            "{word} is not at the top of the repository, where commands run; there is {}: name it \
             so",
            beside.display()
        ))
    })
}

/// The usual command that makes a folder of installed packages. One that all commits shared would
/// hold the packages of the user's checkout.
fn installing(file: &str) -> Option<String> {
    let parts: Vec<&str> = file.split('/').collect();
    match parts[..] {
        ["node_modules", ..] => Some("npm ci".into()),
        [folder, "bin", _] if folder.trim_start_matches('.').ends_with("env") => Some(format!(
            "python3 -m venv {folder} && {folder}/bin/pip install -e ."
        )),
        _ => None,
    }
}

/// The files that the command names and that have uncommitted changes in a checkout of the user.
pub(crate) fn changed(command: &[String], users: &[PathBuf]) -> Vec<PathBuf> {
    let is_changed = |word: &String| {
        let mut checkouts = users.iter();
        checkouts.any(|users| users.join(word).is_file() && state(users, word) == State::Changed)
    };
    paths_in(command)
        .into_iter()
        .filter(is_changed)
        .map(PathBuf::from)
        .collect()
}

/// The words of a command that may be paths relative to where it runs.
fn paths_in(command: &[String]) -> Vec<String> {
    let words = command.iter().enumerate().flat_map(|(place, part)| {
        // A name alone is a program that PATH finds.
        let is_path = move |word: &String| place > 0 || word.contains('/');
        words(part).into_iter().filter(is_path)
    });
    words
        .map(|word| word.strip_prefix("./").map(str::to_owned).unwrap_or(word))
        .filter(|word| {
            !word.is_empty()
                && word.len() <= MAX_PATH_BYTES
                && !word.starts_with(['-', '/'])
                && !word.split('/').any(|part| part == "." || part == "..")
                && word.contains(['.', '/'])
        })
        .collect()
}

fn state(checkout: &Path, file: &str) -> State {
    let mut command = git_command::git(checkout);
    command.args([
        "--literal-pathspecs",
        "status",
        "--porcelain",
        "-z",
        "--ignored",
        "--",
    ]);
    let Ok(output) = git_command::run(command.arg(file)) else {
        return State::Committed;
    };
    match output.stdout.get(..2) {
        Some(b"??") => State::Untracked,
        Some(b"!!") => State::Ignored,
        Some(_) => State::Changed,
        None => State::Committed,
    }
}

/// The only tracked file whose path has this ending.
fn below(tree: &Path, file: &str) -> Option<PathBuf> {
    let mut command = git_command::git(tree);
    command.args(["ls-files", "-z"]);
    let output = git_command::run(&mut command).ok()?;
    let mut found = { output.stdout.split(|byte| *byte == 0) }
        .map(|name| Path::new(OsStr::from_bytes(name)))
        .filter(|name| name.ends_with(file));
    let first = found.next()?.to_owned();
    found.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn words(command: &[&str]) -> Vec<String> {
        command.iter().map(|&word| word.into()).collect()
    }

    #[test]
    fn the_words_that_may_be_paths() {
        let command = words(&[
            "python3.11",
            "bench/run.py",
            "-v",
            "--size=3",
            "sh",
            "/a/b.c",
            "../x.py",
            ".",
            ".venv/bin/python",
        ]);
        assert_eq!(paths_in(&command), ["bench/run.py", ".venv/bin/python"]);
        let command = words(&["./bench.sh", "data.json"]);
        assert_eq!(paths_in(&command), ["bench.sh", "data.json"]);
        let command = words(&["sh", "-c", "python3 run.py >out.txt"]);
        let paths = paths_in(&command);
        for path in ["run.py", "out.txt"] {
            assert!(paths.iter().any(|it| it == path), "{paths:?}");
        }
    }

    #[test]
    fn what_is_only_in_the_checkout_is_told_with_its_state() {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().canonicalize().unwrap();
        let (tree, users) = (root.join("tree"), root.join("checkout"));
        let git = |directory: &Path, arguments: &[&str]| {
            let output = git_command::run(git_command::git(directory).args(arguments)).unwrap();
            assert!(output.status.success(), "{output:?}");
        };
        for directory in [&tree, &users] {
            fs::create_dir_all(directory.join("sub")).unwrap();
            git(directory, &["init", "-q"]);
            for name in ["committed.py", "sub/deep.py"] {
                fs::write(directory.join(name), "1").unwrap();
            }
            git(directory, &["add", "-A"]);
        }
        git(
            &users,
            &[
                "-c",
                "user.name=A",
                "-c",
                "user.email=a@example.org",
                "commit",
                "-qm",
                "1",
            ],
        );
        fs::write(users.join("new.py"), "1").unwrap();
        fs::write(users.join(".gitignore"), "*.tmp.py\n").unwrap();
        fs::write(users.join("a.tmp.py"), "1").unwrap();
        let users = [users];
        let about =
            |name: &str| missing(&words(&["python3", name]), &tree, &users).unwrap_or_default();
        assert!(
            about("new.py").contains("it is not tracked"),
            "{}",
            about("new.py")
        );
        assert!(about("a.tmp.py").contains("it is ignored"));
        for name in [".venv/bin/python", "node_modules/.bin/vitest"] {
            let file = users[0].join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "1").unwrap();
        }
        assert!(about(".venv/bin/python").contains("python3 -m venv .venv && .venv/bin/pip"));
        assert!(about("node_modules/.bin/vitest").contains("`npm ci`"));
        assert_eq!(about("committed.py"), "");
        assert_eq!(about("nowhere.py"), "");
        assert!(about("deep.py").contains("there is sub/deep.py"));

        let command = words(&["python3", "committed.py"]);
        assert!(changed(&command, &users).is_empty());
        fs::write(users[0].join("committed.py"), "2").unwrap();
        assert_eq!(changed(&command, &users), [PathBuf::from("committed.py")]);
    }
}
