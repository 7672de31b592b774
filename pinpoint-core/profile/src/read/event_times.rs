//! A Chrome trace without samples: the times of its events instead of functions'.
//!
//! Lighthouse and others record no samples of V8, and programs other than browsers (clang, ninja,
//! Perfetto's library) write only events. Those of clang's `-ftime-trace` say in `detail` what they
//! are about, such as the header. Its sums by name, on threads of their own, do not count beside them. An event's time without those within it is its own cost,
//! and those around it are its callers.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::trace_events::Event;
use crate::builder::Builder;
use crate::{Category, Frame, Sample, StackId, Stacks};

/// A process and a thread.
type ThreadKey<'a> = (&'a str, &'a str);

#[derive(Default)]
pub(super) struct EventTimes<'a> {
    threads: BTreeMap<ThreadKey<'a>, Thread<'a>>,
}

#[derive(Default)]
struct Thread<'a> {
    events: Vec<Timed<'a>>,
    /// Begun and not ended: the time, and the name.
    begun: Vec<(f64, Cow<'a, str>)>,
}

/// The arguments of clang's events.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Detail<'a> {
    #[serde(borrow)]
    detail: Option<Cow<'a, str>>,
    /// A sum of all events of one name has their mean.
    #[serde(rename = "avg ms")]
    is_sum: Option<IgnoredAny>,
}

/// An event from one time to another, in microseconds.
struct Timed<'a> {
    start: f64,
    end: f64,
    name: Cow<'a, str>,
}

/// An event around others, while these are processed.
struct Open {
    end: f64,
    stack: StackId,
    own: f64,
    category: Category,
}

impl<'a> EventTimes<'a> {
    pub(super) fn add(&mut self, event: &Event<'a>) {
        let Some(time) = event.ts else {
            return;
        };
        let thread = self.threads.entry(event.thread()).or_default();
        let (start, end, name) = match &*event.ph {
            "X" => {
                let arguments: Detail = event.arguments().unwrap_or_default();
                if arguments.is_sum.is_some() && event.name.starts_with("Total ") {
                    return;
                }
                let name = match arguments.detail {
                    Some(detail) => format!("{} {detail}", event.name).into(),
                    None => event.name.clone(),
                };
                (time, time + event.dur.unwrap_or(0.0), name)
            }
            "B" => {
                thread.begun.push((time, event.name.clone()));
                return;
            }
            "E" => match thread.begun.pop() {
                Some((begin, name)) => (begin, time, name),
                None => return,
            },
            _ => return,
        };
        if start < end {
            thread.events.push(Timed { start, end, name });
        }
    }

    /// Adds the times of the events of each thread. Returns false if there are no events.
    pub(super) fn weigh(
        self,
        names: &BTreeMap<ThreadKey<'a>, String>,
        builder: &mut Builder,
    ) -> bool {
        let mut is_any = false;
        for (key, mut thread) in self.threads {
            let id = builder.thread(names.get(&key).map_or("", String::as_str));
            // Of those that begin at once, the longest is around the others.
            let events = &mut thread.events;
            events.sort_by(|a, b| (a.start.total_cmp(&b.start)).then(b.end.total_cmp(&a.end)));
            is_any |= !events.is_empty();
            let mut open: Vec<Open> = Vec::new();
            let close = |event: Open, builder: &mut Builder| {
                builder.push(Sample {
                    stack: event.stack,
                    thread: id,
                    weight: event.own * 1e3,
                    event: Some(event.category),
                });
            };
            for event in events.iter() {
                while let Some(done) = open.pop_if(|open| open.end <= event.start) {
                    close(done, builder);
                }
                // One that ends after the event around it is cut off there.
                let end = open
                    .last()
                    .map_or(event.end, |open| event.end.min(open.end));
                let lasts = end - event.start;
                let parent = open.last_mut().map_or(Stacks::ROOT, |parent| {
                    parent.own -= lasts;
                    parent.stack
                });
                let frame = Frame {
                    name: builder.name(&event.name),
                    ..Frame::default()
                };
                let frame = builder.frame(frame);
                open.push(Open {
                    end,
                    stack: builder.stack(parent, frame),
                    own: lasts,
                    category: Category::of_event(&event.name),
                });
            }
            open.into_iter().for_each(|event| close(event, builder));
        }
        is_any
    }
}
