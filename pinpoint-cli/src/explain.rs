//! `pinpoint explain`: which functions' time moved between two builds.

pub(crate) mod job;
mod kept;

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use pinpoint_core::profile::{
    ExplainOptions, Explanation, ExportFormat, Exported, Profile, ProfileFormat, ReadProfileError,
    Timeline, Window, explain, export,
};
use pinpoint_report::profile;
use pinpoint_report::text::name;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::job::About;
use crate::arguments::{Display, Explain, Output};
use crate::error::{CliError, FOUND, NO_DIFFERENCE, UNDECIDED, with_advice};
use crate::explanation_text;
use crate::output::{errln, print, print_bytes, print_json};
use crate::text::FOUND as WARNING;
use crate::{report, worker_list};

/// The version of the document.
const VERSION: u32 = 1;

/// The largest file that is read.
const MOST_BYTES: u64 = 4 << 30;

/// The answer, as `--output json` prints it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Document<'a> {
    pub(crate) version: u32,
    pub(crate) status: Status,
    /// Absent where the profiles are files.
    pub(crate) job: Option<Cow<'a, About>>,
    pub(crate) base: Cow<'a, [PathBuf]>,
    pub(crate) experiment: Cow<'a, [PathBuf]>,
    #[serde(flatten)]
    pub(crate) explanation: Cow<'a, Explanation>,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    /// There are functions whose difference is certain.
    Certain,
    /// There is none.
    Uncertain,
    /// There are too few runs to be certain of any.
    TooFewRuns,
}

impl Status {
    pub(crate) fn of(explanation: &Explanation) -> Self {
        let sees_nothing =
            |detectable: &pinpoint_core::profile::Detectable| detectable.smallest.is_none();
        if explanation.certain().next().is_some() {
            Self::Certain
        } else if explanation.detectable.as_ref().is_some_and(sees_nothing) {
            Self::TooFewRuns
        } else {
            Self::Uncertain
        }
    }

    fn exit_code(self) -> u8 {
        match self {
            Self::Certain => FOUND,
            Self::Uncertain => NO_DIFFERENCE,
            Self::TooFewRuns => UNDECIDED,
        }
    }
}

/// The profiles of two builds, and what moved between them.
pub(crate) struct Answer {
    options: ExplainOptions,
    /// The files that were read.
    files: [Vec<PathBuf>; 2],
    /// None where the answer was kept, and they were removed.
    profiles: [Vec<Profile>; 2],
    /// Whether the profiles are parts of what the files have.
    is_cut: bool,
    explanation: Explanation,
    /// Of the job that made the profiles.
    about: Option<About>,
}

/// What is written besides the answer, or instead of it.
#[derive(Debug, Default)]
struct Written {
    /// Instead of the answer.
    export: Option<(ExportFormat, Exported)>,
    /// Besides it.
    report: Option<PathBuf>,
}

impl Written {
    /// An answer that was kept is not enough.
    fn needs_profiles(&self) -> bool {
        self.export.is_some() || self.report.is_some()
    }

    /// Finds out whether the file can be written before any work is done for it.
    fn of(arguments: &Explain) -> Result<Self, CliError> {
        let side = arguments.side.into();
        let report = arguments.report.as_deref();
        Ok(Self {
            export: arguments.export.map(|format| (format, side)),
            report: report.map(report::destination).transpose()?,
        })
    }
}

pub(crate) async fn run(arguments: Explain, display: &Display) -> Result<u8, CliError> {
    if arguments.job.is_some() {
        return job::run(arguments, display).await;
    }
    let written = Written::of(&arguments)?;
    let read = |paths: &[PathBuf]| -> Result<Vec<Profile>, CliError> {
        let window = arguments.window.as_ref();
        paths.iter().map(|path| read(path, window)).collect()
    };
    let profiles = [read(&arguments.base)?, read(&arguments.experiment)?];
    let options = ExplainOptions {
        paired: arguments.paired,
        same: arguments.same.clone(),
    };
    let answer = Answer {
        explanation: explained(&profiles, &options)?,
        profiles,
        is_cut: arguments.window.is_some(),
        about: None,
        files: [arguments.base.clone(), arguments.experiment.clone()],
        options,
    };
    answer.print(&written, display)
}

/// Problems of the profiles are the same, whatever is done with them.
fn explained(
    [base, experiment]: &[Vec<Profile>; 2],
    options: &ExplainOptions,
) -> Result<Explanation, CliError> {
    explain(base, experiment, options).map_err(|error| CliError::Input(error.to_string()))
}

