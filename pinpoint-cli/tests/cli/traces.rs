//! Traces, from the request to each run.

use std::collections::BTreeSet;

use libc::SIGTERM;

use crate::collector::{Collector, Span};
use crate::pool::{Gate, Pool, stop};
use crate::world::{Running, World};

/// A job moves from one of two workers to the other, which are started by this.
pub(crate) fn a_job_that_moves_is_one_trace(
    pool: &Pool,
    worker: impl Fn(&Collector, &str) -> Running,
) {
    let collector = Collector::start();
    let gate = Gate::closed(&pool.world);
    let job = pool.detach(&["--build", "true"], &gate.script());
    assert_eq!(pool.show(&job)["trace_id"], job.as_str());
    let first = worker(&collector, "rack-1");
    gate.wait();
    first.signal(SIGTERM);
    gate.open();
    first.ends_with(0);
    let second = worker(&collector, "rack-2");
    pool.wait(&job).ends_with(0);
    stop(second);

    let spans = collector.spans();
    let root = root(&spans, &job);
    assert_eq!((&*root.name, &*root.parent), ("bisection", ""));
    assert_eq!((root.text("job"), root.text("state")), (&*job, "completed"));
    let counted = |span: &&Span| span.text("purpose").starts_with("Count");
    let runs: Vec<_> = named(&spans, "run").filter(counted).collect();
    let commits: BTreeSet<_> = pool.world.commits.iter().map(String::as_str).collect();
    for span in named(&spans, "build").chain(runs.iter().copied()) {
        assert_eq!((span.text("job"), span.text("bot")), (&*job, "lab"));
        assert!(commits.contains(span.text("commit")), "{span:?}");
        assert!(leads_to(span, root, &spans), "{span:?}");
    }
    let actions = |spans: &[&Span]| -> BTreeSet<String> {
        let actions = spans.iter().map(|span| &span.attributes["action"]);
        actions
            .map(|action| {
                action
                    .as_str()
                    .map_or_else(|| action.to_string(), str::to_owned)
            })
            .collect()
    };
    assert_eq!(actions(&runs).len(), pool.world.recorded_runs(&job).len());
    assert!(named(&spans, "build").count() > 0);
    let machines: BTreeSet<_> = runs.iter().map(|span| span.text("host.name")).collect();
    assert_eq!(machines, BTreeSet::from(["rack-1", "rack-2"]));
}

fn named<'a>(spans: &'a [Span], name: &'a str) -> impl Iterator<Item = &'a Span> {
    spans.iter().filter(move |span| span.name == name)
}

/// The span of the whole job, of whose trace all others are.
#[track_caller]
fn root<'a>(spans: &'a [Span], trace: &str) -> &'a Span {
    assert!(spans.iter().all(|span| span.trace == trace), "{spans:#?}");
    let ids: BTreeSet<_> = spans.iter().map(|span| &span.id).collect();
    assert_eq!(ids.len(), spans.len());
    let roots: Vec<_> = { spans.iter().filter(|span| !ids.contains(&span.parent)) }.collect();
    match roots[..] {
        [root] => root,
        _ => panic!("{roots:#?}"),
    }
}

fn leads_to(span: &Span, root: &Span, spans: &[Span]) -> bool {
    let parent = spans.iter().find(|other| other.id == span.parent);
    span.id == root.id || parent.is_some_and(|parent| leads_to(parent, root, spans))
}

#[test]
fn a_job_that_moves_between_workers_is_one_trace() {
    let pool = Pool::new(World::with_step(8, 5));
    a_job_that_moves_is_one_trace(&pool, |collector, machine| {
        collector.of(pool.quick_worker(machine)).start()
    });
}

#[test]
fn a_job_that_is_asked_for_in_a_trace_is_a_part_of_it() {
    let world = World::with_step(2, 1);
    let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
    let collector = Collector::start();
    let pairwise = ["pairwise", "--pairs", "6", world.good(), world.bad(), "--"];
    let script = ["sh", "-c", crate::world::BENCHMARK];
    collector
        .of(world.pinpoint(&pairwise).and(&script))
        .env("TRACEPARENT", format!("00-{trace}-{span}-01"))
        .ends_with(0);
    let spans = collector.spans();
    let root = root(&spans, trace);
    assert_eq!((&*root.name, &*root.parent), ("pairwise", span));
    let runs = named(&spans, "run").filter(|run| leads_to(run, root, &spans));
    assert!(runs.count() >= 12);
    let show = ["jobs", "show", root.text("job"), "--output", "json"];
    let shown = world.pinpoint(&show).ends_with(0).document();
    assert_eq!(shown["trace_id"], trace);

    // A trace that was not chosen to be recorded is not.
    let collector = Collector::start();
    collector
        .of(world.pinpoint(&pairwise).and(&script))
        .env("TRACEPARENT", format!("00-{trace}-{span}-00"))
        .ends_with(0);
    assert!(collector.spans().is_empty());
}

#[test]
fn traces_that_nobody_takes_keep_no_job_from_its_end() {
    let world = World::with_step(4, 2);
    world
        .bisect(&[], crate::world::BENCHMARK)
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
        .ends_with(0);
    world
        .bisect(&[], crate::world::BENCHMARK)
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "no address")
        .ends_with(0)
        .tells("warning: traces can't be sent: ");
    world
        .pinpoint(&["jobs", "list"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
        .ends_with(0)
        .tells("the protocol \"grpc\" is not built in");
}
