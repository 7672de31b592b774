//! `pinpoint worker` and `pinpoint workers`.

use std::path::Path;
use std::time::Duration;

use pinpoint_backends::job::JobError;
use pinpoint_backends::store::{PublicKey, SigningKey};
use pinpoint_backends::worker::{LEASE, WorkerEvent, WorkerOptions, serve};
use pinpoint_core::bots::Workers;
use pinpoint_core::job::JobResult;
use pinpoint_report::results::in_words;
use serde_json::json;

use crate::advice::with_advice;
use crate::arguments::{self, Display, Key, Output, Worker};
use crate::commands::bots;
use crate::commands::doctor;
use crate::error::CliError;
use crate::exit_code::FOUND;
use crate::job::stop::Interrupt;
use crate::job::storage::{Storage, host, state_dir};
use crate::job::temporal;
use crate::show::output::{errln, outln, print, print_json};
use crate::show::text::{BOLD, DIM, ERROR};
use crate::show::worker_list;

pub(crate) async fn run(arguments: Worker, display: Display) -> Result<u8, CliError> {
    let machine = arguments.machine.unwrap_or_else(host);
    let known = bots::read(&arguments.config.bot_config)?;
    let mut names = Vec::new();
    for name in &arguments.bot {
        let bot = bots::of_workers(&known, name)?;
        if let Workers::Machines(machines) = bot.workers
            && !machines.contains(&machine)
        {
            return Err(CliError::Input(format!(
                "the machines of bot `{name}` are {}, and this one is called `{machine}`; \
                 say which of them it is with --machine",
                machines.join(", ")
            )));
        }
        let name = bot.configured_as.to_owned();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let state_dir = state_dir(&display)?;
    let options = WorkerOptions {
        bots: names,
        trusted: trusted(&arguments.trust)?,
        machine,
        provisions: arguments.provisions.open(&state_dir, false)?,
        state_dir,
        build_jobs: arguments.build_jobs,
        drain: arguments.drain,
        lease: arguments.lease.unwrap_or(LEASE),
        diagnose: doctor::is_wanted(),
    };
    let interrupt = Interrupt::listen().map_err(|_| CliError::Interrupted)?;
    let begin = async || -> Result<u8, CliError> {
        let interrupt = interrupt.clone();
        let storage = tokio::select! {
            biased;
            () = interrupt.clone().interrupted() => return Ok(FOUND),
            storage = Storage::open(&display) => storage?,
        };
        if arguments.temporal.temporal {
            let (jobs, quiet, known) = (&storage.store, display.quiet, known.clone());
            let (temporal, lease) = (&arguments.temporal, arguments.lease);
            return temporal::serve(jobs, &options, known, temporal, lease, interrupt, quiet).await;
        }
        let tell = |event: WorkerEvent<'_>| {
            if !display.quiet {
                say(&event);
            }
        };
        serve(&storage.store, &options, interrupt.interrupted(), tell).await?;
        Ok(FOUND)
    };
    until_reached(begin, interrupt.clone(), display.quiet).await
}

