//! `pinpoint jobs`.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use pinpoint_backends::store::{JobFilter, JobId};

use super::display::formats_of_job;
use super::{LuciTokens, OUTPUT, OutputFormat, ProvisionOptions, Signing};

const KINDS: [&str; 6] = [
    "bisection",
    "pairwise",
    "culprit_finder",
    "python_bisection",
    "python_pairwise",
    "python_culprit_finder",
];

#[derive(Debug, Subcommand)]
pub(crate) enum Jobs {
    /// List jobs, the newest first.
    #[command(after_help = "\
Examples:
  pinpoint jobs list --benchmark bench.sh --since 7d --state failed
  pinpoint jobs list --text 'sort v1*' --user ada
  pinpoint jobs list --since 2026-01-01 --until 2026-02-01 --count")]
    List {
        #[command(flatten)]
        select: Select,
        /// The maximum number of jobs to list.
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
        /// List the jobs after this one, which are older; takes a complete job id.
        #[arg(long, value_name = "JOB", value_parser = job_id, conflicts_with = "before")]
        after: Option<JobId>,
        /// List the jobs right before this one, which are newer.
        #[arg(long, value_name = "JOB", value_parser = job_id)]
        before: Option<JobId>,
        /// Print the number of jobs, exact up to 10,000.
        #[arg(long, conflicts_with_all = ["limit", "after", "before"])]
        count: bool,
    },
    /// Export jobs as JSON Lines, with everything that the store keeps, including the
    /// values of --env.
    #[command(after_help = "\
Examples:
  pinpoint jobs export --job 01a2b3 one.jsonl
  pinpoint jobs export --since 7d week.jsonl")]
    Export {
        /// Export this job alone, by its id or the beginning of it; may be repeated.
        #[arg(long, value_name = "JOB", conflicts_with_all = [
            "benchmark", "name", "bot", "user", "kind", "state", "since", "until", "text",
        ])]
        job: Vec<String>,
        #[command(flatten)]
        select: Select,
        /// Overwrite the file if there is one.
        #[arg(long)]
        force: bool,
        /// The file to write, readable by its owner alone [default: standard output].
        file: Option<PathBuf>,
    },
    /// Import exported jobs; jobs that the store already has are left alone.
    Import {
        /// The file, or - for standard input.
        file: PathBuf,
    },
    /// Permanently delete old jobs, except those that a process has held within the last
    /// day.
    Purge {
        /// Delete jobs created longer ago than this.
        #[arg(long, value_name = "DURATION", default_value = "1095d", value_parser = humantime::parse_duration)]
        older_than: Duration,
    },
    /// Show a job and its result.
    Show {
        /// The job id, or its beginning.
        job: String,
        /// The format of the job on standard output; legacy-json is that of the API that Chromium's
        /// Pinpoint replaced.
        #[arg(long, help_heading = OUTPUT, value_parser = formats_of_job(), default_value = "text")]
        output: OutputFormat,
    },
    /// Write a job with --write-back to its database, if that failed before.
    WriteBack {
        /// The job id, or its beginning.
        job: String,
        #[command(flatten)]
        tokens: LuciTokens,
    },
    /// Resume a job that was interrupted, killed, canceled or failed.
    Resume {
        /// The job id, or its beginning.
        job: String,
        /// The file to write a report to when the job ends [default: the one given when
        /// the job was created, if any].
        #[arg(long, value_name = "FILE.html")]
        report: Option<PathBuf>,
        /// Resume an imported job, or sign a job, without asking for confirmation.
        #[arg(long)]
        yes: bool,
        /// Leave the job to the workers of its bot, and end.
        #[arg(long, conflicts_with = "report")]
        detach: bool,
        #[command(flatten)]
        signing: Signing,
        #[command(flatten)]
        provisions: ProvisionOptions,
        #[command(flatten)]
        tokens: LuciTokens,
    },
    /// Follow jobs to their ends, wherever they are carried out.
    ///
    /// Ctrl-C stops following, and the jobs continue. A waiting job shows the reason. A store that
    /// does not answer is waited for.
    #[command(after_help = "\
