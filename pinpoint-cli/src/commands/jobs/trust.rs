//! Shows the commands of a job before a user answers for it.

use std::io::IsTerminal;

use pinpoint_backends::job::JobConfig;
use pinpoint_backends::local::LocalConfig;
use pinpoint_backends::store::{Job, JobStore};
use pinpoint_report::command_line::quoted;
use serde_json::Value;

use crate::error::CliError;
use crate::show::output::{errln, is_live, print_error};
use crate::show::text::BOLD;

/// The reason to ask a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PermissionReason {
    /// The job was imported, and is about to run.
    Imported,
    /// The job is about to be signed with a key of the user, who has not signed it as it is.
    Signed,
}

/// Asks before an imported job runs, and notes the permission.
///
/// # Errors
///
/// Those of [`ask`], and when the permission can't be noted.
pub(super) async fn confirm_imported(
    store: &JobStore,
    job: &Job,
    yes: bool,
) -> Result<(), CliError> {
    if job.imported {
        ask(job, PermissionReason::Imported, yes).await?;
        store.jobs().trust(&job.id).await?;
    }
    Ok(())
}

/// Shows the commands of a job, or their destination, and asks for permission.
///
/// # Errors
///
/// When the answer is no, or no one can be asked.
pub(crate) async fn ask(job: &Job, asked: PermissionReason, yes: bool) -> Result<(), CliError> {
    let config = JobConfig::of(job)?;
    let (heading, refusal, question) = match asked {
        PermissionReason::Imported => (
            match config.luci {
                Some(_) => {
                    "was imported. It asks these services, with your tokens and your API key:"
                }
                None => "was imported. It runs on this machine:",
            },
            "an imported job runs only when this is confirmed: add --yes",
            "run it?",
        ),
        PermissionReason::Signed => (
            "is not signed with your key as it is. It runs on workers:",
            "a job is signed only when this is confirmed: add --yes",
            "sign it?",
        ),
    };
    errln!("{BOLD}job {} {heading}{BOLD:#}", job.id);
    for (what, text) in lines(&config) {
        errln!("  {what:<14}{}", text.replace('\n', "\\n"));
    }
    if yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() || !is_live() {
        return Err(CliError::Input(refusal.into()));
    }
    print_error(format_args!("{question} [y/N] "));
    let answer = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).map(|_| line)
    });
    let answer = match answer.await {
        Ok(Ok(line)) => line.trim().to_ascii_lowercase(),
        Ok(Err(_)) | Err(_) => String::new(),
    };
    match answer.as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(CliError::Input("not confirmed; nothing was done".into())),
    }
}

/// Everything that decides which commands run, and who gets a token.
fn lines(config: &JobConfig) -> Vec<(&'static str, String)> {
    let mut lines = match &config.local {
        Some(local) => lines_of_local(local),
        None => lines_of_luci(config.luci.as_ref().unwrap_or(&Value::Null)),
    };
    if let Some(report) = &config.report {
        lines.push(("report", report.display().to_string()));
    }
    lines
}

/// The data that is sent to others, and its recipients.
fn lines_of_luci(luci: &Value) -> Vec<(&'static str, String)> {
    let parts = ["machines", "benchmark", "profiling", "settings"];
    let parts = parts.map(|part| (part, luci[part].clone()));
    let reported = [
        ("comments on", luci["issue"].clone()),
        (
            "adds rows to",
            luci["settings"]["reports"]["culprits"].clone(),
        ),
    ];
    let there = parts.into_iter().chain(reported);
    there
        .filter(|(_, part)| !part.is_null())
        .map(|(what, part)| match (what, part) {
            ("comments on", issue) => (what, format!("issue {issue}")),
            (what, Value::String(text)) => (what, text),
            (what, part) => (what, part.to_string()),
        })
        .collect()
}

fn lines_of_local(local: &LocalConfig) -> Vec<(&'static str, String)> {
    let mut lines = vec![("repository", local.repository.to_string())];
    for (url, path) in &local.repositories {
        lines.push(("repository", format!("{url} in {}", path.display())));
    }
    if let Some(patch) = &local.patch {
        lines.push(("patch", patch.display().to_string()));
    }
    if let Some(build) = &local.build {
        lines.push(("build", quoted(&["sh".into(), "-c".into(), build.clone()])));
    }
    lines.push(("command", quoted(&local.command)));
    if let Some(profiling) = &local.profiling {
        lines.push(("profiler", profiling.profiler.to_string()));
    }
    if !local.good_arguments.is_empty() {
        lines.push(("at the good end", quoted(&local.good_arguments)));
    }
    for (name, value) in local.env.iter().chain(&local.good_env) {
        lines.push(("environment", format!("{name}={value}")));
    }
    lines
}
