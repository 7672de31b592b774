//! The lines of a failed command's output that say why it failed, of a bounded length.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::process::files::{self, FileError};

/// Characters shown of a line: its beginning and its end.
const BEGIN: usize = 220;
const END: usize = 80;

/// Lines that are shown of an output, its first and its last ones.
const FIRST_LINES: usize = 3;
const LAST_LINES: usize = 10;

/// Bytes of an output in which these lines are looked for.
const READ: u64 = 64 << 10;

/// Bytes of a log in which the first error is looked for: its end, where it is longer.
const LOG: u64 = 16 << 20;

/// The line of a build's log that explains its failure: the first error that a compiler or another
/// tool reports, or else the last line.
pub(crate) fn of_build(log: &Path) -> Result<String, FileError> {
    let read = || {
        let file = File::open(log)?;
        let start = file.metadata()?.len().saturating_sub(LOG);
        files::read_at(&file, start, LOG)
    };
    let bytes = read().map_err(FileError::io("read", log))?;
    Ok(shortened(telling(&String::from_utf8_lossy(&bytes))))
}

/// The line of a run's output that explains its failure: the last one, unless it belongs to the
/// trace or the summary that follows an error.
pub(crate) fn of_run(output: &File) -> io::Result<String> {
    let start = output.metadata()?.len().saturating_sub(READ);
    let bytes = files::read_at(output, start, READ)?;
    Ok(shortened(telling_of_run(&String::from_utf8_lossy(&bytes))))
}

/// The first and the last lines of an output.
pub(crate) fn excerpt(output: &File) -> io::Result<String> {
    let length = output.metadata()?.len();
    let begin = files::read_at(output, 0, READ)?;
    let mut text = String::from_utf8_lossy(&begin).into_owned();
    if length > READ {
        // The middle may be one line: it is shown as left out.
        let start = (length - READ).max(READ);
        text.push_str("\n\n");
        text.push_str(&String::from_utf8_lossy(&files::read_at(
            output, start, READ,
        )?));
    }
    Ok(first_and_last(&text))
}

fn first_and_last(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let left_out = lines.len().saturating_sub(FIRST_LINES + LAST_LINES);
    let mut shown: Vec<String> = lines.iter().copied().map(shortened).collect();
    if left_out > 1 {
        let end = FIRST_LINES + left_out;
        shown.splice(
            FIRST_LINES..end,
            [format!("[{left_out} lines are left out here]")],
        );
    }
    shown.join("\n")
}

/// A line without its middle, where it is long.
pub(crate) fn shortened(line: &str) -> String {
    let line = line.trim();
    let count = line.chars().count();
    if count <= BEGIN + END + 3 {
        return line.to_owned();
    }
    let begin: String = line.chars().take(BEGIN).collect();
    let end: String = line.chars().skip(count - END).collect();
    format!("{begin} … {end}")
}

/// The line that explains a failure.
fn telling(text: &str) -> &str {
    let text = text.trim_end();
    let last = || {
        let mut lines = text.lines().rev();
        lines.find(|line| !line.trim().is_empty() && !is_summary(line))
    };
    let first = text
        .lines()
        .find(|line| is_error(line) && !is_summary(line));
    let line = first.or_else(last).or_else(|| text.lines().last());
    line.unwrap_or_default().trim()
}

/// The line that explains a run's failure.
fn telling_of_run(text: &str) -> &str {
    let text = text.trim_end();
    let last = text.lines().last().unwrap_or_default();
    if !follows_an_error(last) {
        return last.trim();
    }
    let tells = |line: &&str| !line.trim().is_empty() && !follows_an_error(line);
    let error = (text.lines().rev()).find(|line| tells(line) && is_error(line));
    let line = error.or_else(|| text.lines().rev().find(tells));
    line.unwrap_or(last).trim()
}

/// Checks whether a line belongs to the trace or the summary that runtimes print after an error.
fn follows_an_error(line: &str) -> bool {
    let is_indented = line.starts_with([' ', '\t']);
    let line = line.trim();
    is_summary(line)
        || line == "}"
        || line.starts_with('^')
        // Node.js and Java, Ruby.
        || is_indented && ["at ", "... ", "from "].iter().any(|it| line.starts_with(it))
        || [
            "Node.js v",
            // Go.
            "goroutine ",
            "created by ",
            "exit status ",
            // npm and similar tools.
            "npm ERR!",
            "npm error",
            "error Command failed",
            "info Visit https://yarnpkg.com",
            "ELIFECYCLE",
        ]
        .iter()
        .any(|it| line.starts_with(it))
        // A frame of Go: `/a/b.go:3 +0x1d`.
        || line.contains(".go:") && line.rsplit(' ').next().is_some_and(|it| it.starts_with("+0x"))
}

