//! The command that made a job, in a form to show: without secrets, to be given again.

use std::borrow::Cow;

use pinpoint_backends::job::CommandLine;

/// The command with other ends, to paste into a shell. A report is left out: it would overwrite the
/// one that shows the command.
pub fn with_ends(command: &CommandLine, good: &str, bad: &str) -> Option<String> {
    let (first, second) = command.ends?;
    let mut words = without_values(command.words.clone());
    for (place, end) in [(first, good), (second, bad)] {
        // Imported jobs may contain anything.
        end.clone_into(words.get_mut(place)?);
    }
    leave_out_report(&mut words);
    Some(quoted(&words))
}

/// A command line without the values of `--env`, which may be secrets: with the name alone the
/// variable is inherited, so that the command can still be given again. Passwords in `--repository`
/// are removed, too.
pub fn without_values(mut words: Vec<String>) -> Vec<String> {
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

/// Words in a form to paste into a shell.
pub fn quoted(words: &[String]) -> String {
    let words: Vec<_> = words.iter().map(|word| quoted_word(word)).collect();
    words.join(" ")
}

/// A word in single quotes, where it needs quotes and has none itself: the form that people read
/// best, patterns above all.
fn quoted_word(word: &str) -> Cow<'_, str> {
    match shlex::try_quote(word) {
        Ok(Cow::Owned(_)) if !word.contains('\'') => Cow::Owned(format!("'{word}'")),
        Ok(quoted) => quoted,
        // No command line has a NUL.
        Err(_) => Cow::Borrowed(word),
    }
}

/// A URL without the password and, except for ssh, the user: jobs keep it.
pub fn without_login(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let Some((login, host)) = authority.rsplit_once('@') else {
        return url.to_owned();
    };
    let user = login.split(':').next().unwrap_or_default();
    match scheme.eq_ignore_ascii_case("ssh") {
        true => format!("{scheme}://{user}@{host}{path}"),
        false => format!("{scheme}://{host}{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn patterns_are_quoted_as_people_write_them() {
        let pattern = r#"regex:wfreq:\s+(?<value>[0-9.]+)\s*(?<unit>[^\s,"]+)"#;
        for (word, expected) in [
            ("plain-1.2", "plain-1.2".to_owned()),
            (pattern, format!("'{pattern}'")),
            ("", "''".to_owned()),
            ("two words", "'two words'".to_owned()),
            ("$HOME !x", "'$HOME !x'".to_owned()),
        ] {
            assert_eq!(quoted(&words(&[word])), expected);
        }
        for word in ["it's", "a'b\"c\\d^", "a\nb", pattern] {
            assert_eq!(
                shlex::split(&quoted(&words(&[word, "x"]))),
                Some(words(&[word, "x"]))
            );
        }
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
        let line = CommandLine {
            words: words(&given),
            ends: Some((11, 12)),
        };
        assert_eq!(without_values(line.words.clone()), words(&kept));
        let again = with_ends(&line, "x", "y").unwrap();
        assert!(
            again.contains("--env A ") && !again.contains("1=2"),
            "{again}"
        );
    }
}
