//! The calls of a thread, from its events and samples.

use super::kind::enters_script;
use super::samples::{Drawn, Samples};
use super::tables::{MOST_ENTRIES, MOST_STEPS, Tables};
use super::{Entry, FunctionId, Nesting, Source};
use crate::{NameId, ReadProfileError};

/// The calls of a thread, in the order in which they begin.
///
/// `entries` are its events in the order of time, and `of_events` the node that was sampled for
/// some of them, by their places.
///
/// # Errors
///
/// [`ReadProfileError::TooLarge`].
pub(super) fn calls(
    entries: &[Entry],
    of_events: &[(u32, u32)],
    samples: &Samples,
    tables: &mut Tables,
) -> Result<Vec<Entry>, ReadProfileError> {
    let begins: Vec<Begin> = entries.iter().map(|entry| begin(entry, tables)).collect();
    let mut stack = Stack::new(samples, tables);
    let mut open: Vec<usize> = Vec::new();
    let mut of_events = of_events.iter().peekable();
    let mut next_sample = 0;
    let mut next_entry = 0;
    loop {
        let sample = samples.samples.get(next_sample);
        let entry = entries.get(next_entry);
        let (time, is_entry) = match (entry, sample) {
            (Some(entry), Some((time, _))) if comes_first(entry, *time) => (entry.start, true),
            (_, Some((time, _))) => (*time, false),
            (Some(entry), None) => (entry.start, true),
            (None, None) => break,
        };
        let place = next_entry;
        let mut sampled = None;
        if is_entry {
            next_entry += 1;
            sampled = of_events
                .next_if(|(entry, _)| *entry as usize == place)
                .map(|(_, node)| *node);
            if matches!(entries[place].source, Source::Instant(_)) && sampled.is_none() {
                continue;
            }
        } else {
            next_sample += 1;
        }
        while let Some(top) = open.pop_if(|top| entries[*top].end() <= time) {
            stack.event_ends(entries[top].end());
        }
        if is_entry {
            stack.event_begins(time, begins[place], sampled);
            open.push(place);
        } else {
            let in_script = open.last().is_some_and(|top| begins[*top].enters_script());
            stack.sample(next_sample - 1, in_script);
        }
        stack.check()?;
    }
    while let Some(top) = open.pop() {
        stack.event_ends(entries[top].end());
    }
    Ok(stack.finish())
}

/// An event comes before a sample of the same time, unless it is over at once.
fn comes_first(entry: &Entry, sample: f64) -> bool {
    entry.start < sample || (entry.start == sample && entry.duration > 0.0)
}

/// The effect of the beginning of an event on the stack.
#[derive(Clone, Copy, PartialEq)]
enum Begin {
    /// Ends everything on the stack; samples in the event are calls.
    EmptyIntoScript,
    /// Ends everything on the stack.
    Empty,
    /// Samples in the event are calls.
    IntoScript,
    Other,
}

impl Begin {
    fn enters_script(self) -> bool {
        matches!(self, Self::EmptyIntoScript | Self::IntoScript)
    }
}

fn begin(entry: &Entry, tables: &Tables) -> Begin {
    match tables
        .names
        .get(tables.kinds.values[entry.kind.index()].name)
    {
        "RunTask" => Begin::Empty,
        "RunMicrotasks" => Begin::EmptyIntoScript,
        name if enters_script(name) => Begin::IntoScript,
        _ => Begin::Other,
    }
}

/// A call that has not ended.
struct Open {
    call: usize,
    /// The node by which it was seen last: another one than the call's, where two nodes differ only
    /// in the column.
    node: u32,
}

/// The calls on the stack, as time advances.
struct Stack<'a> {
    samples: &'a Samples,
    tables: &'a mut Tables,
    drawn: Vec<Drawn>,
    calls: Vec<Entry>,
    open: Vec<Open>,
    /// The number of calls that cannot end before the event does, for each open event.
    locks: Vec<usize>,
    /// A sample was met outside of any script: an event that leads into one is assumed.
    assumed: bool,
    /// The time up to which the open calls have lasted.
    time: f64,
    /// The stack of the last sample that was not of the garbage collector.
    before: Option<u32>,
    path: Vec<u32>,
    steps: u64,
}

impl<'a> Stack<'a> {
    fn new(samples: &'a Samples, tables: &'a mut Tables) -> Self {
        Self {
            drawn: samples.drawn(tables),
            samples,
            tables,
            calls: Vec::new(),
            open: Vec::new(),
            locks: Vec::new(),
            assumed: false,
            time: 0.0,
            before: None,
            path: Vec::new(),
            steps: 0,
        }
    }

