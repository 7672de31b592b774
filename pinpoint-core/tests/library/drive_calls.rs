//! The calls that the loop makes, in their order, and the traces it leaves.

#![expect(clippy::unwrap_used, reason = "a missing value fails the test")]

use std::fmt::{self, Write};
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use mockall::{Sequence, mock, predicate::eq};
use pinpoint_core::{
    BuildReport, Clock, CombinedCommit, Commit, DriveError, Executor, ExecutorError, Heartbeat,
    JobKey, Journal, JournalError, Limits, Pairwise, PairwiseSpec, PairwiseStatus, Record, Report,
    Request, RetryPolicy, Stop, Ticket, drive,
};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

mock! {
    Farm {}
    #[async_trait]
    impl Executor for Farm {
        async fn start(&self, request: &Request) -> Result<Ticket, ExecutorError>;
        async fn wait(
            &self,
            request: &Request,
            ticket: &Ticket,
            heartbeat: &Heartbeat,
        ) -> Result<Report, ExecutorError>;
        async fn cancel(&self, ticket: &Ticket) -> Result<(), ExecutorError>;
    }
}

mock! {
    /// An empty journal. `replay` takes a reference to a closure, which a mock can't.
    Log {
        fn append(&self, record: &Record) -> Result<(), JournalError>;
    }
}

#[async_trait]
impl Journal for MockLog {
    fn job(&self) -> JobKey {
        JobKey {
            id: "job 7".into(),
            created: 0,
        }
    }

    async fn replay(&mut self, _: &mut (dyn FnMut(Record) + Send)) -> Result<(), JournalError> {
        Ok(())
    }

    async fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        MockLog::append(self, record)
    }
}

mock! {
    Time {}
    #[async_trait]
    impl Clock for Time {
        async fn sleep(&self, duration: Duration);
    }
}

fn commit(name: &str) -> CombinedCommit {
    Commit::new("repository", name).into()
}

/// A comparison of two commits, with one build at a time and three tries of each.
fn comparison() -> Pairwise {
    let limits = Limits {
        builds: 1,
        ..Limits::default()
    };
    let retry = RetryPolicy {
        tries: 3,
        ..RetryPolicy::default()
    };
    Pairwise::new(PairwiseSpec {
        limits,
        retry,
        ..PairwiseSpec::new(commit("base"), commit("experiment"))
    })
    .unwrap()
}

fn number(request: &Request) -> u64 {
    request.key().action
}

fn broken() -> Result<Report, ExecutorError> {
    let commit = Commit::new("repository", "good").into();
    Ok(Report::Built(BuildReport::failed(
        commit,
        "does not compile",
    )))
}

#[tokio::test]
async fn a_ticket_is_journaled_before_its_work_is_waited_for() {
    let (mut farm, mut log, mut order) = (MockFarm::new(), MockLog::new(), Sequence::new());
    farm.expect_start()
        .times(1)
        .in_sequence(&mut order)
        .withf(|request| number(request) == 0)
        .returning(|request| Ok(Ticket::durable(request.key().clone(), "task 5")));
    log.expect_append()
        .times(1)
        .in_sequence(&mut order)
        .withf(|record| matches!(record, Record::Started { action: 0, .. }))
        .returning(|_| Ok(()));
    farm.expect_wait()
        .times(1)
        .in_sequence(&mut order)
        .withf(|_, ticket, _| ticket.handle.as_deref() == Some("task 5"))
        .returning(|_, _, _| broken());
    log.expect_append()
        .times(1)
        .in_sequence(&mut order)
        .withf(|record| matches!(record, Record::Reported { action: 0, .. }))
        .returning(|_| Ok(()));
    // The other build was never started. The key would find it if it had been.
    farm.expect_cancel()
        .times(1)
        .in_sequence(&mut order)
        .withf(|ticket| ticket.key.action == 1 && ticket.handle.is_none())
        .returning(|_| Ok(()));
    log.expect_append()
        .times(1)
        .in_sequence(&mut order)
        .withf(|record| matches!(record, Record::Canceled { .. }))
        .returning(|_| Ok(()));
    let driven = drive(comparison(), &farm, &mut log, &MockTime::new(), pending()).await;
    assert_eq!(driven.unwrap().outcome.status, PairwiseStatus::Failed);
}

