//! Traced builds: what they and the benchmark read, and which commits need no build of their own.

use std::process::Command;
use std::sync::Arc;

use pinpoint_core::CombinedCommit;
use pinpoint_midpoint::MidpointError;

use crate::blocking::blocking;
use crate::build::build_steps::{BuildSteps, failure_line};
use crate::build::finished_build::BuildOutcome;
use crate::build::maker::Builder;
use crate::build::old_results;
use crate::error::LocalError;
use crate::git::history::LocalHistory;
use crate::process::child::{Ended, Processes};
use crate::process::files;
use crate::trace::{self, BuildSnapshot, Reads, Traced, Tracer};

/// The end of the names of files with the commits of traced builds, and their reads.
pub(super) const TRACED: &str = ".traced.json";

impl Builder {
    /// The means to trace, in a job whose builds are traced.
    pub(super) async fn tracer(&self) -> Result<Option<&Tracer>, LocalError> {
        if !self.config.trace {
            return Ok(None);
        }
        let open = || blocking((), || Ok(Tracer::open()?));
        self.tracer.get_or_try_init(open).await.map(Some)
    }

    /// Runs the benchmark once in a build that was just made, and traces its reads.
    pub(super) async fn trace_benchmark(
        &self,
        tracer: &Tracer,
        steps: &BuildSteps<'_>,
        build: Option<Reads>,
    ) -> Result<Traced, LocalError> {
        let dir = steps.dir.clone();
        let results = self.config.results.clone();
        let before = blocking(Arc::clone(&steps.holds), move || {
            if let Some(name) = results {
                // If that fails, the runs that count will say so.
                let _ = old_results::remove_old(&dir.tree, &name);
            }
            Ok(BuildSnapshot::from_directory(&dir.path)?)
        })
        .await?;
        let mut command = Command::new(self.config.program(&steps.dir.tree));
        command
            .args(&self.config.command[1..])
            .current_dir(&steps.dir.tree);
        (self.environment).set(&mut command, None);
        // As the first run that counts.
        command.env("PINPOINT_RUN", "0");
        let (ended, mut reads) = self.step_traced(tracer, steps, command).await?;
        if let Some(reason) = ended.failure(&failure_line(steps.log)?) {
            reads.doubt = Some(format!("it {reason}"));
        }
        let dir = steps.dir.clone();
        blocking(Arc::clone(&steps.holds), move || {
            let digest = before.digest(&dir.path, &reads)?;
            Ok(Traced::new(build, reads, digest))
        })
        .await
    }

    pub(super) async fn step_traced(
        &self,
        tracer: &Tracer,
        steps: &BuildSteps<'_>,
        command: Command,
    ) -> Result<(Ended, Reads), LocalError> {
        let trace = steps.dir.path.join("trace");
        let command = tracer.command(&command, &trace);
        let timeout = tracer.timeout(self.config.timeout);
        let ended = steps.step(command, timeout).await?;
        let dir = steps.dir.clone();
        let repositories = self.workspace.repositories();
        let reads = blocking(Arc::clone(&steps.holds), move || {
            Ok(trace::read(&trace, &dir.path, &dir.tree, &repositories)?)
        })
        .await?;
        Ok((ended, reads))
    }

    /// The builds of this job that were traced, by this process or an earlier one.
    pub(super) fn all_traced(&self) -> Result<Vec<(CombinedCommit, Traced)>, LocalError> {
        self.notes(TRACED)
    }

    /// The build of another commit that is known to be the same as one not built yet.
    pub(super) async fn same_build(
        &self,
        commit: &CombinedCommit,
        key: &str,
        processes: &Arc<Processes>,
    ) -> Result<Option<BuildOutcome>, LocalError> {
        if !self.config.trace || !is_plain(commit) {
            return Ok(None);
        }
        // A commit that was built keeps its build: no two replace each other.
        if self.logs.join(format!("{key}{TRACED}")).exists() {
            return Ok(None);
        }
        let remembered = self.logs.join(format!("{key}.same.json"));
        let same = match files::read_json(&remembered)? {
            Some(same) => Some(same),
            None => self.find_same(commit).await?,
        };
        let Some(same) = same else { return Ok(None) };
        files::write_json(&remembered, &same)?;
        // It was itself built, so this goes no deeper.
        Box::pin(self.build(&same, processes)).await.map(Some)
    }

    async fn find_same(
        &self,
        commit: &CombinedCommit,
    ) -> Result<Option<CombinedCommit>, LocalError> {
        let mut candidates: Vec<_> = (self.all_traced()?.into_iter())
            .filter(|(other, _)| is_plain(other) && other != commit)
            .filter_map(|(other, traced)| Some((other, traced.reads()?)))
            .collect();
        if candidates.is_empty() {
            return Ok(None);
        }
        // Always the same one first.
        candidates.sort_by(|(one, _), (other, _)| one.cmp(other));
        let (clone, state_dir) = (
            self.repository.clone(),
            self.workspace.state_dir().to_owned(),
        );
        let history = blocking((), move || {
            Ok(LocalHistory::open_located(clone, &state_dir).map_err(MidpointError::from)?)
        })
        .await?;
        for (other, reads) in candidates {
            let hashes = [&*other.main.git_hash, &*commit.main.git_hash];
            let same = history.are_same_at(hashes, reads).await;
            if same.map_err(MidpointError::from)? {
                return Ok(Some(other));
            }
        }
        Ok(None)
    }
}

/// Checks whether it is a commit of the main repository's history, and nothing else.
fn is_plain(commit: &CombinedCommit) -> bool {
    commit.modified_deps.is_empty() && commit.main.merged.is_empty() && commit.patch.is_none()
}
