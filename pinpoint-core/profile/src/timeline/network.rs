//! Requests to other machines, each from its first sending to its end.

use std::borrow::Cow;

use hashbrown::HashMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Span;
use super::read::{ThreadKey, thread_of};
use super::tables::Tables;
use crate::read::trace_events::Event;

/// Requests to these are drawn; data in the page itself is not a request.
const PROTOCOLS: [&str; 5] = ["http:", "https:", "file:", "blob:", "filesystem:"];

/// The data of one request's events.
struct Request<'a> {
    /// The time at which the browser began to ask, where known, and the time of each request: a
    /// redirection causes another one.
    asked: Option<f64>,
    sent: f64,
    sent_last: f64,
    url: Cow<'a, str>,
    url_last: Cow<'a, str>,
    /// The place of the last one among the events of the file.
    index: u32,
    thread: ThreadKey,
    category: Cow<'a, str>,
    ended: Option<f64>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    data: Data<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    #[serde(borrow)]
    request_id: &'a RawValue,
    #[serde(borrow, default)]
    url: Cow<'a, str>,
}

#[derive(Default)]
pub(super) struct Network<'a> {
    /// The place of each request among `requests`, which are in the order of their first sending,
    /// by its id.
    places: HashMap<&'a str, usize>,
    requests: Vec<Request<'a>>,
    /// The times at which the browser began to ask, for requests that are not sent yet.
    asked: HashMap<&'a str, f64>,
}

impl<'a> Network<'a> {
    /// Takes in an event. Events of another shape than Chromium's are ignored.
    pub(super) fn event(&mut self, index: usize, event: &Event<'a>) {
        let name = &*event.name;
        if !matches!(
            name,
            "ResourceWillSendRequest" | "ResourceSendRequest" | "ResourceFinish"
        ) {
            return;
        }
        let (Ok(Arguments { data }), Some(time), Ok(thread)) =
            (event.arguments(), event.ts, thread_of(event))
        else {
            return;
        };
        let id = data.request_id.get();
        let known = self.places.get(id).map(|place| &mut self.requests[*place]);
        match (name, known) {
            ("ResourceWillSendRequest", None) => {
                self.asked.entry(id).or_insert(time);
            }
            ("ResourceSendRequest", None) => {
                self.places.insert(id, self.requests.len());
                self.requests.push(Request {
                    asked: self.asked.remove(id),
                    sent: time,
                    sent_last: time,
                    url_last: data.url.clone(),
                    url: data.url,
                    index: index as u32,
                    thread,
                    category: event.cat.clone(),
                    ended: None,
                });
            }
            ("ResourceSendRequest", Some(request)) => {
                request.sent_last = time;
                request.url_last = data.url;
                request.index = index as u32;
            }
            ("ResourceFinish", Some(request)) => request.ended = Some(time),
            _ => {}
        }
    }

    /// The requests as spans, in the order of time. One whose end was not recorded ends where it
    /// was last sent.
    pub(super) fn finish(self, tables: &mut Tables) -> Vec<Span> {
        let is_drawn = |request: &Request| {
            PROTOCOLS.iter().any(|it| request.url.starts_with(it))
                && !request.url_last.starts_with("data:")
        };
        let requests = self.requests.into_iter().filter(is_drawn);
        let mut spans: Vec<Span> = requests
            .map(|request| {
                let start = request.asked.unwrap_or(request.sent);
                let end = request.ended.unwrap_or(request.sent_last);
                Span {
                    name: tables.name(&request.url_last),
                    category: tables.name(&request.category),
                    process: request.thread.0,
                    thread: request.thread.1,
                    start,
                    duration: (end - start).max(0.0),
                    index: request.index,
                }
            })
            .collect();
        spans.sort_by(|a, b| {
            let longest_first = b.duration.total_cmp(&a.duration);
            a.start.total_cmp(&b.start).then(longest_first)
        });
        spans
    }
}
