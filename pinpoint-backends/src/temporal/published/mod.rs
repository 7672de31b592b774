//! The workflows of Chromium's Pinpoint, under their published names.
//!
//! | workflow | input | answer |
//! | --- | --- | --- |
//! | `perf.bisect` | `{Request, JobID, BotIds, ExtraArgs, Production}` | `{JobId, Culprits, DetailedCulprits}` |
//! | `perf.catapult.bisect` | as above | `BisectExecution` |
//! | `perf.pairwise` | `{Request, CulpritVerify}` | `PairwiseExecution` |
//! | `perf.culprit_finder` | `{Request, CallbackParams, Production}` | `CulpritFinderExecution` |
//!
//! Each creates a job in the store and follows it to its end. It does not start
//! [`pinpoint.job`](super::workflow) itself: a worker of its bot takes the job, on Temporal or not.
//!
//! Names, fields and answers are those of `pinpoint/go/workflows` in
//! <https://skia.googlesource.com/buildbot>.

mod activities;
mod answers;
mod left;
mod parameters;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use futures_util::future::{Either, select};
use pinpoint_core::bots::Bots;
use pinpoint_core::job::JobState;
use temporalio_common::UntypedWorkflow;
use temporalio_common::data_converters::RawValue;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{
    ActivityExecutionError, ActivityOptions, ChildWorkflowCancellationType, ChildWorkflowOptions,
    ParentClosePolicy, WorkflowCancellationToken, WorkflowContext, WorkflowResult,
    WorkflowTermination,
};

use super::error::TemporalError;
use super::failures::{REFUSED, lasting_failure, reason_of, type_of};
use super::jobs_here::JobsHere;
use super::serving::at_a_time;
use activities::{CreatedJob, Followed, Following, Order};
use answers::PublishedWorkflowResult;
use parameters::{Name, Parameters, parameters_in};

/// The queue that Chromium's Pinpoint uses.
pub const PUBLISHED_QUEUE: &str = "perf.perf-chrome-public.bisect";

/// The type of a failure: the input is not a request, or one that can't be carried out.
const INVALID: &str = "InvalidRequest";

/// The workflow that is notified of culprits.
const PROCESS_CULPRIT: &str = "perf.process_culprit";

/// For activities that need only the store.
const SHORT: Duration = Duration::from_secs(60);

/// The time without a sign of life after which another worker follows a job.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// The time for which one worker follows a job, before another worker may continue.
const FOLLOW_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// The jobs that one worker follows at a time. Each queries the store now and then.
const FOLLOWED: usize = 1_000;

/// The queue and the bots for which a worker takes published workflows.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedNames {
    /// The queue: [`PUBLISHED_QUEUE`], or another one.
    pub queue: String,
    /// The bots and benchmarks that requests may name.
    pub bots: Bots,
}

/// The activities that create and follow the jobs of published workflows. `owner` names this
/// process when it cancels an idle job.
pub(super) fn following(
    names: &PublishedNames,
    jobs: &Arc<JobsHere>,
    owner: String,
    stopping: &Arc<AtomicBool>,
) -> Following {
    Following {
        jobs: Arc::clone(jobs),
        bots: names.bots.clone(),
        owner,
        stopping: Arc::clone(stopping),
    }
}

