//! Working on a job, new or resumed, until it has a result.

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;

use pinpoint_backends::job::{JobConfig, JobError, TakenJob, Worker, kind_of, open_provided};
use pinpoint_backends::local::{
    InstructionCounter, LocalExecutor, Provisions, Repository, note_session,
};
use pinpoint_backends::store::{Job, JobId};
use pinpoint_core::job::JobResult;
use pinpoint_core::{DriveEvent, Engine, JobKind, JobMachine};
use pinpoint_report::results::{add_commands, stored};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::advice::with_advice;
use crate::arguments::{Display, LuciTokens, Output};
use crate::commands::doctor;
use crate::error::{CliError, refused};
use crate::job::luci;
use crate::job::new_job::values_of;
use crate::job::report;
use crate::job::stop::Interrupt;
use crate::job::storage::Storage;
use crate::show::error_text::without_result;
use crate::show::progress::SILENCE;
use crate::show::reporter::Reporter;
use crate::show::text::{DIM, text};

/// The shortest wait for another job that is shown.
const A_MOMENT: Duration = Duration::from_secs(1);

/// A job as it is shown: without the values of `--env`, which the store keeps so that
/// the job can be resumed.
pub(crate) fn shown(job: &Job) -> Value {
    // Every key is a string and every number finite: this can't fail.
    let mut shown = serde_json::to_value(job).unwrap_or_default();
    if let Some(result) = stored(job) {
        shown["outcome"] = json!(result);
    }
    if let Some(Value::Object(env)) = shown.pointer_mut("/config/local/env") {
        env.values_mut().for_each(|value| *value = Value::Null);
    }
    shown
}

/// A job that this process works on.
pub(crate) struct Session {
    storage: Storage,
    taken: TakenJob,
    kind: JobKind,
    config: JobConfig,
    provisions: Provisions,
    tokens: LuciTokens,
    /// The options of this command that describe this machine.
    resume_options: Vec<String>,
}

impl Session {
    /// Takes a job that no other process works on.
    pub(crate) async fn take(storage: &Storage, id: &JobId) -> Result<Self, CliError> {
        let (owner, directory) = (storage.owner()?, storage.job_dir(id));
        let taken = TakenJob::take(&storage.store, id, &owner, &directory).await?;
        let job = taken.job();
        match kind_of(job).and_then(|kind| Ok((kind, JobConfig::of(job)?))) {
            Ok((kind, config)) => Ok(Self {
                storage: storage.clone(),
                taken,
                kind,
                config,
                provisions: Provisions::default(),
                tokens: LuciTokens::default(),
                resume_options: Vec::new(),
            }),
            Err(error) => {
                taken.release().await;
                Err(error.into())
            }
        }
    }

    pub(crate) fn job(&self) -> &Job {
        self.taken.job()
    }

    /// Has the report written to another place than the job says.
    pub(crate) fn report_to(&mut self, file: PathBuf) {
        self.config.report = Some(file);
    }

    /// Adds this machine's provisions for jobs that were created elsewhere, and the tokens for jobs
    /// in LUCI.
    pub(crate) fn provide(
        &mut self,
        provisions: Provisions,
        tokens: LuciTokens,
        options: Vec<String>,
    ) {
        self.provisions = provisions;
        self.tokens = tokens;
        self.resume_options = options;
    }

    /// Gives the job back untouched.
    pub(crate) async fn release(self) {
        self.taken.release().await;
    }

