//! The bisection of a group: one job of this machine, under one id.

use std::path::Path;

use clap::Parser;
use pinpoint_backends::job::JobError;
use pinpoint_backends::local::Repository;
use pinpoint_backends::store::{Job, JobId, LockError, StoreError};
use pinpoint_backends::traces::History;
use pinpoint_core::Commit;
use pinpoint_core::job::JobResult;
use pinpoint_report::results::stored;
use pinpoint_traces::CommitNumber;
use pinpoint_traces::watch::{BisectionJob, BisectionOutcome, WatchState};
use sha2::{Digest, Sha256};

use crate::arguments::{Arguments, BisectionOptions, Command, Culprit, Display};
use crate::commands::bisect::Search;
use crate::commands::traces::commit_names::CommitNames;
use crate::error::CliError;
use crate::job::command_line::with_ends_found;
use crate::job::storage::Storage;
use crate::job::work::Session;

/// Ids that are tried for a job before the store is taken for damaged.
const MOST_IDS: u8 = 8;

/// The way in which bisections are carried out.
pub(crate) struct Bisections {
    /// The repository of the commits, if there is one.
    repository: Option<Repository>,
    /// Options of `pinpoint culprit`.
    options: Vec<String>,
    display: Display,
}

/// The end of an attempt to carry out a bisection.
pub(crate) enum Finished {
    With(BisectionOutcome),
    /// Another process works on it.
    Elsewhere,
}

impl Bisections {
    pub(crate) fn new(
        repository: Option<Repository>,
        options: &BisectionOptions,
        display: &Display,
    ) -> Result<Self, CliError> {
        let words = shlex::split(&options.options).ok_or_else(|| {
            CliError::Input("--options has a quote that is not closed".to_owned())
        })?;
        let bisections = Self {
            repository,
            options: words,
            display: display.clone(),
        };
        // A mistake in the options is told at once, and not with the first regression.
        bisections.arguments(Path::new("."), &["a", "b"], None, &["true".into()])?;
        Ok(bisections)
    }

    /// Returns true if there is a repository.
    pub(crate) fn has_repository(&self) -> bool {
        self.repository.is_some()
    }

    /// Checks that the bisection can be made: nothing is stored.
    pub(crate) async fn check(
        &self,
        history: &History,
        job: &BisectionJob,
    ) -> Result<(), CliError> {
        self.search(history, job).await.map(drop)
    }

    /// Carries out the bisection that the event of its group asks for: the job of an earlier process
    /// goes on, and one that has ended is only read.
    pub(crate) async fn carry_out(
        &self,
        history: &History,
        state: &WatchState,
        job: &BisectionJob,
    ) -> Result<Finished, CliError> {
        let storage = Storage::open(&self.display).await?;
        let acted = state
            .kept_groups
            .get(&job.name)
            .and_then(|it| it.acted.as_ref());
        let at = acted.map_or(0, |it| it.at);
        let place = format!("{}\n{}", history.dataset(), job.name);
        let id = self.job(history, &storage, job, at, &place).await?;
        let found = storage.store.jobs().get(&id).await?;
        if found.state.has_ended() {
            return outcome_of(history, job, &found).await;
        }
        let session = match Session::take(&storage, &id).await {
            Err(CliError::Job(
                JobError::Locked(LockError::Held { .. })
                | JobError::Store(StoreError::Leased { .. }),
            )) => return Ok(Finished::Elsewhere),
            session => session?,
        };
        match session.run(&self.display).await {
            Ok(result) => Ok(Finished::With(named(history, job, &result).await?)),
            Err(error) => {
                let found = storage.store.jobs().get(&id).await?;
                match found.state.has_ended() {
                    true => outcome_of(history, job, &found).await,
                    false => Err(error),
                }
            }
        }
    }

