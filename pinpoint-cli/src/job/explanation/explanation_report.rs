//! The differences between the profiles of two builds: as text, document, page and export.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use pinpoint_core::profile::{
    ExplainOptions, Explanation, ExportError, ExportFormat, Exported, Profile, Window, export,
};
use pinpoint_report::profile;
use pinpoint_report::words::explanation as words;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::about::About;
use crate::arguments::{Display, Explain, Output};
use crate::error::CliError;
use crate::exit_code::{FOUND, NO_DIFFERENCE, UNDECIDED};
use crate::job::report;
use crate::job::storage::Storage;
use crate::show::explanation_text;
use crate::show::output::{errln, print, print_bytes, print_result_json};
use crate::show::text::FOUND as WARNING;

/// The version of the document.
pub(super) const VERSION: u32 = 1;

/// The answer, as `--output json` prints it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Document<'a> {
    pub(crate) version: u32,
    pub(crate) status: Status,
    /// Absent where the profiles are files.
    pub(crate) job: Option<Cow<'a, About>>,
    /// Reasons to doubt the answer.
    #[serde(default)]
    pub(crate) warnings: Cow<'a, [String]>,
    pub(crate) base: Cow<'a, [PathBuf]>,
    pub(crate) experiment: Cow<'a, [PathBuf]>,
    #[serde(flatten)]
    pub(crate) explanation: Cow<'a, Explanation>,
}

/// The outcome of an explanation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    /// The difference of some function is certain.
    Certain,
    /// No difference is certain.
    Uncertain,
    /// Too few runs for any certainty.
    TooFewRuns,
}

impl Status {
    pub(crate) fn from_explanation(explanation: &Explanation) -> Self {
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

/// The profiles of two builds, and the differences between them.
pub(crate) struct ExplanationReport {
    pub(crate) options: ExplainOptions,
    /// The files that were read.
    pub(crate) files: [Vec<PathBuf>; 2],
    /// Empty if the answer was kept, and they were removed.
    pub(crate) profiles: [Vec<Profile>; 2],
    /// The part of the files that the profiles have, if not all.
    pub(crate) window: Option<Window>,
    pub(crate) explanation: Explanation,
    /// Reasons to doubt it.
    pub(crate) warnings: Vec<String>,
    /// Of the job that made the profiles.
    pub(crate) about: Option<About>,
    /// The directory of the builds that were run.
    pub(crate) builds: Option<PathBuf>,
}

/// The output besides the answer, or instead of it.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// Instead of the answer.
    export: Option<(ExportFormat, Exported)>,
    /// Besides it.
    pub(crate) report: Option<PathBuf>,
}

impl Written {
    /// Returns true if a kept answer is not enough.
    pub(crate) fn needs_profiles(&self) -> bool {
        self.export.is_some() || self.report.is_some()
    }

    /// Checks that the file can be written before any work is done for it.
    pub(crate) fn from_arguments(arguments: &Explain) -> Result<Self, CliError> {
        let side = arguments.side.into();
        let report = arguments.report.as_deref();
        Ok(Self {
            export: arguments.export.map(|format| (format, side)),
            report: report.map(report::destination).transpose()?,
        })
    }
}

impl ExplanationReport {
    /// Prints it, or the output instead of it, and returns the exit code.
    pub(crate) fn print(&self, written: &Written, display: &Display) -> Result<u8, CliError> {
        for warning in &self.warnings {
            errln!("{WARNING}warning:{WARNING:#} {warning}");
        }
        if let Some((format, side)) = written.export {
            let [base, experiment] = &*self.profiles_for_others();
            let written = self::export(base, experiment, side, format)
                .map_err(|error| CliError::Input(on_export(&error, side)))?;
            print_bytes(&written);
            return Ok(FOUND);
        }
        if let Some(file) = &written.report {
            report::write_text(&self.report(display)?, file)?;
        }
        match display.output {
            Output::Json => print_result_json(&self.as_document()),
            Output::Text => self.show(),
        }
        Ok(self.exit_code())
    }

    /// The profiles with source files named as in the repository, not as in the build.
    fn profiles_for_others(&self) -> Cow<'_, [Vec<Profile>; 2]> {
        let Some(builds) = &self.builds else {
            return Cow::Borrowed(&self.profiles);
        };
        let mut profiles = self.profiles.clone();
        for profile in profiles.iter_mut().flatten() {
            profile.rename_files(|file| in_build(file, builds));
        }
        Cow::Owned(profiles)
    }

    /// Prints it for people.
    pub(crate) fn show(&self) {
        let text = explanation_text::render(&self.explanation, self.about.as_ref());
        print(format_args!("{text}"));
    }

