//! `pinpoint explain`: the functions whose time moved between two builds.

pub(crate) mod job;
mod kept;
mod made;
mod pairs;
mod problems;

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use pinpoint_backends::local::{Profiler, Profiling};
use pinpoint_core::profile::{
    CallersMissing, EntryTree, ExplainOptions, Explanation, ExportError, ExportFormat, Exported,
    FormatsDiffer, Profile, ProfileFormat, ReadProfileError, Timeline, Unmatched, Verdict, Window,
    explain, export,
};
use pinpoint_report::command_line::quoted;
use pinpoint_report::profile;
use pinpoint_report::text::{name, plain};
use pinpoint_report::words::explanation as words;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::job::About;
use crate::arguments::{Display, Explain, Output};
use crate::error::{CliError, FOUND, NO_DIFFERENCE, UNDECIDED, with_advice};
use crate::job::report;
use crate::job::storage::Storage;
use crate::show::explanation_text;
use crate::show::output::{errln, is_shown, print, print_bytes, print_result_json};
use crate::show::reading::Reading;
use crate::show::text::FOUND as WARNING;
use crate::show::worker_list;

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
    options: ExplainOptions,
    /// The files that were read.
    files: [Vec<PathBuf>; 2],
    /// Empty if the answer was kept, and they were removed.
    profiles: [Vec<Profile>; 2],
    /// The part of the files that the profiles have, if not all.
    window: Option<Window>,
    explanation: Explanation,
    /// Reasons to doubt it.
    warnings: Vec<String>,
    /// Of the job that made the profiles.
    about: Option<About>,
    /// The directory of the builds that were run.
    builds: Option<PathBuf>,
}

/// The output besides the answer, or instead of it.
#[derive(Debug, Default)]
struct Written {
    /// Instead of the answer.
    export: Option<(ExportFormat, Exported)>,
    /// Besides it.
    report: Option<PathBuf>,
}

impl Written {
    /// Returns true if a kept answer is not enough.
    fn needs_profiles(&self) -> bool {
        self.export.is_some() || self.report.is_some()
    }

    /// Checks that the file can be written before any work is done for it.
    fn from_arguments(arguments: &Explain) -> Result<Self, CliError> {
        let side = arguments.side.into();
        let report = arguments.report.as_deref();
        Ok(Self {
            export: arguments.export.map(|format| (format, side)),
            report: report.map(report::destination).transpose()?,
        })
    }
}

pub(crate) async fn run(arguments: Explain, display: &Display) -> Result<u8, CliError> {
    check_export(&arguments, display)?;
    if arguments.job.is_some() {
        return job::run(arguments, display).await;
    }
    if arguments.base.is_empty() {
        return Err(CliError::Input(
            "there is nothing to explain; name a finished job:  pinpoint explain JOB\nor profiles of two builds:  pinpoint explain --base FILES --experiment FILES\n`pinpoint explain --help` shows the options".into(),
        ));
    }
    distinct("base", &arguments.base)?;
    distinct("experiment", &arguments.experiment)?;
    if [&arguments.base, &arguments.experiment]
        .iter()
        .all(|side| side.iter().any(|it| it.as_os_str() == STANDARD_INPUT))
    {
        return Err(CliError::Input(
            "standard input (-) can be read once only, and is named on both sides; give a file for one".into(),
        ));
    }
    let written = Written::from_arguments(&arguments)?;
    let files = arguments.base.len() + arguments.experiment.len();
    let reading = Reading::begin("profiles", files, display);
    let read = |paths: &[PathBuf]| -> Result<Vec<Profile>, CliError> {
        let window = arguments.window.as_ref();
        let read = |path: &PathBuf| {
            reading.next();
            read(path, window, arguments.event.as_deref())
        };
        paths.iter().map(read).collect()
    };
    let profiles = [read(&arguments.base)?, read(&arguments.experiment)?];
    drop(reading);
    let options = ExplainOptions {
        paired: arguments.paired,
        same: arguments.same.clone(),
        map: arguments.map.clone(),
    };
    let explanation = explained(&profiles, &options)?;
    let both = on_both_sides(&arguments.base, &arguments.experiment);
    let answer = ExplanationReport {
        warnings: both
            .into_iter()
            .chain(warnings(&profiles, &explanation, None))
            .collect(),
        explanation,
        profiles,
        about: None,
        builds: None,
        files: [arguments.base.clone(), arguments.experiment.clone()],
        window: arguments.window,
        options,
    };
    answer.print(&written, display)
}

