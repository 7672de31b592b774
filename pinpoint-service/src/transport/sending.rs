//! Answers on their way to clients.
//!
//! An answer takes memory until its client has taken it, and a client may take its time. So the
//! waiting bytes are counted, for each connection and for all of them. An answer of which the
//! client takes less than a chunk within the deadline is cut off, and its connection closed if that
//! takes nothing else either. Where the bytes run short, the answers that have stood still the
//! longest make room before a new one is refused.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::FutureExt;
use http::header::CONTENT_LENGTH;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;

use crate::api::rest::{is_grpc, refused};
use crate::auth::reached::answers_reached;
use crate::transport::connections::Connection;

/// The bytes that are handed to a connection at once, and so the least that a client has to take
/// within the deadline.
pub(crate) const CHUNK: usize = 16 << 10;

/// The bytes that an answer takes besides its own: its task, its headers, its place in HTTP/2.
const OVERHEAD: usize = 8 << 10;

/// The time after which an answer that stands still may make room for others.
const GRACE: Duration = Duration::from_secs(1);

/// The answers that are being sent.
#[derive(Debug, Clone)]
pub(crate) struct Outbox(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// The most bytes that wait at once.
    most: usize,
    /// The longest that a client may take for a chunk.
    deadline: Duration,
    waiting: AtomicUsize,
    numbers: AtomicU64,
    answers: Mutex<BTreeMap<u64, Weak<PendingResponse>>>,
    is_watched: AtomicBool,
}

/// An answer, until the client has all of it.
struct PendingResponse {
    number: u64,
    outbox: Arc<Shared>,
    /// Unknown if another server runs the router.
    connection: Option<Arc<Connection>>,
    /// The part that was not handed over yet; nothing once it was cut off.
    rest: Mutex<Option<Rest>>,
    transit: Mutex<Transit>,
}

struct Rest {
    body: Body,
    data: Bytes,
}

#[derive(Debug)]
struct Transit {
    /// The bytes that are counted for this answer.
    counted: usize,
    /// Chunks that the connection has, and the client has not.
    chunks: usize,
    /// The time when the client took the last one, or the connection the first.
    since: Instant,
    is_cut: bool,
}

/// The connection was closed, or the answer has lost its place.
#[derive(Debug, thiserror::Error)]
#[error("the client took too little of the answer")]
struct CutOff;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts the bytes of an answer until its client has them.
pub(crate) async fn counted(
    State(outbox): State<Outbox>,
    request: Request,
    next: Next,
) -> Response {
    let is_grpc = is_grpc(&request);
    let connection = request.extensions().get::<Arc<Connection>>().cloned();
    let response = next.run(request).await;
    if response.body().is_end_stream() {
        return response;
    }
    let (parts, mut body) = response.into_parts();
    // Most answers are complete at once.
    let first = body.frame().now_or_never();
    let data = match first {
        None => Bytes::new(),
        Some(None) => return Response::from_parts(parts, Body::empty()),
        Some(Some(Err(error))) => {
            let failing = futures_util::stream::once(async { Err::<Bytes, _>(error) });
            return Response::from_parts(parts, Body::from_stream(failing));
        }
        Some(Some(Ok(frame))) => match frame.into_data() {
            Ok(data) => data,
            // A call of gRPC that fails after its headers.
            Err(frame) => {
                let trailers = frame.into_trailers().unwrap_or_default();
                let trailers = async move { Some(Ok(trailers)) };
                let body = http_body_util::Empty::new().with_trailers(trailers);
                return Response::from_parts(parts, Body::new(body));
            }
        },
    };
    match outbox.admit(connection, Rest { body, data }) {
        Ok(body) => Response::from_parts(parts, Body::new(body)),
        Err(()) => {
            // Without a body, the client has nothing left to take.
            let (mut parts, _) = refused(is_grpc, answers_reached()).into_parts();
            parts.headers.remove(CONTENT_LENGTH);
            Response::from_parts(parts, Body::empty())
        }
    }
}

