//! Problems of an explanation among the jobs, and the commands that help.

use bytesize::ByteSize;
use pinpoint_backends::job::Explained;
use pinpoint_backends::store::Job;
use pinpoint_report::command_line::quoted;

use super::pairs::LeftOut;
use crate::arguments::Display;
use crate::error::CliError;

/// Options that only runs can follow were given for an explanation that has made its runs.
pub(crate) fn runs_are_over(
    job: &Job,
    explains: &Explained,
    options: &[String],
    display: &Display,
) -> CliError {
    let end = options.iter().position(|word| word == "--");
    let named = &options[..end.unwrap_or(options.len())];
    let mut names: Vec<&str> = named.iter().step_by(2).map(String::as_str).collect();
    names.extend(end.map(|_| "what is after `--`"));
    CliError::Input(format!(
        "job {} is an explanation, whose runs are over: {} can't change them; explain job {} once more:  {}",
        job.id,
        names.join(" and "),
        explains.job,
        explain_command(display, &explains.job, options)
    ))
}

/// The profiles of a job do not fit the options.
pub(super) fn unfit(job: &Job, reason: String, display: &Display) -> CliError {
    CliError::UnfitOptions {
        job: job.id.to_string(),
        reason,
        command: explain_command(display, job.id.as_str(), &[]),
    }
}

/// No pair of a job has profiles of both sides.
pub(super) fn without_profiles(
    job: &Job,
    explains: &Explained,
    reason: Option<&LeftOut>,
    (most, profiler, alternative): (ByteSize, &str, &str),
    display: &Display,
) -> CliError {
    let explain = |options: &[&str]| {
        let options: Vec<String> = options.iter().map(|word| (*word).into()).collect();
        explain_command(display, &explains.job, &options)
    };
    CliError::NoProfiles(match reason {
        Some(reason) if reason.is_no_room() => format!(
            "no pair of runs left profiles of both sides: {}:  {}",
            reason.text(most),
            explain(&["--profiler", profiler, "--keep-profiles", "SIZE"])
        ),
        Some(reason) => format!(
            "no pair of runs left profiles of both sides: {}; try another profiler:  {}",
            reason.text(most),
            explain(&["--profiler", alternative])
        ),
        None => format!(
            "the profiles of job {} are not on this machine, or `pinpoint clean` removed them; make them again:  {}",
            job.id,
            explain_command(display, &explains.job, &[])
        ),
    })
}

/// The command that explains a job, with these options.
pub(crate) fn explain_command(display: &Display, job: &str, options: &[String]) -> String {
    let command = display.job_command("explain", job);
    let command = command.replacen("pinpoint jobs explain", "pinpoint explain", 1);
    match options {
        [] => command,
        options => format!("{command} {}", quoted(options)),
    }
}