#[tokio::test]
async fn a_refused_request_is_not_tried_again_and_writes_nothing() {
    let (mut farm, mut time, mut order) = (MockFarm::new(), MockTime::new(), Sequence::new());
    for wait in [1, 2] {
        farm.expect_start()
            .times(1)
            .in_sequence(&mut order)
            .returning(|_| Err(ExecutorError::Unavailable("connection reset".into())));
        time.expect_sleep()
            .times(1)
            .in_sequence(&mut order)
            .with(eq(Duration::from_secs(wait)))
            .return_const(());
    }
    farm.expect_start()
        .times(1)
        .in_sequence(&mut order)
        .returning(|_| Err(ExecutorError::Refused("disk full".into())));
    let driven = drive(comparison(), &farm, &mut MockLog::new(), &time, pending()).await;
    assert!(matches!(driven, Err(DriveError::Refused(_))));
}

/// Collects events, each with the spans around it.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<String>>>);

/// Fields as text.
struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let name = match field.name() {
            "message" => String::new(),
            name => format!("{name}="),
        };
        write!(self.0, " {name}{value:?}").unwrap();
    }
}

impl<S> Layer<S> for Collector
where
    S: tracing::Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        let mut fields = Fields(span.name().to_owned());
        attributes.record(&mut fields);
        span.extensions_mut().insert(fields);
    }

    fn on_event(&self, event: &tracing::Event<'_>, context: Context<'_, S>) {
        let spans = context.event_scope(event).into_iter();
        let mut line = Fields(String::new());
        for span in spans.flat_map(|scope| scope.from_root()) {
            write!(
                line.0,
                "{} > ",
                span.extensions().get::<Fields>().unwrap().0
            )
            .unwrap();
        }
        write!(line.0, "{}", event.metadata().level()).unwrap();
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }
}

#[tokio::test]
async fn retries_cancellations_and_pauses_are_events_in_the_spans_of_their_actions() {
    // Tests of other threads are the first to reach most events: without a subscriber there, these
    // would be silent here, too.
    let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry());
    let traces = Collector::default();
    let subscriber = tracing_subscriber::registry().with(traces.clone());
    let _guard = tracing::subscriber::set_default(subscriber);

    let (mut farm, mut time) = (MockFarm::new(), MockTime::new());
    farm.expect_start()
        .times(1)
        .returning(|_| Err(ExecutorError::Unavailable("connection reset".into())));
    farm.expect_start()
        .times(1)
        .returning(|request| Ok(Ticket::durable(request.key().clone(), "task 5")));
    farm.expect_wait().times(1).returning(|_, _, _| {
        // An event of the executor is one of the action, too.
        tracing::info!("compiling");
        broken()
    });
    farm.expect_cancel().times(1).returning(|_| Ok(()));
    time.expect_sleep().times(1).return_const(());
    let mut journal = MockLog::new();
    journal.expect_append().returning(|_| Ok(()));
    let driven = drive(comparison(), &farm, &mut journal, &time, pending()).await;
    driven.unwrap();
    let build = "job id=\"job 7\" > action number=0 task=\"build\" >";
    assert_eq!(
        std::mem::take(&mut *traces.0.lock().unwrap()),
        [
            "job id=\"job 7\" > INFO replayed the journal records=0".to_owned(),
            format!("{build} WARN retrying after a pause error=connection reset wait=1000 tries=1"),
            format!("{build} INFO compiling"),
            format!("{build} DEBUG reported"),
            "job id=\"job 7\" > action number=2 task=\"cancel\" > \
             INFO canceling an action canceled=1"
                .to_owned(),
        ]
    );

    let mut farm = MockFarm::new();
    farm.expect_start()
        .returning(|_| Err(ExecutorError::Refused("disk full".into())));
    let driven = drive(
        comparison(),
        &farm,
        &mut MockLog::new(),
        &MockTime::new(),
        pending(),
    )
    .await;
    driven.unwrap_err();
    let stop = async { Stop::Detach };
    let mut farm = MockFarm::new();
    farm.expect_start()
        .returning(|request| Ok(Ticket::in_process(request.key().clone())));
    let driven = drive(
        comparison(),
        &farm,
        &mut MockLog::new(),
        &MockTime::new(),
        stop,
    )
    .await;
    driven.unwrap_err();
    let lines = traces.0.lock().unwrap();
    assert!(lines.contains(
        &"job id=\"job 7\" > WARN pausing the job: the executor refuses a request error=disk full"
            .to_owned()
    ));
    assert!(
        lines
            .iter()
            .any(|line| line.ends_with("INFO detaching from the job"))
    );
}