impl Outbox {
    pub(crate) fn new(most: usize, deadline: Duration) -> Self {
        Self(Arc::new(Shared {
            most,
            deadline,
            waiting: AtomicUsize::new(0),
            numbers: AtomicU64::new(0),
            answers: Mutex::default(),
            is_watched: AtomicBool::new(false),
        }))
    }

    /// The bytes that wait for clients to take them.
    pub(crate) fn waiting(&self) -> usize {
        self.0.waiting.load(Ordering::Relaxed)
    }

    /// Cuts answers off that stand still, for as long as there is an outbox.
    pub(crate) fn watch(&self) {
        if self.0.is_watched.swap(true, Ordering::Relaxed) {
            return;
        }
        let outbox = Arc::downgrade(&self.0);
        let deadline = self.0.deadline;
        let pause = (deadline / 8).clamp(Duration::from_millis(10), Duration::from_secs(1));
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                let Some(outbox) = outbox.upgrade() else {
                    return;
                };
                for (answer, _) in outbox.stalled_for(deadline) {
                    answer.cut(|connection| connection.took_nothing_for(deadline));
                }
            }
        });
    }

    /// Takes an answer, unless it is one too many.
    fn admit(&self, connection: Option<Arc<Connection>>, rest: Rest) -> Result<Outgoing, ()> {
        let shared = &self.0;
        let bytes = OVERHEAD + rest.data.len();
        let of_connection = connection.as_ref().map_or(0, |it| it.waiting());
        // A client that waits for nothing else always gets a short answer: connections are limited.
        let is_short = of_connection == 0 && rest.data.len() <= CHUNK;
        // Others have the other half.
        let is_share = of_connection == 0 || of_connection + bytes <= shared.most / 2;
        let is_admitted = is_short || is_share && shared.has_room(bytes);
        if !is_admitted {
            return Err(());
        }
        let answer = Arc::new(PendingResponse {
            number: shared.numbers.fetch_add(1, Ordering::Relaxed),
            outbox: shared.clone(),
            connection,
            rest: Mutex::new(Some(rest)),
            transit: Mutex::new(Transit {
                counted: 0,
                chunks: 0,
                since: Instant::now(),
                is_cut: false,
            }),
        });
        answer.count(bytes);
        lock(&shared.answers).insert(answer.number, Arc::downgrade(&answer));
        Ok(Outgoing(answer))
    }
}

impl Shared {
    /// Returns true if so many more bytes can wait. Answers that stand still make room.
    fn has_room(&self, bytes: usize) -> bool {
        let is_room = || self.waiting.load(Ordering::Relaxed) + bytes <= self.most;
        if is_room() {
            return true;
        }
        if bytes > self.most {
            return false;
        }
        let mut stalled = self.stalled_for(GRACE.min(self.deadline));
        stalled.sort_unstable_by_key(|(_, since)| *since);
        for (answer, _) in stalled {
            answer.cut(|_| true);
            if is_room() {
                return true;
            }
        }
        false
    }

    /// The answers of which clients have taken no chunk for this long, each with its time.
    fn stalled_for(&self, time: Duration) -> Vec<(Arc<PendingResponse>, Instant)> {
        // Dropping the last reference to an answer locks the map, to remove its number.
        let answers: Vec<_> = lock(&self.answers)
            .values()
            .filter_map(Weak::upgrade)
            .collect();
        let is_stalled = |answer: &Arc<PendingResponse>| {
            let transit = lock(&answer.transit);
            (transit.chunks > 0 && transit.since.elapsed() >= time).then_some(transit.since)
        };
        let stalled = answers.into_iter();
        stalled
            .filter_map(|answer| is_stalled(&answer).map(|since| (answer, since)))
            .collect()
    }
}

impl PendingResponse {
    fn count(&self, bytes: usize) {
        lock(&self.transit).counted += bytes;
        self.outbox.waiting.fetch_add(bytes, Ordering::Relaxed);
        if let Some(connection) = &self.connection {
            connection.count(bytes);
        }
    }

