//! The flags and commands that help with an error: libraries name none.

use std::error::Error;
use std::io::ErrorKind;

#[cfg(feature = "luci")]
use pinpoint_backends::google::{ServiceError, UnknownTokenSource};
use pinpoint_backends::job::{JobError, NotExplicable};
use pinpoint_backends::local::doctor::Cause;
use pinpoint_backends::local::{LFS_PULL, LocalError, MirrorError, ProfilerError, RepositoryError};
#[cfg(feature = "luci")]
use pinpoint_backends::luci::LuciError;
use pinpoint_backends::store::{LockError, StoreError};
#[cfg(feature = "luci")]
use pinpoint_backends::swarming::CommandError;
use pinpoint_backends::traces::TraceStoreError;
use pinpoint_core::bots::UnknownBot;
use pinpoint_core::profile::ReadProfileError;
use pinpoint_core::results::{MetricDoubt, ReadHint, UnreadLine};
use pinpoint_core::{DriveError, ExecutorError, JournalError, NoMetric};
use pinpoint_midpoint::{HistoryError, MidpointError};
use pinpoint_report::command_line::quoted;
use pinpoint_report::text::message;

use crate::error::CliError;

const STATE_DIR: &str = "--state-dir DIR";
const RESUME: &str = "pinpoint jobs resume";
#[cfg(feature = "luci")]
const PROFILES: &str =
    "--profiler files:GLOB names the files, and arguments after `--` have the benchmark write them";

