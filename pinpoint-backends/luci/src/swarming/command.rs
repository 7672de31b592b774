//! The command line of a benchmark of Chrome.
//!
//! A task begins in the folder of the build. `run_performance_tests.py` runs one of three kinds of
//! programs there, by the benchmark: a program of GoogleTest, Crossbench, or Telemetry. Their
//! tables are in `benchmarks.json`, which names its sources.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use pinpoint_core::bots::completions;
use serde::Deserialize;

use super::arguments::runner_arguments;

/// The beginning of every command.
const RUNNER: [&str; 5] = [
    "luci-auth",
    "context",
    "--",
    "vpython3",
    "../../testing/test_env.py",
];

const SCRIPT: &str = "../../testing/scripts/run_performance_tests.py";

/// The file that the runner writes its summary to; the values are next to it.
const OUTPUT: [&str; 2] = [
    "--isolated-script-test-output",
    "${ISOLATED_OUTDIR}/output.json",
];

/// Targets that know `run_performance_tests.py`: all whose names hold one of these.
const TARGETS: [&str; 3] = [
    "performance_test_suite",
    "telemetry_perf_tests",
    "performance_webview_test_suite",
];

#[derive(Deserialize)]
struct Tables {
    gtests: BTreeMap<String, Gtest>,
    crossbench: BTreeMap<String, Crossbench>,
    /// Options of all runners, and of `run_performance_tests.py`.
    runner_options: BTreeSet<String>,
    /// Those of Telemetry alone.
    telemetry_options: BTreeSet<String>,
    /// Those of Crossbench alone.
    crossbench_options: BTreeSet<String>,
}

#[derive(Deserialize)]
pub(super) struct Gtest {
    program: String,
    arguments: Vec<String>,
}

/// A benchmark of Crossbench.
#[derive(Deserialize)]
pub(super) struct Crossbench {
    /// Its name there.
    benchmark: String,
    /// Arguments that belong to it.
    #[serde(default)]
    arguments: Vec<String>,
}

/// The ending of the names of Crossbench's benchmarks.
const CROSSBENCH: &str = ".crossbench";

/// The story of benchmarks that have no others.
const ONLY_STORY: &str = "default";

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    serde_json::from_str(include_str!("benchmarks.json"))
        .expect("the tables are readable, as a test makes sure")
});

/// The runner of a benchmark.
pub(super) enum Runner {
    /// A program.
    Gtest(&'static Gtest),
    /// Crossbench.
    Crossbench(&'static Crossbench),
    /// Telemetry.
    Telemetry,
}

impl Runner {
    /// The runner of a benchmark, by its name.
    ///
    /// # Errors
    ///
    /// When it looks like one of Crossbench, which would be unknown there, too.
    pub(super) fn for_benchmark(benchmark: &str) -> Result<Self, CommandError> {
        let Tables {
            gtests, crossbench, ..
        } = &*TABLES;
        match (crossbench.get(benchmark), gtests.get(benchmark)) {
            (Some(crossbench), _) => Ok(Self::Crossbench(crossbench)),
            (None, Some(gtest)) => Ok(Self::Gtest(gtest)),
            (None, None) if benchmark.ends_with(CROSSBENCH) => {
                let known = crossbench.keys().map(String::as_str);
                let near = completions(benchmark, known).into_iter().next();
                Err(CommandError::UnknownBenchmark {
                    benchmark: benchmark.into(),
                    near: near.unwrap_or_default().into(),
                })
            }
            (None, None) => Ok(Self::Telemetry),
        }
    }
}

/// The benchmark cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The target has another runner.
    #[error("benchmarks of the target {0:?} can't be run: it has no run_performance_tests.py")]
    Target(String),
    /// Crossbench has no such benchmark.
    #[error("Crossbench has no benchmark {benchmark:?}; the nearest is {near:?}")]
    UnknownBenchmark {
        /// Its name.
        benchmark: String,
        /// The known name that is nearest.
        near: String,
    },
    /// Crossbench has one story.
    #[error("{benchmark} has no story but \"default\"; leave {story:?} out")]
    Story {
        /// The benchmark.
        benchmark: String,
        /// The story, or tags of stories.
        story: String,
    },
    /// It cannot write traces.
    #[error("{0} is a program of GoogleTest, which writes no traces that Chrome's options ask for")]
    NoTraces(String),
}

/// One execution of a benchmark.
///
/// ```
/// use pinpoint_luci::swarming::BenchmarkRun;
///
/// let run = BenchmarkRun {
///     target: "performance_test_suite",
///     benchmark: "speedometer3.crossbench",
///     browser: "release",
///     story: None,
///     story_tags: None,
///     profiling: &[],
///     arguments: &[],
///     revision: "1f2e3d4c5b6a",
/// };
/// let command = run.command()?;
/// assert_eq!(command[6], "../../third_party/crossbench/cb.py");
/// # Ok::<(), pinpoint_luci::swarming::CommandError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BenchmarkRun<'a> {
    /// The target that was built.
    pub target: &'a str,
    /// The benchmark.
    pub benchmark: &'a str,
    /// The browser, as Telemetry names them.
    pub browser: &'a str,
    /// The story; all of them when absent.
    pub story: Option<&'a str>,
    /// The tags of the stories to run, separated by commas.
    pub story_tags: Option<&'a str>,
    /// Arguments by which a run is profiled, all of them for the runner.
    pub profiling: &'a [String],
    /// Arguments of the job.
    pub arguments: &'a [String],
    /// The full hash of the commit; empty when it is not known.
    pub revision: &'a str,
}

