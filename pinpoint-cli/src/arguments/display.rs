//! Options of all commands: the format of results, and the place of jobs.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use pinpoint_backends::store::without_password;
use pinpoint_report::command_line::quoted;

use super::{OUTPUT, STORAGE};

/// The format of results, and the place of jobs: after the options of each command, however many
/// commands there are.
#[derive(Debug, Clone, Args)]
pub(crate) struct Display {
    /// The format of the result on standard output.
    #[arg(
        long = "output",
        id = "output",
        global = true,
        help_heading = OUTPUT,
        value_name = "OUTPUT",
        value_parser = text_or_json(),
        default_value = "text",
        display_order = 800
    )]
    pub(crate) format: OutputFormat,
    /// The same, for all commands but those with formats of their own: to them those are text.
    #[arg(skip)]
    pub(crate) output: Output,
    /// When to use colors.
    #[arg(long, global = true, help_heading = OUTPUT, value_enum, default_value_t = Color::Auto, display_order = 801)]
    pub(crate) color: Color,
    /// Show no progress, only the result.
    #[arg(long, short, global = true, help_heading = OUTPUT, display_order = 802)]
    pub(crate) quiet: bool,
    /// The directory of jobs, builds and work trees [default: $XDG_STATE_HOME/pinpoint].
    #[arg(long, global = true, help_heading = STORAGE, value_name = "DIR", env = "PINPOINT_STATE_DIR", display_order = 803)]
    pub(crate) state_dir: Option<PathBuf>,
    /// Options of the commands that are advised to resume a job.
    #[arg(skip)]
    pub(crate) resume_options: Vec<String>,
    /// A PostgreSQL database to keep jobs in, as postgres://USER@HOST/DATABASE, shared by
    /// many machines [default: a file in the state directory]. Every user of this machine
    /// can see a password in it: give the URL in PINPOINT_STORE, or the password in
    /// PGPASSWORD or in the file ~/.pgpass or PGPASSFILE. Tables are made in a schema
    /// named pinpoint. `sqlite:DIR` names the file of another state directory on this
    /// machine.
    #[arg(
        long,
        global = true,
        help_heading = STORAGE,
        value_name = "URL",
        env = "PINPOINT_STORE",
        hide_env_values = true,
        display_order = 804
    )]
    pub(crate) store: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Output {
    /// For people.
    #[default]
    Text,
    /// One JSON document.
    Json,
}

/// The formats of results, of which only `compare` has all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people.
    Text,
    /// One JSON document.
    Json,
    /// A comment for a pull request.
    Markdown,
    /// Comma-separated values, with a row for every metric.
    Csv,
    /// Annotations of GitHub Actions.
    Github,
    /// The form that jobs had in the API that Chromium's Pinpoint replaced.
    #[value(skip)]
    LegacyJson,
}

/// The format of a job's own, for those who read jobs of Chromium's Pinpoint.
const LEGACY_JSON: &str = "legacy-json";

/// The formats of a job.
pub(super) fn formats_of_job() -> impl TypedValueParser<Value = OutputFormat> {
    PossibleValuesParser::new(["text", "json", LEGACY_JSON]).try_map(|name| match &*name {
        LEGACY_JSON => Ok(OutputFormat::LegacyJson),
        name => OutputFormat::from_str(name, false),
    })
}

/// The formats that all commands have.
fn text_or_json() -> impl TypedValueParser<Value = OutputFormat> {
    let formats = [OutputFormat::Text, OutputFormat::Json];
    PossibleValuesParser::new(formats.iter().filter_map(ValueEnum::to_possible_value))
        .try_map(|name| OutputFormat::from_str(&name, false))
}

impl From<OutputFormat> for Output {
    fn from(format: OutputFormat) -> Self {
        match format {
            OutputFormat::Json => Self::Json,
            _ => Self::Text,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// When printing to a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    pub(crate) fn apply(self) {
        match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

impl Display {
    /// The same with other options of the commands that are advised to resume a job.
    pub(crate) fn resumed_with(&self, resume_options: Vec<String>) -> Self {
        Self {
            resume_options,
            ..self.clone()
        }
    }

    /// The command that takes a job up again.
    pub(crate) fn resume_command(&self, job: &str) -> String {
        let command = self.job_command("resume", job);
        match &self.resume_options[..] {
            [] => command,
            options => format!("{command} {}", quoted(options)),
        }
    }

    /// The command that does something with a job.
    pub(crate) fn job_command(&self, does: &str, job: &str) -> String {
        let mut words = vec![
            "pinpoint".to_owned(),
            "jobs".into(),
            does.into(),
            job.into(),
        ];
        if let Some(told) = &self.state_dir {
            words.extend(["--state-dir".into(), told.display().to_string()]);
        }
        if let Some(told) = self.store.as_ref().filter(|url| !url.is_empty()) {
            words.extend(["--store".into(), without_password(told)]);
        }
        quoted(&words)
    }
}

/// The options of a command that resumes a job where it was carried out before.
pub(crate) fn resume_options(by_workers: bool) -> Vec<String> {
    Vec::from_iter(by_workers.then(|| "--detach".to_owned()))
}