/// The message of an error, with the flags or the command that help.
pub(crate) fn with_advice(error: &(dyn Error + 'static)) -> String {
    match on(error) {
        Some(advice) => format!("{} ({advice})", message(error)),
        None => message(error),
    }
}

/// Advice on the first error, from the outermost inwards, for which there is some.
fn on(error: &(dyn Error + 'static)) -> Option<String> {
    let mut next = Some(error);
    while let Some(error) = next {
        let advice = { error.downcast_ref().and_then(on_store) }
            .or_else(|| error.downcast_ref().and_then(on_traces))
            .or_else(|| error.downcast_ref().and_then(on_lock))
            .or_else(|| error.downcast_ref().and_then(on_local))
            .or_else(|| error.downcast_ref().and_then(on_profiler))
            .or_else(|| error.downcast_ref().and_then(on_not_explicable))
            .or_else(|| error.downcast_ref().and_then(on_profile))
            .or_else(|| error.downcast_ref().and_then(on_mirror))
            .or_else(|| error.downcast_ref().and_then(on_repository))
            .or_else(|| error.downcast_ref().and_then(on_history))
            .or_else(|| error.downcast_ref().and_then(on_bot))
            .or_else(|| on_luci(error))
            .or_else(|| on_temporal(error));
        if advice.is_some() {
            return advice;
        }
        next = inner(error);
    }
    None
}

/// The source of an error. A transparent error returns the source of the error that it holds: this
/// returns the held error.
fn inner<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    if let Some(error) = error.downcast_ref() {
        return Some(match error {
            CliError::Repository(error) => error,
            CliError::Store(error) => error,
            CliError::Traces(error) => error,
            CliError::Lock(error) => error,
            CliError::Local(error) => error,
            CliError::Midpoint(error) => error,
            CliError::UnknownBot(error) => error,
            CliError::Job(error) => error,
            CliError::Measurement(error) => error,
            CliError::Profiler(error) => error,
            CliError::NotExplicable(error) => error,
            CliError::Profile { source, .. } => &**source,
            CliError::Stopped { error, .. } => &**error,
            #[cfg(feature = "temporal")]
            CliError::Temporal(error) => error,
            #[cfg(feature = "luci")]
            CliError::Luci(error) => error,
            _ => return error.source(),
        });
    }
    if let Some(error) = error.downcast_ref() {
        return Some(match error {
            JobError::Drive(error) => error,
            JobError::Locked(error) => error,
            JobError::Store(error) => error,
            _ => return error.source(),
        });
    }
    if let Some(DriveError::Refused(error) | DriveError::Journal(JournalError(error))) =
        error.downcast_ref()
    {
        return Some(&**error);
    }
    if let Some(ExecutorError::Refused(error) | ExecutorError::Unavailable(error)) =
        error.downcast_ref()
    {
        return Some(&**error);
    }
    if let Some(TraceStoreError::Database(error)) = error.downcast_ref() {
        return Some(error);
    }
    match error.downcast_ref() {
        Some(LocalError::Repository(error)) => return Some(error),
        Some(LocalError::Midpoint(error)) => return Some(error),
        Some(LocalError::Mirror(error)) => return Some(error),
        _ => {}
    }
    #[cfg(feature = "luci")]
    match error.downcast_ref() {
        Some(LuciError::Service(error)) => return Some(error),
        Some(LuciError::Midpoint(error)) => return Some(error),
        _ => {}
    }
    match error.downcast_ref() {
        Some(MidpointError::History(error)) => Some(error),
        _ => error.source(),
    }
}

#[cfg(feature = "luci")]
fn on_luci(error: &(dyn Error + 'static)) -> Option<String> {
    if let Some(LuciError::Charts(error)) = error.downcast_ref() {
        return on_charts(error).map(str::to_owned);
    }
    if let Some(LuciError::NoProfiles { .. } | LuciError::ProfiledFails { .. }) =
        error.downcast_ref()
    {
        return Some(PROFILES.into());
    }
    if let Some(LuciError::Command(CommandError::NoTraces(_))) = error.downcast_ref() {
        return Some(PROFILES.into());
    }
    if error.is::<UnknownTokenSource>() {
        return Some("--luci-tokens SOURCE".into());
    }
    match error.downcast_ref()? {
        ServiceError::Token { .. } => Some("--luci-tokens SOURCE".into()),
        error if error.is_unauthenticated() => Some("--luci-tokens SOURCE".into()),
        _ => None,
    }
}

#[cfg(not(feature = "luci"))]
fn on_luci(_: &(dyn Error + 'static)) -> Option<String> {
    None
}

fn on_store(error: &StoreError) -> Option<String> {
    Some(match error {
        StoreError::Directory { .. } | StoreError::Newer { .. } => STATE_DIR.into(),
        StoreError::NotOurs { .. } => format!("{STATE_DIR}, --store URL"),
        StoreError::Full { .. } | StoreError::Disk { .. } => format!("`{RESUME}`"),
        StoreError::SecondWriter { id, .. } | StoreError::BrokenOff { id } => {
            format!("`{RESUME} {id}`")
        }
        StoreError::Unknown { .. } => "`pinpoint jobs list` shows all jobs".into(),
        StoreError::Leased { id, .. } => format!("`pinpoint jobs cancel {id}`"),
        StoreError::LeaseLost { id } | StoreError::Transition { id, .. } => {
            format!("`pinpoint jobs show {id}` shows its state")
        }
        _ => return None,
    })
}

fn on_traces(error: &TraceStoreError) -> Option<String> {
    Some(match error {
        TraceStoreError::NoDataset(_) => {
            "`pinpoint traces list` shows the datasets; --dataset NAME".into()
        }
        TraceStoreError::TooMany { .. } => "--limit N".into(),
        TraceStoreError::TooLarge { .. } => "--commits FROM..TO".into(),
        TraceStoreError::OtherCommit { .. } => {
            "--repo DIR and --main REV name the line that is numbered; --dataset NAME keeps another repository apart".into()
        }
        TraceStoreError::NoAnnotation(_) => "`pinpoint annotate list` shows all".into(),
        TraceStoreError::NoTry { .. } => "`pinpoint traces tries` lists all".into(),
        TraceStoreError::NoShortcut(_) => "`pinpoint traces shortcut NAME…` keeps one".into(),
        _ => return None,
    })
}

fn on_lock(error: &LockError) -> Option<String> {
    matches!(error, LockError::Held { .. }).then(|| "`pinpoint jobs cancel`".into())
}

fn on_local(error: &LocalError) -> Option<String> {
    Some(match error {
        LocalError::Profiler(error) => return on_profiler(error),
        LocalError::NoSuchProcessor { .. } => "--cpu LIST".into(),
        LocalError::NoCommand => "write it after `--`".into(),
        LocalError::CommandNotExecutable { program, .. } => format!("as in `-- sh {program}`"),
        LocalError::Charts(error) => on_charts(error)?.into(),
        LocalError::Doubt(doubt) => on_doubt(doubt),
        LocalError::MeasureOfOutput => "--format and --results, or --measure".into(),
        LocalError::GoodFails {
            hint: Some(hint), ..
        } if hint.contains(LFS_PULL) => format!("--build '{LFS_PULL}'"),
        LocalError::NoInstructionCounter { .. } => "`--measure user` needs neither".into(),
        LocalError::OutsideRead(_) => "--allow-outside-reads, if that is meant".into(),
        LocalError::NotAvailable { repository } => clone_of(repository),
        LocalError::PatchAtGerrit { .. } => "--patch FILE".into(),
        LocalError::StateDirNotUnicode { .. } => STATE_DIR.into(),
        LocalError::Io { source, .. } => match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                "`pinpoint clean` removes unused builds".into()
            }
            ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::NotADirectory => STATE_DIR.into(),
            _ => return None,
        },
        _ => return None,
    })
}

fn on_charts(error: &NoMetric) -> Option<&'static str> {
    match error {
        NoMetric::NoSuchChart { .. } => Some("--chart NAME"),
        NoMetric::ManyCharts { .. } => {
            Some("--chart NAME; `pinpoint pairwise` compares all charts of two commits")
        }
        NoMetric::NoAggregate { .. } => Some("--aggregate METHOD"),
        _ => None,
    }
}