/// Checks whether a line reports an error, as compilers, linkers and build tools write them.
fn is_error(line: &str) -> bool {
    const WITHIN: [&str; 8] = [
        ": error: ",
        ": fatal error: ",
        ": error TS",
        "): error ",
        ": undefined reference to ",
        ": cannot find -l",
        ": command not found",
        ": No rule to make target ",
    ];
    const AT_BEGINNING: [&str; 14] = [
        "panic: ",
        "Exception in thread ",
        "Caused by: ",
        "Uncaught ",
        "error: ",
        "error[",
        "Error: ",
        "ERROR: ",
        "fatal: ",
        "fatal error: ",
        "CMake Error",
        "make: *** No rule to make target",
        "ninja: error: ",
        "E: ",
    ];
    let line = line.trim();
    WITHIN.iter().any(|it| line.contains(it))
        || AT_BEGINNING.iter().any(|it| line.starts_with(it))
        || is_of_go(line)
        || is_exception(line)
}

/// Checks whether it is a summary of earlier errors.
fn is_summary(line: &str) -> bool {
    let line = line.trim();
    let is_of_make = line.starts_with("make") || line.starts_with("gmake");
    (is_of_make && !line.contains("No rule to make target"))
        || [
            "error: could not compile",
            "error: aborting due to",
            "For more information about",
            "Some errors have detailed explanations",
            "warning: build failed",
            "ninja: build stopped",
            "ninja: error: rebuilding",
            "collect2: error: ",
            "compilation terminated.",
            "note: ",
            "pinpoint: ",
            "npm ERR! A complete log",
            "npm error A complete log",
        ]
        .iter()
        .any(|it| line.starts_with(it))
}

/// Recognizes `./a.go:3:5: undefined: b`.
fn is_of_go(line: &str) -> bool {
    let Some((_, rest)) = line.split_once(".go:") else {
        return false;
    };
    let mut parts = rest.splitn(3, ':');
    let mut is_number = || (parts.next()).is_some_and(|it| it.parse::<u32>().is_ok());
    is_number() && is_number() && parts.next().is_some_and(|it| it.starts_with(' '))
}

