//! `pinpoint watch`.

use std::time::Duration;

use clap::Args;
use pinpoint_traces::watch::{PlanOptions, Template};

use super::{Ingest, QUESTION};

// Its help stands in `Command`: clap would take the text of `Ingest`.
#[derive(Debug, Args)]
pub(crate) struct Watch {
    #[command(flatten)]
    pub(crate) ingest: Ingest,
    /// Go on until interrupted, and look again after --every.
    #[arg(long)]
    pub(crate) forever: bool,
    /// The time between two looks.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, default_value = "1min", requires = "forever")]
    pub(crate) every: Duration,
    /// With the first look, take only values from this commit on for new: older changes are not told
    /// and not bisected. A commit is its number, its hash, or a name in the repository here.
    #[arg(long, value_name = "COMMIT")]
    pub(crate) since: Option<String>,
    /// A shell command that is run when groups were reported or bisected, or traces stopped: it reads
    /// these events as JSON Lines. Where it fails, it is run again with the next look.
    #[arg(long, value_name = "SHELL COMMAND")]
    pub(crate) notify: Option<String>,
    /// A group is acted on when its newest member was found this long ago, or with the next values.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, default_value = "30min", help_heading = QUESTION)]
    pub(crate) quiet_time: Duration,
    /// The most bisections that are started in 24 hours.
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = QUESTION)]
    pub(crate) max_jobs: usize,
    #[command(flatten)]
    pub(crate) bisections: BisectionOptions,
}

// How bisections are carried out.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct BisectionOptions {
    /// The benchmark of alerts that have none, with {key} for parameters of the trace: './bench --only
    /// {test}'.
    #[arg(long, value_name = "COMMAND", help_heading = QUESTION)]
    pub(crate) command: Option<Template>,
    /// The chart that decides, for alerts that have none [default: {test}].
    #[arg(long, value_name = "CHART", help_heading = QUESTION)]
    pub(crate) chart: Option<Template>,
    /// Further options of `pinpoint culprit`, as a shell would read them: "--build 'make -j2'
    /// --max-runs 200".
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true, default_value = "", hide_default_value = true, help_heading = QUESTION)]
    pub(crate) options: String,
}

impl Watch {
    /// When which groups are acted on.
    pub(crate) fn plan_options(&self) -> PlanOptions {
        PlanOptions {
            quiet_time: i64::try_from(self.quiet_time.as_millis()).unwrap_or(i64::MAX),
            max_jobs: self.max_jobs,
            ..self.bisections.plan_options()
        }
    }
}

impl BisectionOptions {
    pub(crate) fn plan_options(&self) -> PlanOptions {
        PlanOptions {
            command: self.command.clone(),
            chart: self.chart.clone(),
            ..PlanOptions::default()
        }
    }
}
