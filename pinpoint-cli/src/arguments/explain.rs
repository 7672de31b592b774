//! `pinpoint explain`.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::str::FromStr;

use bytesize::ByteSize;
use clap::builder::{
    NonEmptyStringValueParser, PossibleValue, PossibleValuesParser, StringValueParser,
    TypedValueParser,
};
use clap::{Arg, Args, Command, ValueEnum};
use pinpoint_backends::local::{Profiler, ProfilerError};
use pinpoint_core::profile::{ExportFormat, Exported, Window};

use super::LuciTokens;

/// Say which functions' time moved between two builds.
///
/// The builds are those of JOB: a culprit and its parent, or the two sides of a comparison
/// in pairs. They are run in pairs under a profiler, as a job of its own that can be
/// resumed. Functions that the culprit's diff changes are marked.
///
/// Or the profiles are those of two sets of files. Each file is the profile of one run: a
/// Chrome trace or a .cpuprofile, the text of `perf script`, folded stacks, a pprof or
/// callgrind file, the JSON of Firefox, samply, speedscope or stackprof, V8's preprocessed
/// log, or the text of Austin, simpleperf or macOS's sample, plain or compressed with gzip.
/// Functions are matched by module, name and file, without addresses, hashes and versions.
///
/// A function is named when its difference is certain: p, adjusted for all functions
/// with at least 0.1 % of a side (Benjamini and Hochberg), is at most 0.05. That needs
/// several runs of each side; callgrind counts instructions, so that one is enough.
///
/// Profilers: perf (call graphs by frame pointers), perf-dwarf (by debug information, which
/// is taken, too, where perf was not asked for and finds no callers), callgrind, samply, node (V8's sampler), python (py-spy), go (of `go test`), chrome (the
/// trace of a Chromium that the benchmark starts from the PATH or as CHROME_PATH,
/// CHROME_BIN or PUPPETEER_EXECUTABLE_PATH say; or with the options in
/// PINPOINT_CHROME_FLAGS, one in each line), command:TEMPLATE, a shell command that has a
/// profile written to {profile} and may hold {command} for the benchmark, and files:GLOB,
/// profiles that the benchmark itself writes to its work tree.
///
/// For a job in LUCI, the two builds run on the bots of the job, and profiles are what the
/// benchmark leaves there. chrome, the default, has Telemetry or Crossbench write Chrome's
/// traces. With files:GLOB, arguments after `--` have the runner write profiles, and GLOB names
/// them in the directory whose content the tasks leave.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint explain 019a
  pinpoint explain 019a --profiler callgrind
  pinpoint explain 019a --report why.html
  pinpoint explain 019a --profiler 'command:./bench -cpuprofile {profile}'
  pinpoint explain 019a --luci-tokens metadata
  pinpoint explain 019a --profiler 'files:*/output/**/trace.json' -- '--probe=tracing:{preset:\"devtools\",record_format:\"json\"}'
  pinpoint explain --base a1.json a2.json a3.json a4.json --experiment b1.json b2.json b3.json b4.json
  pinpoint explain --paired --base before/*.txt --experiment after/*.txt
  pinpoint explain --base callgrind.out.base --experiment callgrind.out.new --same 'parse=parse_line'
  pinpoint explain --base a*.json --experiment b*.json --window first-paint --output json
  pinpoint explain --base a*.txt --experiment b*.txt --export folded | inferno-flamegraph > difference.svg")]
pub(crate) struct Explain {
    /// The finished job whose result to explain. Or an explanation, whose profiles are
    /// read again; --same, --map and --window replace those that it was made with.
    #[arg(conflicts_with_all = ["base", "experiment", "paired"])]
    pub(crate) job: Option<String>,
    /// The profiler of the runs [default: the one that fits the benchmark and is installed].
    #[arg(long, value_name = "PROFILER", value_parser = ProfilerParser, default_value = "auto", hide_default_value = true, hide_possible_values = true, conflicts_with_all = ["base", "experiment"])]
    pub(crate) profiler: ProfilerArgument,
    /// The number of pairs of runs [default: 16, and 1 with callgrind].
    #[arg(long, value_name = "N", conflicts_with_all = ["base", "experiment"])]
    pub(crate) pairs: Option<u32>,
    /// The culprit to explain, by the beginning of its hash [default: the first].
    #[arg(long, value_name = "HASH", value_parser = NonEmptyStringValueParser::new(), conflicts_with_all = ["base", "experiment"])]
    pub(crate) culprit: Option<String>,
    /// The disk space for the profiles of the job [default: 1GiB]. `pinpoint clean` removes
    /// them.
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["base", "experiment"])]
    pub(crate) keep_profiles: Option<ByteSize>,
    #[command(flatten)]
    pub(crate) tokens: LuciTokens,
    /// Run the commands of an imported job without asking.
    #[arg(long, conflicts_with_all = ["base", "experiment"])]
    pub(crate) yes: bool,
    /// The profiles of the build before the change, one of each run; `-` is standard input.
    #[arg(long, value_name = "FILES", requires = "experiment", num_args = 1..)]
    pub(crate) base: Vec<PathBuf>,
    /// The profiles of the build after the change.
    #[arg(long, value_name = "FILES", requires = "base", num_args = 1..)]
    pub(crate) experiment: Vec<PathBuf>,
    /// Compare pair by pair: each profile of the base was recorded together with that of
    /// the experiment in the same place.
    #[arg(long)]
    pub(crate) paired: bool,
    /// A function of the base that has another name in the experiment; may be repeated. Where
    /// several functions have a name, FILE:NAME or MODULE:NAME says which.
    #[arg(long, value_name = "OLD=NEW", value_parser = same)]
    pub(crate) same: Vec<(String, String)>,
    /// A program, library, source file or folder of the base that has another name in the
    /// experiment; may be repeated.
    #[arg(long, value_name = "OLD=NEW", value_parser = same)]
    pub(crate) map: Vec<(String, String)>,
    /// The event to count, where profiles count several: an event of perf or callgrind, or a sample
    /// type of pprof.
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), requires = "base")]
    pub(crate) event: Option<String>,
    /// Count only what happened in this window: every span of this name
    /// (`performance.measure`, `console.time`), or FROM..TO in milliseconds since the
    /// profile began.
    #[arg(long, value_name = "NAME or FROM..TO", allow_hyphen_values = true)]
    pub(crate) window: Option<Window>,
    /// Write a report: one HTML file with the answer, all functions, a flame graph of both
    /// sides, what calls what, and, where profiles have times, what ran when.
    #[arg(long, value_name = "FILE.html", conflicts_with = "export")]
    pub(crate) report: Option<PathBuf>,
    /// Instead of the answer, write the profiles of a side as one, with means over its
    /// runs: folded, pprof, cpuprofile or speedscope.
    #[arg(long, value_name = "FORMAT", value_parser = export_format(), hide_possible_values = true)]
    pub(crate) export: Option<ExportFormat>,
    /// The profiles to export.
    #[arg(long, value_enum, default_value_t = SideArgument::Difference, requires = "export")]
    pub(crate) side: SideArgument,
    /// Arguments that have the benchmark of a job in LUCI write profiles, for its runner.
    #[arg(last = true, value_name = "ARGUMENTS", requires = "job")]
    pub(crate) arguments: Vec<String>,
}

/// `auto`, or a profiler.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProfilerArgument(pub(crate) Option<Profiler>);

impl FromStr for ProfilerArgument {
    type Err = ProfilerError;

    fn from_str(text: &str) -> Result<Self, ProfilerError> {
        match text {
            AUTO => Ok(Self(None)),
            text => Ok(Self(Some(text.parse()?))),
        }
    }
}

const AUTO: &str = "auto";

/// Reads a profiler. Shells complete the names, but other values are valid, too.
#[derive(Clone)]
pub(super) struct ProfilerParser;

impl TypedValueParser for ProfilerParser {
    type Value = ProfilerArgument;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, clap::Error> {
        let text = StringValueParser::new();
        let parser = text.try_map(|text| match text.parse() {
            Err(ProfilerError::Unknown(text)) => Err(format!(
                "{text:?} is not a profiler; choose {}, command:TEMPLATE, files:GLOB or {AUTO}",
                Profiler::NAMES.join(", ")
            )),
            read => read.map_err(|error| error.to_string()),
        });
        parser.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = [AUTO].into_iter().chain(Profiler::NAMES);
        Some(Box::new(names.map(PossibleValue::new)))
    }
}

fn export_format() -> impl TypedValueParser<Value = ExportFormat> {
    let names = ["folded", "pprof", "cpuprofile", "speedscope"];
    PossibleValuesParser::new(names).try_map(|text| text.parse())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SideArgument {
    /// The base.
    Base,
    /// The experiment.
    Experiment,
    /// Both in folded stacks; in pprof, the experiment less the base.
    Difference,
}

impl From<SideArgument> for Exported {
    fn from(side: SideArgument) -> Self {
        match side {
            SideArgument::Base => Self::Base,
            SideArgument::Experiment => Self::Experiment,
            SideArgument::Difference => Self::Difference,
        }
    }
}

/// Two names with `=` between them. Names may contain another, as `operator==` does: then the
/// separator is the one with text on both sides and no other sign beside it.
fn same(text: &str) -> Result<(String, String), String> {
    let is_sign = |c: char| "=<>!+-*/%&|^".contains(c);
    let place = text.match_indices('=').map(|(at, _)| at).find(|at| {
        let (before, after) = (&text[..*at], &text[at + 1..]);
        !before.is_empty()
            && !after.is_empty()
            && !before.ends_with(is_sign)
            && !after.starts_with(is_sign)
    });
    match place {
        Some(at) => Ok((text[..at].to_owned(), text[at + 1..].to_owned())),
        None => Err("write the two names with = between them, as in parse=parse_line".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_names_may_hold_signs() {
        let names = |text| same(text).map(|(old, new)| format!("{old} {new}"));
        assert_eq!(names("a=b").as_deref(), Ok("a b"));
        assert_eq!(names("f(int)=g::h").as_deref(), Ok("f(int) g::h"));
        assert_eq!(names("operator==(A)=b").as_deref(), Ok("operator==(A) b"));
        assert!(names("a").is_err() && names("=b").is_err() && names("a=").is_err());
    }
}
