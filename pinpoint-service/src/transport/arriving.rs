//! Requests on their way from clients.
//!
//! The bytes of a request take memory from when they arrive until its answer begins, and a client
//! may take its time for the rest of them. So they are counted, for all connections together.
//! Where they run short, the requests that began to arrive first make room: most arrive within
//! moments. One that finds none is refused.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::task::AtomicWaker;
use http_body::{Frame, SizeHint};
use http_body_util::LengthLimitError;
use tonic::Status;

use crate::api::rest::Problem;
use crate::auth::reached::requests_reached;

/// The most bytes that a request may have.
pub(crate) const MOST_BODY_BYTES: usize = 1 << 20;

/// The time within which a request arrives that makes no room for others.
const GRACE: Duration = Duration::from_secs(1);

/// The requests that have bytes here.
#[derive(Debug, Clone)]
pub(crate) struct Inbox(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// The most bytes that are held at once.
    most: usize,
    held: AtomicUsize,
    numbers: AtomicU64,
    /// By number, and so in the order in which they began.
    requests: Mutex<BTreeMap<u64, Weak<Arriving>>>,
}

/// A request, until its answer begins.
#[derive(Debug)]
struct Arriving {
    number: u64,
    inbox: Arc<Shared>,
    began: Instant,
    held: AtomicUsize,
    /// All of it is here.
    is_whole: AtomicBool,
    is_cut: AtomicBool,
    reader: AtomicWaker,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts the bytes of a request until its answer begins.
pub(crate) async fn counted(State(inbox): State<Inbox>, request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let arriving = inbox.begin();
    let request = request.map(|body| {
        Body::new(Incoming {
            body,
            request: arriving.clone(),
        })
    });
    let response = next.run(request).await;
    drop(arriving);
    response
}

/// The whole body of a request.
pub(crate) async fn whole(body: Body) -> Result<Bytes, Problem> {
    to_bytes(body, MOST_BODY_BYTES).await.map_err(|error| {
        let mut cause: Option<&dyn std::error::Error> = Some(&error);
        while let Some(error) = cause {
            if error.is::<LengthLimitError>() {
                return Problem::too_large();
            }
            if let Some(status) = error.downcast_ref::<Status>() {
                return status.clone().into();
            }
            cause = error.source();
        }
        Status::invalid_argument("the body of the request did not arrive as a whole").into()
    })
}

impl Inbox {
    pub(crate) fn new(most: usize) -> Self {
        Self(Arc::new(Shared {
            most,
            held: AtomicUsize::new(0),
            numbers: AtomicU64::new(0),
            requests: Mutex::default(),
        }))
    }

    /// The bytes of requests that wait for the rest of them, or for an answer.
    pub(crate) fn held(&self) -> usize {
        self.0.held.load(Ordering::Relaxed)
    }

    fn begin(&self) -> Arc<Arriving> {
        let shared = &self.0;
        let arriving = Arc::new(Arriving {
            number: shared.numbers.fetch_add(1, Ordering::Relaxed),
            inbox: shared.clone(),
            began: Instant::now(),
            held: AtomicUsize::new(0),
            is_whole: AtomicBool::new(false),
            is_cut: AtomicBool::new(false),
            reader: AtomicWaker::new(),
        });
        lock(&shared.requests).insert(arriving.number, Arc::downgrade(&arriving));
        arriving
    }
}

impl Shared {
    /// Returns true if so many more bytes can be held for this request. Earlier ones make room.
    fn has_room(&self, bytes: usize, number: u64) -> bool {
        let is_room = || self.held.load(Ordering::Relaxed) + bytes <= self.most;
        if is_room() {
            return true;
        }
        // Dropping the last reference to a request locks the map, to remove its number.
        let before: Vec<_> = lock(&self.requests)
            .range(..number)
            .filter_map(|(_, request)| request.upgrade())
            .collect();
        for request in before {
            if request.began.elapsed() < GRACE {
                break;
            }
            if !request.is_whole.load(Ordering::Relaxed) {
                request.cut();
            }
            if is_room() {
                return true;
            }
        }
        false
    }
}

impl Arriving {
    fn count(&self, bytes: usize) {
        self.held.fetch_add(bytes, Ordering::Relaxed);
        self.inbox.held.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Makes its reader drop the bytes held.
    fn cut(&self) {
        self.is_cut.store(true, Ordering::Release);
        self.release();
        self.reader.wake();
    }

    fn release(&self) {
        let bytes = self.held.swap(0, Ordering::Relaxed);
        self.inbox.held.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        self.release();
        lock(&self.inbox.requests).remove(&self.number);
    }
}

/// The body of a request, as it arrives.
#[derive(Debug)]
struct Incoming {
    body: Body,
    request: Arc<Arriving>,
}

impl HttpBody for Incoming {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let refused = || Poll::Ready(Some(Err(axum::Error::new(requests_reached()))));
        self.request.reader.register(context.waker());
        if self.request.is_cut.load(Ordering::Acquire) {
            return refused();
        }
        let polled = Pin::new(&mut self.body).poll_frame(context);
        let request = &self.request;
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                let bytes = frame.data_ref().map_or(0, Bytes::len);
                if !request.inbox.has_room(bytes, request.number) {
                    request.cut();
                    return refused();
                }
                request.count(bytes);
            }
            Poll::Ready(None) => request.is_whole.store(true, Ordering::Relaxed),
            _ => {}
        }
        if self.body.is_end_stream() {
            self.request.is_whole.store(true, Ordering::Relaxed);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