    fn event_begins(&mut self, time: f64, begin: Begin, sampled: Option<u32>) {
        if matches!(begin, Begin::Empty | Begin::EmptyIntoScript) {
            self.locks.clear();
            self.cut(0, time);
            self.assumed = false;
        }
        if self.assumed {
            let lock = self.locks.pop().unwrap_or(0);
            self.cut(lock, time);
            self.assumed = false;
        }
        match sampled {
            // The collector's own sample has no stack here.
            Some(node) if self.samples.collector == Some(node) => self.follow(None, -1, time),
            Some(node) => self.follow(self.drawn[node as usize].node, -1, time),
            None => self.cut(self.open.len(), time),
        }
        self.locks.push(self.open.len());
    }

    fn event_ends(&mut self, time: f64) {
        let lock = self.locks.pop().unwrap_or(0);
        self.cut(lock, time);
    }

    fn sample(&mut self, index: usize, in_script: bool) {
        let (time, node) = self.samples.samples[index];
        let mut leaf = self.drawn[node as usize].node;
        if self.samples.collector == Some(node) {
            leaf = self.before;
        } else {
            self.before = leaf;
        }
        if in_script || self.assumed {
            self.follow(leaf, index as i32, time);
        } else if self.open.is_empty() {
            self.assumed = true;
            self.follow(leaf, index as i32, time);
            self.locks.push(0);
        }
    }

    /// The stack is `leaf` and its callers: equal calls continue, the rest ends, and new ones
    /// begin.
    ///
    /// The stack is walked from the leaf to the first call that was seen by the same node: all
    /// below it is the same, too. So the cost of a sample is that of its changes.
    fn follow(&mut self, leaf: Option<u32>, sample: i32, time: f64) {
        let lock = self.locks.last().copied().unwrap_or(0);
        let count = leaf.map_or(0, |leaf| self.drawn[leaf as usize].count as usize);
        self.path.clear();
        let (mut at, mut index) = (leaf, count);
        while let Some(node) = at.filter(|_| index > lock) {
            if self
                .open
                .get(index - 1)
                .is_some_and(|open| open.node == node)
            {
                break;
            }
            index -= 1;
            self.path.push(node);
            at = self.drawn[node as usize].caller;
        }
        self.steps += self.path.len() as u64;
        let mut same = index.max(lock);
        while let (Some(open), Some(&node)) = (self.open.get(same), self.path.last()) {
            if !self.are_equal(open.node, node) {
                break;
            }
            self.open[same].node = node;
            self.path.pop();
            same += 1;
        }
        self.cut(same, time);
        while let Some(node) = self.path.pop() {
            self.call(node, sample, time);
        }
    }

    fn call(&mut self, node: u32, sample: i32, start: f64) {
        let called = &self.samples.nodes[node as usize];
        self.open.push(Open {
            call: self.calls.len(),
            node,
        });
        self.calls.push(Entry {
            start,
            duration: 0.0,
            own: 0.0,
            kind: self.tables.call(called.function),
            source: Source::Call {
                sample,
                node: called.id,
            },
            nesting: Nesting::Outermost,
            depth: 0,
            stack: u32::MAX,
        });
    }

    /// Extends all calls to `time`, and ends those above the first `count`, except locked ones.
    fn cut(&mut self, count: usize, time: f64) {
        let count = count.max(self.locks.last().copied().unwrap_or(0));
        self.time = time;
        while self.open.len() > count {
            self.end_last();
        }
    }

    fn end_last(&mut self) {
        if let Some(open) = self.open.pop() {
            let call = &mut self.calls[open.call];
            call.duration = (self.time - call.start).max(0.0);
        }
    }

    /// Equal in script, name and line.
    fn are_equal(&self, a: u32, b: u32) -> bool {
        let frame = |node: u32| -> Option<(NameId, NameId, i32)> {
            let FunctionId(function) = self.samples.nodes[node as usize].function;
            let function = self.tables.functions.values.get(function as usize)?;
            Some((function.script, function.name, function.line))
        };
        frame(a) == frame(b)
    }

    fn check(&self) -> Result<(), ReadProfileError> {
        let (what, most) = if self.steps > MOST_STEPS {
            ("functions on stacks", MOST_STEPS)
        } else if self.calls.len() > MOST_ENTRIES {
            ("calls", MOST_ENTRIES as u64)
        } else {
            return Ok(());
        };
        Err(ReadProfileError::TooLarge { what, most })
    }

    fn finish(mut self) -> Vec<Entry> {
        while !self.open.is_empty() {
            self.end_last();
        }
        self.calls
    }
}