    /// Stops counting these bytes, as far as they are counted.
    fn release(&self, bytes: usize) {
        let mut transit = lock(&self.transit);
        let bytes = bytes.min(transit.counted);
        transit.counted -= bytes;
        drop(transit);
        self.outbox.waiting.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(connection) = &self.connection {
            connection.release(bytes);
        }
    }

    fn hand_over(self: &Arc<Self>, bytes: Bytes) -> Bytes {
        let mut transit = lock(&self.transit);
        if transit.chunks == 0 {
            transit.since = Instant::now();
        }
        transit.chunks += 1;
        drop(transit);
        let answer = self.clone();
        Bytes::from_owner(Chunk { bytes, answer })
    }

    /// Drops the part not handed over, and closes the connection if necessary: one of HTTP/2 may
    /// have answers that others take.
    fn cut(&self, is_to_close: impl Fn(&Connection) -> bool) {
        self.drop_rest();
        let was_cut = std::mem::replace(&mut lock(&self.transit).is_cut, true);
        let Some(connection) = &self.connection else {
            return;
        };
        if is_to_close(connection) {
            if !was_cut {
                tracing::debug!("a connection is closed whose client takes too little");
            }
            connection.close();
            self.release(usize::MAX);
        }
    }

    fn drop_rest(&self) {
        let rest = lock(&self.rest).take();
        if let Some(rest) = rest {
            self.release(rest.data.len());
        }
    }
}

impl Drop for PendingResponse {
    fn drop(&mut self) {
        self.release(usize::MAX);
        lock(&self.outbox.answers).remove(&self.number);
    }
}

impl fmt::Debug for PendingResponse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transit = lock(&self.transit);
        formatter
            .debug_tuple("PendingResponse")
            .field(&*transit)
            .finish()
    }
}

/// A part of an answer that a connection has, dropped when the kernel has it.
struct Chunk {
    bytes: Bytes,
    answer: Arc<PendingResponse>,
}

impl AsRef<[u8]> for Chunk {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        let mut transit = lock(&self.answer.transit);
        transit.chunks -= 1;
        transit.since = Instant::now();
        drop(transit);
        if let Some(connection) = &self.answer.connection {
            connection.took();
        }
        self.answer.release(self.bytes.len());
    }
}

/// The body of an answer, in chunks.
#[derive(Debug)]
struct Outgoing(Arc<PendingResponse>);

impl HttpBody for Outgoing {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let answer = &self.0;
        let cut_off = || Poll::Ready(Some(Err(axum::Error::new(CutOff))));
        loop {
            let mut rest = lock(&answer.rest);
            let Some(Rest { body, data }) = &mut *rest else {
                return cut_off();
            };
            if !data.is_empty() {
                let chunk = data.split_to(data.len().min(CHUNK));
                drop(rest);
                return Poll::Ready(Some(Ok(Frame::data(answer.hand_over(chunk)))));
            }
            let next = match Pin::new(body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(next) => next,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                other => return other,
            };
            drop(rest);
            if !answer.outbox.has_room(next.len()) {
                answer.drop_rest();
                return cut_off();
            }
            answer.count(next.len());
            match &mut *lock(&answer.rest) {
                Some(rest) => rest.data = next,
                None => return cut_off(),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        let rest = lock(&self.0.rest);
        rest.as_ref()
            .is_some_and(|rest| rest.data.is_empty() && rest.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let rest = lock(&self.0.rest);
        let Some(Rest { body, data }) = &*rest else {
            return SizeHint::default();
        };
        let (there, of_body) = (data.len() as u64, body.size_hint());
        let mut hint = SizeHint::new();
        hint.set_lower(of_body.lower() + there);
        if let Some(upper) = of_body.upper() {
            hint.set_upper(upper + there);
        }
        hint
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        self.0.drop_rest();
    }
}
