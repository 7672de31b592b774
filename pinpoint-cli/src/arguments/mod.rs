//! The command line: commands, options and their help.

mod alerts;
mod annotate;
mod benchmark;
mod bisect;
mod bots;
mod cbb;
mod compare;
mod detect;
mod display;
mod doctor;
mod explain;
mod export;
mod headings;
mod ingest;
mod job_options;
mod jobs;
mod luci;
mod midpoint;
mod pairwise;
mod plan;
mod provisions;
mod regressions;
mod traces;
mod values;
mod verticals;
mod watch;
mod workers;

use std::ffi::OsString;
use std::path::PathBuf;

use bytesize::ByteSize;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use pinpoint_report::command_line::quoted;

pub(crate) use self::alerts::{AlertNew, AlertOptions, AlertTry, AlertUpdate, Alerts};
pub(crate) use self::annotate::{Annotate, AnnotateCommand, Author, Note};
pub(crate) use self::benchmark::Benchmark;
pub(crate) use self::bisect::{Bisect, Culprit, PriorArgument, StrategyArgument, searched};
pub(crate) use self::bots::{Bots, BotsCommand};
pub(crate) use self::cbb::Cbb;
pub(crate) use self::compare::Compare;
pub(crate) use self::detect::Detect;
#[cfg(test)]
pub(crate) use self::detect::DetectHistory;
pub(crate) use self::display::{Display, Output, OutputFormat, resume_options};
pub(crate) use self::doctor::Doctor;
pub(crate) use self::explain::{Explain, ProfilerArgument};
pub(crate) use self::export::Export;
#[cfg(feature = "luci")]
pub(crate) use self::export::ExportedRuns;
use self::headings::{
    BENCHMARK, BUDGET, LUCI, OUTPUT, QUESTION, STORAGE, STRATEGY, TEMPORAL, WORKERS,
};
pub(crate) use self::ingest::{FileFormat, Ingest};
pub(crate) use self::job_options::JobOptions;
pub(crate) use self::jobs::Jobs;
pub(crate) use self::luci::{Callback, Luci, LuciTokens, WriteBackArgument};
pub(crate) use self::midpoint::{Midpoint, StateArgument};
pub(crate) use self::pairwise::Pairwise;
pub(crate) use self::plan::{KindArgument, Plan};
pub(crate) use self::provisions::ProvisionOptions;
pub(crate) use self::regressions::{By, RegressionBisect, RegressionList, Regressions};
pub(crate) use self::traces::{
    CommitOptions, DatasetOption, ExportFormat, RangeArgument, ShortcutArgument, TraceExport,
    TraceParams, TracePivot, TraceQuery, TraceShortcut, TraceTries, Traces,
};
pub(crate) use self::values::{DirectionArgument, MeasureArgument, with_talos_values};
pub(crate) use self::verticals::Verticals;
pub(crate) use self::watch::{BisectionOptions, Watch};
#[cfg(feature = "temporal")]
pub(crate) use self::workers::TemporalServer;
pub(crate) use self::workers::{
    Assignment, Key, Signing, TemporalArguments, TemporalCommand, Worker, Workers,
};

/// Find the commit that made a benchmark slower.
///
/// Pinpoint builds and measures commits of a git repository, decides with
/// statistics whether two of them differ, and narrows the range until the
/// culprit is left.
///
/// Try it on a sample repository: pinpoint demo
#[derive(Debug, Parser)]
#[command(name = "pinpoint", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) display: Display,
}

const EXIT_CODES: &str = "\
Exit codes:
  0    a culprit was found (pairwise, compare, explain, detect: a difference)
  1    the job failed
  2    the command line or the input was wrong
  3    no difference was found
  4    not decided (bisect: the remaining range is reported)
  5    the result stands, but a report of it failed (--bug): resume the job
  130  interrupted or canceled; the job can be resumed";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Bisect(Box<Bisect>),
    Pairwise(Box<Pairwise>),
    /// Verify a regression, bisect it, and verify each culprit.
    ///
    /// The two ends are compared in pairs of runs. If the bad one is worse, the
    /// commits between them are bisected; then each culprit is compared with its
    /// parent, again in pairs. Only culprits that pass are reported as such.
    #[command(after_help = "\
