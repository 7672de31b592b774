//! Linux's perf.
//!
//! Where the processor's counters are unavailable, as in most virtual machines, the clock of the
//! kernel takes the samples (`cpu-clock`): a thousand in each second that a processor spends on the
//! benchmark. Only perf reads its own format, so it is converted to text at once, while the
//! profiled programs still exist.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::ProfilerError;
use crate::run::instructions::InstructionCounter;

pub(super) const PROGRAM: &str = "perf";

/// perf's output, and its text.
const DATA: &str = "perf.data";
const TEXT: &str = "perf.txt";

/// Samples a second: not a divisor of common timer rates.
const FREQUENCY: &str = "997";

/// The method of finding the callers of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stacks {
    FramePointers,
    Dwarf,
}

pub(super) fn command(
    place: &Path,
    stacks: Stacks,
    program: &Path,
    arguments: Vec<OsString>,
) -> Command {
    let mut command = recording(&place.join(DATA), stacks, has_counters());
    command.arg("--").arg(program).args(arguments);
    command
}

fn recording(data: &Path, stacks: Stacks, has_counters: bool) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        // No copies of programs in the user's home. perf waits for news of BPF programs for up to
        // a second once the benchmark has ended.
        .args(["record", "-q", "--no-buildid-cache", "--no-bpf-event"])
        .args(["--event", if has_counters { "cycles" } else { "cpu-clock" }])
        .args(["--freq", FREQUENCY])
        .args(match stacks {
            Stacks::FramePointers => ["--call-graph", "fp"],
            Stacks::Dwarf => ["--call-graph", "dwarf"],
        })
        .arg("-o")
        .arg(data);
    command
}

/// Checks whether the processor's own counters can be used.
fn has_counters() -> bool {
    InstructionCounter::available().is_ok_and(|it| it == InstructionCounter::Processor)
}

/// Converts perf's output to text; returns the reason, in a line, if that fails.
#[expect(
    clippy::disallowed_methods,
    reason = "perf script, which ends by itself"
)]
pub(super) fn text(place: &Path) -> Result<PathBuf, String> {
    let failed = |reason: &dyn std::fmt::Display| format!("perf script failed: {reason}");
    let (data, text) = (place.join(DATA), place.join(TEXT));
    let file = File::create(&text).map_err(|error| failed(&error))?;
    let mut script = Command::new(PROGRAM);
    ends_with_this_process(&mut script);
    let output = script
        .args(["script", "--no-inline", "--force", "-i"])
        .arg(&data)
        // Interrupting the job is not a failure of the run.
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| failed(&error))?;
    let _ = fs::remove_file(&data);
    match output.status.success() {
        true => Ok(text),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(failed(&said.lines().last().unwrap_or("it said nothing")))
        }
    }
}

/// Checks whether most stacks in perf's text name only the function that ran. This happens without
/// frame pointers, which compilers omit by default: then inlining looks like a change.
pub(super) fn lacks_callers(text: &str) -> bool {
    let (mut lost, mut all) = (0_usize, 0_usize);
    for stack in text.split("\n\n") {
        let frames = stack.lines().filter(|line| line.starts_with(['\t', ' ']));
        let frames = frames.filter_map(|line| line.trim().split_once(' '));
        let own = frames.filter(|(_, function)| !function.contains("([kernel"));
        let mut named = own.filter(|(_, function)| !function.starts_with("[unknown]"));
        let Some((_, first)) = named.next() else {
            continue;
        };
        let name = first.split(['+', ' ']).next();
        let is_outermost = matches!(name, Some("main" | "_start"));
        all += 1;
        lost += usize::from(named.next().is_none() && !is_outermost);
    }
    lost > all / 2
}

/// Makes the kernel end a program with this process: no supervisor of a run knows it.
#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "the standard library has no other way to say this of a program"
)]
fn ends_with_this_process(command: &mut Command) {
    // SAFETY: this system call is the only one between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
}

#[cfg(not(target_os = "linux"))]
fn ends_with_this_process(_: &mut Command) {}

/// Checks that perf may be used here, by profiling a program that does nothing.
pub(super) fn check() -> Result<(), ProfilerError> {
    checked(PROGRAM, |place| {
        let nothing = Path::new("true");
        command(place, Stacks::FramePointers, nothing, Vec::new())
    })
}

/// Checks that a profiler of perf's samples succeeds with this command.
#[expect(
    clippy::disallowed_methods,
    reason = "a profile of a program that ends at once"
)]
pub(super) fn checked(
    program: &'static str,
    command: impl FnOnce(&Path) -> Command,
) -> Result<(), ProfilerError> {
    let failed = |source| ProfilerError::Start { program, source };
    let place = tempfile::tempdir().map_err(failed)?;
    let output = command(place.path())
        .stdin(Stdio::null())
        .output()
        .map_err(failed)?;
    match output.status.success() {
        true => Ok(()),
        false => Err(not_permitted(&String::from_utf8_lossy(&output.stderr))),
    }
}

/// The error that perf reports, if its standard error is one of permission.
pub(super) fn refusal(stderr: &str) -> Option<ProfilerError> {
    let is_refused = stderr.contains("perf_event_paranoid") || stderr.contains("No permission to");
    is_refused.then(|| not_permitted(stderr))
}

fn not_permitted(stderr: &str) -> ProfilerError {
    let line = stderr
        .lines()
        .map(str::trim)
        .find(|line| line.len() > "Error:".len());
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    ProfilerError::NotPermitted {
        reason: line.unwrap_or("it failed").trim_end_matches('.').to_owned(),
        paranoid: paranoid.ok().and_then(|value| value.trim().parse().ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::words;
    use super::*;

    #[test]
    fn the_kernels_clock_stands_in_for_counters() {
        let line = |counters| words(&recording(Path::new("/x"), Stacks::Dwarf, counters)).join(" ");
        assert_eq!(
            line(false),
            "perf record -q --no-buildid-cache --no-bpf-event --event cpu-clock --freq 997 --call-graph dwarf -o /x"
        );
        assert!(line(true).contains("--event cycles"));
    }

    #[test]
    fn stacks_of_one_function_lack_callers() {
        let stack = |functions: &[&str]| {
            let lines = functions.iter().map(|it| format!("\t    1 {it}\n"));
            format!("w 1 1.0: 5 cycles:\n{}\n", lines.collect::<String>())
        };
        let lost = stack(&["step+0x1 (/w)", "[unknown] (/w)"]);
        let whole = stack(&["step+0x1 (/w)", "sweep+0x1 (/w)", "[unknown] (/w)"]);
        let kernel = stack(&["fault ([kernel.kallsyms])", "entry ([kernel.kallsyms])"]);
        let outermost = stack(&["main+0x1 (/w)"]);
        assert!(lacks_callers(&lost));
        assert!(lacks_callers(&format!("{lost}{lost}{whole}")));
        assert!(!lacks_callers(&format!("{lost}{whole}")));
        for text in ["", &whole, &kernel, &outermost] {
            assert!(!lacks_callers(text), "{text}");
        }
    }

    #[test]
    fn a_refusal_says_what_to_allow() {
        let said = "Error:\nAccess to performance monitoring and observability operations is limited.\nConsider adjusting /proc/sys/kernel/perf_event_paranoid setting\n";
        let error = refusal(said).unwrap().to_string();
        assert!(
            error.contains("(Access to performance monitoring"),
            "{error}"
        );
        assert!(
            error.contains("sysctl kernel.perf_event_paranoid=1"),
            "{error}"
        );
        assert!(refusal("Segmentation fault").is_none());
    }
}