impl BenchmarkRun<'_> {
    /// The program and its arguments.
    ///
    /// # Errors
    ///
    /// When the target or the benchmark cannot be run as asked.
    pub fn command(&self) -> Result<Vec<String>, CommandError> {
        if !TARGETS.iter().any(|known| self.target.contains(known)) {
            return Err(CommandError::Target(self.target.into()));
        }
        let mut command = words(&RUNNER);
        command.push(SCRIPT.into());
        let describes = self.story_tags.is_none();
        match Runner::for_benchmark(self.benchmark)? {
            Runner::Crossbench(crossbench) => {
                self.crossbench(&mut command, crossbench)?;
                return Ok(command);
            }
            Runner::Gtest(gtest) => {
                command.push(gtest.program.clone());
                command.extend(describes.then(|| "-d".to_owned()));
                let name = [
                    "--gtest-benchmark-name",
                    self.benchmark,
                    "--non-telemetry",
                    "true",
                ];
                command.extend(words(&name));
                command.extend(gtest.arguments.clone());
            }
            Runner::Telemetry => {
                command.push("../../tools/perf/run_benchmark".into());
                command.extend(describes.then(|| "-d".to_owned()));
                command.extend(words(&["--benchmarks", self.benchmark]));
            }
        }
        self.telemetry(&mut command);
        Ok(command)
    }

    fn crossbench(
        &self,
        command: &mut Vec<String>,
        crossbench: &Crossbench,
    ) -> Result<(), CommandError> {
        let other = self.story.filter(|story| *story != ONLY_STORY);
        if let Some(story) = other.or(self.story_tags) {
            return Err(CommandError::Story {
                benchmark: self.benchmark.into(),
                story: story.into(),
            });
        }
        let named = [
            "--benchmark-display-name",
            self.benchmark,
            "--benchmarks",
            &crossbench.benchmark,
        ];
        command.push("../../third_party/crossbench/cb.py".into());
        command.extend(words(&named));
        command.extend([format!("--browser={}", self.browser), "-v".into()]);
        command.extend(words(&OUTPUT));
        command.extend_from_slice(self.profiling);
        let arguments = [&crossbench.arguments, self.arguments].concat();
        let is_of_runner =
            |name: &str| is_in(name, [&TABLES.runner_options, &TABLES.crossbench_options]);
        command.extend(runner_arguments(&arguments, is_of_runner));
        Ok(())
    }

    /// The options that programs of GoogleTest have in common with Telemetry.
    fn telemetry(&self, command: &mut Vec<String>) {
        if let Some(story) = self.story {
            command.extend(["--story-filter".into(), story_pattern(story)]);
        }
        if let Some(tags) = self.story_tags {
            command.extend(words(&["--story-tag-filter", tags]));
        }
        let browser = ["--pageset-repeat", "1", "--browser", self.browser, "-v"];
        command.extend(words(&browser));
        command.extend(words(&[
            "--upload-results",
            "--output-format",
            "histograms",
        ]));
        command.extend(words(&OUTPUT));
        // A given build has no revision.
        if let Some(label) = self.revision.get(..7) {
            command.extend(words(&["--results-label", label]));
        }
        command.extend_from_slice(self.profiling);
        let is_of_runner =
            |name: &str| is_in(name, [&TABLES.runner_options, &TABLES.telemetry_options]);
        command.extend(runner_arguments(self.arguments, is_of_runner));
    }
}

