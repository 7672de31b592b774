//! `pinpoint watch`: what comes is ingested, alerts are run, and what follows is done.

mod act;
pub(crate) mod bisection;
mod detection;
pub(crate) mod log;
mod tell;

use pinpoint_backends::traces::History;
use pinpoint_report::quantity::count;

use self::act::{Told, carry_out, decide};
pub(crate) use self::act::{conclude, in_dataset};
use self::bisection::Bisections;
use self::tell::Teller;
use crate::arguments::{Display, Watch};
use crate::commands::ingest::{SeenFiles, repository, take};
use crate::error::CliError;
use crate::exit_code::{FAILED, FOUND, INTERRUPTED};
use crate::job::stop::Interrupt;
use crate::job::storage::open_traces;
use crate::show::output::errln;
use crate::show::text::FOUND as WARNING;

/// The answer of one look: everything that was due could be done.
type IsDone = bool;

pub(crate) async fn run(arguments: Watch, display: &Display) -> Result<u8, CliError> {
    let interrupt = Interrupt::listen().map_err(CliError::file("hear signals in", "."))?;
    let repository = repository(arguments.ingest.repository.as_deref()).await?;
    let bisections = Bisections::new(repository, &arguments.bisections, display)?;
    let history = open_traces(display)
        .await?
        .history(&arguments.ingest.dataset.dataset);
    let mut watcher = Watcher {
        arguments: &arguments,
        history,
        bisections,
        interrupt: interrupt.clone(),
        display,
        seen: SeenFiles::default(),
        told: Told::default(),
        has_warned: false,
    };
    loop {
        let is_done = match watcher.look().await {
            Err(error) if error.is_interrupt() && interrupt.is_heard() => return Ok(ended()),
            // A store that is away may be back with the next look.
            Err(error) if arguments.forever && error.is_away() => {
                errln!("{WARNING}warning:{WARNING:#} {error}");
                false
            }
            done => done?,
        };
        if interrupt.is_heard() {
            return Ok(ended());
        }
        if !arguments.forever {
            return Ok(if is_done { FOUND } else { FAILED });
        }
        tokio::select! {
            () = interrupt.clone().interrupted() => return Ok(ended()),
            () = tokio::time::sleep(arguments.every) => {}
        }
    }
}

/// Says that nothing is lost, and returns the exit code.
fn ended() -> u8 {
    errln!("interrupted; the same command continues");
    INTERRUPTED
}

/// A watch of one dataset.
struct Watcher<'a> {
    arguments: &'a Watch,
    history: History,
    bisections: Bisections,
    interrupt: Interrupt,
    display: &'a Display,
    seen: SeenFiles,
    told: Told,
    /// It has said that there are no alerts.
    has_warned: bool,
}

impl Watcher<'_> {
    /// Looks once: each step leaves the store as a later one expects it, whenever the process ends.
    async fn look(&mut self) -> Result<IsDone, CliError> {
        let mut teller = Teller::default();
        self.ingest().await?;
        self.stop_if_interrupted()?;
        let has_alerts = detection::detect(
            &self.history,
            self.arguments.since.as_deref(),
            &self.interrupt,
        )
        .await?;
        if !has_alerts && !std::mem::replace(&mut self.has_warned, true) {
            errln!(
                "{WARNING}warning:{WARNING:#} the dataset `{}` has no alerts, so that nothing is watched; `pinpoint alerts new` makes one",
                self.history.dataset()
            );
        }
        let mut is_done = self.tell(&mut teller).await?;
        self.stop_if_interrupted()?;
        let options = self.arguments.plan_options();
        is_done &= decide(&self.history, &options, &self.bisections, &mut self.told).await?;
        is_done &= self.tell(&mut teller).await?;
        self.stop_if_interrupted()?;
        is_done &= carry_out(&self.history, &self.bisections, &self.interrupt).await?;
        is_done &= self.tell(&mut teller).await?;
        Ok(is_done)
    }

    async fn ingest(&mut self) -> Result<(), CliError> {
        let ingest = &self.arguments.ingest;
        if ingest.paths.is_empty() && !self.bisections.has_repository() {
            // Others ingest.
            return Ok(());
        }
        let report = take(ingest, Some(&mut self.seen), &self.interrupt, self.display).await?;
        for refused in &report.refused {
            errln!(
                "{WARNING}warning:{WARNING:#} {}: {}",
                refused.path,
                refused.error
            );
        }
        for warning in &report.warnings {
            errln!("{WARNING}warning:{WARNING:#} {warning}");
        }
        if !self.display.quiet && report.files.taken > 0 {
            errln!(
                "{} taken, {}",
                count(report.files.taken, "file"),
                count(report.values, "value")
            );
        }
        Ok(())
    }

    async fn tell(&self, teller: &mut Teller) -> Result<IsDone, CliError> {
        let command = self.arguments.notify.as_deref();
        teller.tell(&self.history, command).await
    }

    fn stop_if_interrupted(&self) -> Result<(), CliError> {
        match self.interrupt.is_heard() {
            true => Err(CliError::Interrupted),
            false => Ok(()),
        }
    }
}
