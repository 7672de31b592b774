//! `pinpoint worker`, `pinpoint workers`, and the choice of workers for a new job.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use pinpoint_backends::store::{KeyError, SigningKey};

use super::{Display, Luci, ProvisionOptions, TEMPORAL, WORKERS, resume_options};

/// Take jobs from the store and carry them out on this machine, until it is stopped.
///
/// Jobs are made with --bot. The worker takes those of its bots, the oldest first, and
/// works on one at a time. Any number of workers share a machine: one benchmark runs at a
/// time, and none during a build.
///
/// SIGTERM or Ctrl-C lets the run and the builds under way end, and leaves the job to the
/// next worker; another one, a second or more later, ends at once. When a worker dies, another
/// continues from the journal.
#[derive(Debug, Args)]
#[command(after_help = "\
Example, on two machines that share a store:
  export PINPOINT_STORE=postgres://ada@db/pinpoint PINPOINT_BOT_CONFIG=bots.toml
  pinpoint worker --bot lab
  pinpoint workers list

A store or a server that does not answer is waited for.

Exit codes: 0 it was stopped; 1 the store or the state directory can't be used;
2 the command line was wrong; 130 it was stopped twice.")]
pub(crate) struct Worker {
    /// A bot whose jobs to take; may be repeated.
    #[arg(long, required = true, num_args = 1.., value_name = "NAME")]
    pub(crate) bot: Vec<String>,
    /// Take only jobs that are signed with this key: a public key, as in ed25519:…, or a file
    /// of them, one a line; may be repeated. Without it, everybody who can write to the store
    /// commands this worker.
    #[arg(
        long,
        value_name = "KEY|FILE",
        env = "PINPOINT_TRUST",
        hide_env_values = true,
        conflicts_with = "temporal"
    )]
    pub(crate) trust: Vec<String>,
    /// The name of this machine, by which bots list their machines [default: the host name].
    #[arg(long, value_name = "NAME")]
    pub(crate) machine: Option<String>,
    /// The maximum number of parallel builds, however many a job allows.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) build_jobs: Option<u32>,
    /// The time left to a run or build under way once the worker is stopped.
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = humantime::parse_duration)]
    pub(crate) drain: Duration,
    #[command(flatten)]
    pub(crate) config: BotConfig,
    #[command(flatten)]
    pub(crate) provisions: ProvisionOptions,
    #[command(flatten)]
    pub(crate) temporal: TemporalArguments,
    // The time that others wait for a worker that died.
    #[arg(long, hide = true, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub(crate) lease: Option<Duration>,
}

// Temporal. Missing options come from its own variables and configuration file.
#[derive(Debug, Clone, Args)]
pub(crate) struct TemporalArguments {
    /// Carry jobs out on a Temporal server: each is a workflow, and its runs are spread over
    /// all machines of its bot.
    #[arg(long, help_heading = TEMPORAL)]
    pub(crate) temporal: bool,
    #[command(flatten)]
    pub(crate) server: TemporalServer,
    /// A file with 32 bytes in Base64, as `openssl rand -base64 32` makes them: the key by
    /// which payloads are encrypted on the server. All workers need it.
    #[arg(long, help_heading = TEMPORAL, value_name = "FILE", requires = "temporal")]
    pub(crate) temporal_key: Option<PathBuf>,
    /// The worker deployment of which this version of the program is one: jobs stay with the
    /// version that began them.
    #[arg(long, help_heading = TEMPORAL, value_name = "NAME", requires = "temporal")]
    pub(crate) temporal_deployment: Option<String>,
    /// Serve counters and times for Prometheus at this address, as /metrics.
    #[arg(long, help_heading = TEMPORAL, value_name = "HOST:PORT", requires = "temporal")]
    pub(crate) metrics: Option<String>,
    /// Take the workflows of Chromium's Pinpoint, too: perf.bisect, perf.catapult.bisect,
    /// perf.pairwise and perf.culprit_finder. Each becomes a job of its bot.
    #[arg(long, help_heading = TEMPORAL, requires = "temporal")]
    pub(crate) published_names: bool,
    /// The queue in which these workflows wait.
    #[arg(long, help_heading = TEMPORAL, value_name = "NAME", requires = "published_names", default_value = "perf.perf-chrome-public.bisect")]
    pub(crate) published_queue: String,
    /// The longest build.
    #[arg(long, help_heading = TEMPORAL, value_name = "DURATION", requires = "temporal", default_value = "4h", value_parser = humantime::parse_duration)]
    pub(crate) build_limit: Duration,
    /// The longest run.
    #[arg(long, help_heading = TEMPORAL, value_name = "DURATION", requires = "temporal", default_value = "45m", value_parser = humantime::parse_duration)]
    pub(crate) run_limit: Duration,
    /// The longest wait until a machine is free.
    #[arg(long, help_heading = TEMPORAL, value_name = "DURATION", requires = "temporal", default_value = "1d", value_parser = humantime::parse_duration)]
    pub(crate) queue_limit: Duration,
    // The time in which a worker may show no sign of life.
    #[arg(long, hide = true, value_name = "DURATION", requires = "temporal", default_value = "30s", value_parser = humantime::parse_duration)]
    pub(crate) heartbeat_limit: Duration,
}