    /// Works on the job until it is finished.
    pub(crate) async fn run(mut self, display: &Display) -> Result<JobResult, CliError> {
        let id = self.job().id.clone();
        if let Some(hint) = in_python(self.job()) {
            self.release().await;
            return Err(CliError::Input(format!(
                "job {id} calls functions of a Python program: resume it there with {hint}"
            )));
        }
        let interrupt = Interrupt::listen();
        if let Ok(interrupt) = &interrupt {
            let display = display.resumed_with(self.resume_options.clone());
            interrupt.say_at_once(format!(
                "ended at once; nothing that was recorded is lost\n\nresume with:  {}",
                display.resume_command(id.as_str())
            ));
        }
        let prepared = self.prepare_report(display).await;
        let inherited = prepared.and_then(|()| values_of(&self.config.inherited_env));
        match (inherited, &mut self.config.local) {
            (Ok(values), Some(local)) => local.env.extend(values),
            (Ok(_), None) => {}
            (Err(error), _) => {
                self.release().await;
                return Err(error);
            }
        }
        let result = match interrupt {
            Ok(interrupt) => self.work(display, interrupt).await,
            Err(_) => Err(JobError::Interrupted),
        };
        self.write_report().await;
        let result = match result {
            Ok(mut result) => {
                add_commands(&mut result, &self.config);
                Ok(result)
            }
            Err(error) => {
                let document = match display.output {
                    Output::Json => Some(self.document(&error).await),
                    Output::Text => None,
                };
                Err(CliError::Stopped {
                    job: id.to_string(),
                    error: Box::new(error),
                    document,
                    resume_options: self.resume_options.clone(),
                    afterwards: None,
                })
            }
        };
        self.release().await;
        result
    }

    async fn work(&self, display: &Display, interrupt: Interrupt) -> Result<JobResult, JobError> {
        match self.config.luci {
            Some(_) => self.work_in_luci(display, interrupt).await,
            None => self.work_here(display, interrupt).await,
        }
    }

