//! The connections of clients: so many at once, each with bounds on what it holds and on how long
//! it may stand still.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::task::AtomicWaker;

/// The connections that are open.
#[derive(Debug)]
pub(crate) struct Connections {
    most: Option<usize>,
    deadline: Duration,
    open: Mutex<Open>,
    is_watched: AtomicBool,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    by_number: BTreeMap<u64, Weak<Connection>>,
}

/// A connection of a client, as requests that came over it know it.
#[derive(Debug)]
pub struct Connection {
    number: u64,
    all: Weak<Connections>,
    /// The bytes of its answers that wait.
    waiting: AtomicUsize,
    times: Mutex<Times>,
    is_closed: AtomicBool,
    task: AtomicWaker,
}

#[derive(Debug)]
struct Times {
    /// When the client took a part of an answer.
    took: Instant,
    /// When a byte came or went.
    moved: Instant,
    /// The time since which the client has taken no byte although there are some.
    blocked: Option<Instant>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Connections {
    pub(crate) fn new(most: Option<usize>, deadline: Duration) -> Arc<Self> {
        Arc::new(Self {
            most,
            deadline,
            open: Mutex::default(),
            is_watched: AtomicBool::new(false),
        })
    }

    pub(crate) fn open(&self) -> usize {
        lock(&self.open).by_number.len()
    }

    /// Adds a connection. Where there are too many, the one that was silent the longest is closed.
    pub(super) fn add(self: &Arc<Self>) -> Arc<Connection> {
        self.watch();
        if self.most.is_some_and(|most| self.open() >= most)
            && let Some(silent) = self.all().iter().min_by_key(|it| lock(&it.times).moved)
        {
            silent.close();
        }
        let mut open = lock(&self.open);
        let (number, now) = (open.next, Instant::now());
        open.next += 1;
        let connection = Arc::new(Connection {
            number,
            all: Arc::downgrade(self),
            waiting: AtomicUsize::new(0),
            times: Mutex::new(Times {
                took: now,
                moved: now,
                blocked: None,
            }),
            is_closed: AtomicBool::new(false),
            task: AtomicWaker::new(),
        });
        open.by_number.insert(number, Arc::downgrade(&connection));
        connection
    }

    fn all(&self) -> Vec<Arc<Connection>> {
        let open = lock(&self.open);
        open.by_number.values().filter_map(Weak::upgrade).collect()
    }

    /// Closes connections whose clients read nothing: no answer waits there, only headers and
    /// frames of HTTP/2.
    fn watch(self: &Arc<Self>) {
        if self.is_watched.swap(true, Ordering::Relaxed) {
            return;
        }
        let (connections, deadline) = (Arc::downgrade(self), self.deadline);
        let pause = (deadline / 8).clamp(Duration::from_millis(10), Duration::from_secs(1));
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                let Some(connections) = connections.upgrade() else {
                    return;
                };
                for connection in connections.all() {
                    let blocked = lock(&connection.times).blocked;
                    if blocked.is_some_and(|since| since.elapsed() >= deadline) {
                        connection.close();
                    }
                }
            }
        });
    }
}

impl Connection {
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    pub(crate) fn count(&self, bytes: usize) {
        self.waiting.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn release(&self, bytes: usize) {
        self.waiting.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Notes that the client has taken a part of an answer.
    pub(crate) fn took(&self) {
        lock(&self.times).took = Instant::now();
    }

    pub(crate) fn took_nothing_for(&self, time: Duration) -> bool {
        lock(&self.times).took.elapsed() >= time
    }

    /// Ends it at once, with all that waits there.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.task.wake();
    }

    pub(super) fn check(&self, context: &Context<'_>) -> io::Result<()> {
        self.task.register(context.waker());
        match self.is_closed.load(Ordering::Acquire) {
            true => Err(io::ErrorKind::ConnectionAborted.into()),
            false => Ok(()),
        }
    }

    /// Notes the outcome of an attempt to read or to write.
    pub(super) fn note<T>(&self, done: &Poll<io::Result<T>>, is_write: bool) {
        let mut times = lock(&self.times);
        match done {
            Poll::Ready(_) => {
                times.moved = Instant::now();
                if is_write {
                    times.blocked = None;
                }
            }
            Poll::Pending if is_write => {
                times.blocked.get_or_insert_with(Instant::now);
            }
            Poll::Pending => {}
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(all) = self.all.upgrade() {
            lock(&all.open).by_number.remove(&self.number);
        }
    }
}
