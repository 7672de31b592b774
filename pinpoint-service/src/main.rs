//! The command `pinpoint-service`: configuration in, requests answered.

#![forbid(unsafe_code)]

mod accounts;
mod serve;
mod tls;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

type Failure = Box<dyn std::error::Error>;

/// Pinpoint for a team: gRPC and REST on one port.
#[derive(Debug, Parser)]
#[command(name = "pinpoint-service", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// The configuration, a TOML file
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = "PINPOINT_SERVICE_CONFIG",
        default_value = "pinpoint-service.toml"
    )]
    config: PathBuf,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Answer requests until a signal ends it
    Serve(Serve),
    /// Make, list and revoke the tokens by which programs sign in
    #[command(subcommand)]
    Tokens(accounts::Tokens),
    /// Read the audit log, or check that nobody has changed it
    #[command(subcommand)]
    Audit(accounts::Audit),
}

#[derive(Debug, Args)]
struct Serve {
    /// Only say whether the configuration can be used: its files, bots and store
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let level = tracing_subscriber::EnvFilter::try_from_default_env();
    // Standard output is for results.
    #[expect(clippy::disallowed_methods, reason = "the log is written there")]
    tracing_subscriber::fmt()
        .json()
        .with_env_filter(level.unwrap_or_else(|_| "info".into()))
        .with_writer(std::io::stderr)
        .init();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // A job is a deep future, deeper yet where it is not optimized.
        .thread_stack_size(8 << 20)
        .enable_all()
        .build();
    let result = match runtime {
        Ok(runtime) => runtime.block_on(run(arguments)),
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

async fn run(arguments: Arguments) -> Result<(), Failure> {
    let config = serve::config(&arguments.config)?;
    match arguments.command {
        Command::Serve(serve) => serve::run(config, serve.check).await,
        Command::Tokens(command) => accounts::tokens(&serve::store(&config).await?, command).await,
        Command::Audit(command) => accounts::audit(&serve::store(&config).await?, command).await,
    }
}

/// Prints a line of a result.
#[expect(
    clippy::disallowed_methods,
    reason = "one of the two places that print"
)]
fn print(line: &str) -> Result<(), Failure> {
    use std::io::Write;
    match writeln!(std::io::stdout(), "{line}") {
        // A reader such as `head` has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// Prints a line for the person who started it.
#[expect(
    clippy::disallowed_methods,
    reason = "one of the two places that print"
)]
fn say(line: &str) {
    use std::io::Write;
    // No place is left to report this failure.
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
