//! The arguments that make a benchmark of Chrome write traces, and the paths of the traces in its
//! task's outputs.
//!
//! | runner | traces | source |
//! | --- | --- | --- |
//! | Crossbench | by its probe `tracing`, into its output directory, which is in that of the task | `crossbench/probes/cb_perfetto/tracing.py`, `testing/scripts/run_performance_tests.py` |
//! | Telemetry | by benchmarks whose metrics are made of traces, into its intermediate directory, which is lost unless it is in that of the task | `tools/perf/core/results_processor/command_line.py`, `telemetry/internal/results/page_test_results.py` |
//! | GoogleTest | none | |
//!
//! Both write protobufs unless they are asked for JSON.

use super::command::{CommandError, Runner};

/// The events that Chrome's Performance panel shows, with the samples of V8.
const CATEGORIES: [&str; 6] = [
    "devtools.timeline",
    "disabled-by-default-devtools.timeline",
    "disabled-by-default-v8.cpu_profiler",
    "v8",
    "toplevel",
    "blink.user_timing",
];

/// The trace settings of a benchmark.
///
/// ```
/// use pinpoint_luci::swarming::Tracing;
///
/// let tracing = Tracing::of("speedometer3.crossbench")?;
/// assert!(tracing.arguments[0].starts_with("--probe=tracing:"));
/// assert_eq!(tracing.files, "speedometer3.crossbench/output/**/trace*.json*");
/// # Ok::<(), pinpoint_luci::swarming::CommandError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tracing {
    /// Arguments for its runner.
    pub arguments: Vec<String>,
    /// A pattern of the traces, as paths in the task's outputs.
    pub files: String,
}

impl Tracing {
    /// The trace settings of this benchmark.
    ///
    /// # Errors
    ///
    /// When it is a program of GoogleTest, which writes none, or Crossbench does not have it.
    pub fn of(benchmark: &str) -> Result<Self, CommandError> {
        match Runner::for_benchmark(benchmark)? {
            Runner::Crossbench(_) => Ok(Self::by_crossbench(benchmark)),
            Runner::Telemetry => Ok(Self::by_telemetry(benchmark)),
            Runner::Gtest(_) => Err(CommandError::NoTraces(benchmark.into())),
        }
    }

    fn by_crossbench(benchmark: &str) -> Self {
        let probe = serde_json::json!({
            "categories": CATEGORIES,
            "record_format": "json",
            // A ring buffer would keep only the end.
            "record_mode": "record-as-much-as-possible",
        });
        Self {
            arguments: vec![format!("--probe=tracing:{probe}")],
            files: format!("{benchmark}/output/**/trace*.json*"),
        }
    }

    fn by_telemetry(benchmark: &str) -> Self {
        let directory = format!("{benchmark}/artifacts");
        Self {
            arguments: vec![
                "--legacy-json-trace-format".into(),
                format!("--extra-chrome-categories={}", CATEGORIES.join(",")),
                format!("--intermediate-dir=${{ISOLATED_OUTDIR}}/{directory}"),
            ],
            files: format!("{directory}/**/trace/traceEvents/*.json*"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_runner_has_its_own_arguments_and_files() {
        let crossbench = Tracing::of("jetstream2.crossbench").unwrap();
        assert_eq!(
            crossbench.arguments,
            ["--probe=tracing:{\"categories\":[\"devtools.timeline\",\
              \"disabled-by-default-devtools.timeline\",\"disabled-by-default-v8.cpu_profiler\",\
              \"v8\",\"toplevel\",\"blink.user_timing\"],\"record_format\":\"json\",\
              \"record_mode\":\"record-as-much-as-possible\"}"]
        );
        let telemetry = Tracing::of("rendering.desktop").unwrap();
        assert_eq!(
            telemetry.arguments[2],
            "--intermediate-dir=${ISOLATED_OUTDIR}/rendering.desktop/artifacts"
        );
        assert_eq!(
            telemetry.files,
            "rendering.desktop/artifacts/**/trace/traceEvents/*.json*"
        );
        let error = Tracing::of("base_perftests").unwrap_err().to_string();
        assert!(error.contains("writes no traces"), "{error}");
    }
}
