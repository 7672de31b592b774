//! What the loop leaves behind, however it ends.

// Clippy's exception for tests knows functions marked as tests only.
#![allow(clippy::unwrap_used)]

use std::future;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use pinpoint_core::{
    Bisection, BisectionSpec, BuildReport, BuildRequest, Commit, DriveError, Executor,
    ExecutorError, Journal, JournalError, Key, ListRequest, Listing, PairReport, Range, Record,
    RunPairRequest, RunReport, RunRequest, drive,
};

/// Lists, builds one end for ever, and refuses to build the other.
#[derive(Default)]
struct HalfBroken {
    ended: Mutex<Vec<u64>>,
}

#[async_trait]
impl Executor for HalfBroken {
    async fn list(&self, request: ListRequest) -> Result<Listing, ExecutorError> {
        let ListRequest { lower, higher, .. } = request;
        Ok(Listing {
            lower,
            higher,
            count: 3,
            changes: Vec::new(),
        })
    }

    async fn build(&self, request: BuildRequest) -> Result<BuildReport, ExecutorError> {
        let pinpoint_core::Located::Commit(commit) = request.commit else {
            unreachable!("the ends have names");
        };
        if commit.main.git_hash == "good" {
            future::pending().await
        } else {
            Err(ExecutorError::Refused("no compiler".into()))
        }
    }

    async fn run(&self, _: RunRequest) -> Result<RunReport, ExecutorError> {
        unreachable!("nothing was built")
    }

    async fn run_pair(&self, _: RunPairRequest) -> Result<PairReport, ExecutorError> {
        unreachable!("nothing was built")
    }

    async fn cancel(&self, key: Key) -> Result<(), ExecutorError> {
        self.ended.lock().unwrap().push(key.action);
        Ok(())
    }

    async fn sleep(&self, _: Duration) {
        future::pending().await
    }
}

struct Nowhere;

#[async_trait]
impl Journal for Nowhere {
    fn job(&self) -> &str {
        "job"
    }

    async fn records(&mut self) -> Result<Vec<Record>, JournalError> {
        Ok(Vec::new())
    }

    async fn append(&mut self, _: &Record) -> Result<(), JournalError> {
        Ok(())
    }
}

#[tokio::test]
async fn what_is_under_way_is_ended_when_something_else_is_refused() {
    let range = Range::Between {
        good: Commit::new("repository", "good").into(),
        bad: Commit::new("repository", "bad").into(),
    };
    let machine = Bisection::new(BisectionSpec::new(range)).unwrap();
    let executor = HalfBroken::default();
    let error = drive(machine, &executor, &mut Nowhere, future::pending())
        .await
        .unwrap_err();
    assert!(matches!(error, DriveError::Refused(_)), "{error}");
    assert_eq!(error.to_string(), "no compiler");
    assert_eq!(executor.ended.into_inner().unwrap().len(), 1);
}
