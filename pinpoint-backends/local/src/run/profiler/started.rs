//! The commands that a benchmark starts, from its command line and shell scripts.
//!
//! A benchmark is often a shell script, or a shell command, that starts the program in question.
//! The fitting profiler depends on that program. A shell's text is split into commands without
//! being parsed: quotes and substitutions are not examined.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "ash"];

/// Programs that become or start the program in their arguments.
const WRAPPERS: [&str; 14] = [
    "env", "exec", "command", "time", "nice", "ionice", "timeout", "taskset", "chrt", "numactl",
    "stdbuf", "setarch", "nohup", "xvfb-run",
];

/// Words of the shell before a command.
const KEYWORDS: [&str; 9] = [
    "!", "if", "then", "elif", "else", "while", "until", "do", "{",
];

/// The signs between two commands.
const SEPARATORS: [char; 8] = ['\n', ';', '&', '|', '(', ')', '`', '}'];

/// The most bytes of a script that are read.
const LONGEST_SCRIPT: u64 = 1 << 16;

/// The commands that these words start, each with its program first. `script` is the text of the
/// script that is the program, or that the shell runs.
pub(super) fn commands(words: &[String], script: Option<&str>) -> Vec<Vec<String>> {
    let direct = without_wrappers(words.iter().map(String::as_str));
    let Some((program, arguments)) = direct.split_first() else {
        return Vec::new();
    };
    if SHELLS.contains(&base_name(program)) {
        return match of_shell(arguments) {
            OfShell::Text(text) => of_text(text),
            OfShell::File(_) => of_text(script.unwrap_or_default()),
            OfShell::Nothing => Vec::new(),
        };
    }
    let Some(line) = script.and_then(interpreter) else {
        return vec![owned(&direct)];
    };
    let interpreter = without_wrappers(line.split_whitespace());
    match interpreter.first() {
        Some(program) if SHELLS.contains(&base_name(program)) => {
            of_text(script.unwrap_or_default())
        }
        _ => vec![owned(&[&interpreter[..], &direct].concat())],
    }
}

/// The text of the script that is the program of a command, or that its shell runs. Only absolute
/// paths are looked up without a checkout.
pub(super) fn script(checkout: Option<&Path>, words: &[String]) -> Option<String> {
    let direct = without_wrappers(words.iter().map(String::as_str));
    let (program, arguments) = direct.split_first()?;
    let path = match of_shell(arguments) {
        OfShell::File(file) if SHELLS.contains(&base_name(program)) => file,
        _ if program.contains('/') => program,
        _ => return None,
    };
    let path = match checkout {
        Some(checkout) => checkout.join(path),
        None => Some(PathBuf::from(path)).filter(|path| path.is_absolute())?,
    };
    // Opening a pipe would wait for its writer.
    if !path.is_file() {
        return None;
    }
    let mut begin = Vec::new();
    let file = File::open(path).ok()?;
    file.take(LONGEST_SCRIPT).read_to_end(&mut begin).ok()?;
    let text = String::from_utf8_lossy(&begin).into_owned();
    // Programs contain such characters.
    (!text.contains('\0')).then_some(text)
}

pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The line by which a script names its interpreter, without `#!`.
fn interpreter(script: &str) -> Option<&str> {
    script.strip_prefix("#!")?.lines().next().map(str::trim)
}

enum OfShell<'a> {
    Text(&'a str),
    File(&'a str),
    Nothing,
}

/// The commands that a shell with these arguments executes.
fn of_shell<'a>(arguments: &[&'a str]) -> OfShell<'a> {
    let is_option = |word: &&str| word.starts_with('-') && word.len() > 1;
    let options = arguments.iter().take_while(|word| is_option(word)).count();
    // `-c`, and others with it as in `-ec`.
    let has_text = arguments[..options]
        .iter()
        .any(|it| !it.starts_with("--") && it.contains('c'));
    match (arguments.get(options), has_text) {
        (Some(text), true) => OfShell::Text(text),
        (Some(file), false) => OfShell::File(file),
        (None, _) => OfShell::Nothing,
    }
}

