//! Profilers: they run the benchmark and leave a profile of the run.
//!
//! Each has its own file, for starting the benchmark and processing the files that it left. Command
//! lines are made by pure functions; only `recording` touches files.
//!
//! | profiler | starts | leaves |
//! | --- | --- | --- |
//! | `perf`, `perf-dwarf` | `perf record … -- COMMAND` | the text of `perf script` |
//! | `samply` | `samply record … -- COMMAND` | the JSON of the Firefox Profiler |
//! | `callgrind` | `valgrind --tool=callgrind … COMMAND` | a file for each process |
//! | `node` | COMMAND, with a script in `NODE_OPTIONS` | a `.cpuprofile` for each process and worker |
//! | `python` | `py-spy record … -- COMMAND` | a speedscope file |
//! | `go` | COMMAND, its tests with `-cpuprofile` | a pprof file for each package |
//! | `chrome` | COMMAND, its browsers with options | a Chrome trace for each browser |
//! | `command:TEMPLATE` | the template, by `sh -c` | its output to `{profile}` |
//! | `files:GLOB` | COMMAND | the files in the work tree that match |

mod callers;
mod callgrind;
mod choice;
mod chrome;
mod error;
mod files;
mod go;
mod node;
mod parse;
mod perf;
mod profile_store;
mod python;
mod recording;
mod samply;
mod started;
mod template;
mod tool;

pub use self::choice::{ProfilerFacts, choose_profiler, profiler_facts};
pub use self::error::ProfilerError;
#[doc(hidden)]
pub use self::profile_store::ProfileStore;
pub(crate) use self::profile_store::clean;
pub use self::profile_store::kept_profiles;
pub(crate) use self::recording::{Recording, remove_left};
pub use self::tool::{Profiler, Profiling};

#[cfg(test)]
mod tests {
    use std::process::Command;

    /// A command as its words, with the program's first.
    pub(crate) fn words(command: &Command) -> Vec<String> {
        std::iter::once(command.get_program())
            .chain(command.get_args())
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    }
}