Examples:
  pinpoint culprit v1.2 main -- ./bench.sh
  pinpoint culprit v1.2 main --build 'make -j2' --pairs 60 -- ./build/bench")]
    Culprit(Box<Culprit>),
    Compare(Box<Compare>),
    Ingest(Box<Ingest>),
    /// Ask the history of values: which traces, which values, from where.
    ///
    /// A query is URL-encoded: `config=8888&arch=~^x&os=!Win7`. Conditions of one key are alternatives, and
    /// all keys must hold: `v` is equal, `!v` is not, `~re` matches a regular expression, `!~re` does not,
    /// `*` is anything. Without a query, all traces match.
    #[command(subcommand)]
    Traces(Traces),
    Verticals(Box<Verticals>),
    Annotate(Box<Annotate>),
    Detect(Box<Detect>),
    /// Say which traces are watched, how, and what follows on a regression.
    ///
    /// `pinpoint watch` runs them over the values that come.
    #[command(subcommand)]
    Alerts(Box<Alerts>),
    /// List what alerts found, and say what it is.
    ///
    /// Names of regressions begin with r, those of groups with g; the beginning of a name is enough
    /// where no other one begins so. What people say is kept with who and when, and survives the next
    /// run of the detectors.
    #[command(subcommand)]
    Regressions(Box<Regressions>),
    /// Ingest what comes, run the alerts over it, tell what they find, and bisect it.
    ///
    /// Each look ingests the paths as `ingest` does, runs the alerts over all values that are new since
    /// the last look, and prints what happened as JSON Lines: regressions found, how they stand, traces
    /// that stopped, what people said. Groups of regressions are acted on when no member came for
    /// --quiet-time, or with the next values: alerts with the action report notify, those with bisect
    /// start `pinpoint culprit` here, between the commits that may be it, and its outcome is written
    /// back. The first look takes all values of the dataset for new, or those from
    /// --since on.
    ///
    /// A watch that ends at any time, by whatever means, goes on with the same command: no value is
    /// lost or seen twice, and no bisection is started twice.
    #[command(after_help = "\
Examples:
  pinpoint watch perf-data/ --forever
  pinpoint watch --commit HEAD --key os=linux results/      # after each build, in CI
  pinpoint watch perf-data/ --command './bench --only {test}' --options \"--build 'make -j2'\"
  pinpoint watch perf-data/ --forever --notify 'mail -s regressions team@example.org'

Events that the command of --notify reads (the field `event`):
  acted_on    a group was reported, or its bisection begins
  bisected    the bisection of a group ended: its outcome
  went_quiet  a trace has stopped

Exit codes:
  0    everything that was due is done
  1    something could not be done, and the next look tries it again; or a bisection failed, which
       `pinpoint regressions bisect` starts again
  2    the command line was wrong
  130  interrupted: the same command goes on")]
    Watch(Box<Watch>),
    Explain(Box<Explain>),
    /// List the commits between two commits, through merges and dependency rolls.
    Midpoint(Midpoint),
    /// Estimate the cost and accuracy of a bisection before running it.
    Plan(Box<Plan>),
    Doctor(Doctor),
    /// List, inspect, follow, resume and cancel jobs.
    #[command(subcommand)]
    Jobs(Jobs),
    Worker(Box<Worker>),
    /// List the workers that carry out jobs.
    #[command(subcommand)]
    Workers(Workers),
    /// Prepare a Temporal server for workers.
    #[command(subcommand)]
    Temporal(TemporalCommand),
    /// List and inspect the bots that run benchmarks.
    Bots(Bots),
    /// Compare browsers with each release.
    #[command(subcommand)]
    Cbb(Cbb),
    /// Run a benchmark of Chromium on one commit, for tables at BigQuery.
    #[command(subcommand)]
    Export(Box<Export>),
    /// Bisect a sample repository.
    Demo(Demo),
    /// Remove builds, work trees and profiles that no running job uses.
    Clean(Clean),
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

impl Arguments {
    /// Parses the arguments of this process.
    pub(crate) fn of_this_process() -> Result<Self, clap::Error> {
        Self::from_words(std::env::args_os())
    }