    pub(crate) fn exit_code(&self) -> u8 {
        Status::from_explanation(&self.explanation).exit_code()
    }

    /// The notes of a report besides the functions.
    fn notes(&self) -> Vec<String> {
        let notes = self
            .about
            .as_ref()
            .map(|about| explanation_text::notes(&self.explanation, about));
        let mut notes = notes.unwrap_or_default();
        if let Some(own) = words::own_code(&self.explanation) {
            notes.push(format!("Own code, with what it calls of others: {own}"));
        }
        notes.extend(explanation_text::advice_on_names(&self.explanation));
        notes.extend(self.warnings.iter().cloned());
        notes
    }

    /// Writes the report on a job with this explanation of its result, whose own report is `page`.
    pub(crate) async fn write_into(
        &self,
        job: &str,
        file: &Path,
        page: Option<&Path>,
        display: &Display,
    ) -> Result<(), CliError> {
        let Some(about) = &self.about else {
            return Ok(());
        };
        let (lines, notes) = (explanation_text::builds(about), self.notes());
        let section = profile::Section {
            explanation: &self.explanation,
            job: about.of_report(&lines),
            notes: &notes,
            page: page.and_then(Path::file_name).and_then(OsStr::to_str),
        };
        let storage = Storage::open(display).await?;
        report::write_explained(&storage, job, &section, file).await
    }

    /// The report on it, as a page.
    pub(crate) fn report(&self, display: &Display) -> Result<String, CliError> {
        let [base, experiment] = &self.profiles;
        let mut notes = self.notes();
        let builds = self
            .about
            .as_ref()
            .map_or_else(Vec::new, explanation_text::builds);
        let sides = self.timelines(&mut notes, display);
        let report = profile::Report {
            explanation: &self.explanation,
            profiles: [base, experiment],
            options: &self.options,
            timelines: sides.each_ref().map(|side| side.drawn.as_ref()),
            entry_trees: sides.each_ref().map(|side| side.trees.as_slice()),
            window: self.window.as_ref(),
            files: [&self.files[0], &self.files[1]],
            job: self.about.as_ref().map(|about| about.of_report(&builds)),
            notes: &notes,
            made: crate::job::clock::now(),
        };
        Ok(profile::report(&report)?)
    }

    pub(crate) fn document(&self) -> Value {
        serde_json::to_value(self.as_document()).unwrap_or_default()
    }

    pub(super) fn as_document(&self) -> Document<'_> {
        let [base, experiment] = &self.files;
        Document {
            version: VERSION,
            status: Status::from_explanation(&self.explanation),
            job: self.about.as_ref().map(Cow::Borrowed),
            warnings: Cow::Borrowed(&self.warnings),
            base: Cow::Borrowed(base),
            experiment: Cow::Borrowed(experiment),
            explanation: Cow::Borrowed(&self.explanation),
        }
    }
}

impl From<Document<'_>> for ExplanationReport {
    fn from(document: Document<'_>) -> Self {
        Self {
            files: [document.base.into_owned(), document.experiment.into_owned()],
            profiles: [Vec::new(), Vec::new()],
            window: None,
            options: ExplainOptions::default(),
            explanation: document.explanation.into_owned(),
            warnings: document.warnings.into_owned(),
            about: document.job.map(Cow::into_owned),
            builds: None,
        }
    }
}

/// The error, with the option that helps.
fn on_export(error: &ExportError, side: Exported) -> String {
    let advice = match (error, side) {
        (ExportError::Negative(_) | ExportError::NoTime(_), Exported::Difference) => {
            " (--side base or --side experiment)"
        }
        _ => "",
    };
    format!("{error}{advice}")
}

/// The path of a file in the work tree of a build; `modules/…` of one in another repository's.
fn in_build(file: &str, builds: &Path) -> Option<String> {
    let path = file.strip_prefix("file://").unwrap_or(file);
    let mut parts = Path::new(path).strip_prefix(builds).ok()?.components();
    parts.next()?;
    let rest = parts.as_path();
    let path = rest.strip_prefix("tree").unwrap_or(rest);
    Some(path.to_str()?.to_owned()).filter(|path| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_name_files_as_the_repository_does() {
        let builds = Path::new("/state/builds");
        for (file, named) in [
            ("/state/builds/7f/tree/src/a.rs", Some("src/a.rs")),
            ("file:///state/builds/7f/tree/a.js", Some("a.js")),
            ("/state/builds/7f/modules/1/b.c", Some("modules/1/b.c")),
            ("/state/builds/7f/tree", None),
            ("/state/builds", None),
            ("/usr/include/vector", None),
            ("a.js", None),
        ] {
            assert_eq!(in_build(file, builds).as_deref(), named, "{file}");
        }
    }
}
