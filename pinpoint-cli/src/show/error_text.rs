//! Errors on the screen, and as documents.

use pinpoint_core::job::RESULT_VERSION;
use serde_json::{Value, json};

use crate::advice::with_advice;
use crate::arguments::{Display, Output, resume_options};
use crate::error::{CliError, fails_at_good_end, is_interrupt, is_wrong_input};
use crate::show::output::{errln, print_json};
use crate::show::text::{BOLD, ERROR};

impl CliError {
    /// Prints the problem, its cause, and the next step.
    pub(crate) fn print(&self, display: &Display) {
        if display.output == Output::Json {
            print_json(format_args!("{:#}", self.document()));
        }
        let resume = |label: &str, job: &str, options: &[String]| {
            let display = display.resumed_with(options.to_vec());
            errln!("\n{label}:  {}", display.resume_command(job));
        };
        if let Self::Stopped {
            job,
            error,
            resume_options,
            afterwards,
            ..
        } = self
        {
            if is_interrupt(error) {
                errln!("{BOLD}interrupted{BOLD:#}; nothing is lost");
            } else {
                errln!("{ERROR}error:{ERROR:#} {}", with_advice(&**error));
            }
            if !is_wrong_input(error) {
                let label = match fails_at_good_end(error) {
                    // With the same command it fails again, unless something else was mended.
                    true => "if that was mended outside of this command, resume with",
                    false => "resume with",
                };
                resume(label, job, resume_options);
                if let Some(command) = afterwards {
                    errln!("then:  {command}");
                }
            }
        } else if let Self::Left { job } = self {
            errln!(
                "the job continues\n\nfollow it with:  {}\ncancel it with:  {}",
                display.job_command("wait", job),
                display.job_command("cancel", job)
            );
        } else {
            errln!("{ERROR}error:{ERROR:#} {}", self.message());
        }
        if let Self::Ended {
            job, by_workers, ..
        } = self
        {
            resume("resume with", job, &resume_options(*by_workers));
        }
    }

    fn message(&self) -> String {
        match self {
            // They end with a command to copy.
            Self::Reversed { .. } | Self::UnfitOptions { .. } => self.to_string(),
            _ => with_advice(self),
        }
    }

    /// The document that `--output json` prints.
    fn document(&self) -> Value {
        match self {
            Self::Stopped {
                document: Some(document),
                ..
            } => document.clone(),
            Self::Stopped { job, error, .. } => {
                without_result(Some(job), is_interrupt(error), &with_advice(&**error))
            }
            Self::Interrupted => without_result(None, true, &self.message()),
            Self::Left { job } => without_result(Some(job), true, &self.message()),
            Self::Ended { job, .. }
            | Self::StillHeld { job, .. }
            | Self::UnfitOptions { job, .. } => without_result(Some(job), false, &self.message()),
            _ => without_result(None, false, &self.message()),
        }
    }
}

/// The document of a command that ended without a result.
pub(crate) fn without_result(job: Option<&str>, is_interrupt: bool, message: &str) -> Value {
    let status = if is_interrupt {
        "interrupted"
    } else {
        "failed"
    };
    json!({ "version": RESULT_VERSION, "job_id": job, "status": status, "error": message })
}

#[cfg(test)]
mod tests {
    use pinpoint_backends::job::JobError;

    use super::*;

    #[test]
    fn a_message_does_not_repeat_megabytes_of_what_others_wrote() {
        let error = CliError::Input(format!("v: {} is not a number", "9".repeat(3_000_000)));
        let message = error.message();
        assert!(message.len() < 5_000, "{}", message.len());
        assert!(message.starts_with("v: 999") && message.ends_with("is not a number"));
        assert_eq!(error.document()["error"], message);
    }

    #[test]
    fn an_interruption_is_not_a_cancellation() {
        let interrupted = |document| CliError::Stopped {
            job: "0199".into(),
            error: Box::new(JobError::Interrupted),
            document,
            resume_options: Vec::new(),
            afterwards: None,
        };
        let document = interrupted(None).document();
        assert_eq!(document["status"], "interrupted");
        assert_eq!(document["job_id"], "0199");
        let own = json!({ "runs": 3 });
        assert_eq!(interrupted(Some(own.clone())).document(), own);
    }
}
