//! Lines that tools write about themselves, with times and sizes that are not results.

use std::sync::LazyLock;

use regex::RegexSet;

/// The patterns of such lines, without the blanks around them.
const OWN: [&str; 59] = [
    // Cargo and Rust's test harness.
    r"^Finished .*target\(s\) in \S+( \S+)?$",
    r"^Downloaded \d+ crates? \(.*\) in \S+",
    r"^test result: ",
    // Criterion.rs.
    r"^change:",
    r"^(time|thrpt):\s+\[[-+−]?[\d.]+% ",
    r"^thrpt:\s+\[",
    r"^Found \d+ outliers? among \d+ measurements",
    r"^\d+ \([\d.]+%\) (low|high) (mild|severe)$",
    r"^Benchmarking .*: (Warming up|Collecting|Analyzing|Profiling)",
    r"^Warning: (Unable to complete \d+ samples|It is not recommended)",
    r"^(slope|mean|median)\s+\[",
    // Go.
    r"^(ok|FAIL|\?)\s+\S+\s+(\(cached\)|[\d.]+s)",
    r"^--- (PASS|FAIL|SKIP|BENCH): \S+( \([\d.]+s\))?$",
    r"^(cpu|coverage): ",
    // pytest and unittest.
    r"^=+ .* in [\d.]+s( \([\d:]+\))? =+$",
    r"^(\d+ (passed|failed|skipped|deselected|xfailed|xpassed|errors?|warnings?|rerun)(, )?)+ in [\d.]+s",
    r"^\(\d+ durations < [\d.]+s hidden",
    r"^Ran \d+ tests? in [\d.]+s$",
    // hyperfine.
    r"^Range \(",
    r"^Warning: (The first benchmarking run|Statistical outliers|Command took less than|Ignoring non-zero)",
    // Google Benchmark.
    r"^Run on \(\d+ X ",
    r"^L\d (Data|Instruction|Unified) \d",
    r"^Load Average: ",
    r"^\S+_(cv|RMS|BigO)\s",
    // divan.
    r"^Timer precision: ",
    // Vitest.
    r"^(Duration|Start at|Transform)\s+[\d.:]+",
    r"^[✓❯×↓√] .* [\d.]+m?s$",
    // asv.
    r"^started: .*, duration: ",
    r"^asv: benchmark timed out",
    // BenchmarkDotNet.
    r"^// ",
    r"^(Overhead|Workload|Idle|Main)\w+\s+\d+: \d+ op, ",
    r"^Mean = .*, StdErr = ",
    r"^(Min|IQR|ConfidenceInterval|Skewness|Runtime) ?= ",
    r"^\[.* ; .*[)\]] \|",
    r"^(Run time|Global total time|Total time): \d\d:\d\d:\d\d ",
    r"^1 (s|ms|us|μs|ns)\s+: 1 ",
    r"^(Error\s+: Half of|Allocated\s+: Allocated) ",
    r"^Frequency[:=]\d",
    r"^Time Elapsed \d\d:",
    // nanobench.
    r"^\* CPU frequency scaling enabled: ",
    r"^(ratio [\d.]+x, )?95% CI \[",
    // YCSB.
    r"(^|\s)\d+ sec: \d+ operations; ",
    // Names of machines.
    r"@ ?[\d.]+ ?GHz",
    r"CPU [\d.]+GHz",
    // CMake and npm.
    r"^-- (Configuring|Generating) done",
    r"^(added|changed|audited) \d+ packages?.* in \d+m?s$",
    // Package managers, and tools that build or test.
    r"^(✨\s+)?Done in [\d.]+m?s",
    r"^BUILD (SUCCESSFUL|FAILED) in ",
    r"^(Resolved|Installed|Prepared|Audited|Uninstalled|Built|Downloaded) \d+ packages? in ",
    r"^(Collecting|Downloading|Using cached) \S+.* \([\d.]+ [kMG]?B\)",
    r"^━+.* [\d.]+/[\d.]+ [kMG]?B ",
    r"^INFO: Elapsed time: .*, Critical Path: ",
    r"^Finished in [\d.]+ (seconds?|minutes?.*) \(files took ",
    r"^\d+ (passing|pending|failing)( \(\d+m?s\))?$",
    r"^webpack .* compiled .* in \d+ ms$",
    r"^(Passed|Failed)!\s+- Failed:\s+\d+",
    r"^(ok|FAILED) \| \d+ passed .*\(\d+m?s\)$",
    r"^(PASS|FAIL) \S+ \([\d.]+ m?s\)$",
    // Bars of progress.
    r"^.{0,80}\d+%\|.*\|.*\[.*(/s|s/it)[\],]",
];

/// The beginnings of tools' results.
const BEGUN: [&str; 3] = [
    r"^test .+ \.\.\. bench:",
    r"\stime:\s+\[",
    r"^Benchmark[A-Z_0-9]\S*\s+\d+\s+\S",
];

// Without the digits of other scripts, it is compiled in half of the time.
static OWN_LINES: LazyLock<Option<RegexSet>> =
    LazyLock::new(|| RegexSet::new(OWN.map(|own| own.replace(r"\d", "[0-9]"))).ok());
static BEGUN_LINES: LazyLock<Option<RegexSet>> = LazyLock::new(|| RegexSet::new(BEGUN).ok());

/// Returns true if a line looks like a tool's text about itself, not a measurement.
pub(super) fn is_of_a_tool(line: &str) -> bool {
    (OWN_LINES.as_ref()).is_some_and(|own| own.is_match(line.trim()))
}

/// Returns true if a line begins like a tool's result. One that is not read is garbled, or another
/// tool's.
pub(super) fn begins_a_result(line: &str) -> bool {
    (BEGUN_LINES.as_ref()).is_some_and(|begun| begun.is_match(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patterns_are_sound() {
        assert!(OWN_LINES.is_some() && BEGUN_LINES.is_some());
    }
}
