//! The command that made a job: its words, kept with the job to be given again.

use clap::Parser;
use pinpoint_backends::job::CommandLine;
use pinpoint_backends::store::without_password;
use pinpoint_report::command_line::without_values;

use crate::arguments::{Arguments, Command};

/// The command of this process, with the two ends found in it.
pub(crate) fn of_this_process(good: &str, bad: &str) -> CommandLine {
    with_ends_found(words_of_this_process(), good, bad)
}

/// The command of this process, which can't be reused with other ends.
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

fn words_of_this_process() -> Vec<String> {
    let mut words: Vec<String> = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    if let Some(program) = words.first_mut() {
        "pinpoint".clone_into(program);
    }
    // The words are kept, and shown to everyone who may see the job.
    leave_out_tokens(&mut words);
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

/// Removes the command that prints tokens: it is private, and may contain one.
fn leave_out_tokens(words: &mut Vec<String>) {
    const OPTION: &str = "--luci-tokens";
    let mut is_source = false;
    let mut are_options = true;
    words.retain(|word| {
        are_options &= word != "--";
        let is_value = std::mem::take(&mut is_source);
        is_source = are_options && !is_value && word == OPTION;
        let is_joined = word
            .strip_prefix(OPTION)
            .is_some_and(|rest| rest.starts_with('='));
        !(is_value || is_source || are_options && is_joined)
    });
}

/// Returns true if these two words are the ends. The value of an option may look like one.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_found_and_values_of_variables_are_not_kept() {
        let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
        // The value of an option, and words after `--`, may look like an end.
        let line = with_ends_found(
            words("pinpoint bisect --env A=1 --env a a b -- a b"),
            "a",
            "b",
        );
        assert_eq!(
            line.words,
            words("pinpoint bisect --env A --env a a b -- a b")
        );
        assert_eq!(line.ends, Some((6, 7)));
    }

    #[test]
    fn the_source_of_tokens_is_not_kept() {
        let mut words: Vec<String> =
            "pinpoint bisect --luci-tokens command:x --luci-tokens=none a b -- --luci-tokens c"
                .split(' ')
                .map(str::to_owned)
                .collect();
        leave_out_tokens(&mut words);
        assert_eq!(words.join(" "), "pinpoint bisect a b -- --luci-tokens c");
    }
}
