//! The choice of a profiler for a benchmark.

use std::path::Path;

use super::{Profiler, ProfilerError, chrome, go, perf, python, samply, started};
use crate::config::LocalConfig;
use crate::process::supervisor::find;
use crate::run::instructions::{InstructionCounter, VALGRIND};

/// The facts that decide about the profiler.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProfilerFacts {
    /// The benchmark and its arguments.
    pub command: Vec<String>,
    /// The text of the script that is the benchmark, or that its shell runs.
    pub script: Option<String>,
    /// perf is installed.
    pub has_perf: bool,
    /// perf is installed, but the kernel does not allow it.
    pub perf_refused: bool,
    /// Valgrind is installed.
    pub has_valgrind: bool,
    /// py-spy is installed.
    pub has_py_spy: bool,
    /// samply is installed.
    pub has_samply: bool,
    /// True if callgrind counts the job's measure.
    pub is_counted: bool,
}

/// The profiler for a benchmark: that of its language if there is one, else perf, else callgrind,
/// else samply.
///
/// # Errors
///
/// When the fitting one is missing.
///
/// ```
/// use pinpoint_local::{Profiler, ProfilerFacts, choose_profiler};
///
/// let facts = ProfilerFacts {
///     command: vec!["node".into(), "bench.js".into()],
///     ..ProfilerFacts::default()
/// };
/// assert_eq!(choose_profiler(&facts)?, Profiler::Node);
/// # Ok::<(), pinpoint_local::ProfilerError>(())
/// ```
pub fn choose_profiler(facts: &ProfilerFacts) -> Result<Profiler, ProfilerError> {
    if facts.is_counted && facts.has_valgrind {
        return Ok(Profiler::Callgrind);
    }
    let commands = started::commands(&facts.command, facts.script.as_deref());
    let kinds: Vec<Kind> = commands
        .iter()
        .filter_map(|it| Kind::from_command(it))
        .collect();
    // A profiler for any kind of program fits where there are several kinds.
    let kind = match kinds.split_first() {
        Some((first, others)) if others.iter().all(|kind| kind == first) => *first,
        _ => Kind::Other,
    };
    match kind {
        Kind::Node => return Ok(Profiler::Node),
        Kind::Python if facts.has_py_spy => return Ok(Profiler::Python),
        Kind::Python => return Err(missing(Profiler::Python)),
        Kind::Go => return Ok(Profiler::Go),
        Kind::Browser => return Ok(Profiler::Chrome),
        Kind::Other => {}
    }
    match (facts.has_perf && !facts.perf_refused, facts.has_valgrind) {
        (true, _) => Ok(Profiler::Perf),
        (false, true) => Ok(Profiler::Callgrind),
        (false, false) if facts.has_samply && !facts.has_perf => Ok(Profiler::Samply),
        (false, false) if facts.has_perf => Err(missing(Profiler::Callgrind)),
        (false, false) => Err(ProfilerError::NoneInstalled),
    }
}

/// The kind of a command, as profilers distinguish them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Node,
    Python,
    Go,
    Browser,
    /// Any other program.
    Other,
}

impl Kind {
    /// Absent for a system command such as `cd` and `cat`, which is not the one measured.
    fn from_command(command: &[String]) -> Option<Self> {
        let path = command.first()?;
        let program = started::base_name(path);
        let is = |names: &[&str]| names.contains(&program);
        let is_python = program.strip_prefix("python").is_some_and(|version| {
            let mut signs = version.chars();
            signs.all(|sign| sign.is_ascii_digit() || sign == '.')
        });
        let is_node = is(&["node", "npm", "npx", "pnpm", "yarn"]);
        if is_node || has_extension(program, &["js", "mjs", "cjs"]) {
            Some(Self::Node)
        } else if is_python || is(&["pytest"]) || has_extension(program, &["py"]) {
            Some(Self::Python)
        } else if go::is_test(command) {
            Some(Self::Go)
        } else if chrome::is_browser(program) {
            Some(Self::Browser)
        } else {
            let is_own = path.contains('/') && !path.starts_with("/bin/");
            (is_own && !path.starts_with("/usr/bin/")).then_some(Self::Other)
        }
    }
}

fn has_extension(program: &str, extensions: &[&str]) -> bool {
    let extension = Path::new(program).extension().and_then(|it| it.to_str());
    extension.is_some_and(|extension| extensions.contains(&extension))
}

fn missing(profiler: Profiler) -> ProfilerError {
    let (program, advice) = match profiler {
        Profiler::Python => (
            python::PROGRAM,
            "install it with `pip install py-spy`, or take perf for the interpreter itself",
        ),
        Profiler::Callgrind => (VALGRIND, "install the package valgrind"),
        Profiler::Samply => (
            samply::PROGRAM,
            "install it with `cargo install --locked samply`, or take perf or callgrind",
        ),
        _ => (
            perf::PROGRAM,
            "install it (linux-perf in Debian, linux-tools in Ubuntu, perf elsewhere), or take callgrind",
        ),
    };
    ProfilerError::Missing {
        profiler,
        program,
        advice,
    }
}

/// Collects the facts on this machine that decide about the profiler of a job.
pub fn profiler_facts(config: &LocalConfig) -> ProfilerFacts {
    let has_perf = is_installed(perf::PROGRAM);
    ProfilerFacts {
        command: config.command.clone(),
        script: script_of(config),
        has_perf,
        perf_refused: has_perf && perf::check().is_err(),
        has_valgrind: is_installed(VALGRIND),
        has_py_spy: is_installed(python::PROGRAM),
        has_samply: is_installed(samply::PROGRAM),
        is_counted: config.instructions == Some(InstructionCounter::Callgrind),
    }
}

