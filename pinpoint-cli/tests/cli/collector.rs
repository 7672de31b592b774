//! A collector of traces: takes spans sent by OTLP over HTTP, as JSON.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

use crate::world::Pinpoint;

/// A span that was sent.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub(crate) name: String,
    pub(crate) trace: String,
    pub(crate) id: String,
    /// Empty without one.
    pub(crate) parent: String,
    /// Those of its process, too.
    pub(crate) attributes: BTreeMap<String, Value>,
}

impl Span {
    #[track_caller]
    pub(crate) fn text(&self, attribute: &str) -> &str {
        let value = &self.attributes[attribute];
        value.as_str().unwrap_or_else(|| panic!("{self:?}"))
    }
}

/// Listens until its process ends.
pub(crate) struct Collector {
    address: String,
    spans: Arc<Mutex<Vec<Span>>>,
}

impl Collector {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let spans = Arc::default();
        let taken = Arc::clone(&spans);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let taken = Arc::clone(&taken);
                // A client that dies amid a request is not ours.
                thread::spawn(move || while take(&stream, &taken).is_some() {});
            }
        });
        Self { address, spans }
    }

    /// The command, with its traces sent here.
    pub(crate) fn of(&self, pinpoint: Pinpoint) -> Pinpoint {
        pinpoint
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", &self.address)
            .env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        self.spans.lock().unwrap().clone()
    }
}

/// Takes a request; none at the end of the connection.
fn take(stream: &TcpStream, taken: &Mutex<Vec<Span>>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut line = || {
        let mut line = String::new();
        let read = reader.read_line(&mut line).ok()?;
        (read > 0).then(|| line.trim_end().to_owned())
    };
    let first = line()?;
    let mut length = 0;
    loop {
        let header = line()?.to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    assert!(first.starts_with("POST /v1/traces "), "{first}");
    let sent: Value = serde_json::from_slice(&body).unwrap();
    taken.lock().unwrap().extend(spans_of(&sent));
    let answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    (&*stream).write_all(answer.as_bytes()).ok()
}

fn spans_of(sent: &Value) -> Vec<Span> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let attributes = |value: &Value| {
        let attributes = list(&value["attributes"]).into_iter();
        let attributes = attributes.map(|attribute| {
            let value = attribute["value"].as_object();
            let value = value.and_then(|value| value.values().next().cloned());
            (text(&attribute["key"]), value.unwrap_or_default())
        });
        attributes.collect::<BTreeMap<_, _>>()
    };
    let mut spans = Vec::new();
    for of_process in list(&sent["resourceSpans"]) {
        for of_scope in list(&of_process["scopeSpans"]) {
            for span in list(&of_scope["spans"]) {
                let mut all = attributes(&of_process["resource"]);
                all.extend(attributes(&span));
                spans.push(Span {
                    name: text(&span["name"]),
                    trace: text(&span["traceId"]),
                    id: text(&span["spanId"]),
                    parent: text(&span["parentSpanId"]),
                    attributes: all,
                });
            }
        }
    }
    spans
}