fn on_doubt(doubt: &MetricDoubt) -> String {
    let reads = |unread: &[UnreadLine]| match unread.first().map(|first| &first.value.hint) {
        None => "--format 'regex:PATTERN'".to_owned(),
        Some(hint @ (ReadHint::CutOff | ReadHint::MixedDocument)) => {
            format!("{hint} (--results PATH)")
        }
        Some(hint) if unread.len() == 1 => hint.to_string(),
        // A pattern without its line would be read as advice to measure that.
        Some(_) => match unread.iter().find_map(read_by_option) {
            Some((line, hint)) => {
                format!("an option for the one that is meant: of `{line}`, {hint}")
            }
            None => "a pattern for the one that is meant, --format 'regex:PATTERN'".to_owned(),
        },
    };
    match doubt {
        MetricDoubt::OtherValues { chart, unread } => {
            let chart = quoted(std::slice::from_ref(chart));
            format!("--chart {chart}, or {}", reads(unread))
        }
        MetricDoubt::NotRead { unread } => {
            format!("{}; or --format time", reads(unread))
        }
        MetricDoubt::NameChanges { first, .. } => match ReadHint::for_name(first) {
            Some(hint) => hint.to_string(),
            None => "--format 'regex:PATTERN'".to_owned(),
        },
        _ => "--format 'regex:PATTERN'".to_owned(),
    }
}

/// An unread line that an option reads, with that.
fn read_by_option(unread: &UnreadLine) -> Option<(&str, &ReadHint)> {
    let value = &unread.value;
    matches!(value.hint, ReadHint::Format(_)).then_some((value.text.trim(), &value.hint))
}

fn on_profile(error: &ReadProfileError) -> Option<String> {
    Some(match error {
        ReadProfileError::TwoSides => "--side base or --side experiment with --export".into(),
        ReadProfileError::TwoUnits { first, second, .. } => {
            format!("--event {first} or --event {second}, of perf's profiles")
        }
        _ => return None,
    })
}

fn on_profiler(error: &ProfilerError) -> Option<String> {
    Some(match error {
        ProfilerError::Missing { .. }
        | ProfilerError::NoneInstalled
        | ProfilerError::NotPermitted { .. }
        | ProfilerError::NotGo(_) => "--profiler names another".into(),
        _ => return None,
    })
}

fn on_not_explicable(error: &NotExplicable) -> Option<String> {
    match error {
        NotExplicable::Elsewhere(_) => Some("--base FILES --experiment FILES".into()),
        NotExplicable::OtherCulprit { .. } => Some("--culprit HASH".into()),
        NotExplicable::Unfinished(job)
        | NotExplicable::Canceled(job)
        | NotExplicable::Failed(job) => Some(format!("{RESUME} {job}")),
        _ => None,
    }
}

