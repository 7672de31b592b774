//! A cache of a provider's document: fetched again when it is old or when something is missing in
//! it, yet seldom enough that strangers can't make the service harass the provider.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tonic::Status;

/// The age up to which a document is used without asking.
const FRESH: Duration = Duration::from_secs(5 * 60);

/// The age up to which a document is used while the provider is away.
const STALE: Duration = Duration::from_secs(60 * 60);

/// The least time between questions for a missing part of a fresh document.
const LACKING: Duration = Duration::from_secs(10);

/// The least time between questions to a provider that is away.
const AWAY: Duration = Duration::from_secs(2);

/// A cached document.
#[derive(Debug)]
pub(super) struct CachedDocument<T> {
    state: Mutex<State<T>>,
    /// Held by the one question under way.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct State<T> {
    document: Option<Arc<T>>,
    times: Times,
}

/// The times of events.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    /// The cached document was fetched.
    fetched: Option<Instant>,
    /// The provider did not answer; none once it has.
    failed: Option<Instant>,
    /// Something was missing in a fresh document.
    lacked: Option<Instant>,
}

/// The next step.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// Use the cached document.
    Use,
    /// Ask for it.
    Fetch,
    /// Say that the provider is away.
    Away,
}

impl Times {
    /// The next step, for a document that `lacks` something or not.
    fn next(&self, now: Instant, lacks: bool) -> Next {
        let within = |time: Option<Instant>, length: Duration| {
            time.is_some_and(|time| now.saturating_duration_since(time) < length)
        };
        let is_fresh = within(self.fetched, FRESH);
        if is_fresh && !lacks {
            Next::Use
        } else if within(self.failed, AWAY) {
            match !lacks && within(self.fetched, STALE) {
                true => Next::Use,
                false => Next::Away,
            }
        } else if is_fresh && self.failed.is_none() && within(self.lacked, LACKING) {
            Next::Use
        } else {
            Next::Fetch
        }
    }
}

impl<T: Send + Sync + 'static> CachedDocument<T> {
    pub(super) fn new() -> Arc<Self> {
        let times = Times::default();
        Arc::new(Self {
            state: Mutex::new(State {
                document: None,
                times,
            }),
            turn: tokio::sync::Mutex::new(()),
        })
    }

    /// Returns the document. It is fetched if the cached one is old or `lacks` something; even the
    /// newest may lack it.
    pub(super) async fn get<F>(
        self: &Arc<Self>,
        lacks: impl Fn(&T) -> bool + Send + Sync,
        fetch: impl FnOnce() -> F,
    ) -> Result<Arc<T>, Status>
    where
        F: Future<Output = Result<T, Status>> + Send + 'static,
    {
        if let Some(settled) = self.settled(&lacks) {
            return settled;
        }
        let _turn = self.turn.lock().await;
        // Another request may have asked in the meantime.
        if let Some(settled) = self.settled(&lacks) {
            return settled;
        }
        let (kept, fetch) = (self.clone(), fetch());
        // Spawned: a caller who hangs up must not undo it for the others.
        let asked = tokio::spawn(async move {
            let fetched = fetch.await;
            kept.keep(fetched)
        });
        let fetched = asked.await.map_err(|_| away())?;
        match fetched {
            Ok(document) => Ok(document),
            // A document that is not too old may do.
            Err(error) => self.settled(&lacks).unwrap_or(Err(error)),
        }
    }

    fn settled(&self, lacks: &impl Fn(&T) -> bool) -> Option<Result<Arc<T>, Status>> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let document = state.document.as_ref();
        let lacking = document.is_none_or(|document| lacks(document));
        match (state.times.next(Instant::now(), lacking), document) {
            (Next::Use, Some(document)) => Some(Ok(document.clone())),
            (Next::Away, _) => Some(Err(away())),
            _ => None,
        }
    }

    fn keep(&self, fetched: Result<T, Status>) -> Result<Arc<T>, Status> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        match fetched {
            Ok(document) => {
                let document = Arc::new(document);
                let times = &mut state.times;
                // The first fetch was not for a missing part.
                let was_fresh =
                    (times.fetched).is_some_and(|time| now.saturating_duration_since(time) < FRESH);
                if was_fresh {
                    times.lacked = Some(now);
                }
                times.fetched = Some(now);
                times.failed = None;
                state.document = Some(document.clone());
                Ok(document)
            }
            Err(error) => {
                state.times.failed = Some(now);
                Err(error)
            }
        }
    }
}

/// The answer while a provider does not answer.
pub(super) fn away() -> Status {
    Status::unavailable("the identity provider can't be reached at the moment; try again")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn a_provider_is_asked_seldom() {
        let start = Instant::now() + STALE;
        let now = start + Duration::from_secs(1000);
        let ago = |seconds: u64| Some(now - Duration::from_secs(seconds));
        let times = |fetched, failed, lacked| Times {
            fetched,
            failed,
            lacked,
        };
        for (times, lacks, expected) in [
            (times(None, None, None), true, Next::Fetch),
            (times(None, ago(1), None), true, Next::Away),
            (times(None, ago(2), None), true, Next::Fetch),
            (times(ago(299), None, None), false, Next::Use),
            (times(ago(300), None, None), false, Next::Fetch),
            // Another key than the known ones.
            (times(ago(1), None, None), true, Next::Fetch),
            (times(ago(1), None, ago(9)), true, Next::Use),
            (times(ago(1), None, ago(10)), true, Next::Fetch),
            // The provider is away.
            (times(ago(400), ago(1), None), false, Next::Use),
            (times(ago(400), ago(3), None), false, Next::Fetch),
            (times(ago(3600), ago(1), None), false, Next::Away),
            (times(ago(100), ago(1), None), false, Next::Use),
            (times(ago(100), ago(1), ago(5)), true, Next::Away),
            (times(ago(100), ago(3), ago(5)), true, Next::Fetch),
        ] {
            assert_eq!(times.next(now, lacks), expected, "{times:?} {lacks}");
        }
    }

    #[tokio::test]
    async fn one_question_answers_all() {
        let kept = CachedDocument::<u32>::new();
        let asked = Arc::new(AtomicU32::new(0));
        let get = async |lacks: bool, fails: bool| {
            let asked = asked.clone();
            let fetch = || async move {
                let count = asked.fetch_add(1, Ordering::SeqCst) + 1;
                tokio::task::yield_now().await;
                if fails { Err(away()) } else { Ok(count) }
            };
            kept.get(move |_| lacks, fetch).await.map(|count| *count)
        };
        let together = tokio::join!(get(false, false), get(false, false), get(false, false));
        assert_eq!(
            [together.0, together.1, together.2].map(Result::unwrap),
            [1; 3]
        );
        // A missing part is asked for once, until some time has passed.
        assert_eq!(get(true, false).await.unwrap(), 2);
        for _ in 0..100 {
            assert_eq!(get(true, false).await.unwrap(), 2);
        }
        let count = asked.load(Ordering::SeqCst);
        assert_eq!(count, 2);
        // A silent provider is not asked again at once.
        let kept = CachedDocument::<u32>::new();
        let asked = AtomicU32::new(0);
        for _ in 0..100 {
            asked.fetch_add(1, Ordering::SeqCst);
            let failed = kept.get(|_| false, || async { Err(away()) }).await;
            assert_eq!(failed.unwrap_err().code(), tonic::Code::Unavailable);
        }
    }
}
