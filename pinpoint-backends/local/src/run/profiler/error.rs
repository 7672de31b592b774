//! Errors of profilers.

use std::io;

use super::tool::Profiler;

/// A profiler can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfilerError {
    /// No profiler has this name.
    #[error(
        "{0:?} is not a profiler; choose {names}, command:TEMPLATE or files:GLOB",
        names = Profiler::NAMES.join(", ")
    )]
    Unknown(String),
    /// The template does not say where the profile goes.
    #[error(
        "the template of a profiler must say where the profile goes: put {{profile}} into {0:?}, and {{command}} where the benchmark is to stand"
    )]
    Template(String),
    /// The pattern is invalid, or leads out of the work tree.
    #[error(
        "{pattern:?} does not name profiles ({reason}); give a pattern of files inside the work tree, as in files:profiles/*.folded"
    )]
    Pattern {
        /// The pattern.
        pattern: String,
        /// The problem.
        reason: String,
    },
    /// The program of the profiler is not installed.
    #[error("the profiler {profiler} needs {program}, which is not installed; {advice}")]
    Missing {
        /// The profiler.
        profiler: Profiler,
        /// The program.
        program: &'static str,
        /// Installation advice.
        advice: &'static str,
    },
    /// Nothing is installed that could profile the benchmark.
    #[error("no profiler for this benchmark is installed; install perf, valgrind or samply")]
    NoneInstalled,
    /// The kernel does not let this user profile.
    #[error(
        "the kernel's perf events may not be used here ({reason}{}); allow it with `sysctl kernel.perf_event_paranoid=1` as root, or take callgrind, which needs no permission",
        setting(.paranoid)
    )]
    NotPermitted {
        /// The error of perf.
        reason: String,
        /// The value of `kernel.perf_event_paranoid`, if it can be read.
        paranoid: Option<i32>,
    },
    /// The kernel does not let py-spy trace other processes.
    #[error(
        "py-spy may not look at the benchmark's processes; allow it with `sysctl kernel.yama.ptrace_scope=0` as root, or run pinpoint as root"
    )]
    NoPtrace,
    /// The command does not run Go tests.
    #[error(
        "the profiler go needs a benchmark that is `go test` or a test binary (`x.test`), and this one begins with {0:?}; if the program can write a profile itself, take command:'PROGRAM -cpuprofile {{profile}}'"
    )]
    NotGo(String),
    /// A profiler that is installed can't be started.
    #[error("{program} can't be started: {source}")]
    Start {
        /// The program.
        program: &'static str,
        /// The reason.
        source: io::Error,
    },
    /// The run ended without a profile.
    #[error("{} wrote no profile; {}", .0.in_words(), advice(.0))]
    Nothing(Profiler),
}

fn setting(paranoid: &Option<i32>) -> String {
    match paranoid {
        Some(value) => format!(", kernel.perf_event_paranoid is {value}"),
        None => String::new(),
    }
}

fn advice(profiler: &Profiler) -> &'static str {
    match profiler {
        Profiler::Perf | Profiler::PerfDwarf | Profiler::Samply => {
            "check that the benchmark runs for longer than a few milliseconds"
        }
        Profiler::Callgrind => "check that the benchmark's processes end by themselves",
        Profiler::Node => {
            "check that the benchmark runs Node.js 14 or later, which ends by itself, and leaves NODE_OPTIONS as it is"
        }
        Profiler::Python => "check that the benchmark runs Python for longer than a second",
        Profiler::Go => {
            "check that the benchmark runs `go test` for longer than a few milliseconds, and leaves GOFLAGS as it is and `-exec` out"
        }
        Profiler::Chrome => {
            "check that the benchmark closes its browser, and finds it on the PATH or in CHROME_PATH, CHROME_BIN or PUPPETEER_EXECUTABLE_PATH; if not, have it start the browser with the options in PINPOINT_CHROME_FLAGS, one in each line"
        }
        Profiler::Command(_) => "check that the template writes one to {profile}",
        Profiler::Files(_) => {
            "check that the benchmark writes files of such names in the work tree"
        }
    }
}