fn on_mirror(error: &MirrorError) -> Option<String> {
    match error {
        MirrorError::NotPermitted { url } => Some(permit(url)),
        _ => None,
    }
}

fn permit(url: &str) -> String {
    format!("--allow-repository '{url}', or {}", clone_of(url))
}

fn on_repository(error: &RepositoryError) -> Option<String> {
    Some(match error {
        RepositoryError::NotCloned { url } => permit(url),
        RepositoryError::NotARepository { .. } => "--repo DIR names another one".into(),
        RepositoryError::NothingTouches { .. } => "--path".into(),
        RepositoryError::Reversed { .. } => "--direction".into(),
        _ => return None,
    })
}

fn on_history(error: &HistoryError) -> Option<String> {
    match error {
        HistoryError::UnknownRepository { repository, .. } => Some(clone_of(repository)),
        _ => None,
    }
}

fn on_bot(error: &UnknownBot) -> Option<String> {
    (error.near.is_empty()).then(|| "`pinpoint bots list` shows all bots".into())
}

#[cfg(feature = "temporal")]
fn on_temporal(error: &(dyn Error + 'static)) -> Option<String> {
    use pinpoint_backends::temporal::TemporalError;
    let advice = match error.downcast_ref()? {
        TemporalError::Connect { tls: false, .. } => {
            "--temporal-address HOST:PORT; TEMPORAL_TLS=true if the server has TLS"
        }
        TemporalError::Connect { tls: true, .. } => {
            "--temporal-address HOST:PORT, TEMPORAL_TLS_SERVER_CA_CERT_PATH, \
             TEMPORAL_TLS_SERVER_NAME, TEMPORAL_TLS_CLIENT_CERT_PATH"
        }
        TemporalError::Refused { .. } => "TEMPORAL_API_KEY, TEMPORAL_TLS_CLIENT_CERT_PATH",
        TemporalError::NoNamespace { .. } => {
            "`pinpoint temporal setup` makes it, --temporal-namespace NAME"
        }
        TemporalError::Config(_) => "--temporal-address, --temporal-profile, TEMPORAL_…",
        TemporalError::Key { .. } => "--temporal-key FILE, the same for all workers",
        TemporalError::Metrics { .. } => "--metrics HOST:PORT",
        _ => return None,
    };
    Some(advice.into())
}

#[cfg(not(feature = "temporal"))]
fn on_temporal(_: &(dyn Error + 'static)) -> Option<String> {
    None
}

/// The option that helps with something that disturbs measurements.
pub(crate) fn on_cause(cause: Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::Load => "--settle DURATION waits before each run until it is quiet",
        Cause::HyperThreads => "--cpu LIST pins runs",
        Cause::Steal => "`pinpoint pairwise` compares in pairs",
        _ => return None,
    })
}