    fn from_words(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let mut command = Self::command();
        let words: Vec<OsString> = words.into_iter().collect();
        let matches = command.try_get_matches_from_mut(&words);
        let matches = matches.map_err(|error| with_separator(error, &words, &mut command))?;
        if let Some((name, of_command)) = matches.subcommand()
            && let Some(option) = luci::option_without_executor(of_command)
        {
            let command = command.find_subcommand_mut(name);
            let message = format!("{option} is about jobs in LUCI; add --executor luci");
            return Err(match command {
                Some(command) => command.error(ErrorKind::MissingRequiredArgument, message),
                None => clap::Error::raw(ErrorKind::MissingRequiredArgument, message),
            });
        }
        let arguments = Self::from_arg_matches(&matches);
        let mut arguments = arguments.map_err(|error| error.format(&mut command))?;
        arguments.display.output = arguments.display.format.into();
        Ok(arguments)
    }
}

/// Names the start of the benchmark, if an unreadable argument is one without `--` before it.
fn with_separator(
    error: clap::Error,
    words: &[OsString],
    command: &mut clap::Command,
) -> clap::Error {
    let Some(ContextValue::String(first)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let is_value = error.kind() == ErrorKind::UnknownArgument && !first.starts_with('-');
    let place = words.iter().rposition(|word| word == first.as_str());
    let benchmarked = words.iter().skip(1).find_map(|word| {
        let inner = command.find_subcommand(word.to_str()?)?;
        let takes_one = inner.get_arguments().any(|argument| argument.is_last_set());
        takes_one.then(|| inner.get_name().to_owned())
    });
    let (true, Some(place), Some(name), false) = (
        is_value,
        place,
        benchmarked,
        words.iter().any(|word| word == "--"),
    ) else {
        return error;
    };
    let mut fixed = vec!["pinpoint".to_owned()];
    fixed.extend(
        words
            .iter()
            .skip(1)
            .map(|word| word.to_string_lossy().into_owned()),
    );
    fixed.insert(place, "--".to_owned());
    let message = format!("the benchmark comes after `--`:\n\n    {}", quoted(&fixed));
    match command.find_subcommand_mut(&name) {
        Some(command) => command.error(ErrorKind::UnknownArgument, message),
        None => clap::Error::raw(ErrorKind::UnknownArgument, message),
    }
}

/// Bisect a sample repository.
///
/// Creates a small git repository with a real program, in which one commit makes the
/// program slower, and finds that commit with `pinpoint bisect`. Takes less than two
/// minutes.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// The seed that decides which commit is slower, and the order of runs.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Write a report on the job: one HTML file with the answer, charts, every run
    /// and its log.
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Create the repository in this new directory, and keep it.
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Clean {
    /// The disk space to leave to the most recently used builds, as in 500MB or 20GiB.
    #[arg(long, value_name = "SIZE", default_value = "0B", help_heading = STORAGE)]
    pub(crate) cache_size: ByteSize,
    /// Clean this directory of builds that machines keep for each other, and nothing else.
    #[arg(long, value_name = "DIR", help_heading = STORAGE)]
    pub(crate) build_store: Option<PathBuf>,
}

/// Returns true if these words ask for JSON. They could not be parsed, so only the option itself is
/// looked for.
pub(crate) fn asks_for_json(words: impl Iterator<Item = OsString>) -> bool {
    let words: Vec<OsString> = words.take_while(|word| word != "--").collect();
    let is_pair = |pair: &[OsString]| pair[0] == "--output" && pair[1] == "json";
    words.iter().any(|word| word == "--output=json") || words.windows(2).any(is_pair)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    /// The commands that a page shows in blocks, each as the shell would split it: without
    /// comments, redirections and what follows a pipe.
    fn shown_commands(page: &str) -> Vec<Vec<String>> {
        let mut commands = Vec::new();
        let mut is_fenced = false;
        let joined = page.replace("\\\n", " ");
        for line in joined.lines() {
            is_fenced ^= line.trim_start().starts_with("```");
            if !is_fenced && !line.starts_with("    ") {
                continue;
            }
            let line = line.trim_start().trim_start_matches("$ ");
            if !line.starts_with("pinpoint ") {
                continue;
            }
            let end = [" #", " | ", " > ", " && ", " &"].iter();
            let end = end.filter_map(|it| line.find(it)).min();
            let words = shlex::split(&line[..end.unwrap_or(line.len())]);
            commands.push(words.unwrap_or_else(|| panic!("{line}")));
        }
        commands
    }

    #[test]
    fn commands_in_the_documentation_are_understood() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let in_docs = std::fs::read_dir(root.join("docs")).unwrap();
        let mut pages: Vec<_> = in_docs.map(|entry| entry.unwrap().path()).collect();
        pages.retain(|page| page.extension().is_some_and(|it| it == "md"));
        pages.extend(
            ["README.md", "CONTRIBUTING.md", "pinpoint-cli/README.md"].map(|it| root.join(it)),
        );
        let mut count = 0;
        for page in pages {
            for words in shown_commands(&std::fs::read_to_string(&page).unwrap()) {
                count += 1;
                if let Err(error) = Arguments::try_parse_from(&words) {
                    panic!("{}: {words:?}\n{error}", page.display());
                }
            }
        }
        assert!(count > 60, "{count}");
    }

    /// The help of every command, as a terminal of 100 columns shows it.
    #[test]
    fn help() {
        let mut root = Arguments::command()
            .term_width(100)
            .mut_args(|argument| argument.hide_env_values(true));
        root.build();
        let mut commands = vec![("pinpoint".to_owned(), root)];
        while let Some((name, mut command)) = commands.pop() {
            insta::assert_snapshot!(name.replace(' ', "-"), command.render_long_help());
            let inner = command
                .get_subcommands()
                .filter(|it| it.get_name() != "help");
            commands.extend(inner.map(|it| (format!("{name} {}", it.get_name()), it.clone())));
        }
    }

    #[test]
    fn options_stand_in_groups_and_those_of_all_commands_last() {
        let mut command = Arguments::command();
        command.build();
        for name in ["bisect", "pairwise", "culprit", "plan"] {
            let command = command.find_subcommand_mut(name).expect("it is a command");
            let help = command.render_long_help().to_string();
            let place = |heading: &str| {
                let found = help.find(&format!("\n{heading}:\n"));
                found.unwrap_or_else(|| panic!("{name} has no {heading}"))
            };
            let places = [BENCHMARK, QUESTION, BUDGET, STRATEGY, STORAGE, OUTPUT].map(place);
            assert!(places.is_sorted(), "{name}: {places:?}");
            let general = &help[place("Options")..places[0]];
            assert_eq!(
                general.matches("\n  -").count(),
                1,
                "only --help\n{general}"
            );
        }
    }

    #[test]
    fn options_about_luci_need_the_executor() {
        let of = |words: &[&str]| Arguments::from_words(words.iter().map(OsString::from));
        let bisect = ["pinpoint", "bisect", "a", "b"];
        let luci = ["--executor", "luci", "--bot", "x", "--benchmark", "y"];
        for option in ["--luci-config", "--luci-tokens"] {
            let alone = of(&[&bisect[..], &[option, "none", "--", "x"]].concat()).unwrap_err();
            assert_eq!(alone.exit_code(), 2);
            let alone = alone.to_string();
            assert!(
                alone.contains(option) && alone.contains("--executor luci"),
                "{alone}"
            );
            of(&[&bisect[..], &luci, &[option, "none"]].concat()).unwrap();
        }
        of(&["pinpoint", "jobs", "resume", "x", "--luci-tokens", "none"]).unwrap();
        of(&["pinpoint", "bisect", "a", "b", "--", "x", "--luci-tokens"]).unwrap();
    }

    #[test]
    fn a_benchmark_without_its_separator_is_seen() {
        let of =
            |words: &[&str]| Arguments::from_words(words.iter().map(OsString::from)).unwrap_err();
        let error = of(&[
            "/bin/pinpoint",
            "bisect",
            "v1",
            "main",
            "./bench.sh",
            "-j 2",
        ]);
        assert_eq!(error.exit_code(), 2);
        let error = error.to_string();
        let fixed = "pinpoint bisect v1 main -- ./bench.sh '-j 2'";
        assert!(error.contains(fixed), "{error}");
        let error = of(&["pinpoint", "bisect", "v1", "main", "--frobnicate", "x"]).to_string();
        assert!(!error.contains("after `--`"), "{error}");
        let error = of(&["pinpoint", "clean", "x"]).to_string();
        assert!(!error.contains("after `--`"), "{error}");
    }

    #[test]
    fn json_is_asked_for_before_the_command() {
        let asks = |words: &[&str]| asks_for_json(words.iter().map(OsString::from));
        assert!(asks(&["bisect", "--output", "json", "--wrong"]));
        assert!(asks(&["jobs", "--output=json"]));
        assert!(!asks(&["bisect", "--output", "text", "json"]));
        assert!(!asks(&["bisect", "a", "b", "--", "x", "--output=json"]));
    }
}
