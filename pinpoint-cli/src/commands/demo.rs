//! `pinpoint demo`: a small real repository with a real slowdown, bisected.
//!
//! The program is an index of words, in Python because that is on nearly every
//! machine. Its history grows it commit by commit. One commit, chosen by the
//! seed, replaces the set of known words with a list, so that looking a word up
//! takes time in proportion to the number of words.

use std::fmt::Write;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Parser;
use pinpoint_report::command_line::quoted;

use crate::arguments::{self, Arguments, Demo, Display, Output};
use crate::commands::bisect::Search;
use crate::error::CliError;
use crate::exit_code::FAILED;
use crate::job::command_line::with_ends_found;
use crate::job::report;
use crate::show::job_result::{exit_code, print_result};
use crate::show::output::{errln, outln};
use crate::show::text::{BOLD, DIM, GOOD, Text, text};
use pinpoint_core::job::JobResult;

/// Commits of the sample repository.
const COMMITS: u64 = 80;
/// The subject of the commit that makes the program slower.
const CULPRIT: &str = "Keep words in the order in which they were met";

pub(crate) async fn run(demo: Demo, display: Display) -> Result<u8, CliError> {
    check_tools()?;
    let report = (demo.report.as_deref())
        .map(report::destination)
        .transpose()?;
    let say = |text: Text| {
        if !display.quiet {
            errln!("{text}");
        }
    };
    let temporary;
    let directory = match &demo.keep {
        Some(keep) => {
            std::fs::create_dir(keep).map_err(CliError::file("make", keep))?;
            std::path::absolute(keep).map_err(CliError::file("find", keep))?
        }
        None => {
            temporary = tempfile::Builder::new()
                .prefix("pinpoint-demo-")
                .tempdir()
                .map_err(CliError::file("make a directory in", std::env::temp_dir()))?;
            temporary.path().to_owned()
        }
    };
    let repository = directory.join("repository");
    // Neither end may be the culprit: the search needs something to look for.
    let culprit = 1 + mix(demo.seed) % (COMMITS - 2);
    say(text!(
        "{DIM}creating a repository with {COMMITS} commits in {}{DIM:#}",
        repository.display()
    ));
    make_repository(&repository, culprit)?;
    say(text!(
        "{DIM}one of them makes its program, words.py, slower; this finds it:{DIM:#}\n"
    ));

    let mut words: Vec<String> = [
        "pinpoint",
        "bisect",
        "-C",
        &repository.to_string_lossy(),
        "--format",
        "lines",
        "--chart",
        "index",
        "--direction",
        "down",
        "--magnitude",
        "2000%",
        "--build-jobs",
        "2",
        "--seed",
        &demo.seed.to_string(),
        "first",
        "main",
        "--",
        "python3",
        "bench.py",
    ]
    .map(str::to_owned)
    .into();
    if let Some(report) = report {
        words.splice(2..2, ["--report".into(), report.display().to_string()]);
    }
    say(text!("{BOLD}$ {}{BOLD:#}", quoted(&words)));
    let mut command_line = with_ends_found(words.clone(), "first", "main");
    if demo.keep.is_none() {
        // The repository is gone by the time anyone could compare again.
        command_line.ends = None;
    }
    let arguments =
        Arguments::try_parse_from(words).map_err(|error| CliError::Input(error.to_string()))?;
    let arguments::Command::Bisect(arguments) = arguments.command else {
        return Err(CliError::Input(
            "internal error: the demo is not a bisection".into(),
        ));
    };
    // Jobs of the demo are not kept among the user's own, unless asked for.
    let display = Display {
        state_dir: Some(
            display
                .state_dir
                .clone()
                .unwrap_or_else(|| directory.join("state")),
        ),
        ..display
    };
    let search = Search::new(*arguments, None, command_line)?;
    let Some(result) = search.run(&display).await? else {
        return Err(CliError::Input(
            "internal error: the demo is left to workers".into(),
        ));
    };
    print_result(&result, &display);
    let found = judge(&result);
    if display.output == Output::Text {
        if found {
            outln!("\n{GOOD}right{GOOD:#}: this is the commit with the slowdown");
        } else {
            outln!("\nwrong: the slowdown is in the commit “{CULPRIT}”");
        }
        if demo.keep.is_some() {
            outln!(
                "look around:  git -C {} log --oneline",
                repository.display()
            );
        }
    }
    Ok(if found { exit_code(&result) } else { FAILED })
}

/// Returns true if the slow commit, and no other, was found.
fn judge(result: &JobResult) -> bool {
    let JobResult::Bisection(document) = result else {
        return false;
    };
    let found: Vec<_> = document
        .culprits
        .iter()
        .map(|culprit| culprit.commit.main.subject.as_deref())
        .collect();
    found == [Some(CULPRIT)]
}

#[expect(clippy::disallowed_methods, reason = "nothing else runs yet")]
fn check_tools() -> Result<(), CliError> {
    for (tool, purpose) in [
        ("git", "keeps the history"),
        ("python3", "runs the program"),
    ] {
        let works = Command::new(tool)
            .arg("--version")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !works {
            return Err(CliError::Input(format!(
                "the demo needs {tool}, which {purpose}; install it and try again"
            )));
        }
    }
    Ok(())
}

/// SplitMix64's output function: neighboring seeds give distant numbers.
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn make_repository(directory: &Path, culprit: u64) -> Result<(), CliError> {
    git(
        directory,
        &["init", "--quiet", "--initial-branch=main", "."],
        None,
    )?;
    git(
        directory,
        &["fast-import", "--quiet"],
        Some(&history(culprit)),
    )?;
    git(directory, &["reset", "--quiet", "--hard"], None)
}