/// The option that names a local clone of a repository.
pub(crate) fn clone_of(repository: &str) -> String {
    format!("--repository {repository}=DIR")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use pinpoint_core::ChartChoice;
    use pinpoint_core::results::{
        FindMetricError, Format, RequestedMetric, RunOutput, find_metric,
    };

    use super::*;

    fn refused(error: LocalError) -> JobError {
        JobError::Drive(DriveError::Refused(Box::new(error)))
    }

    #[test]
    fn it_is_found_wherever_the_error_is() {
        let no_chart = || {
            LocalError::from(NoMetric::ManyCharts {
                existing: vec!["a".into()],
            })
        };
        let stopped = || refused(no_chart());
        let errors: [Box<dyn Error>; 5] = [
            Box::new(no_chart()),
            Box::new(stopped()),
            Box::new(CliError::Measurement(ExecutorError::Refused(Box::new(
                no_chart(),
            )))),
            Box::new(CliError::Job(stopped())),
            Box::new(CliError::Local(no_chart())),
        ];
        for error in errors {
            let advice = on(&*error).unwrap_or_default();
            assert!(advice.starts_with("--chart NAME; "), "{error:?}");
        }
        let unknown = || HistoryError::UnknownRepository {
            repository: "skia".into(),
            hint: String::new(),
        };
        let error = refused(LocalError::Midpoint(unknown().into()));
        assert_eq!(on(&error), Some(clone_of("skia")));
        let error = CliError::Midpoint(unknown().into());
        assert_eq!(on(&error), Some(clone_of("skia")));
        assert_eq!(on(&JobError::Interrupted), None);
    }

    #[test]
    fn pointers_of_git_lfs_have_an_option() {
        let fails = |hint: &str| LocalError::GoodFails {
            commit: "1f6d18".into(),
            attempts: 3,
            reason: "failed with exit code 1".into(),
            hint: Some(hint.into()),
            tail: String::new(),
        };
        let pointers = fails(&format!("have the build command fetch them (`{LFS_PULL}`)"));
        assert_eq!(
            on_local(&pointers).as_deref(),
            Some("--build 'git lfs pull'")
        );
        assert_eq!(on_local(&fails("bench.sh is ignored")), None);
    }

    /// The advice on the doubt about the metric in this output.
    fn on_output(output: &str) -> String {
        let asked = RequestedMetric {
            format: &Format::Auto,
            charts: ChartChoice::Only,
            aggregate: None,
        };
        let run = RunOutput {
            results: output.as_bytes().into(),
            file: None,
            stderr: b"",
            measures: &BTreeMap::new(),
            usual_measure: "wall",
        };
        match find_metric(asked, run) {
            Err(FindMetricError::Doubt(doubt)) => on_doubt(&doubt),
            other => panic!("{output}: {other:?}"),
        }
    }

    #[test]
    fn a_pattern_fits_a_line_that_is_quoted() {
        let one = on_output("sorted in 12.5 ms, ok\n");
        assert!(one.starts_with("--format 'regex:sorted\\s+in"), "{one}");
        let several = on_output("| a | 12.5 | 13.5 |\nsorted in 12.5 ms, ok\n");
        assert!(
            several.starts_with(
                "an option for the one that is meant: of `sorted in 12.5 ms, ok`, --format 'regex:sorted"
            ),
            "{several}"
        );
        let none = on_output("| a | 12.5 | 13.5 |\n| b | 12.5 | 13.5 |\n");
        assert!(none.contains("--format 'regex:PATTERN'"), "{none}");
    }

    /// No text in the code of the libraries, comments and tests aside, names a flag or a
    /// command of ours.
    #[test]
    fn libraries_name_no_flag() {
        let workspace = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut words = Vec::new();
        let mut commands = vec![<crate::Arguments as clap::CommandFactory>::command()];
        while let Some(command) = commands.pop() {
            let longs = command.get_arguments().filter_map(|it| it.get_long());
            words.extend(longs.map(|long| format!("--{long}")));
            commands.extend(command.get_subcommands().cloned());
            words.push(format!("pinpoint {}", command.get_name()));
        }
        let mut files = 0;
        // With the crates in their folders, such as `pinpoint-core/profile`.
        let mut folders: Vec<_> = [
            "backends", "compare", "core", "midpoint", "report", "traces",
        ]
        .map(|name| workspace.join(format!("pinpoint-{name}")))
        .into();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    if !path.ends_with("tests") && !path.ends_with("examples") {
                        folders.push(path);
                    }
                    continue;
                }
                if path.extension().is_none_or(|extension| extension != "rs") {
                    continue;
                }
                files += 1;
                let code = std::fs::read_to_string(&path).unwrap();
                let code = code.split("#[cfg(test)]\nmod tests").next().unwrap();
                let code = code.lines().filter(|line| !line.trim().starts_with("//"));
                for line in code.filter(|line| line.contains('"')) {
                    let found = words.iter().find(|word| names(line, word));
                    assert_eq!(found, None, "{}: {line}", path.display());
                }
            }
        }
        assert!(files > 600, "{files}");
    }

    /// Returns true if a line holds this word, and not only a longer one. A text that begins with
    /// it is an argument of another program.
    fn names(line: &str, word: &str) -> bool {
        line.match_indices(word).any(|(at, _)| {
            let after = line[at + word.len()..].chars().next();
            let ends = after.is_none_or(|after| !after.is_alphanumeric() && !"-_".contains(after));
            ends && !line[..at].ends_with('"')
        })
    }
}