/// The commands in a shell's text.
fn of_text(text: &str) -> Vec<Vec<String>> {
    let text = text.replace("\\\n", " ");
    let without_comments = text.lines().map(|line| match line.trim_start() {
        comment if comment.starts_with('#') => "",
        line => line.split(" #").next().unwrap_or(line),
    });
    let lines: Vec<&str> = without_comments.collect();
    let commands = lines.iter().flat_map(|line| line.split(SEPARATORS));
    commands
        .map(|command| {
            let words = command.split_whitespace();
            let words = words.map(|word| word.trim_matches(['"', '\'']));
            without_wrappers(words.skip_while(|word| KEYWORDS.contains(word)))
        })
        .filter(|command| !command.is_empty())
        .map(|command| owned(&command))
        .collect()
}

/// A command from its program on: without assignments of variables, and without wrappers and their
/// options and numbers.
fn without_wrappers<'a>(words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut is_wrapped = false;
    let before = |word: &&str| {
        let is_wrapper = WRAPPERS.contains(&base_name(word));
        let is_program = word.starts_with(|c: char| c.is_alphabetic() || "./_$~".contains(c));
        let sets = word
            .split_once('=')
            .is_some_and(|(name, _)| name.chars().all(|c| c.is_alphanumeric() || c == '_'));
        is_wrapped |= is_wrapper;
        is_wrapper || sets || (is_wrapped && !is_program)
    };
    words.skip_while(before).collect()
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands, one to a line.
    fn found(words: &[&str], script: Option<&str>) -> String {
        let commands = commands(&owned(words), script);
        let lines: Vec<String> = commands.iter().map(|words| words.join(" ")).collect();
        lines.join("\n")
    }

    #[test]
    fn what_only_starts_the_program_is_left_out() {
        for line in [
            "env A=1 node x.js",
            "A=1 node x.js",
            "nice -n 5 taskset -c 0,1 node x.js",
            "timeout 60s env -i node x.js",
            "/usr/bin/time -f %e node x.js",
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(found(&words, None), "node x.js", "{line}");
        }
        assert_eq!(found(&["env"], None), "");
        assert_eq!(found(&["./bench", "-n", "5"], None), "./bench -n 5");
    }

    #[test]
    fn a_shells_text_is_taken_apart() {
        let text = "cd x && LC_ALL=C exec \"node\" bench.js | tee out; # done\n./y";
        let expected = "cd x\nnode bench.js\ntee out\n./y";
        assert_eq!(found(&["sh", "-c", text], None), expected);
        assert_eq!(found(&["bash", "-ec", text, "x"], None), expected);
        let script = "#!/bin/sh -e\n# node\nif true; then\n  python3 \\\n    x.py\nfi\n";
        let expected = "true\npython3 x.py\nfi";
        assert_eq!(found(&["./bench.sh", "x"], Some(script)), expected);
        assert_eq!(found(&["sh", "-x", "bench.sh"], Some(script)), expected);
        assert_eq!(found(&["sh"], None), "");
    }

    #[test]
    fn a_script_names_its_interpreter() {
        let script = "#!/usr/bin/env -S python3 -u\nimport this\n";
        assert_eq!(found(&["./x", "y"], Some(script)), "python3 -u ./x y");
        assert_eq!(found(&["./x"], Some("#!\n")), "./x");
        assert_eq!(found(&["./x"], Some("import this\n")), "./x");
    }

    #[test]
    fn a_script_is_read_where_it_is_one() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("x"), "#! /bin/sh\n").unwrap();
        std::fs::write(place.path().join("binary"), [0x7f, b'E', 0]).unwrap();
        let read = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            script(Some(place.path()), &owned(&words))
        };
        for line in ["./x", "sh x", "env A=1 bash -e x y", "nice ./x"] {
            assert_eq!(read(line).as_deref(), Some("#! /bin/sh\n"), "{line}");
        }
        for line in ["x", "sh -c x", "./y", "./binary", ".", "./"] {
            assert_eq!(read(line), None, "{line}");
        }
        // Without a checkout, nothing is looked up in the working directory.
        let absolute = place.path().join("x").display().to_string();
        assert!(script(None, &owned(&["sh", &absolute])).is_some());
        assert_eq!(script(None, &owned(&["sh", "src/lib.rs"])), None);
    }
}