/// The options of the worker for the published names.
pub(super) fn worker_options(
    names: &PublishedNames,
    following: &Following,
) -> Result<temporalio_sdk::WorkerOptions, TemporalError> {
    fn unusable(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> TemporalError {
        TemporalError::Client(error.into())
    }
    Ok(temporalio_sdk::WorkerOptions::new(names.queue.clone())
        .client_identity_override(following.jobs.machine().to_owned())
        .max_heartbeat_throttle_interval(Duration::from_secs(5))
        .graceful_shutdown_period(SHORT)
        .register_workflow::<Bisect>()
        .map_err(unusable)?
        .register_workflow::<CatapultBisect>()
        .map_err(unusable)?
        .register_workflow::<Pairwise>()
        .map_err(unusable)?
        .register_workflow::<CulpritFinder>()
        .map_err(unusable)?
        .register_activities(following.clone())
        .tuner(at_a_time(FOLLOWED))
        .build())
}

macro_rules! published {
    ($workflow:ident, $name:literal) => {
        #[workflow]
        #[derive(Default)]
        pub(crate) struct $workflow {}

        #[workflow_methods]
        impl $workflow {
            #[run(name = $name)]
            pub(crate) async fn run(
                ctx: &mut WorkflowContext<Self>,
                input: RawValue,
            ) -> WorkflowResult<RawValue> {
                carried_out(&ctx.clone(), Name::$workflow, &input).await
            }
        }
    };
}

published!(Bisect, "perf.bisect");
published!(CatapultBisect, "perf.catapult.bisect");
published!(Pairwise, "perf.pairwise");
published!(CulpritFinder, "perf.culprit_finder");

async fn carried_out<W>(
    ctx: &WorkflowContext<W>,
    name: Name,
    input: &RawValue,
) -> WorkflowResult<RawValue> {
    let invalid = |error: &dyn std::error::Error| {
        WorkflowTermination::from(lasting_failure(INVALID, &error.to_string()))
    };
    let input = parameters_in(&input.payloads).map_err(|error| invalid(&error))?;
    let parameters = Parameters::read(name, &input).map_err(|error| invalid(&error))?;
    let order = Order {
        name,
        parameters: input,
        time: milliseconds(ctx.workflow_time()),
        bits: [ctx.random(), ctx.random()],
    };
    let made = ctx.execute_activity(Following::request, order, short("makes the job"));
    let made: CreatedJob = made.await.map_err(failed)?;
    let job = &made.job;
    ctx.set_current_details(format!("job {job}"));

    let options = ActivityOptions::with_start_to_close_timeout(FOLLOW_TIMEOUT)
        .heartbeat_timeout(HEARTBEAT)
        .cancellation_token(WorkflowCancellationToken::new())
        .summary(format!("follows job {job}"))
        .build();
    let follow = Box::pin(ctx.execute_activity(Following::follow, made.clone(), options));
    let followed: Followed = match select(follow, Box::pin(ctx.cancelled())).await {
        Either::Left((followed, _)) => followed,
        Either::Right((_, follow)) => {
            let cancel =
                ctx.execute_activity(Following::cancel, made.clone(), short("cancels the job"));
            cancel.await.map_err(failed)?;
            follow.await
        }
    }
    .map_err(failed)?;

    let message = match followed {
        Followed::Completed { message } => message,
        Followed::Ended { state, .. }
            if state == JobState::Canceled && ctx.cancellation_token().is_cancelled() =>
        {
            return Err(WorkflowTermination::cancelled());
        }
        Followed::Ended { state, reason } => {
            let reason = match reason {
                Some(reason) => format!("job {job} is {state}: {reason}"),
                None => format!("job {job} is {state}"),
            };
            return Err(lasting_failure(&state.to_string(), &reason).into());
        }
    };
    let answer = PublishedWorkflowResult::new(&parameters, message);
    let answer = answer.map_err(|error| lasting_failure(REFUSED, &error.to_string()))?;
    if let Some((queue, culprits)) = answer.notice(&parameters) {
        let options = ChildWorkflowOptions::builder()
            .task_queue(queue)
            .parent_close_policy(ParentClosePolicy::Abandon)
            .cancel_type(ChildWorkflowCancellationType::Abandon)
            .build();
        let workflow = UntypedWorkflow::new(PROCESS_CULPRIT);
        ctx.start_child_workflow(workflow, culprits, options)
            .await?;
    }
    Ok(answer.payload())
}

/// Options for an activity that is carried out regardless of the workflow's end.
fn short(summary: &str) -> ActivityOptions {
    ActivityOptions::with_start_to_close_timeout(SHORT)
        .cancellation_token(WorkflowCancellationToken::new())
        .summary(summary.to_owned())
        .build()
}

fn milliseconds(time: Option<SystemTime>) -> u64 {
    let since = time.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

/// The failure of an activity as that of its workflow, whose caller knows of no activities.
fn failed(error: ActivityExecutionError) -> WorkflowTermination {
    lasting_failure(type_of(&error).unwrap_or(REFUSED), &reason_of(&error)).into()
}