    async fn work_in_luci(
        &self,
        display: &Display,
        interrupt: Interrupt,
    ) -> Result<JobResult, JobError> {
        let job_dir = self.storage.job_dir(&self.job().id);
        let state_dir = &self.storage.state_dir;
        let opened = luci::open(&self.config, &self.tokens, state_dir, Some(&job_dir));
        let executor = match opened {
            Ok(executor) => executor,
            Err(error) => return Err(self.failed(error).await),
        };
        let reporter = RefCell::new(Reporter::new(display, &self.job().id));
        let worker = Worker {
            executor: &*executor,
            source: &*executor,
        };
        let watch = |event: DriveEvent<'_>, engine: &Engine<JobMachine>| {
            reporter.borrow_mut().watch(&event, engine);
        };
        let result = tokio::select! {
            biased;
            result = self.taken.work(worker, interrupt.interrupted(), watch) => result,
            never = break_silences(&reporter) => never,
        };
        reporter.borrow_mut().finish();
        result
    }

    /// Notes the reason why the job can't run here. It stays the reason if that fails.
    async fn failed(&self, error: JobError) -> JobError {
        let _ = self.taken.give_up(&error, None).await;
        error
    }

    async fn work_here(
        &self,
        display: &Display,
        interrupt: Interrupt,
    ) -> Result<JobResult, JobError> {
        let opened = self.executor();
        let opened = self.taken.prepare(interrupt.clone().interrupted(), opened);
        let executor = match opened.await? {
            Ok(executor) => executor,
            Err(error) => return Err(self.failed(error).await),
        };
        let reporter = RefCell::new(Reporter::new(display, &self.job().id));
        if let Some(counter) = self
            .config
            .local
            .as_ref()
            .and_then(|local| local.instructions)
        {
            reporter
                .borrow_mut()
                .tell(text!("{DIM}{}{DIM:#}", counted_by(counter)));
        }
        let worker = Worker {
            executor: &executor,
            source: &executor,
        };
        let watch = |event: DriveEvent<'_>, engine: &Engine<JobMachine>| {
            reporter.borrow_mut().watch(&event, engine);
        };
        let mut waiting = executor.waiting();
        let show_waits = async {
            while waiting.changed().await.is_ok() {
                let waiting = *waiting.borrow_and_update();
                reporter.borrow_mut().waits(waiting);
            }
            std::future::pending().await
        };
        let mut others = executor.waiting_for_machine();
        let show_others = async {
            while others.wait_for(|waiting| *waiting > 0).await.is_ok() {
                // Jobs that take turns wait for moments.
                let over = others.wait_for(|waiting| *waiting == 0);
                if timeout(A_MOMENT, over).await.is_ok() {
                    continue;
                }
                reporter.borrow_mut().waits_for_others(true);
                if others.wait_for(|waiting| *waiting == 0).await.is_err() {
                    break;
                }
                reporter.borrow_mut().waits_for_others(false);
            }
            std::future::pending().await
        };
        let interrupted = interrupt.interrupted();
        let result = tokio::select! {
            biased;
            result = self.taken.work(worker, interrupted, watch) => result,
            never = show_waits => never,
            never = show_others => never,
            never = break_silences(&reporter) => never,
        };
        reporter.borrow_mut().finish();
        // Nothing else waits for a child that does not want to end.
        executor.end().await;
        result
    }

    async fn prepare_report(&self, display: &Display) -> Result<(), CliError> {
        if let Some(file) = &self.config.report {
            // The directory may be gone since the job was made.
            report::destination(file)?;
        }
        let Some(local) = &self.config.local else {
            // Nothing is measured on this machine.
            return Ok(());
        };
        let diagnosis = doctor::at_start(local.cpus.clone(), display).await;
        let job_dir = self.storage.job_dir(&self.job().id);
        Ok(note_session(&job_dir, diagnosis)?)
    }

    /// Writes the report, if there is to be one. A failure does not change the result of the job.
    async fn write_report(&self) {
        let id = &self.job().id;
        if let Some(file) = &self.config.report
            && let Err(error) = report::write(&self.storage, id, file).await
        {
            report::say_unwritten(&error, id);
        }
    }

    async fn executor(&self) -> Result<LocalExecutor, JobError> {
        let local = self.config.local.as_ref().ok_or_else(not_ours)?;
        let (state_dir, job) = (&self.storage.state_dir, &self.job().id);
        let mut provisions = self.provisions.clone();
        if Repository::at(&local.repository).is_ok() {
            // The clone of the user, who works on the job here.
            provisions.mirrors = None;
        }
        let opened = open_provided(local, state_dir, job, provisions).await;
        Ok(opened.map_err(refused)?.of_bot(&self.job().bot))
    }

    /// The document of a job without a result: it was interrupted, or it can't continue. Unknown
    /// values are null.
    async fn document(&self, error: &JobError) -> Value {
        let id = &self.job().id;
        let job = self.storage.store.jobs().get(id).await.ok();
        let is_interrupt = matches!(error, JobError::Interrupted);
        let mut document = without_result(Some(id.as_str()), is_interrupt, &with_advice(error));
        let runs = job.as_ref().map(|job| job.runs);
        document["runs"] = json!(runs);
        document["builds"] = json!(job.as_ref().map(|job| job.builds));
        document["duration_s"] = Value::Null;
        let lists: &[&str] = match self.kind {
            JobKind::Pairwise => {
                document["pairs"] = json!(runs.map(|runs| runs / 2));
                &["charts"]
            }
            _ => &["culprits", "candidates", "comparisons", "skipped"],
        };
        for list in lists {
            document[list] = json!([]);
        }
        document
    }
}

/// The counter of instructions, in a line.
pub(crate) fn counted_by(counter: InstructionCounter) -> &'static str {
    match counter {
        InstructionCounter::Processor => "the processor counts instructions",
        InstructionCounter::Callgrind => {
            "valgrind (callgrind) counts instructions: a run takes 20 to 200 times as long"
        }
    }
}

fn not_ours() -> JobError {
    refused("only the creator of the job can carry it out")
}

/// The way to resume a job whose functions are in a Python program.
pub(crate) fn in_python(job: &Job) -> Option<String> {
    let config = JobConfig::of(job).ok()?;
    if !config.needs_functions() {
        return None;
    }
    let function = kind_of(job).ok()?.command();
    Some(format!(
        "pinpoint.{function}(resume={:?}, …)",
        job.id.as_str()
    ))
}

/// Reports the current work now and then during a long silent run. Never ends.
async fn break_silences<T>(reporter: &RefCell<Reporter>) -> T {
    loop {
        tokio::time::sleep(SILENCE).await;
        reporter.borrow_mut().break_silence();
    }
}
