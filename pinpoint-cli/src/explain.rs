//! `pinpoint explain`: which functions' time moved between two builds.

use std::fs;
use std::path::{Path, PathBuf};

use pinpoint_core::profile::{ExplainOptions, Explanation, Profile, explain, export};
use serde::Serialize;

use crate::arguments::{Display, Explain, Output};
use crate::error::{CliError, FOUND, NO_DIFFERENCE, UNDECIDED};
use crate::explanation_text;
use crate::output::{print, print_bytes, print_json};

/// The version of the document.
const VERSION: u32 = 1;

/// The largest file that is read.
const MOST_BYTES: u64 = 4 << 30;

/// The answer, as `--output json` prints it.
#[derive(Debug, Serialize)]
pub(crate) struct Document<'a> {
    pub(crate) version: u32,
    pub(crate) status: Status,
    pub(crate) base: &'a [PathBuf],
    pub(crate) experiment: &'a [PathBuf],
    #[serde(flatten)]
    pub(crate) explanation: &'a Explanation,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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
}

pub(crate) fn run(arguments: Explain, display: &Display) -> Result<u8, CliError> {
    let read = |paths: &[PathBuf]| -> Result<Vec<Profile>, CliError> {
        paths.iter().map(|path| read(path, &arguments)).collect()
    };
    let (base, experiment) = (read(&arguments.base)?, read(&arguments.experiment)?);
    let options = ExplainOptions {
        paired: arguments.paired,
        same: arguments.same.clone(),
    };
    // Problems of the profiles are the same, whatever is done with them.
    let explanation = explain(&base, &experiment, &options)
        .map_err(|error| CliError::Input(error.to_string()))?;
    if let Some(format) = arguments.export {
        let written = export(&base, &experiment, arguments.side.into(), format)
            .map_err(|error| CliError::Input(error.to_string()))?;
        print_bytes(&written);
        return Ok(FOUND);
    }
    let status = Status::of(&explanation);
    match display.output {
        // Every key is a string: this can't fail.
        Output::Json => {
            let document = Document {
                version: VERSION,
                status,
                base: &arguments.base,
                experiment: &arguments.experiment,
                explanation: &explanation,
            };
            print_json(serde_json::to_string_pretty(&document).unwrap_or_default());
        }
        Output::Text => print(format_args!("{}", explanation_text::of(&explanation))),
    }
    Ok(match status {
        Status::Certain => FOUND,
        Status::Uncertain => NO_DIFFERENCE,
        Status::TooFewRuns => UNDECIDED,
    })
}

fn read(path: &Path, arguments: &Explain) -> Result<Profile, CliError> {
    let unreadable = |error| CliError::Input(format!("can't read {}: {error}", path.display()));
    let length = fs::metadata(path).map_err(unreadable)?.len();
    if length > MOST_BYTES {
        return Err(CliError::Input(format!(
            "{} is larger than 4 GB; record for a shorter time, or less often",
            path.display()
        )));
    }
    let content = fs::read(path).map_err(unreadable)?;
    let refused = |source| CliError::Profile {
        path: path.to_owned(),
        source: Box::new(source),
    };
    let profile = Profile::read(&content).map_err(refused)?;
    match &arguments.window {
        Some(window) => profile.window(window).map_err(refused),
        None => Ok(profile),
    }
}