#[expect(clippy::disallowed_methods, reason = "nothing else runs yet")]
fn git(directory: &Path, arguments: &[&str], input: Option<&str>) -> Result<(), CliError> {
    std::fs::create_dir_all(directory).map_err(CliError::file("make", directory))?;
    let failed = |source| CliError::File {
        action: "run git in",
        path: PathBuf::from(directory),
        source,
    };
    let mut command = Command::new("git");
    command.current_dir(directory).args(arguments);
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"GIT_") {
            command.env_remove(name);
        }
    }
    let mut child = command.stdin(Stdio::piped()).spawn().map_err(failed)?;
    if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
        stdin.write_all(input.as_bytes()).map_err(failed)?;
    }
    let status = child.wait().map_err(failed)?;
    if status.success() {
        Ok(())
    } else {
        Err(failed(std::io::Error::other(format!(
            "`git {}` ended with {status}",
            arguments.join(" ")
        ))))
    }
}

/// The whole history as `git fast-import` reads it.
fn history(culprit: u64) -> String {
    let mut stream = String::new();
    for commit in 0..COMMITS {
        let (subject, notes) = step(commit, culprit);
        // One commit a day, from the first of January 2024 on.
        let date = 1_704_103_200 + commit * 86_400;
        let _ = write!(
            stream,
            "commit refs/heads/main\n\
             committer Demo <demo@example.invalid> {date} +0000\n\
             data {}\n{subject}\n",
            subject.len()
        );
        for (path, content) in [
            ("bench.py", BENCH.to_owned()),
            ("words.py", program(commit, culprit)),
            ("NOTES.md", notes),
        ] {
            let _ = write!(
                stream,
                "M 100644 inline {path}\ndata {}\n{content}\n",
                content.len()
            );
        }
        if commit == 0 {
            stream.push_str("reset refs/tags/first\nfrom refs/heads/main\n\n");
        }
    }
    stream.push_str("done\n");
    stream
}

/// The subject of a commit, and the notes as of then.
fn step(commit: u64, culprit: u64) -> (String, String) {
    let subject = |number: u64| match number {
        0 => "Index the words of a text".to_owned(),
        n if n == culprit => CULPRIT.to_owned(),
        n if n % 4 == 0 => format!("Say what release {} brings", n / 4),
        n => format!("Leave out the word “{}”", stop_word(n)),
    };
    let notes = (0..=commit).fold(String::from("# Notes\n\n"), |mut notes, number| {
        let _ = writeln!(notes, "- {}", subject(number));
        notes
    });
    (subject(commit), notes)
}

/// Words that the index leaves out; none of them is in the benchmark's text.
fn stop_word(number: u64) -> String {
    let syllables = ["ar", "be", "co", "du", "em", "fi", "go", "ha"];
    let pick = |digit: u64| syllables[(digit % 8) as usize];
    format!("{}{}{}", pick(number), pick(number / 8), pick(number / 3))
}

/// `words.py` as of a commit.
fn program(commit: u64, culprit: u64) -> String {
    let mut left_out = String::new();
    for number in 1..=commit {
        if number != culprit && number % 4 != 0 {
            let _ = write!(left_out, "\n    \"{}\",", stop_word(number));
        }
    }
    let (empty, add) = if commit >= culprit {
        ("[]", "append")
    } else {
        ("set()", "add")
    };
    format!(
        "\"\"\"An index of the words of a text.\"\"\"\n\n\
         LEFT_OUT = {{\n    \"the\",{left_out}\n}}\n\n\n\
         def index(text):\n\
         \x20   \"\"\"How many different words a text has, and on which lines they first stand.\"\"\"\n\
         \x20   known = {empty}\n\
         \x20   first_lines = {{}}\n\
         \x20   for number, line in enumerate(text.splitlines(), 1):\n\
         \x20       for word in line.split():\n\
         \x20           if word not in known and word not in LEFT_OUT:\n\
         \x20               known.{add}(word)\n\
         \x20               first_lines[word] = number\n\
         \x20   return len(known), first_lines\n"
    )
}

/// The benchmark of the sample repository.
const BENCH: &str = r#""""Times the index on a text of 6,000 words, 500 of them different.

The unit is the time of a fixed piece of work, done right beside each pass: a
machine that slows down for a while slows down both.
"""

import statistics
import sys
import time

sys.dont_write_bytecode = True

from words import index

TEXT = "\n".join(
    " ".join(f"w{(line * 12 + place) * 7919 % 500}" for place in range(12))
    for line in range(500)
)
WORDS = TEXT.split()


def seconds(work):
    began = time.process_time()
    work()
    return time.process_time() - began


def yardstick():
    return sum(WORDS[-1] == word for _ in range(10) for word in WORDS)


ratios = [seconds(lambda: index(TEXT)) / seconds(yardstick) for _ in range(9)]
print(f"index: {statistics.median(ratios)} yardsticks")
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_has_one_culprit_and_its_subject_is_unique() {
        let subjects: Vec<String> = (0..COMMITS).map(|commit| step(commit, 17).0).collect();
        let culprits = subjects
            .iter()
            .filter(|subject| *subject == CULPRIT)
            .count();
        assert_eq!(culprits, 1);
        assert!(program(16, 17).contains("set()"));
        assert!(program(17, 17).contains("append"));
    }

    #[test]
    fn seeds_put_the_culprit_in_different_places_between_the_ends() {
        let places: Vec<u64> = (0..20).map(|seed| 1 + mix(seed) % (COMMITS - 2)).collect();
        assert!(places.iter().all(|place| (1..COMMITS - 1).contains(place)));
        let distinct: std::collections::BTreeSet<_> = places.iter().collect();
        assert!(distinct.len() > 12);
    }
}