/// The longest pause before a service that does not answer is asked again.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// Retries while the store or the server does not answer: a worker that is started before them, as
/// when machines start together, must not end.
async fn until_reached(
    mut begin: impl AsyncFnMut() -> Result<u8, CliError>,
    interrupt: Interrupt,
    quiet: bool,
) -> Result<u8, CliError> {
    let mut pause = Duration::from_secs(1);
    loop {
        match begin().await {
            Err(error) if error.is_away() => {
                if !quiet {
                    let error = with_advice(&error);
                    errln!(
                        "{ERROR}error:{ERROR:#} {error}; trying again in {} s",
                        pause.as_secs()
                    );
                }
            }
            ended => return ended,
        }
        tokio::select! {
            biased;
            () = interrupt.clone().interrupted() => return Ok(FOUND),
            () = tokio::time::sleep(pause) => {}
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// The named keys, given directly or in files; none if any job may be taken.
fn trusted(named: &[String]) -> Result<Option<Vec<PublicKey>>, CliError> {
    let mut keys = Vec::new();
    for name in named {
        match name.parse() {
            Ok(key) => keys.push(key),
            Err(error) if name.starts_with("ed25519") => return Err(CliError::Key(error)),
            Err(_) => keys.extend(PublicKey::read_all(Path::new(name))?),
        }
    }
    Ok((!named.is_empty()).then_some(keys))
}

fn key(command: &arguments::Key, display: &Display) -> Result<u8, CliError> {
    let key = match command {
        Key::New { file } => SigningKey::create(file),
        Key::Show { file } => SigningKey::read(file),
    }?;
    match display.output {
        Output::Json => print_json(json!({ "public_key": key.public() })),
        Output::Text => outln!("{}", key.public()),
    }
    Ok(FOUND)
}

fn say(event: &WorkerEvent<'_>) {
    match event {
        WorkerEvent::Began(worker) => errln!(
            "{BOLD}{}{BOLD:#} takes {}jobs of {}",
            worker.name,
            if worker.trusted.is_some() {
                "signed "
            } else {
                ""
            },
            worker.bots.join(", ")
        ),
        WorkerEvent::Took(job) => errln!(
            "job {}: began  {DIM}{}{DIM:#}",
            job.id,
            job.title.replace(['\n', '\r'], " ")
        ),
        WorkerEvent::Ended(job, result) => errln!("job {job}: {}", ended(result)),
        WorkerEvent::NotTaken(error) => {
            errln!("{ERROR}error:{ERROR:#} {}", with_advice(*error));
        }
        _ => {}
    }
}

fn ended(result: &Result<JobResult, JobError>) -> String {
    match result {
        Ok(result) => in_words(result).into(),
        Err(JobError::Interrupted) => "left to the next worker".into(),
        Err(error) => with_advice(error),
    }
}

/// `pinpoint workers`.
pub(crate) async fn look(command: arguments::Workers, display: Display) -> Result<u8, CliError> {
    let (bot, machine) = match command {
        arguments::Workers::Key(command) => return key(&command, &display),
        arguments::Workers::List { bot, machine } => (bot, machine),
    };
    let storage = Storage::open(&display).await?;
    let mut workers = storage.store.workers().list().await?;
    workers.retain(|worker| {
        bot.as_ref().is_none_or(|bot| worker.bots.contains(bot))
            && (machine.as_ref()).is_none_or(|machine| worker.machine == *machine)
    });
    match display.output {
        Output::Json => print_json(json!({ "workers": workers })),
        Output::Text if workers.is_empty() => errln!("no workers"),
        Output::Text => print(format_args!(
            "{}",
            worker_list::render(&workers, crate::job::clock::now())
        )),
    }
    Ok(FOUND)
}

#[cfg(test)]
mod tests {
    use pinpoint_backends::store::StoreError;

    use super::*;

    fn away() -> CliError {
        CliError::Store(StoreError::Unreachable {
            store: "postgres://db".into(),
            source: pinpoint_backends::store::DatabaseError::no_connection(),
        })
    }

    #[tokio::test(start_paused = true)]
    async fn a_worker_waits_for_a_store_that_is_away() {
        let interrupt = Interrupt::listen().unwrap();
        let mut attempts = 0;
        let begin = async || {
            attempts += 1;
            match attempts {
                1..10 => Err(away()),
                _ => Ok(FOUND),
            }
        };
        let ended = until_reached(begin, interrupt.clone(), true).await;
        assert_eq!((ended.ok(), attempts), (Some(FOUND), 10));

        // Problems that waiting can't fix are reported.
        let wrong = async || Err(CliError::Input("no bot".into()));
        let ended = until_reached(wrong, interrupt, true).await;
        assert!(matches!(ended, Err(CliError::Input(_))), "{ended:?}");
    }
}