impl Answer {
    /// Prints it, or what is to be written instead, and returns the exit code.
    fn print(&self, written: &Written, display: &Display) -> Result<u8, CliError> {
        if let Some((format, side)) = written.export {
            let [base, experiment] = &self.profiles;
            let written = self::export(base, experiment, side, format)
                .map_err(|error| CliError::Input(error.to_string()))?;
            print_bytes(&written);
            return Ok(FOUND);
        }
        if let Some(file) = &written.report {
            report::write_text(&self.report()?, file)?;
        }
        match display.output {
            // Every key is a string: this can't fail.
            Output::Json => {
                print_json(serde_json::to_string_pretty(&self.as_document()).unwrap_or_default());
            }
            Output::Text => self.show(),
        }
        Ok(self.exit_code())
    }

    /// Prints it for people.
    pub(crate) fn show(&self) {
        let text = explanation_text::of(&self.explanation, self.about.as_ref());
        print(format_args!("{text}"));
    }

    pub(crate) fn exit_code(&self) -> u8 {
        Status::of(&self.explanation).exit_code()
    }

    fn report(&self) -> Result<String, CliError> {
        let [base, experiment] = &self.profiles;
        let notes = self
            .about
            .as_ref()
            .map(|about| explanation_text::notes(&self.explanation, about));
        let mut notes = notes.unwrap_or_default();
        let mut timelines = [None, None];
        for (side, timeline) in timelines.iter_mut().enumerate() {
            match self.timeline(side) {
                Ok(read) => *timeline = read,
                Err(error) => notes.push(format!(
                    "The flame charts are made of samples alone, since a timeline can't be read: {}",
                    with_advice(&error)
                )),
            }
        }
        let report = profile::Report {
            explanation: &self.explanation,
            profiles: [base, experiment],
            options: &self.options,
            timelines: timelines.each_ref().map(Option::as_ref),
            files: [&self.files[0], &self.files[1]],
            job: self.about.as_ref().map(|about| profile::Job {
                id: &about.job_id,
                explains: &about.explains,
                profiler: &about.profiler,
            }),
            notes: &notes,
            made: worker_list::now(),
        };
        Ok(profile::report(&report)?)
    }

    /// The timeline of the run of a side that a report draws; none where the file has none, a
    /// run has several files, or a part of it is looked at.
    fn timeline(&self, side: usize) -> Result<Option<Timeline>, CliError> {
        let (runs, files) = (&self.profiles[side], &self.files[side]);
        let run = profile::shown_run(runs).filter(|_| !self.is_cut && runs.len() == files.len());
        let Some((run, path)) = run.and_then(|run| Some((runs.get(run)?, files.get(run)?))) else {
            return Ok(None);
        };
        match run.format {
            ProfileFormat::ChromeTrace | ProfileFormat::CpuProfile => {
                let read = Timeline::read(&content(path)?);
                read.map(Some).map_err(|source| refused(path, source))
            }
            _ => Ok(None),
        }
    }

    pub(crate) fn document(&self) -> Value {
        serde_json::to_value(self.as_document()).unwrap_or_default()
    }

    fn as_document(&self) -> Document<'_> {
        let [base, experiment] = &self.files;
        Document {
            version: VERSION,
            status: Status::of(&self.explanation),
            job: self.about.as_ref().map(Cow::Borrowed),
            base: Cow::Borrowed(base),
            experiment: Cow::Borrowed(experiment),
            explanation: Cow::Borrowed(&self.explanation),
        }
    }
}

impl From<Document<'_>> for Answer {
    fn from(document: Document<'_>) -> Self {
        Self {
            files: [document.base.into_owned(), document.experiment.into_owned()],
            profiles: [Vec::new(), Vec::new()],
            is_cut: false,
            options: ExplainOptions::default(),
            explanation: document.explanation.into_owned(),
            about: document.job.map(Cow::into_owned),
        }
    }
}

fn read(path: &Path, window: Option<&Window>) -> Result<Profile, CliError> {
    let refused = |source| refused(path, source);
    let profile = Profile::read(&content(path)?).map_err(refused)?;
    for warning in &profile.warnings {
        let path = path.display();
        errln!(
            "{WARNING}warning:{WARNING:#} {path}: {}",
            name(&warning.to_string())
        );
    }
    match window {
        Some(window) => profile.window(window).map_err(refused),
        None => Ok(profile),
    }
}

fn content(path: &Path) -> Result<Vec<u8>, CliError> {
    let unreadable = |error| CliError::Input(format!("can't read {}: {error}", path.display()));
    let length = fs::metadata(path).map_err(unreadable)?.len();
    if length > MOST_BYTES {
        return Err(CliError::Input(format!(
            "{} is larger than 4 GB; record for a shorter time, or less often",
            path.display()
        )));
    }
    fs::read(path).map_err(unreadable)
}

fn refused(path: &Path, source: ReadProfileError) -> CliError {
    CliError::Profile {
        path: path.to_owned(),
        source: Box::new(source),
    }
}
