//! Spans between two events that belong to no thread.

use std::borrow::Cow;

use hashbrown::HashMap;

use super::Span;
use super::tables::Tables;
use crate::read::trace_events::Event;

/// One end of a span.
struct End<'a> {
    index: u32,
    thread: (i64, i64),
    time: f64,
    begins: bool,
    category: Cow<'a, str>,
    name: Cow<'a, str>,
    id: Id<'a>,
}

/// The id that the two events share; an id of one process counts there only.
#[derive(PartialEq, Eq, Hash)]
struct Id<'a> {
    text: &'a str,
    process: Option<i64>,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct Id2<'a> {
    #[serde(borrow)]
    global: Option<&'a serde_json::value::RawValue>,
    #[serde(borrow)]
    local: Option<&'a serde_json::value::RawValue>,
}

#[derive(Default)]
pub(super) struct Spans<'a>(Vec<End<'a>>);

impl<'a> Spans<'a> {
    pub(super) fn event(&mut self, index: u32, thread: (i64, i64), time: f64, event: Event<'a>) {
        let id2: Id2 = match event.id2 {
            Some(raw) => serde_json::from_str(raw.get()).unwrap_or_default(),
            None => Id2::default(),
        };
        let local = event.id.is_none() && id2.global.is_none();
        // An event without an id cannot be joined.
        let Some(id) = event.id.or(id2.global).or(id2.local) else {
            return;
        };
        self.0.push(End {
            index,
            thread,
            time,
            begins: matches!(&*event.ph, "b" | "S"),
            category: event.cat,
            name: event.name,
            id: Id {
                text: id.get(),
                process: local.then_some(thread.0),
            },
        });
    }

    /// The spans whose two ends were recorded: an end belongs to the last begin of its category, id
    /// and name that has no end yet.
    pub(super) fn finish(mut self, tables: &mut Tables) -> Vec<Span> {
        self.0.sort_by(|a, b| a.time.total_cmp(&b.time));
        let mut begun: HashMap<_, Vec<&End>> = HashMap::new();
        let mut spans = Vec::new();
        for end in &self.0 {
            let open = begun
                .entry((&end.category, &end.id, &end.name))
                .or_default();
            if end.begins {
                open.push(end);
            } else if let Some(begin) = open.pop() {
                spans.push(Span {
                    name: tables.name(&begin.name),
                    category: tables.name(&begin.category),
                    process: end.thread.0,
                    thread: end.thread.1,
                    start: begin.time,
                    duration: end.time - begin.time,
                    index: begin.index,
                });
            }
        }
        spans.sort_by(|a, b| {
            let longest_first = b.duration.total_cmp(&a.duration);
            a.start.total_cmp(&b.start).then(longest_first)
        });
        spans
    }
}
