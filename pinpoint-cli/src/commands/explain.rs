//! `pinpoint explain`: the functions whose time moved between two builds.

pub(crate) mod after_search;
mod job;

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use pinpoint_core::profile::{ExplainOptions, ExportFormat, Profile, explain};
use pinpoint_report::text::name;

use crate::arguments::{Display, Explain, Output};
use crate::error::CliError;
use crate::job::explanation::explanation_report::{ExplanationReport, Written};
use crate::job::explanation::profile_file::{STANDARD_INPUT, read};
use crate::job::explanation::warnings::warnings;
use crate::show::output::is_shown;
use crate::show::reading::Reading;

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
    let [base, experiment] = &profiles;
    let explanation =
        explain(base, experiment, &options).map_err(|error| CliError::Input(error.to_string()))?;
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