    /// The job of this place, which is made once: its id follows from the place and the time of the
    /// event.
    async fn job(
        &self,
        history: &History,
        storage: &Storage,
        job: &BisectionJob,
        at: i64,
        place: &str,
    ) -> Result<JobId, CliError> {
        let mut last = None;
        for number in 0..MOST_IDS {
            let id = id_of(at, place, number);
            match storage.store.jobs().get(&id).await {
                Ok(found) if found.name == job.name.as_str() => return Ok(id),
                Ok(_) => continue,
                Err(StoreError::Unknown { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            let made = self.search(history, job).await?.make_once(storage, &id);
            match made.await? {
                true => return Ok(id),
                // Another job was made in the same quarter of a microsecond.
                false => last = Some(id),
            }
        }
        Err(CliError::Input(format!(
            "no id is free for the job of group {} (the last one tried was {})",
            job.name,
            last.map_or_else(String::new, |it| it.to_string())
        )))
    }

    /// The search between the commits of the job's range.
    async fn search(&self, history: &History, job: &BisectionJob) -> Result<Search, CliError> {
        let Some(repository) = &self.repository else {
            return Err(CliError::Input(
                "there is no repository here to bisect; name it with --repo".into(),
            ));
        };
        let names = CommitNames::of(history, [job.range]).await?;
        let hash = |commit: CommitNumber| {
            let hash = names.hash(commit).map(str::to_owned);
            hash.ok_or_else(|| {
                CliError::Input(format!(
                    "commit {commit} has no hash in the dataset `{}`; `pinpoint ingest` in its repository numbers commits",
                    history.dataset()
                ))
            })
        };
        let (good, bad) = (hash(job.range.previous())?, hash(job.range.commit())?);
        let command = shlex::split(&job.command).filter(|it| !it.is_empty());
        let command = command.ok_or_else(|| {
            CliError::Input(format!(
                "the command `{}` has a quote that is not closed, or is empty",
                job.command
            ))
        })?;
        let (words, culprit) =
            self.arguments(repository.path(), &[&good, &bad], Some(job), &command)?;
        // `arguments` refuses a callback, as every option of LUCI.
        let Culprit { bisect, pairs, .. } = culprit;
        let command_line = with_ends_found(words, &good, &bad);
        // Git's answers, for which the runtime's other thread does not wait.
        tokio::task::block_in_place(|| {
            Search::new(bisect, Some(pairs), command_line).and_then(|search| search.informed(job))
        })
    }

    /// The words of the command that asks for the search, and what they say.
    fn arguments(
        &self,
        repository: &Path,
        ends: &[&str; 2],
        job: Option<&BisectionJob>,
        command: &[String],
    ) -> Result<(Vec<String>, Culprit), CliError> {
        let mut words: Vec<String> = ["pinpoint", "culprit"].map(str::to_owned).into();
        words.extend(self.options.iter().cloned());
        words.extend(["--repo".to_owned(), repository.display().to_string()]);
        if let Some(job) = job {
            words.extend(["--name".to_owned(), job.name.to_string()]);
            // What the system measures of a run has no chart.
            let is_measured = self.options.iter().any(|it| it.starts_with("--measure"));
            if !is_measured {
                words.extend(["--chart".to_owned(), job.chart.clone()]);
            }
        }
        words.extend(ends.map(str::to_owned));
        words.push("--".to_owned());
        words.extend(command.iter().cloned());
        let parsed = Arguments::try_parse_from(&words);
        let parsed = parsed.map_err(|error| {
            let text = error.render().to_string();
            let text = text.trim().trim_start_matches("error: ").to_owned();
            CliError::Input(format!("--options: {text}"))
        })?;
        let Command::Culprit(culprit) = parsed.command else {
            return Err(CliError::Input(
                "--options has options of `pinpoint culprit` alone".into(),
            ));
        };
        let bisect = &culprit.bisect;
        let elsewhere = bisect.job.assignment.bot.is_some() || bisect.job.assignment.in_luci();
        let refused = [
            (
                elsewhere,
                "--bot and --executor",
                "the bisections of a watch run here",
            ),
            (
                bisect.patch.is_some(),
                "--patch",
                "commits are bisected as they are",
            ),
            (
                bisect.explain,
                "--explain",
                "`pinpoint explain JOB` explains a job later",
            ),
            (
                bisect.job.report.is_some(),
                "--report",
                "`pinpoint jobs report` writes one later",
            ),
        ];
        match refused.iter().find(|(is_given, ..)| *is_given) {
            Some((_, option, reason)) => Err(CliError::Input(format!(
                "leave {option} out of --options: {reason}"
            ))),
            None => Ok((words, *culprit)),
        }
    }
}

/// An id that belongs to a place, a time and a number.
fn id_of(at: i64, place: &str, number: u8) -> JobId {
    let hash = Sha256::digest(format!("{place}\n{number}"));
    let part = |from: usize| {
        let bytes = hash.iter().skip(from).take(8);
        bytes.fold(0, |bits, byte| (bits << 8) | u64::from(*byte))
    };
    JobId::at(u64::try_from(at).unwrap_or_default(), [part(0), part(8)])
}

/// The outcome of a job that has ended.
async fn outcome_of(
    history: &History,
    job: &BisectionJob,
    ended: &Job,
) -> Result<Finished, CliError> {
    let outcome = match stored(ended) {
        Some(result) => named(history, job, &result).await?,
        None => BisectionOutcome::Failed {
            reason: (ended.error.clone()).unwrap_or_else(|| format!("its job is {}", ended.state)),
        },
    };
    Ok(Finished::With(outcome))
}

/// The outcome that a result is, with the numbers of commits.
async fn named(
    history: &History,
    job: &BisectionJob,
    result: &JobResult,
) -> Result<BisectionOutcome, CliError> {
    let range = job.range.previous()..=job.range.commit();
    let known = history.commits(range).await?;
    let number = |commit: &Commit| {
        let found = known.iter().find(|it| it.hash == commit.git_hash);
        found.map(|it| it.number)
    };
    Ok(BisectionOutcome::of(result, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bisections(options: &str) -> Result<Bisections, CliError> {
        let display = Arguments::try_parse_from(["pinpoint", "jobs", "list"]);
        let options = BisectionOptions {
            options: options.into(),
            ..BisectionOptions::default()
        };
        Bisections::new(None, &options, &display.unwrap().display)
    }

    #[test]
    fn options_are_those_of_a_search_here() {
        let known = bisections("--build 'make -j2' --max-runs 50 --env A=b").unwrap();
        assert_eq!(known.options[1], "make -j2");
        for (wrong, told) in [
            ("--build 'make", "not closed"),
            ("--frobnicate", "--frobnicate"),
            ("--bot linux", "--bot"),
            ("--explain", "--explain"),
            ("v1 v2", "--options"),
        ] {
            let error = bisections(wrong).err().unwrap().to_string();
            assert!(error.contains(told), "{wrong}: {error}");
        }
    }

    #[test]
    fn an_id_belongs_to_its_place() {
        let at = 1_790_000_000_000;
        let id = id_of(at, "default\ng1", 0);
        assert_eq!(id, id_of(at, "default\ng1", 0));
        assert_eq!(id.created(), at);
        for other in [
            id_of(at, "default\ng1", 1),
            id_of(at, "other\ng1", 0),
            id_of(at + 1, "default\ng1", 0),
        ] {
            assert_ne!(id, other);
        }
        assert_eq!(JobId::parse(id.as_str()).unwrap(), id);
    }
}
