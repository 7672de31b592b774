//! Which profiler fits a benchmark.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::{Profiler, ProfilerError, chrome, go, perf, python, samply};
use crate::local::config::LocalConfig;
use crate::local::instructions::{InstructionCounter, VALGRIND};
use crate::local::supervisor::find;

/// What decides about the profiler.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProfilerFacts {
    /// The benchmark and its arguments.
    pub command: Vec<String>,
    /// The line by which a script names its interpreter, where the program is one.
    pub shebang: Option<String>,
    /// perf is installed.
    pub has_perf: bool,
    /// perf is installed, and the kernel does not allow it.
    pub perf_refused: bool,
    /// Valgrind is installed.
    pub has_valgrind: bool,
    /// py-spy is installed.
    pub has_py_spy: bool,
    /// samply is installed.
    pub has_samply: bool,
    /// What the job measures is counted by callgrind.
    pub is_counted: bool,
}

/// The profiler for a benchmark: of its language where that has one of its own, else perf,
/// else callgrind, else samply.
///
/// # Errors
///
/// When the one that fits is missing.
///
/// ```
/// use pinpoint_backends::local::{Profiler, ProfilerFacts, choose_profiler};
///
/// let facts = ProfilerFacts {
///     command: vec!["node".into(), "bench.js".into()],
///     ..ProfilerFacts::default()
/// };
/// assert_eq!(choose_profiler(&facts)?, Profiler::Node);
/// # Ok::<(), pinpoint_backends::local::ProfilerError>(())
/// ```
pub fn choose_profiler(facts: &ProfilerFacts) -> Result<Profiler, ProfilerError> {
    if facts.is_counted && facts.has_valgrind {
        return Ok(Profiler::Callgrind);
    }
    let words = facts.shebang.as_deref().unwrap_or_default();
    let words = words
        .split_whitespace()
        .chain(facts.command.iter().map(String::as_str));
    // `#!/usr/bin/env -S python3 -u` and `env LC_ALL=C python3 x.py` name it later.
    let program = words
        .map(|word| word.rsplit('/').next().unwrap_or(word))
        .find(|word| *word != "env" && !word.starts_with('-') && !word.contains('='));
    let program = program.unwrap_or_default();
    let is = |names: &[&str]| names.contains(&program);
    if is(&["node", "npm", "npx", "pnpm", "yarn"]) || has_extension(program, &["js", "mjs", "cjs"])
    {
        return Ok(Profiler::Node);
    }
    if program.starts_with("python") || is(&["pytest"]) || has_extension(program, &["py"]) {
        return match facts.has_py_spy {
            true => Ok(Profiler::Python),
            false => Err(missing(Profiler::Python)),
        };
    }
    if go::check(&facts.command).is_ok() {
        return Ok(Profiler::Go);
    }
    if chrome::is_browser(program) {
        return Ok(Profiler::Chrome);
    }
    match (facts.has_perf && !facts.perf_refused, facts.has_valgrind) {
        (true, _) => Ok(Profiler::Perf),
        (false, true) => Ok(Profiler::Callgrind),
        (false, false) if facts.has_samply && !facts.has_perf => Ok(Profiler::Samply),
        (false, false) if facts.has_perf => Err(missing(Profiler::Callgrind)),
        (false, false) => Err(ProfilerError::NoneInstalled),
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

/// Finds out on this machine what decides about the profiler of a job.
pub fn profiler_facts(config: &LocalConfig) -> ProfilerFacts {
    let has_perf = is_installed(perf::PROGRAM);
    ProfilerFacts {
        command: config.command.clone(),
        // As the user has it checked out; a build may make it, too.
        shebang: (config.command.first()).and_then(|program| shebang(&config.repository, program)),
        has_perf,
        perf_refused: has_perf && perf::check().is_err(),
        has_valgrind: is_installed(VALGRIND),
        has_py_spy: is_installed(python::PROGRAM),
        has_samply: is_installed(samply::PROGRAM),
        is_counted: config.instructions == Some(InstructionCounter::Callgrind),
    }
}

impl Profiler {
    /// Whether it can profile this benchmark on this machine.
    ///
    /// # Errors
    ///
    /// When it is missing, or may not be used, or needs another command.
    pub fn check(&self, command: &[String]) -> Result<(), ProfilerError> {
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
            Self::Go => go::check(command),
            _ => Ok(()),
        }
    }
}

pub(super) fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    find(program.as_ref(), None, &[("PATH".into(), path)]).is_ok()
}

/// The first line of a script, without `#!`.
fn shebang(repository: &Path, program: &str) -> Option<String> {
    if !program.contains('/') {
        return None;
    }
    let mut begin = Vec::new();
    let file = File::open(repository.join(program)).ok()?;
    file.take(256).read_to_end(&mut begin).ok()?;
    let text = String::from_utf8_lossy(&begin).into_owned();
    let line = text.strip_prefix("#!")?.lines().next()?;
    Some(line.trim().to_owned())
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
            ("./bench", Profiler::Perf),
            ("sh -c node", Profiler::Perf),
        ] {
            assert_eq!(
                choose_profiler(&facts(command)).unwrap(),
                profiler,
                "{command}"
            );
        }
        let script = ProfilerFacts {
            shebang: Some("/usr/bin/env -S python3 -u".into()),
            ..facts("./bench")
        };
        assert_eq!(choose_profiler(&script).unwrap(), Profiler::Python);
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

    #[test]
    fn a_script_names_its_interpreter() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("x"), "#! /usr/bin/python3\nimport this\n").unwrap();
        assert_eq!(
            shebang(place.path(), "./x").as_deref(),
            Some("/usr/bin/python3")
        );
        assert_eq!(shebang(place.path(), "x"), None);
        assert_eq!(shebang(place.path(), "./y"), None);
    }
}
