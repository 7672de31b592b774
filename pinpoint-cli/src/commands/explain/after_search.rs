//! The explanation of a search's culprit, right after the search.

use std::path::{Path, PathBuf};

use pinpoint_backends::local::LocalConfig;
use pinpoint_core::job::JobResult;
use serde_json::{Value, json};

use super::job::{RequestedExplanation, carried_out, profiler_of, store};
use crate::advice::with_advice;
use crate::arguments::{Display, LuciTokens, Output, ProfilerArgument};
use crate::error::CliError;
use crate::exit_code::INTERRUPTED;
use crate::job::explanation::explanation_report::{ExplanationReport, Written};
use crate::job::explanation::problems::explain_command;
use crate::job::explanation::stored::new_report;
use crate::job::report;
use crate::job::storage::Storage;
use crate::show::job_result::{exit_code, print_result};
use crate::show::output::{errln, outln, print_result_json};
use crate::show::text::ERROR;

/// The options of a search whose culprit is to be explained.
pub(crate) struct AtOnce {
    profiler: ProfilerArgument,
    /// The search's report, which gets the explanation.
    report: Option<PathBuf>,
}

impl AtOnce {
    /// # Errors
    ///
    /// When the profiler can't be used: that is known before the search.
    pub(crate) fn new(
        profiler: ProfilerArgument,
        local: &LocalConfig,
        report: Option<&Path>,
    ) -> Result<Self, CliError> {
        profiler_of(profiler.0.clone(), local)?;
        Ok(Self {
            profiler,
            report: report.map(Path::to_owned),
        })
    }

    /// The error that ended the search, with the command that explains its culprit later.
    pub(crate) fn not_yet(&self, error: CliError, display: &Display) -> CliError {
        let options = match &self.profiler.0 {
            Some(profiler) => vec!["--profiler".into(), profiler.to_string()],
            None => Vec::new(),
        };
        match &error {
            CliError::Stopped { job, .. } => {
                let command = explain_command(display, job, &options);
                error.with_afterwards(command)
            }
            _ => error,
        }
    }

    /// Prints the result of the search, explains it, and returns the exit code of the search.
    pub(crate) async fn end(self, result: &JobResult, display: &Display) -> Result<u8, CliError> {
        let report = self.report.as_deref();
        end_explained(
            result,
            self.profiler,
            report,
            &LuciTokens::default(),
            display,
        )
        .await
    }
}

/// Prints the result of a search, explains it, and returns the exit code of the search, unless the
/// explanation is interrupted.
///
/// `report` is the file of the search's report, which gets the explanation; the explanation's own
/// is written next to it.
pub(crate) async fn end_explained(
    result: &JobResult,
    profiler: ProfilerArgument,
    report: Option<&Path>,
    tokens: &LuciTokens,
    display: &Display,
) -> Result<u8, CliError> {
    if display.output == Output::Text {
        print_result(result, display);
    }
    let explained = after(result, profiler, tokens, display).await;
    if let (Some(file), Ok(Some(answer))) = (report, &explained)
        && let Err(error) = write_reports(result, answer, file, display).await
    {
        error.print(display);
    }
    let code = match &explained {
        Err(error) if error.exit_code() == INTERRUPTED => INTERRUPTED,
        _ => exit_code(result),
    };
    match (display.output, explained) {
        (Output::Text, Ok(None)) => {}
        (Output::Text, Ok(Some(answer))) => {
            outln!("");
            answer.print(&Written::default(), display)?;
        }
        (Output::Text, Err(error)) => error.print(display),
        (Output::Json, explained) => {
            let mut document = serde_json::to_value(result).unwrap_or_default();
            document["explanation"] = match explained {
                Ok(answer) => answer.map_or(Value::Null, |answer| answer.document()),
                Err(error) => {
                    errln!("{ERROR}error:{ERROR:#} {}", with_advice(&error));
                    json!({ "error": with_advice(&error) })
                }
            };
            print_result_json(&document);
        }
    }
    Ok(code)
}

/// Writes the explanation's report next to that of its search, and adds it to that one.
async fn write_reports(
    result: &JobResult,
    answer: &ExplanationReport,
    file: &Path,
    display: &Display,
) -> Result<(), CliError> {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let own = file.with_file_name(format!("{stem}.explanation.html"));
    let text = answer.report(display);
    let written = text.and_then(|text| report::write_text(&text, &own));
    match &written {
        Ok(()) => errln!("the explanation's report: {}", own.display()),
        Err(error) => error.print(display),
    }
    let page = written.is_ok().then_some(&*own);
    match result.bisection() {
        Some(search) => answer.write_into(&search.job_id, file, page, display).await,
        None => Ok(()),
    }
}

/// The explanation of a search that has ended just now; absent without a culprit.
async fn after(
    result: &JobResult,
    profiler: ProfilerArgument,
    tokens: &LuciTokens,
    display: &Display,
) -> Result<Option<ExplanationReport>, CliError> {
    let Some(search) = result
        .bisection()
        .filter(|search| !search.culprits.is_empty())
    else {
        return Ok(None);
    };
    let storage = Storage::open(display).await?;
    let job = storage.store.jobs().find(&search.job_id.parse()?).await?;
    let wanted = RequestedExplanation::new(profiler.0, tokens.clone());
    let id = store(&storage, &job, wanted).await?;
    let result = carried_out(&storage, &id, tokens.clone(), display).await?;
    new_report(&storage, &id, &result, display).await
}