Exit codes: that of the job, as in `pinpoint help`; of several jobs the worst: 1 before 2, 4, 3
and 0; 124 if --timeout came first; 130 if a job or this command was interrupted.")]
    Wait {
        /// The job id, or its beginning.
        #[arg(required = true, value_name = "JOB")]
        jobs: Vec<String>,
        /// Stop following after this time; the jobs continue.
        #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
        timeout: Option<Duration>,
    },
    /// Write the report on a job as it is now, finished or not.
    ///
    /// The report is one HTML file that needs nothing else: the answer, charts,
    /// every run and the end of its output, the machine and the command.
    Report {
        /// The job id, or its beginning.
        job: String,
        /// The file to write [default: pinpoint-JOB.html].
        #[arg(value_name = "FILE.html")]
        file: Option<PathBuf>,
    },
    /// Cancel a job, running or not.
    ///
    /// A process that works on the job is asked to end it, and waited for. If it is dead, its
    /// lease has to expire first.
    #[command(after_help = "\
Exit codes: 0 the job is canceled; 124 whoever has it has not ended it yet, and the request stands;
1 and 2 as in `pinpoint help`.")]
    Cancel {
        /// The job id, or its beginning.
        job: String,
        #[command(flatten)]
        tokens: LuciTokens,
    },
}

// The jobs that fit all of this.
#[derive(Debug, Args)]
pub(crate) struct Select {
    /// Jobs of this benchmark.
    #[arg(long, value_name = "NAME")]
    benchmark: Option<String>,
    /// Jobs created with this --name.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Jobs of this bot; of jobs without one, it is the name of the machine.
    #[arg(long, value_name = "NAME")]
    bot: Option<String>,
    /// Jobs of this user.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Jobs of this kind: bisection, pairwise, culprit_finder; or, with python_ before it,
    /// those that an early version of the Python module made.
    #[arg(long, value_name = "KIND", value_parser = KINDS)]
    kind: Option<String>,
    /// Jobs in this state: pending, running, completed, failed, canceled.
    #[arg(long)]
    state: Option<pinpoint_core::JobState>,
    /// Jobs created at this time or later: a time ago as in 7d or 12h, a day as in
    /// 2026-01-31, or a time as in 2026-01-31T12:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<i64>,
    /// Jobs created before this time.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<i64>,
    /// Jobs with all of these words in their command line, names, repository or
    /// error; a word that ends with * is a prefix.
    #[arg(long, value_name = "WORDS")]
    text: Option<String>,
}

impl From<Select> for JobFilter {
    fn from(select: Select) -> Self {
        Self {
            name: select.name,
            benchmark: select.benchmark,
            bots: select.bot.into_iter().collect(),
            user: select.user,
            kinds: select.kind.into_iter().collect(),
            state: select.state,
            since: select.since,
            until: select.until,
            text: select.text,
            ..Self::default()
        }
    }
}

/// A moment in milliseconds since 1970.
fn moment(text: &str) -> Result<i64, String> {
    let day = || humantime::parse_rfc3339(&format!("{text}T00:00:00Z"));
    let then = match humantime::parse_duration(text) {
        Ok(ago) => SystemTime::now().checked_sub(ago),
        Err(_) => (humantime::parse_rfc3339_weak(text).or_else(|_| day())).ok(),
    };
    then.and_then(|then| then.duration_since(UNIX_EPOCH).ok())
        .and_then(|since| i64::try_from(since.as_millis()).ok())
        .ok_or_else(|| {
            "a time ago is needed, as in 7d, or a time since 1970, as in 2026-01-31 or \
             2026-01-31T12:00:00Z"
                .to_owned()
        })
}

/// A whole job id.
fn job_id(text: &str) -> Result<JobId, String> {
    JobId::parse(text).map_err(|error| format!("{error} (`pinpoint jobs list` shows them)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_ago_or_a_day_or_a_time() {
        assert_eq!(moment("1970-01-02"), Ok(86_400_000));
        assert_eq!(moment("1970-01-01T00:00:01Z"), Ok(1000));
        let (longer, shorter) = (moment("2d"), moment("1h 30m"));
        assert!(longer.is_ok() && longer < shorter);
        for wrong in [
            "",
            "yesterday",
            "1969-12-31",
            "2026-02-30",
            "9999999999y",
            "7",
        ] {
            assert!(moment(wrong).is_err(), "{wrong}");
        }
    }
}