impl Profiler {
    /// Checks that it can profile the benchmark of a job on this machine.
    ///
    /// # Errors
    ///
    /// When it is missing, or may not be used, or needs another command.
    pub fn check(&self, config: &LocalConfig) -> Result<(), ProfilerError> {
        let needed = match self {
            Self::Perf | Self::PerfDwarf => Some(perf::PROGRAM),
            Self::Callgrind => Some(VALGRIND),
            Self::Python => Some(python::PROGRAM),
            Self::Samply => Some(samply::PROGRAM),
            Self::Node | Self::Go | Self::Chrome | Self::Command(_) | Self::Files(_) => None,
        };
        if needed.is_some_and(|program| !is_installed(program)) {
            return Err(missing(self.clone()));
        }
        match self {
            Self::Perf | Self::PerfDwarf => perf::check(),
            Self::Samply => samply::check(),
            Self::Go => {
                let script = script_of(config);
                go::check(&config.command, script.as_deref())
            }
            _ => Ok(()),
        }
    }
}

/// The text of the benchmark's script, if it is at an absolute path or in the user's checkout.
/// Missing if the job names its repository by URL, or if the build makes the script.
fn script_of(config: &LocalConfig) -> Option<String> {
    started::script(config.repository.path(), &config.command)
}

pub(super) fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    find(program.as_ref(), None, &[("PATH".into(), path)]).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(command: &str) -> ProfilerFacts {
        ProfilerFacts {
            command: command.split(' ').map(str::to_owned).collect(),
            has_perf: true,
            has_valgrind: true,
            has_py_spy: true,
            ..ProfilerFacts::default()
        }
    }

    #[test]
    fn a_language_has_its_own_profiler() {
        for (command, profiler) in [
            ("node bench.js", Profiler::Node),
            ("/usr/bin/npm run bench", Profiler::Node),
            ("./bench.mjs", Profiler::Node),
            ("python3.11 -m bench", Profiler::Python),
            ("env PYTHONHASHSEED=0 python3 bench.py", Profiler::Python),
            ("pytest --benchmark-only", Profiler::Python),
            ("go test -bench .", Profiler::Go),
            ("chromium --headless page.html", Profiler::Chrome),
            ("./words.test -test.bench .", Profiler::Go),
            ("env GOFLAGS= go test ./...", Profiler::Go),
            ("./bench", Profiler::Perf),
            ("./pythonic", Profiler::Perf),
            ("go run .", Profiler::Perf),
            ("cargo run --release", Profiler::Perf),
            ("./venv/bin/python -m bench", Profiler::Python),
            ("nice -n 5 npx bench", Profiler::Node),
            ("sh -c node", Profiler::Node),
            ("sh bench.sh", Profiler::Perf),
        ] {
            assert_eq!(
                choose_profiler(&facts(command)).unwrap(),
                profiler,
                "{command}"
            );
        }
    }

    #[test]
    fn a_script_is_what_it_starts() {
        for (script, profiler) in [
            ("#!/usr/bin/env -S python3 -u\n", Profiler::Python),
            (
                "#!/bin/sh\ncd x\nexec node bench.js \"$@\"\n",
                Profiler::Node,
            ),
            (
                "#!/bin/bash\ngo test -bench . ./... | tee x\n",
                Profiler::Go,
            ),
            ("#!/bin/sh\nchromium --headless x.html\n", Profiler::Chrome),
            ("#!/bin/sh\n/usr/bin/time ./bench\n", Profiler::Perf),
            // A mix of kinds.
            ("#!/bin/sh\npython3 make.py\n./bench\n", Profiler::Perf),
            ("#!/bin/sh\necho 5\n", Profiler::Perf),
        ] {
            let facts = ProfilerFacts {
                script: Some(script.into()),
                ..facts("./bench.sh")
            };
            assert_eq!(choose_profiler(&facts).unwrap(), profiler, "{script}");
        }
    }

    #[test]
    fn what_is_missing_or_not_permitted_has_a_stand_in_or_an_error() {
        let refused = ProfilerFacts {
            perf_refused: true,
            ..facts("./bench")
        };
        assert_eq!(choose_profiler(&refused).unwrap(), Profiler::Callgrind);
        let counted = ProfilerFacts {
            is_counted: true,
            ..facts("node x.js")
        };
        assert_eq!(choose_profiler(&counted).unwrap(), Profiler::Callgrind);
        let without = |command: &str| {
            let none = ProfilerFacts {
                has_perf: false,
                has_valgrind: false,
                has_py_spy: false,
                ..facts(command)
            };
            choose_profiler(&none).unwrap_err().to_string()
        };
        assert!(without("python3 x.py").contains("pip install py-spy"));
        assert!(without("./bench").contains("install perf, valgrind or samply"));
        let samply = ProfilerFacts {
            command: vec!["./bench".into()],
            has_samply: true,
            ..ProfilerFacts::default()
        };
        assert_eq!(choose_profiler(&samply).unwrap(), Profiler::Samply);
        let refused = ProfilerFacts {
            has_valgrind: false,
            ..refused
        };
        let error = choose_profiler(&refused).unwrap_err().to_string();
        assert!(error.contains("the package valgrind"), "{error}");
    }
}
