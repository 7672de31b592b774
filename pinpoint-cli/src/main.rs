//! The `pinpoint` command: arguments in, events to the screen, exit codes out.

#![forbid(unsafe_code)]

mod advice;
mod arguments;
mod commands;
mod error;
mod exit_code;
mod job;
mod show;
mod whole_file;

use std::process::ExitCode;

use clap::CommandFactory;

use arguments::{Arguments, Command};
use error::CliError;
use show::output::{Failure, errln};
use show::text::{ERROR, Text};

fn main() -> ExitCode {
    let arguments = match Arguments::of_this_process() {
        Ok(arguments) => arguments,
        Err(answer) => return ExitCode::from(finish(Ok(say(&answer)))),
    };
    let display = arguments.display.clone();
    display.color.apply();
    // Sent when everything else has ended.
    let _traces = job::traces::export(&arguments);
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            errln!("pinpoint: can't start: {error}");
            return ExitCode::from(exit_code::FAILED);
        }
    };
    let result = runtime.block_on(run(arguments));
    // A thread that is still busy must not keep the command from ending.
    runtime.shutdown_background();
    ExitCode::from(finish(result.map_err(|error| (error, display))))
}

/// Prints the answer of `clap`: help, the version, or an error in the command line.
fn say(answer: &clap::Error) -> u8 {
    let answered = answer.render();
    let text = Text::of_styled(&answered.ansi().to_string());
    if !answer.use_stderr() {
        show::output::print_text(&text);
        return exit_code::FOUND;
    }
    if arguments::asks_for_json(std::env::args_os().skip(1)) {
        let message = answered.to_string();
        let message = message.trim().trim_start_matches("error: ");
        let document = show::error_text::without_result(None, false, message);
        show::output::print_json(format_args!("{document:#}"));
    }
    show::output::print_error_text(&text);
    exit_code::WRONG_INPUT
}

/// The exit code. A result that could not be printed does not count, unless its reader has left.
fn finish(result: Result<u8, (CliError, arguments::Display)>) -> u8 {
    match (result, show::output::failure()) {
        (Ok(code), None | Some(Failure::ReaderLeft)) => code,
        // The command was stopped because the reader of its output has left.
        (Err(_), Some(Failure::ReaderLeft)) => exit_code::FOUND,
        (Ok(_), Some(Failure::Error(error))) => unwritten(&error),
        // It was stopped because its output can't be written.
        (Err((stopped, _)), Some(Failure::Error(error))) if stopped.is_interrupt() => {
            unwritten(&error)
        }
        (Err((error, display)), _) => {
            error.print(&display);
            error.exit_code()
        }
    }
}

/// Says why standard output has not everything, and returns the exit code.
fn unwritten(error: &std::io::Error) -> u8 {
    errln!("{ERROR}error:{ERROR:#} can't write to standard output: {error}");
    exit_code::FAILED
}

async fn run(arguments: Arguments) -> Result<u8, CliError> {
    let display = arguments.display;
    match arguments.command {
        Command::Bisect(bisect) => commands::bisect::run(*bisect, display).await,
        Command::Pairwise(pairwise) => commands::pairwise::run(*pairwise, display).await,
        Command::Culprit(culprit) => commands::culprit::run(*culprit, display).await,
        Command::Compare(arguments) => commands::compare::run(*arguments),
        Command::Ingest(ingest) => commands::ingest::run(*ingest, display).await,
        Command::Traces(command) => commands::traces::run(command, &display).await,
        Command::Verticals(verticals) => commands::verticals::run(*verticals, &display).await,
        Command::Annotate(annotate) => commands::annotate::run(*annotate, &display).await,
        Command::Detect(arguments) => commands::detect::run(&arguments, &display).await,
        Command::Alerts(command) => commands::alerts::run(*command, &display).await,
        Command::Regressions(command) => commands::regressions::run(*command, &display).await,
        Command::Watch(watch) => commands::watch::run(*watch, &display).await,
        Command::Explain(arguments) => commands::explain::run(*arguments, &display).await,
        Command::Midpoint(midpoint) => commands::midpoint::run(midpoint, display).await,
        Command::Plan(plan) => commands::plan::run(*plan, display).await,
        Command::Doctor(doctor) => commands::doctor::run(doctor, display).await,
        Command::Jobs(command) => commands::jobs::run(command, display).await,
        Command::Worker(worker) => commands::worker::run(*worker, display).await,
        Command::Workers(command) => commands::worker::look(command, display).await,
        Command::Temporal(command) => job::temporal::run(command, &display).await,
        Command::Bots(command) => commands::bots::run(&command, &display),
        Command::Cbb(cbb) => job::luci::cbb(cbb, &display),
        Command::Export(export) => job::luci::export(*export, &display).await,
        Command::Demo(demo) => commands::demo::run(demo, display).await,
        Command::Clean(clean) => job::storage::clean(&clean, &display),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "pinpoint", &mut script);
            show::output::print_bytes(&script);
            Ok(exit_code::FOUND)
        }
    }
}