/// Recognizes `ModuleNotFoundError: No module named 'a'`.
fn is_exception(line: &str) -> bool {
    let Some((name, _)) = line.split_once(": ") else {
        return false;
    };
    let is_name = |it: u8| it.is_ascii_alphanumeric() || it == b'.' || it == b'_';
    name.ends_with("Error") && name.len() > "Error".len() && name.bytes().all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_of_a_build_is_told() {
        for (log, expected) in [
            (
                "cc -c a.c\na.c: In function 'main':\na.c:3:5: error: 'x' undeclared\n    3 |  x\na.c:4:1: error: other\nmake[1]: *** [Makefile:2: a.o] Error 1\nmake: *** [all] Error 2\n",
                "a.c:3:5: error: 'x' undeclared",
            ),
            (
                "a.c:1:10: fatal error: b.h: No such file or directory\ncompilation terminated.\nmake: *** [a.o] Error 1",
                "a.c:1:10: fatal error: b.h: No such file or directory",
            ),
            (
                "   Compiling a v0.1.0\nwarning: unused\nerror[E0425]: cannot find value `x` in this scope\n --> src/main.rs:2:5\n\nerror: could not compile `a` (bin \"a\") due to 1 previous error\n",
                "error[E0425]: cannot find value `x` in this scope",
            ),
            (
                "/usr/bin/ld: a.o: in function `main':\na.c:(.text+0x9): undefined reference to `f'\ncollect2: error: ld returned 1 exit status\nmake: *** [a] Error 1",
                "a.c:(.text+0x9): undefined reference to `f'",
            ),
            (
                "# example\n./a.go:3:5: undefined: b\n./a.go:4:5: undefined: c\n",
                "./a.go:3:5: undefined: b",
            ),
            (
                "Traceback (most recent call last):\n  File \"setup.py\", line 1, in <module>\nModuleNotFoundError: No module named 'a'\n",
                "ModuleNotFoundError: No module named 'a'",
            ),
            (
                "make: *** No rule to make target 'all'.  Stop.\n",
                "make: *** No rule to make target 'all'.  Stop.",
            ),
            (
                "make[1]: Entering directory '/a'\nsh: 1: frob: not found\nmake[1]: *** [Makefile:2: a] Error 127\nmake: *** [b] Error 2",
                "sh: 1: frob: not found",
            ),
            (
                "src/a.ts(3,5): error TS2304: Cannot find name 'x'.\nFound 1 error.",
                "src/a.ts(3,5): error TS2304: Cannot find name 'x'.",
            ),
            ("one\ntwo\n\n", "two"),
            ("make: *** [a] Error 1\n", "make: *** [a] Error 1"),
            ("", ""),
            // The name of a passing test is not an error.
            ("test error::parse ... ok\nit broke", "it broke"),
        ] {
            assert_eq!(telling(log), expected, "{log}");
        }
    }

    #[test]
    fn a_run_is_told_by_its_error_and_not_by_what_follows_it() {
        for (stderr, expected) in [
            (
                "node:internal/modules/cjs/loader:1143\n  throw err;\n  ^\n\nError: Cannot find module './config'\nRequire stack:\n- /a/server.js\n    at Module._resolveFilename (node:internal:1140:15)\n    at node:internal/main {\n  code: 'MODULE_NOT_FOUND',\n  requireStack: [ '/a/server.js' ]\n}\n\nNode.js v20.19.2\n",
                "Error: Cannot find module './config'",
            ),
            (
                "thread 'main' panicked at src/main.rs:2:5:\nno such table\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
                "no such table",
            ),
            (
                "panic: no such table\n\ngoroutine 1 [running]:\nmain.main()\n\t/a/main.go:3 +0x1d\nexit status 2\n",
                "panic: no such table",
            ),
            (
                "Exception in thread \"main\" java.lang.IllegalStateException: no such table\n\tat A.main(A.java:3)\n",
                "Exception in thread \"main\" java.lang.IllegalStateException: no such table",
            ),
            (
                "a.rb:1:in 'load': no such table (RuntimeError)\n\tfrom a.rb:3:in '<main>'\n",
                "a.rb:1:in 'load': no such table (RuntimeError)",
            ),
            (
                "TypeError: x is not a function\n    at a.js:1:1\nnpm error Lifecycle script `bench` failed with error:\nnpm error code 1\n",
                "TypeError: x is not a function",
            ),
            // The last line explains it, regardless of the lines before.
            ("ERROR: retrying\nbench.sh: gave up\n", "bench.sh: gave up"),
            (
                "Traceback (most recent call last):\n  File \"a.py\", line 1\nValueError: no\n",
                "ValueError: no",
            ),
            (
                "ERROR: slow\nat most 3 tries are made\n",
                "at most 3 tries are made",
            ),
            ("Node.js v20.19.2\n", "Node.js v20.19.2"),
            ("", ""),
        ] {
            assert_eq!(telling_of_run(stderr), expected, "{stderr}");
        }
    }

    #[test]
    fn long_lines_and_outputs_are_shown_by_their_ends() {
        let line = format!("begin {} end", "x".repeat(5000));
        let short = shortened(&line);
        assert!(short.starts_with("begin x") && short.ends_with("x end"));
        assert!(short.chars().count() < 320, "{short}");
        assert_eq!(shortened(" short "), "short");

        let lines: Vec<String> = (1..=40).map(|number| format!("line {number}")).collect();
        let shown = first_and_last(&lines.join("\n"));
        let shown: Vec<&str> = shown.lines().collect();
        assert_eq!(
            shown[..4],
            ["line 1", "line 2", "line 3", "[27 lines are left out here]"]
        );
        assert_eq!(
            (shown.len(), shown[4], shown[13]),
            (14, "line 31", "line 40")
        );
        assert_eq!(first_and_last("a\nb\n"), "a\nb");

        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, line.as_bytes()).unwrap();
        assert_eq!(of_run(&file).unwrap(), short);
        assert_eq!(excerpt(&file).unwrap(), short);
    }
}
