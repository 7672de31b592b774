//! A Chrome trace of a page that is busy: a main thread with scripts, whose tasks have events in
//! events, and three other threads with shallow tasks.

use std::fmt::Write;

/// Events of the trace.
const EVENTS: usize = 330_000;
const FUNCTIONS: u64 = 2_000;
/// Microseconds between two samples.
const INTERVAL: u64 = 1_000;
const MAIN: u64 = 1;
const OTHERS: [&str; 3] = [
    "Compositor",
    "ThreadPoolForegroundWorker",
    "Chrome_ChildIOThread",
];
const NAMES: [&str; 12] = [
    "FunctionCall",
    "EventDispatch",
    "UpdateLayoutTree",
    "Layout",
    "PrePaint",
    "Paint",
    "ParseHTML",
    "TimerFire",
    "FireAnimationFrame",
    "v8.compile",
    "MinorGC",
    "HitTest",
];

/// Numbers that look random, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

/// The text of a trace. Its samples of every fiftieth function take this many percent more time.
pub(crate) fn text(slower: u64) -> String {
    let mut trace = Trace {
        numbers: Numbers(1),
        text: "{\"traceEvents\":[\n{\"name\":\"Profile\",\"ph\":\"P\",\"pid\":7,\"tid\":1,\"id\":\"0x1\",\"ts\":1000,\"args\":{\"data\":{\"startTime\":1000}}}".to_owned(),
        events: 0,
    };
    trace.name(MAIN, "CrRendererMain");
    for (thread, name) in (2..).zip(OTHERS) {
        trace.name(thread, name);
    }
    trace.functions();
    let mut time = 1_000;
    while trace.events < EVENTS {
        let end = trace.main_task(time, slower);
        for thread in 2..5 {
            trace.short_tasks(thread, time, end);
        }
        time = end;
    }
    trace.text + "\n]}"
}

struct Trace {
    numbers: Numbers,
    text: String,
    events: usize,
}

impl Trace {
    fn name(&mut self, thread: u64, name: &str) {
        let _ = write!(
            self.text,
            ",\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":7,\"tid\":{thread},\"ts\":0,\"args\":{{\"name\":\"{name}\"}}}}"
        );
    }

    /// The nodes of V8's tree, each for a different function some calls below the root.
    fn functions(&mut self) {
        let mut nodes = vec!["{\"id\":1,\"callFrame\":{\"functionName\":\"(root)\",\"scriptId\":\"0\",\"url\":\"\",\"lineNumber\":-1,\"columnNumber\":-1}}".to_owned()];
        for node in 2..FUNCTIONS {
            let parent = (node * 5 / 8).max(1);
            nodes.push(format!("{{\"id\":{node},\"parent\":{parent},\"callFrame\":{{\"functionName\":\"function{node}\",\"scriptId\":\"3\",\"url\":\"https://example.com/scripts/module{}.js\",\"lineNumber\":{node},\"columnNumber\":11}}}}", node % 40));
        }
        self.chunk(1_001, &nodes, &[], &[]);
    }

    fn chunk(&mut self, time: u64, nodes: &[String], samples: &[String], deltas: &[String]) {
        let _ = write!(
            self.text,
            ",\n{{\"args\":{{\"data\":{{\"cpuProfile\":{{\"nodes\":[{}],\"samples\":[{}]}},\"timeDeltas\":[{}]}}}},\"cat\":\"disabled-by-default-v8.cpu_profiler\",\"id\":\"0x1\",\"name\":\"ProfileChunk\",\"ph\":\"P\",\"pid\":7,\"tid\":9,\"ts\":{time}}}",
            nodes.join(","),
            samples.join(","),
            deltas.join(",")
        );
    }

    fn event(&mut self, name: &str, thread: u64, from: u64, to: u64) {
        self.events += 1;
        let _ = write!(
            self.text,
            ",\n{{\"args\":{{}},\"cat\":\"toplevel,devtools.timeline\",\"dur\":{},\"name\":\"{name}\",\"ph\":\"X\",\"pid\":7,\"tid\":{thread},\"ts\":{from}}}",
            to - from
        );
    }

    /// A task of the main thread with samples and events; gives its end.
    fn main_task(&mut self, from: u64, slower: u64) -> u64 {
        let (mut samples, mut deltas) = (Vec::new(), Vec::new());
        let mut end = from;
        let mut node = 0;
        for sample in 0..1 + self.numbers.below(8) {
            // Mostly the next sample is of a function near the last one.
            node = match self.numbers.below(4) {
                0 => 2 + self.numbers.below(FUNCTIONS - 2),
                _ if sample > 0 => (node + 1).min(FUNCTIONS - 1),
                _ => 2 + self.numbers.below(60),
            };
            let more = if node % 50 == 0 { 100 + slower } else { 100 };
            let delta = (INTERVAL / 2 + self.numbers.below(INTERVAL)) * more / 100;
            samples.push(node.to_string());
            deltas.push(delta.to_string());
            end += delta;
        }
        self.event("RunTask", MAIN, from, end);
        self.inside(from + 2, end - 2, 1);
        self.chunk(end, &[], &samples, &deltas);
        end + 1
    }

    /// Events one after the other in a span, with others in them.
    fn inside(&mut self, from: u64, to: u64, depth: u32) {
        let mut time = from;
        while time + 40 < to && depth < 9 {
            let longest = (to - time) - 10;
            let end = time + 10 + self.numbers.below(longest);
            let name = NAMES[self.numbers.below(NAMES.len() as u64) as usize];
            self.event(name, MAIN, time, end);
            if self.numbers.below(3) > 0 {
                self.inside(time + 2, end - 2, depth + 1);
            }
            time = end + 5 + self.numbers.below(400);
        }
    }

    fn short_tasks(&mut self, thread: u64, from: u64, to: u64) {
        let mut time = from + self.numbers.below(400);
        loop {
            let end = time + 20 + self.numbers.below(900);
            if end >= to {
                break;
            }
            self.event("RunTask", thread, time, end);
            self.event("ThreadControllerImpl::RunTask", thread, time + 1, end - 1);
            if self.numbers.below(2) > 0 {
                self.event("RasterTask", thread, time + 4, end - 4);
            }
            time = end + 1 + self.numbers.below(1_500);
        }
    }
}
