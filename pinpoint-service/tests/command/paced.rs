//! A job whose pairs of runs come at a steady pace, carried out in this process.

use std::time::Duration;

use async_trait::async_trait;
use pinpoint_backends::job::{JobConfig, JobRequest, TakenJob, Worker};
use pinpoint_backends::store::{JobId, JobStore, NewJob};
use pinpoint_core::job::ResultSource;
use pinpoint_core::{
    BuildReport, BuildRequest, CombinedCommit, Commit, ExecutorError, InProcess, Located,
    PairReport, PairwiseSpec, RunPairRequest, RunReport, RunRequest, Variant,
};

/// Pairs of runs that take this long.
struct Paced(Duration);

#[async_trait]
impl InProcess for Paced {
    async fn build(&self, request: &BuildRequest) -> Result<BuildReport, ExecutorError> {
        match &request.commit {
            Located::Commit(commit) => Ok(BuildReport::built(commit.clone())),
            Located::Offset { .. } => Err(ExecutorError::Refused("no range".into())),
        }
    }

    async fn run(&self, request: &RunRequest) -> Result<RunReport, ExecutorError> {
        let noise = f64::from(request.index * 7 % 11);
        Ok(RunReport::new(0).value("time", 10.0 + 0.01 * noise))
    }

    async fn run_pair(&self, request: &RunPairRequest) -> Result<PairReport, ExecutorError> {
        tokio::time::sleep(self.0).await;
        let [first, second] = request.runs();
        Ok(PairReport {
            first: self.run(&first).await?,
            second: self.run(&second).await?,
        })
    }
}

#[async_trait]
impl ResultSource for Paced {}

/// Makes a job of so many pairs, which no worker takes.
pub(crate) async fn create(store: &JobStore, pairs: u32) -> JobId {
    let side = |name| Variant::from(CombinedCommit::from(Commit::new("app", name)));
    let spec = PairwiseSpec {
        pairs,
        chart: Some("time".into()),
        ..PairwiseSpec::new(side("a"), side("b"))
    };
    let job = NewJob {
        bot: "watched".into(),
        ..JobRequest::new(spec, JobConfig::default())
            .into_job()
            .unwrap()
    };
    store.jobs().create(&job).await.unwrap()
}

/// Carries it out, with this long for each pair.
pub(crate) async fn carry_out(store: &JobStore, id: &JobId, pace: Duration) {
    let directory = tempfile::tempdir().unwrap();
    let taken = TakenJob::take(store, id, "paced", directory.path()).await;
    let taken = taken.unwrap();
    let paced = &Paced(pace);
    let worker = Worker {
        executor: paced,
        source: paced,
    };
    let never = std::future::pending::<()>();
    taken.work(worker, never, |_, _| {}).await.unwrap();
    taken.release().await;
}
