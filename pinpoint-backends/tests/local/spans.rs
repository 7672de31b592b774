//! The spans of `tracing` that an embedder can collect.

use std::fmt::Debug;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use tracing::field::Field;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::world::{World, build, run};

/// Collects the spans and events of the executor, one line each.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<String>>>);

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("pinpoint_local")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut line = span.metadata().name().to_owned();
        span.record(&mut |field: &Field, value: &dyn Debug| {
            write!(line, " {field}={value:?}").unwrap();
        });
        self.0.lock().unwrap().push(line);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = "event".to_owned();
        event.record(&mut |field: &Field, value: &dyn Debug| {
            write!(line, " {field}={value:?}").unwrap();
        });
        self.0.lock().unwrap().push(line);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn every_process_has_a_span_with_its_job_action_and_commit() {
    let world = World::new();
    let hash = world.commit("file", "of the test of spans");
    // An exit code used by no other test.
    let mut config = world.config(&hash, "exit 97");
    config.build = Some("true".into());
    config.warmup = 1;
    let executor = world.open(config, "job");
    let commit = world.combined(&hash);
    let spans = Spans::default();
    // Other tests of this process have spans, too, and a thread's subscriber would miss those first
    // registered by others.
    tracing::subscriber::set_global_default(spans.clone()).unwrap();
    build(&executor, 1, &commit).await.unwrap();
    run(&executor, 2, &commit, 7).await;
    let mut spans = spans.0.lock().unwrap();
    let ended = "event message=the process ended status=exit status: 97 wall=";
    let ends = spans.iter().filter(|line| line.starts_with(ended));
    assert_eq!(ends.count(), 2, "{spans:#?}");
    spans.retain(|span| span.contains(&hash));
    let named = |name: &str| -> Vec<&String> {
        let spans = spans.iter().filter(|span| span.starts_with(name));
        spans.collect()
    };
    let step = format!("build job=\"job\" action=1 commit={hash} program=");
    assert!(
        named("build").iter().all(|span| span.starts_with(&step)),
        "{spans:#?}"
    );
    assert!(
        named("build").iter().any(|span| span.ends_with("\"sh\"")),
        "{spans:#?}"
    );
    let once = format!("run job=\"job\" action=2 commit={hash} purpose=");
    assert_eq!(
        named("run"),
        [&format!("{once}WarmUp"), &format!("{once}Count(7)")]
    );
}
