//! The command `pinpoint-service`: configuration in, requests answered.

#![forbid(unsafe_code)]

mod serve;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

/// Pinpoint for a team: gRPC and REST on one port.
#[derive(Debug, Parser)]
#[command(name = "pinpoint-service", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Answers requests until it is told to end
    Serve(Serve),
}

#[derive(Debug, Args)]
struct Serve {
    /// The configuration, a TOML file
    #[arg(long, value_name = "FILE", env = "PINPOINT_SERVICE_CONFIG")]
    config: PathBuf,
    /// Only says whether the configuration can be used: its files, bots and store
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    let Arguments {
        command: Command::Serve(arguments),
    } = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // A job is a deep future, deeper yet where it is not optimised.
        .thread_stack_size(8 << 20)
        .enable_all()
        .build();
    let result = match runtime {
        Ok(runtime) => runtime.block_on(serve::run(&arguments.config, arguments.check)),
        Err(error) => Err(format!("can't start: {error}").into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {}", chain(&*error)));
            ExitCode::FAILURE
        }
    }
}

/// A line for the person who started it.
#[expect(clippy::disallowed_methods, reason = "the one place that prints")]
fn say(line: &str) {
    use std::io::Write;
    // Nobody reads it: there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// An error and what it came from.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let cause = error.to_string();
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
        source = error.source();
    }
    text
}
