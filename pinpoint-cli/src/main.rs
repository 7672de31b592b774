//! The `pinpoint` command: arguments in, events to the screen, exit codes out.

#![forbid(unsafe_code)]

mod arguments;
mod bisect;
mod bots;
mod compare;
mod comparison_table;
mod culprit;
mod culprit_document;
mod culprit_summary;
mod demo;
mod document;
mod error;
mod job;
mod job_result;
mod jobs;
mod kind;
mod midpoint;
mod new_job;
mod pairwise;
mod pairwise_document;
mod pairwise_summary;
mod plan;
mod prior;
mod quantity;
mod report;
mod reporter;
mod stop;
mod storage;
mod summary;
mod whole_file;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use arguments::{Arguments, Command};
use error::CliError;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let display = arguments.display.clone();
    display.color.apply();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            anstream::eprintln!("pinpoint: can't start: {error}");
            return ExitCode::from(error::FAILED);
        }
    };
    let result = runtime.block_on(run(arguments));
    // Whatever still holds a thread must not keep the command from ending.
    runtime.shutdown_background();
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            error.print(&display);
            ExitCode::from(error.exit_code())
        }
    }
}

async fn run(arguments: Arguments) -> Result<u8, CliError> {
    let display = arguments.display;
    match arguments.command {
        Command::Bisect(bisect) => bisect::run(*bisect, display).await,
        Command::Pairwise(pairwise) => pairwise::run(*pairwise, display).await,
        Command::Culprit(culprit) => culprit::run(*culprit, display).await,
        Command::Compare(arguments) => compare::run(*arguments, &display),
        Command::Midpoint(midpoint) => midpoint::run(midpoint, display).await,
        Command::Plan(plan) => plan::run(*plan, display).await,
        Command::Jobs(command) => jobs::run(command, display).await,
        Command::Bots(command) => bots::run(&command, &display),
        Command::Demo(demo) => demo::run(demo, display).await,
        Command::Clean(clean) => storage::clean(&clean, &display),
        Command::Completions { shell } => {
            clap_complete::generate(
                shell,
                &mut Arguments::command(),
                "pinpoint",
                &mut std::io::stdout(),
            );
            Ok(error::FOUND)
        }
    }
}