// The address of Temporal.
#[derive(Debug, Clone, Args)]
pub(crate) struct TemporalServer {
    /// The server [default: TEMPORAL_ADDRESS, else localhost:7233].
    #[arg(long, help_heading = TEMPORAL, value_name = "HOST:PORT")]
    pub(crate) temporal_address: Option<String>,
    /// The namespace [default: TEMPORAL_NAMESPACE, else default].
    #[arg(long, help_heading = TEMPORAL, value_name = "NAME")]
    pub(crate) temporal_namespace: Option<String>,
    /// The profile in Temporal's configuration file, where keys and certificates are, too
    /// [default: TEMPORAL_PROFILE, else default].
    #[arg(long, help_heading = TEMPORAL, value_name = "NAME")]
    pub(crate) temporal_profile: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TemporalCommand {
    /// Make the namespace and the search attributes of jobs on a Temporal server, and wait
    /// until they can be used.
    ///
    /// Existing ones stay as they are. Workers of another store than this one do not begin there.
    Setup {
        #[command(flatten)]
        server: TemporalServer,
        /// The time for which the server keeps the history of a job that has ended, if the
        /// namespace is new.
        #[arg(long, help_heading = TEMPORAL, value_name = "DURATION", default_value = "30d", value_parser = humantime::parse_duration)]
        retention: Duration,
    },
}

// The bots.
#[derive(Debug, Clone, Args)]
pub(crate) struct BotConfig {
    /// A file of bot configurations, TOML or (named *.json) JSON, instead of the
    /// built-in ones; may be repeated.
    #[arg(
        long,
        value_name = "FILE",
        env = "PINPOINT_BOT_CONFIG",
        hide_env_values = true,
        help_heading = WORKERS
    )]
    pub(crate) bot_config: Vec<PathBuf>,
}

// The process that carries a new job out.
#[derive(Debug, Clone, Args)]
pub(crate) struct Assignment {
    /// Leave the job to the workers of this bot (see `pinpoint worker`), and follow it to
    /// its end; Ctrl-C stops following, and the job continues [default: this process carries the
    /// job out]. With --executor, the bot that the benchmark runs on.
    #[arg(long, value_name = "NAME", help_heading = WORKERS)]
    pub(crate) bot: Option<String>,
    /// Print the id of the job, and do not follow it; `pinpoint jobs wait` does.
    #[arg(long, requires = "bot", conflicts_with = "report", help_heading = WORKERS)]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) signing: Signing,
    #[command(flatten)]
    pub(crate) config: BotConfig,
    #[command(flatten)]
    pub(crate) luci: Luci,
}

impl Assignment {
    /// Returns true if LUCI carries the job out.
    pub(crate) fn in_luci(&self) -> bool {
        self.luci.executor.is_some()
    }

    /// The display of a command with this assignment, whose advice resumes the job in the same way.
    pub(crate) fn display(&self, display: Display) -> Display {
        Display {
            resume_options: match self.in_luci() {
                true => self.luci.tokens.words(),
                false => resume_options(self.bot.is_some()),
            },
            ..display
        }
    }
}

// The key that signs jobs for workers.
#[derive(Debug, Clone, Args)]
pub(crate) struct Signing {
    /// Sign the job for workers that take only signed ones, with the key in this file (see
    /// `pinpoint workers key`).
    #[arg(
        long,
        value_name = "FILE",
        env = "PINPOINT_SIGNING_KEY",
        hide_env_values = true,
        help_heading = WORKERS
    )]
    pub(crate) sign_with: Option<PathBuf>,
}

impl Signing {
    /// The key, if one is named. An empty variable counts as unset.
    pub(crate) fn key(&self) -> Result<Option<SigningKey>, KeyError> {
        let file = self.sign_with.as_deref();
        let file = file.filter(|file| !file.as_os_str().is_empty());
        file.map(SigningKey::read).transpose()
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Key {
    /// Make a key, and print its public half. Anyone who can read the file can sign jobs.
    New {
        /// The new file.
        file: PathBuf,
    },
    /// Print the public half of a key.
    Show {
        /// The file of the key.
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Workers {
    /// Make the keys that sign jobs for workers with --trust.
    #[command(
        subcommand,
        after_help = "\
Example:
  pinpoint workers key new ~/.config/pinpoint.key
  pinpoint worker --bot lab --trust ed25519:…
  pinpoint bisect v1.2 main --bot lab --sign-with ~/.config/pinpoint.key -- ./bench.sh"
    )]
    Key(Key),
    /// List the workers of the store and their current work; also those that left within a week.
    List {
        /// Workers that take the jobs of this bot.
        #[arg(long, value_name = "NAME")]
        bot: Option<String>,
        /// Workers on this machine.
        #[arg(long, value_name = "NAME")]
        machine: Option<String>,
    },
}
