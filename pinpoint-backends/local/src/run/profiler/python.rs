//! py-spy.
//!
//! It samples all processes of Python that the benchmark starts. It ends with 0 however the
//! benchmark ends, and writes to standard output, where results may be read from: a shell above it
//! redirects that, and one below it notes the benchmark's exit code. py-spy ends as soon as no
//! Python process is left, on a busy machine before the code is noted, and kills the process that
//! it started. So a subshell notes the code, and the shell above waits for all of them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ProfilerError;

pub(super) const PROGRAM: &str = "py-spy";

pub(super) const FILE: &str = "py-spy.json";

/// Holds the exit code of the benchmark.
const STATUS: &str = "status";

/// py-spy's output goes to standard error, the benchmark's to its own place. `cat` reads until both
/// py-spy and the shell below have ended, and so closed their ends of the pipe.
const ABOVE: &str = r#"{ "$@" 4>&1 >&2 | cat; } 3>&1 >&2"#;
/// The pipe puts the part before it into a subshell.
const BELOW: &str = r#"{ "$@" >&3 3>&- 4>&-; echo $? >"$0"; } | :"#;

pub(super) fn command(place: &Path, program: &Path, arguments: Vec<OsString>) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", ABOVE, "sh", PROGRAM, "record"])
        .args(["-r", "500", "-f", "speedscope"])
        // One frame for a function, independent of the executed line.
        .args(["--function", "--full-filenames", "--subprocesses"])
        .arg("-o")
        .arg(place.join(FILE))
        .args(["--", "sh", "-c", BELOW])
        .arg(place.join(STATUS))
        .arg(program)
        .args(arguments);
    command
}

/// The part of py-spy's output that is used.
#[derive(Serialize, Deserialize)]
struct Recorded {
    profiles: Vec<Thread>,
    shared: Shared,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Serialize, Deserialize)]
struct Thread {
    /// The frames of each, from the outermost on.
    samples: Vec<Vec<usize>>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Serialize, Deserialize)]
struct Shared {
    frames: Vec<Map<String, Value>>,
}

/// The profile without the shell below py-spy, which begins each stack as a process. Anything else
/// stays unchanged, for its reader to reject.
pub(super) fn profile(place: &Path) -> io::Result<PathBuf> {
    let path = place.join(FILE);
    let content = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(path),
        content => content?,
    };
    let Ok(mut recorded) = serde_json::from_slice::<Recorded>(&content) else {
        return Ok(path);
    };
    // Each run has its own file.
    let status = place.join(STATUS).display().to_string();
    let is_shell = |frame: &Map<String, Value>| {
        let name = frame.get("name").and_then(Value::as_str);
        name.is_some_and(|name| name.starts_with("process ") && name.contains(&status))
    };
    let is_shell: Vec<bool> = recorded.shared.frames.iter().map(is_shell).collect();
    for sample in recorded.profiles.iter_mut().flat_map(|it| &mut it.samples) {
        sample.retain(|frame| !is_shell.get(*frame).is_some_and(|is_shell| *is_shell));
    }
    fs::write(&path, serde_json::to_vec(&recorded)?)?;
    Ok(path)
}

/// The failure of the benchmark, which py-spy does not report, or its own.
pub(super) fn failure(place: &Path, stderr: &str) -> Option<String> {
    match fs::read_to_string(place.join(STATUS)) {
        Ok(code) => match code.trim() {
            "0" => None,
            code => Some(
                match stderr.lines().rev().find(|line| is_benchmarks(line)) {
                    Some(line) => format!("failed with exit code {code}: {}", line.trim()),
                    None => format!("failed with exit code {code}"),
                },
            ),
        },
        Err(_) => {
            let error = stderr.lines().find(|line| line.starts_with("Error"));
            let last = || stderr.lines().rfind(|line| is_benchmarks(line));
            let said = error.or_else(last).map(str::trim);
            Some(format!(
                "py-spy failed: {}; check that the benchmark starts Python within a second and runs for half a second at least, which py-spy needs to find it, and name the interpreter itself and not a script that looks for it",
                said.unwrap_or("it said nothing")
            ))
        }
    }
}

fn is_benchmarks(line: &str) -> bool {
    !line.trim().is_empty() && !line.starts_with("py-spy>")
}

pub(super) fn refusal(stderr: &str) -> Option<ProfilerError> {
    let is_refused = stderr.contains("Permission Denied") || stderr.contains("EPERM");
    is_refused.then_some(ProfilerError::NoPtrace)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_benchmark_that_fails_is_a_failure() {
        let place = tempfile::tempdir().unwrap();
        let said = "py-spy> Sampling\nValueError: no words\npy-spy> Wrote\n";
        let written = |status: &str| {
            fs::write(place.path().join(STATUS), status).unwrap();
            failure(place.path(), said)
        };
        assert_eq!(written("0\n"), None);
        let failed = written("3\n");
        assert_eq!(
            failed.as_deref(),
            Some("failed with exit code 3: ValueError: no words")
        );
        fs::remove_file(place.path().join(STATUS)).unwrap();
        let failed = failure(place.path(), "Error: No python processes found\n").unwrap();
        assert!(
            failed.contains("No python processes found; check"),
            "{failed}"
        );
        assert!(failed.contains("half a second at least"), "{failed}");
    }

    #[test]
    fn the_shell_is_in_no_stack() {
        let place = tempfile::tempdir().unwrap();
        let shell = format!("process 7:\"sh -c x {}/status y\"", place.path().display());
        let written = |samples: Value, version: &str| {
            json!({
                "profiles": [{ "type": "sampled", "samples": samples, "weights": [0.5, 1] }],
                "shared": { "frames": [{ "name": "f", "line": 3 }, { "name": shell }] },
                "version": version,
            })
        };
        let path = place.path().join(FILE);
        assert_eq!(profile(place.path()).unwrap(), path);
        fs::write(&path, written(json!([[1, 0], [1]]), "1").to_string()).unwrap();
        assert_eq!(profile(place.path()).unwrap(), path);
        let read: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(read, written(json!([[0], []]), "1"));
        fs::write(&path, "{}").unwrap();
        profile(place.path()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"{}");
    }

    /// A stand-in that ends before the benchmark, and kills its children.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test waits for it")]
    fn the_end_of_the_benchmark_is_waited_for() {
        let place = tempfile::tempdir().unwrap();
        let stand_in = place.path().join(PROGRAM);
        let script = "#!/bin/sh
            while [ \"$1\" != -- ]; do shift; done
            shift
            \"$@\" &
            until test -e begun; do sleep 0.01; done
            kill -9 $!
            touch killed";
        fs::write(&stand_in, script).unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&stand_in, executable).unwrap();
        let waits = "touch begun; until test -e killed; do sleep 0.01; done; echo 5 ms; exit 3";
        let benchmark = ["-c", waits].map(OsString::from);
        let path = format!("{}:/usr/bin:/bin", place.path().display());
        let ended = command(place.path(), Path::new("sh"), benchmark.into())
            .env("PATH", path)
            .current_dir(place.path())
            .output()
            .unwrap();
        assert_eq!(ended.stdout, b"5 ms\n");
        let failed = failure(place.path(), "");
        assert_eq!(failed.as_deref(), Some("failed with exit code 3"));
    }
}