fn is_in(name: &str, options: [&BTreeSet<String>; 2]) -> bool {
    options.iter().any(|options| options.contains(name))
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// A regular expression for one story: special characters in it match any character.
fn story_pattern(story: &str) -> String {
    let plain = story.chars().map(|character| match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | ' ' => character,
        _ => '.',
    });
    format!("^{}$", plain.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: &str = "luci-auth context -- vpython3 ../../testing/test_env.py \
                         ../../testing/scripts/run_performance_tests.py ";
    const OUT: &str = "--isolated-script-test-output ${ISOLATED_OUTDIR}/output.json";

    const RUN: BenchmarkRun<'_> = BenchmarkRun {
        target: "performance_test_suite",
        benchmark: "blink_perf.css",
        browser: "release",
        story: None,
        story_tags: None,
        profiling: &[],
        arguments: &[],
        revision: "0123456789abcdef0123456789abcdef01234567",
    };

    fn tail(arguments: &str) -> String {
        format!(
            "--pageset-repeat 1 --browser release -v --upload-results --output-format histograms \
             {OUT} --results-label 0123456{arguments}"
        )
    }

    #[track_caller]
    fn assert_command(run: BenchmarkRun<'_>, expected: &str) {
        assert_eq!(
            run.command().unwrap().join(" "),
            format!("{BEGIN}{expected}")
        );
    }

    #[test]
    fn each_kind_of_benchmark_has_its_command() {
        let telemetry = "../../tools/perf/run_benchmark";
        assert_command(
            RUN,
            &format!("{telemetry} -d --benchmarks blink_perf.css {}", tail("")),
        );
        let story = BenchmarkRun {
            story: Some("a/b c:d.html"),
            ..RUN
        };
        let filter = "--story-filter ^a.b c.d.html$";
        assert_command(
            story,
            &format!(
                "{telemetry} -d --benchmarks blink_perf.css {filter} {}",
                tail("")
            ),
        );
        let tags = BenchmarkRun {
            story_tags: Some("all,2019"),
            ..RUN
        };
        assert_command(
            tags,
            &format!(
                "{telemetry} --benchmarks blink_perf.css --story-tag-filter all,2019 {}",
                tail("")
            ),
        );
        let gtest = BenchmarkRun {
            benchmark: "performance_browser_tests",
            ..RUN
        };
        let own = "--full-performance-run --test-launcher-jobs=1 --test-launcher-retry-limit=0 \
                   --ui-test-action-timeout=60000 --ui-test-action-max-timeout=60000 \
                   --test-launcher-timeout=60000 \
                   --gtest_filter=*/TabCapturePerformanceTest.*:*/CastV2PerformanceTest.*";
        assert_command(
            gtest,
            &format!(
                "browser_tests -d --gtest-benchmark-name performance_browser_tests \
                 --non-telemetry true {own} {}",
                tail("")
            ),
        );
        let extra = ["--enable-x".to_owned(), "y".into()];
        let crossbench = BenchmarkRun {
            benchmark: "speedometer3.crossbench",
            arguments: &extra,
            ..RUN
        };
        assert_command(
            crossbench,
            &format!(
                "../../third_party/crossbench/cb.py --benchmark-display-name \
                 speedometer3.crossbench --benchmarks speedometer_3 --browser=release -v {OUT} \
                 --extra-browser-args=--enable-x y"
            ),
        );
    }

    #[test]
    fn arguments_go_to_the_runner_or_to_the_browser() {
        for (arguments, expected) in [
            ("", ""),
            ("--pageset-repeat 3", " --pageset-repeat 3"),
            ("--pageset-repeat=3 -v", " --pageset-repeat=3 -v"),
            (
                "--enable-features=A --reinstall --js-flags=--x stray",
                " --reinstall --extra-browser-args=--enable-features=A --js-flags=--x stray",
            ),
            ("-v --enable-a", " -v --extra-browser-args=--enable-a"),
            ("--browserx", " --extra-browser-args=--browserx"),
        ] {
            let words: Vec<_> = arguments.split_whitespace().map(str::to_owned).collect();
            let run = BenchmarkRun {
                arguments: &words,
                ..RUN
            };
            let telemetry = "../../tools/perf/run_benchmark -d --benchmarks blink_perf.css";
            assert_command(run, &format!("{telemetry} {}", tail(expected)));
        }
        let (profiling, arguments) = (["--trace".to_owned()], ["--enable-a".to_owned()]);
        let run = BenchmarkRun {
            profiling: &profiling,
            arguments: &arguments,
            ..RUN
        };
        let command = run.command().unwrap();
        let last = "--trace --extra-browser-args=--enable-a";
        assert!(command.join(" ").ends_with(last), "{command:?}");
        let run = BenchmarkRun {
            benchmark: "jetstream2.crossbench",
            ..run
        };
        let command = run.command().unwrap().join(" ");
        assert!(
            command.ends_with("output.json --trace --extra-browser-args=--enable-a"),
            "{command}"
        );
    }

    #[test]
    fn each_runner_keeps_its_own_options() {
        let ends = |benchmark: &str, arguments: &str, expected: &str| {
            let words: Vec<_> = arguments.split(' ').map(str::to_owned).collect();
            let run = BenchmarkRun {
                benchmark,
                arguments: &words,
                ..RUN
            };
            let command = run.command().unwrap().join(" ");
            assert!(command.ends_with(expected), "{command}");
        };
        let features = "--extra-browser-args=--enable-features=X";
        ends("blink_perf.css", features, &format!(" 0123456 {features}"));
        ends("base_perftests", features, &format!(" 0123456 {features}"));
        ends(
            "blink_perf.css",
            "--extra-chrome-categories=v8 --also-run-disabled-tests --max-failures=1 --a",
            " 0123456 --extra-chrome-categories=v8 --also-run-disabled-tests --max-failures=1 \
             --extra-browser-args=--a",
        );
        ends(
            "speedometer3.crossbench",
            "--probe=v8.log --a --repeat 3 --stories=x --enable-features=A --disable-features=B \
             --js-flags=--c --max-failures=1",
            "output.json --probe=v8.log --repeat 3 --stories=x --enable-features=A \
             --disable-features=B --js-flags=--c --extra-browser-args=--a --max-failures=1",
        );
        // The benchmark has such an argument itself.
        ends(
            "speedometer3.a11y.crossbench",
            "--a",
            "output.json --extra-browser-args=--force-renderer-accessibility --a",
        );
    }

    #[test]
    fn a_benchmark_that_crossbench_does_not_have_is_refused() {
        for (benchmark, nearest) in [
            ("speedometr3.crossbench", "speedometer3.crossbench"),
            ("jetstream2.3.crossbench", "jetstream2"),
        ] {
            let run = BenchmarkRun { benchmark, ..RUN };
            let error = run.command().unwrap_err();
            let CommandError::UnknownBenchmark { near, .. } = &error else {
                panic!("{error}");
            };
            assert!(near.starts_with(nearest), "{error}");
        }
        for benchmark in [
            "jetstream2.0.crossbench",
            "jetstream2.2.crossbench",
            "motionmark1.0.crossbench",
            "motionmark1.3.1.crossbench",
            "speedometer-main.crossbench",
            "embedder.crossbench",
            "loading.crossbench",
        ] {
            let run = BenchmarkRun { benchmark, ..RUN };
            let command = run.command().unwrap().join(" ");
            assert!(command.contains("crossbench/cb.py"), "{command}");
        }
        for (benchmark, program) in [
            ("gpu_perftests", "gpu_perftests -d"),
            ("tint_benchmark", "tint_benchmark -d"),
        ] {
            let run = BenchmarkRun { benchmark, ..RUN };
            let command = run.command().unwrap().join(" ");
            assert!(command.contains(program), "{command}");
        }
    }

    #[test]
    fn the_only_story_of_crossbench_may_be_named() {
        let named = BenchmarkRun {
            benchmark: "jetstream2.crossbench",
            story: Some("default"),
            ..RUN
        };
        let unnamed = BenchmarkRun {
            story: None,
            ..named
        };
        assert_eq!(named.command(), unnamed.command());
    }

    #[test]
    fn some_targets_can_be_run() {
        for (target, runs) in [
            ("performance_test_suite", true),
            (
                "performance_test_suite_android_trichrome_chrome_google_bundle",
                true,
            ),
            ("telemetry_perf_tests", true),
            ("performance_webview_test_suite", true),
            ("performance_web_engine_test_suite", false),
            ("webrtc_perf_tests", false),
            ("", false),
        ] {
            let run = BenchmarkRun { target, ..RUN };
            let expected = (!runs).then(|| CommandError::Target(target.into()));
            assert_eq!(run.command().err(), expected);
        }
        let story = BenchmarkRun {
            benchmark: "jetstream2.crossbench",
            story: Some("x"),
            ..RUN
        };
        assert!(matches!(story.command(), Err(CommandError::Story { .. })));
    }

    #[test]
    fn the_tables_are_whole() {
        let Tables {
            gtests,
            crossbench,
            runner_options,
            telemetry_options,
            crossbench_options,
        } = &*TABLES;
        assert_eq!(
            (gtests.len(), crossbench.len(), runner_options.len()),
            (10, 25, 26)
        );
        for options in [runner_options, telemetry_options, crossbench_options] {
            assert!(options.iter().all(|option| option.starts_with('-')));
            assert!(!options.contains("--extra-browser-args"));
        }
    }
}
