//! The command that made a job: its words, kept with the job to be given again.

use clap::Parser;
use pinpoint_backends::job::CommandLine;
use pinpoint_backends::store::without_password;

use crate::arguments::{Arguments, Command, without_login};

/// The command of this process, with the two ends found in it.
pub(crate) fn of_this_process(good: &str, bad: &str) -> CommandLine {
    with_ends_found(words_of_this_process(), good, bad)
}

/// The command of this process, which is not to be given again with other ends.
pub(crate) fn without_ends() -> CommandLine {
    CommandLine {
        words: without_values(words_of_this_process()),
        ends: None,
    }
}

/// A command with the two ends found among its words.
pub(crate) fn with_ends_found(words: Vec<String>, good: &str, bad: &str) -> CommandLine {
    let words = without_values(words);
    let end = words
        .iter()
        .position(|word| word == "--")
        .unwrap_or(words.len());
    let places = |name: &str| -> Vec<usize> { (0..end).filter(|at| words[*at] == name).collect() };
    let (firsts, seconds) = (places(good), places(bad));
    let ends = firsts
        .iter()
        .flat_map(|first| seconds.iter().map(move |second| (*first, *second)))
        .find(|(first, second)| are_ends(&words, *first, *second));
    CommandLine { words, ends }
}

/// The words as they are shown. Jobs made by an early version kept the values of `--env`.
pub(crate) fn shown(command: &CommandLine) -> Vec<String> {
    without_values(command.words.clone())
}

/// The command with other ends, as one can paste it into a shell. A report is left out: it
/// would be written over the one that says so.
pub(crate) fn with_ends(command: &CommandLine, good: &str, bad: &str) -> Option<String> {
    let (first, second) = command.ends?;
    let mut words = shown(command);
    for (place, end) in [(first, good), (second, bad)] {
        // Imported jobs say what they like.
        end.clone_into(words.get_mut(place)?);
    }
    leave_out_report(&mut words);
    Some(quoted(&words))
}

/// A command line without the values of `--env`, which may be secrets: with the name
/// alone the variable is inherited, so that the command can still be given again. Nor are
/// there passwords in `--repository`.
fn without_values(mut words: Vec<String>) -> Vec<String> {
    let mut is_variable = false;
    let mut is_repository = false;
    for word in words.iter_mut().take_while(|word| *word != "--") {
        if is_repository {
            *word = without_login(word);
        } else if let Some(repository) = word.strip_prefix("--repository=") {
            *word = format!("--repository={}", without_login(repository));
        }
        is_repository = !is_repository && word == "--repository";
        let from = if is_variable {
            Some(0)
        } else {
            word.starts_with("--env=").then_some("--env=".len())
        };
        is_variable = from.is_none() && word == "--env";
        if let Some(equals) = from.and_then(|from| Some(from + word[from..].find('=')?)) {
            word.truncate(equals);
        }
    }
    words
}

fn leave_out_report(words: &mut Vec<String>) {
    let end = words.iter().position(|word| word == "--");
    let options = &words[..end.unwrap_or(words.len())];
    if let Some(at) = options.iter().position(|word| word == "--report") {
        words.drain(at..(at + 2).min(words.len()));
    } else if let Some(at) = options
        .iter()
        .position(|word| word.starts_with("--report="))
    {
        words.remove(at);
    }
}

fn words_of_this_process() -> Vec<String> {
    let mut words: Vec<String> = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    if let Some(program) = words.first_mut() {
        "pinpoint".clone_into(program);
    }
    // The words are kept, and shown to everyone who may see the job.
    let mut is_store = false;
    for word in words.iter_mut().take_while(|word| *word != "--") {
        if is_store {
            *word = without_password(word);
        } else if let Some(url) = word.strip_prefix("--store=") {
            *word = format!("--store={}", without_password(url));
        }
        is_store = word == "--store";
    }
    words
}

/// Are these two words the ends? The value of an option may look like one.
fn are_ends(words: &[String], first: usize, second: usize) -> bool {
    const MARKS: (&str, &str) = ("the good end", "the bad end");
    let mut words = words.to_vec();
    MARKS.0.clone_into(&mut words[first]);
    MARKS.1.clone_into(&mut words[second]);
    Arguments::try_parse_from(words).is_ok_and(|arguments| match arguments.command {
        Command::Bisect(bisect) => (bisect.good.as_str(), bisect.bad.as_str()) == MARKS,
        Command::Culprit(culprit) => {
            (culprit.bisect.good.as_str(), culprit.bisect.bad.as_str()) == MARKS
        }
        _ => false,
    })
}

/// Words as one can paste them into a shell.
pub(crate) fn quoted(words: &[String]) -> String {
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_command_line_keeps_no_values_of_variables() {
        let given = [
            "pinpoint",
            "bisect",
            "--env",
            "A=1=2",
            "--env=B=3",
            "--env",
            "C",
            "--env=D",
            "--repository",
            "https://ada:secret@host/x=/a@b",
            "--repository=https://ada:secret@host/y=/c",
            "a",
            "b",
            "--",
            "env",
            "--env",
            "E=5",
        ];
        let kept = [
            "pinpoint",
            "bisect",
            "--env",
            "A",
            "--env=B",
            "--env",
            "C",
            "--env=D",
            "--repository",
            "https://host/x=/a@b",
            "--repository=https://host/y=/c",
            "a",
            "b",
            "--",
            "env",
            "--env",
            "E=5",
        ];
        let line = with_ends_found(words(&given), "a", "b");
        assert_eq!(line.words, words(&kept));
        assert_eq!(line.ends, Some((11, 12)));
        // Of a job that was stored with values, too.
        let line = CommandLine {
            words: words(&given),
            ends: Some((11, 12)),
        };
        assert_eq!(shown(&line), words(&kept));
        let again = with_ends(&line, "x", "y").unwrap();
        assert!(
            again.contains("--env A ") && !again.contains("1=2"),
            "{again}"
        );
    }
}
