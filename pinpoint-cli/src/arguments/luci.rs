//! Jobs in LUCI, and access to its services.

use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, ValueEnum};

use super::LUCI;

const TOKENS_VARIABLE: &str = "PINPOINT_LUCI_TOKENS";

// The place where commits are built and run, if not on the user's own machines.
#[derive(Debug, Clone, Args)]
pub(crate) struct Luci {
    /// Where commits are built and run: `luci` is Chromium's infrastructure. --bot names machines
    /// of a Swarming server, --benchmark a benchmark of Chromium, and --patch a patch set at
    /// Gerrit, by its address; arguments after `--` go to the benchmark [default: this machine].
    #[arg(
        long,
        value_enum,
        value_name = "EXECUTOR",
        help_heading = LUCI,
        requires = "bot",
        requires = "benchmark_name",
        conflicts_with_all = [
            "repo", "repository", "build", "format", "measure", "results", "warmup", "env",
            "timeout", "cpu", "settle", "cache_size", "build_jobs", "detach", "trace_reads",
            "allow_outside_reads",
        ]
    )]
    pub(crate) executor: Option<ExecutorArgument>,
    /// The story of the benchmark [default: all].
    #[arg(long, value_name = "NAME", help_heading = LUCI, requires = "executor")]
    pub(crate) story: Option<String>,
    /// The tags of the stories to run, separated by commas.
    #[arg(long, value_name = "TAGS", help_heading = LUCI, requires = "executor")]
    pub(crate) story_tags: Option<String>,
    /// Print the requests by which the two ends are built and run, without tokens, and send none
    /// of them. Names of commits that are not full hashes are looked up. Reports of the result are
    /// not shown.
    #[arg(long, help_heading = LUCI, requires = "executor", conflicts_with = "report")]
    pub(crate) dry_run: bool,
    /// A file of settings, TOML: the addresses of the services, how often they are asked, what
    /// tasks have in common, and where results are reported [default: the settings of Chromium's Pinpoint].
    #[arg(
        long,
        value_name = "FILE",
        env = "PINPOINT_LUCI_CONFIG",
        hide_env_values = true,
        help_heading = LUCI
    )]
    pub(crate) luci_config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) tokens: LuciTokens,
}

/// An option of the command line that has no meaning without --executor. In the environment it may
/// be meant for other commands.
pub(super) fn option_without_executor(matches: &ArgMatches) -> Option<&'static str> {
    let is_given = |name: &str| {
        matches.try_contains_id(name).is_ok()
            && matches.value_source(name) == Some(ValueSource::CommandLine)
    };
    let takes_executor = matches.try_contains_id("executor").is_ok();
    let options = [
        ("luci_config", "--luci-config"),
        ("luci_tokens", "--luci-tokens"),
    ];
    let mut given = options.into_iter().filter(|(name, _)| is_given(name));
    let given = given.next().map(|(_, option)| option);
    given.filter(|_| takes_executor && !is_given("executor"))
}

// The culprit service that hears of the culprits.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Callback {
    /// Tell this culprit service of Perf, by gRPC, of the culprits that passed. A failure is a
    /// warning, and `pinpoint jobs resume` tries again.
    #[arg(
        long,
        value_name = "URL",
        help_heading = LUCI,
        requires = "executor",
        requires = "anomaly_group",
        conflicts_with = "dry_run"
    )]
    culprit_service: Option<String>,
    /// The group of anomalies that the job is made for, by its id at Perf.
    #[arg(long, value_name = "ID", help_heading = LUCI, requires = "culprit_service")]
    anomaly_group: Option<String>,
    /// The certificate of a private authority that the culprit service has, in addition to those
    /// that this machine trusts.
    #[arg(long, value_name = "FILE.pem", help_heading = LUCI, requires = "culprit_service")]
    culprit_authority: Option<PathBuf>,
}

#[cfg(feature = "luci")]
impl Callback {
    /// The callback of a job; none without a service.
    pub(crate) fn into_config(self) -> Option<pinpoint_backends::luci::CulpritCallback> {
        Some(pinpoint_backends::luci::CulpritCallback {
            url: self.culprit_service?,
            anomaly_group: self.anomaly_group.unwrap_or_default(),
            authority: self.culprit_authority,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WriteBackArgument {
    /// Of Chromium's dashboards.
    Catapult,
    /// For trials.
    CatapultStaging,
}

#[cfg(feature = "luci")]
impl From<WriteBackArgument> for pinpoint_backends::luci::WriteBack {
    fn from(argument: WriteBackArgument) -> Self {
        match argument {
            WriteBackArgument::Catapult => Self::Catapult,
            WriteBackArgument::CatapultStaging => Self::CatapultStaging,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExecutorArgument {
    /// Builds by Buildbucket, runs by Swarming.
    Luci,
}

// The identity for LUCI's services.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct LuciTokens {
    /// Where tokens for LUCI's services come from: key:FILE, the key of a service account;
    /// metadata, the server of a machine in Google Cloud; `command:PROGRAM …`, a program that
    /// prints one for {scopes}; or none [default: command:luci-auth token -scopes {scopes}].
    /// It is needed again to resume or cancel the job.
    #[arg(
        long,
        value_name = "SOURCE",
        env = TOKENS_VARIABLE,
        hide_env_values = true,
        help_heading = LUCI
    )]
    pub(crate) luci_tokens: Option<String>,
}

impl LuciTokens {
    /// These options, for a command that resumes the job: the environment is the same then, and is
    /// not shown.
    pub(crate) fn words(&self) -> Vec<String> {
        let variable = std::env::var(TOKENS_VARIABLE).ok();
        let source = self.luci_tokens.iter();
        source
            .filter(|source| variable.as_ref() != Some(source))
            .flat_map(|source| ["--luci-tokens".to_owned(), source.clone()])
            .collect()
    }
}