/// Refuses an export that standard output can't take.
fn check_export(arguments: &Explain, display: &Display) -> Result<(), CliError> {
    let problem = match arguments.export {
        Some(_) if display.output == Output::Json => {
            "--export writes a profile instead of the answer, and --output json is a form of the answer; leave out one of them"
        }
        Some(ExportFormat::Pprof) if is_shown() => {
            "a pprof profile is binary, which a terminal can't show; send it to a file: > FILE"
        }
        _ => return Ok(()),
    };
    Err(CliError::Input(problem.into()))
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

/// Identifies a file, whichever path leads to it, by its device and number. A missing file is
/// refused when it is read.
fn file_of(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// The message about a file that is on both sides, if any: it has no difference from itself.
fn on_both_sides(base: &[PathBuf], experiment: &[PathBuf]) -> Option<String> {
    let of_base = base.iter().filter_map(|path| Some((file_of(path)?, path)));
    let of_base: HashMap<_, _> = of_base.collect();
    let on_both = |path: &PathBuf| Some(one_file(of_base.get(&file_of(path)?)?, path));
    Some(format!(
        "{} is on both sides, and a profile does not differ from itself",
        experiment.iter().find_map(on_both)?
    ))
}

/// Refuses a run that would be counted as several.
fn distinct(side: &str, paths: &[PathBuf]) -> Result<(), CliError> {
    let mut seen = HashMap::new();
    for path in paths {
        if path.as_os_str() == STANDARD_INPUT && paths.iter().filter(|it| *it == path).count() > 1 {
            return Err(CliError::Input(
                "standard input (-) can be read once only; give files for all other runs".into(),
            ));
        }
        if let Some(before) = file_of(path).and_then(|file| seen.insert(file, path)) {
            return Err(CliError::Input(format!(
                "{} is given twice for the {side}; give each run once, and record more runs to be certain",
                one_file(before, path)
            )));
        }
    }
    Ok(())
}

/// A file by the two paths that lead to it, as the beginning of a sentence.
fn one_file(first: &Path, second: &Path) -> String {
    let [one, other] = [first, second].map(|path| name(&path.display().to_string()));
    if first == second {
        one
    } else {
        format!("{one} and {other} are one file, which")
    }
}

/// The most programs and files matched by similarity that are named.
const MOST_MATCHED: usize = 5;

/// The reasons to doubt a comparison of these profiles, with the option that helps.
fn warnings(
    [base, experiment]: &[Vec<Profile>; 2],
    explanation: &Explanation,
    profiling: Option<&Profiling>,
) -> Vec<String> {
    let differ = FormatsDiffer::between(base, experiment);
    let mut warnings: Vec<String> = differ.iter().map(ToString::to_string).collect();
    // Without moved functions, there is no suspicion of inlining.
    let mut functions = explanation.functions.iter();
    let has_moved = functions.any(|it| it.verdict != Verdict::Uncertain);
    let missing = [base, experiment].map(|side| CallersMissing::of(side));
    if let Some(missing) = missing.into_iter().flatten().next().filter(|_| has_moved) {
        let is_perf = profiling.is_some_and(|it| it.profiler == Profiler::Perf);
        let option = if is_perf {
            " (--profiler perf-dwarf)"
        } else {
            ""
        };
        warnings.push(format!("{missing}{option}"));
    }
    if let Some(unmatched) = Unmatched::of(explanation) {
        warnings.push(format!(
            "{unmatched} (--map OLD=NEW, and --same for a function)"
        ));
    }
    for matched in explanation.matched.iter().take(MOST_MATCHED) {
        let map = format!("{}={}", matched.base, matched.experiment);
        warnings.push(format!(
            "{} of the base is taken for {} of the experiment, since {} in both; --map {} says so",
            name(&matched.base),
            name(&matched.experiment),
            match matched.common {
                1 => "a function has the same name".into(),
                common => format!("{common} functions have the same names"),
            },
            quoted(&[plain(&map).into_owned()])
        ));
    }
    if let Some(more @ 1..) = explanation.matched.len().checked_sub(MOST_MATCHED) {
        warnings.push(format!(
            "{more} more programs and files of the base are taken for others of the experiment"
        ));
    }
    warnings
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

/// Returns true if the format has times.
fn has_timeline(run: &Profile) -> bool {
    matches!(
        run.format,
        ProfileFormat::ChromeTrace | ProfileFormat::CpuProfile
    )
}

/// The timelines of a side for a report.
#[derive(Default)]
struct Timelines {
    /// Of the run that is drawn.
    drawn: Option<Timeline>,
    /// Of each run; empty where some run of either side has no timeline.
    trees: Vec<EntryTree>,
}

/// Explains the difference; problems of the profiles are errors for all outputs.
fn explained(
    [base, experiment]: &[Vec<Profile>; 2],
    options: &ExplainOptions,
) -> Result<Explanation, CliError> {
    explain(base, experiment, options).map_err(|error| CliError::Input(error.to_string()))
}

impl ExplanationReport {
    /// Prints it, or the output instead of it, and returns the exit code.
    fn print(&self, written: &Written, display: &Display) -> Result<u8, CliError> {
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
    fn report(&self, display: &Display) -> Result<String, CliError> {
        let [base, experiment] = &self.profiles;
        let mut notes = self.notes();
        let builds = self
            .about
            .as_ref()
            .map_or_else(Vec::new, explanation_text::builds);
        let mut sides = [Timelines::default(), Timelines::default()];
        let runs = self.profiles.iter().flatten();
        let files = runs.filter(|run| has_timeline(run)).count();
        let reading = Reading::begin("timelines", files, display);
        for (side, timelines) in sides.iter_mut().enumerate() {
            if let Err(error) = self.read_timelines(side, timelines, &reading) {
                timelines.trees.clear();
                let lost = match timelines.drawn {
                    Some(_) => "Events in the trees have no differences over all runs",
                    None => "The flame charts are made from samples only",
                };
                let why = with_advice(&error);
                notes.push(format!("{lost}, since a timeline can't be read: {why}"));
            }
        }
        drop(reading);
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
            made: worker_list::now(),
        };
        Ok(profile::report(&report)?)
    }

    /// Reads the timelines of a side, first that of the drawn run; none of runs whose files have
    /// none, or that have several files.
    fn read_timelines(
        &self,
        side: usize,
        timelines: &mut Timelines,
        reading: &Reading,
    ) -> Result<(), CliError> {
        let (runs, files) = (&self.profiles[side], &self.files[side]);
        if runs.len() != files.len() {
            return Ok(());
        }
        let read = |place: usize| -> Result<Timeline, CliError> {
            reading.next();
            let path = &files[place];
            if is_read_once(path) {
                return Err(CliError::Input(format!(
                    "{} can be read once only; give a file",
                    path.display()
                )));
            }
            Timeline::read(&content(path)?).map_err(|source| refused(path, source))
        };
        let shown = profile::shown_run(runs).filter(|run| has_timeline(&runs[*run]));
        if let Some(run) = shown {
            timelines.drawn = Some(read(run)?);
        }
        if !self.profiles.iter().flatten().all(has_timeline) {
            return Ok(());
        }
        for (place, run) in runs.iter().enumerate() {
            let of_run;
            let timeline = match &timelines.drawn {
                Some(drawn) if shown == Some(place) => drawn,
                _ => {
                    of_run = read(place)?;
                    &of_run
                }
            };
            let tree = EntryTree::of(timeline, run, self.window.as_ref());
            let tree = tree.map_err(|source| refused(&files[place], source))?;
            timelines.trees.push(tree);
        }
        Ok(())
    }

    pub(crate) fn document(&self) -> Value {
        serde_json::to_value(self.as_document()).unwrap_or_default()
    }

    fn as_document(&self) -> Document<'_> {
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

fn read(path: &Path, window: Option<&Window>, event: Option<&str>) -> Result<Profile, CliError> {
    let refused = |source| refused(path, source);
    let profile = Profile::read_event(&content(path)?, event).map_err(refused)?;
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

/// The content of a file that users name, or that a shell makes of a command (`<(…)`). Other pipes
/// may have no writer, a device no end, and a file of the system no content yet.
fn content(path: &Path) -> Result<Vec<u8>, CliError> {
    if path.as_os_str() == STANDARD_INPUT {
        return at_most(io::stdin().lock(), path);
    }
    let problem = |problem: &dyn fmt::Display| {
        CliError::Input(format!("can't read {}: {problem}", path.display()))
    };
    let unreadable = |error: io::Error| problem(&error);
    let kind = fs::metadata(path).map_err(unreadable)?.file_type();
    let is_of_shell = kind.is_fifo() && fs::canonicalize(path).is_err();
    let mut options = File::options();
    options.read(true);
    if !is_of_shell {
        if kind.is_dir() {
            return Err(problem(&"it is a directory; name the files in it"));
        }
        if !kind.is_file() {
            return Err(problem(&"it is not a regular file"));
        }
        options.custom_flags(libc::O_NONBLOCK);
    }
    let file = options.open(path).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    if length > MOST_BYTES {
        return Err(too_large(path));
    }
    at_most(file, path)
}

/// Returns true for standard input, or a pipe that a shell makes of a command (`<(…)`).
fn is_read_once(path: &Path) -> bool {
    let is_fifo = || fs::metadata(path).is_ok_and(|it| it.file_type().is_fifo());
    path.as_os_str() == STANDARD_INPUT || is_fifo()
}

/// The name of standard input.
const STANDARD_INPUT: &str = "-";

/// Reads everything, up to a limit.
fn at_most(reader: impl Read, path: &Path) -> Result<Vec<u8>, CliError> {
    let mut content = Vec::new();
    let mut begin = reader.take(MOST_BYTES + 1);
    begin
        .read_to_end(&mut content)
        .map_err(|error| CliError::Input(format!("can't read {}: {error}", path.display())))?;
    match content.len() as u64 > MOST_BYTES {
        true => Err(too_large(path)),
        false => Ok(content),
    }
}

fn too_large(path: &Path) -> CliError {
    CliError::Input(format!(
        "{} is larger than 4 GB; record for a shorter time, or less often",
        path.display()
    ))
}

fn refused(path: &Path, source: ReadProfileError) -> CliError {
    CliError::Profile {
        path: path.to_owned(),
        source: Box::new(source),
    }
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
