//! A document of a provider that is kept for a while: asked for again when it is old or when
//! something is missing in it, yet seldom enough that strangers can't make the service
//! harass the provider.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tonic::Status;

/// A document is used this long without a question.
const FRESH: Duration = Duration::from_secs(5 * 60);

/// Where the provider is away, a document is used this long.
const STALE: Duration = Duration::from_secs(60 * 60);

/// The least time between questions after something that a fresh document lacks.
const LACKING: Duration = Duration::from_secs(10);

/// The least time between questions to a provider that is away.
const AWAY: Duration = Duration::from_secs(2);

/// A document that is kept.
#[derive(Debug)]
pub(super) struct Kept<T> {
    state: Mutex<State<T>>,
    /// One question is under way at a time.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct State<T> {
    document: Option<Arc<T>>,
    times: Times,
}

/// When what happened.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    /// The document that is kept was fetched.
    fetched: Option<Instant>,
    /// The provider did not answer; none after it has.
    failed: Option<Instant>,
    /// Something was missing in a fresh document.
    lacked: Option<Instant>,
}

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// Use the document that is kept.
    Use,
    /// Ask for it.
    Fetch,
    /// Say that the provider is away.
    Away,
}

impl Times {
    /// What is to be done now, for something that the document `lacks` or not.
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

impl<T: Send + Sync + 'static> Kept<T> {
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

    /// The document. It is fetched where the one that is kept is old or `lacks` something;
    /// the newest that may be had lacks it, perhaps.
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
        // Another request may have asked meanwhile.
        if let Some(settled) = self.settled(&lacks) {
            return settled;
        }
        let (kept, fetch) = (self.clone(), fetch());
        // On its own: a caller who hangs up must not undo it for the others.
        let asked = tokio::spawn(async move {
            let fetched = fetch.await;
            kept.keep(fetched)
        });
        let fetched = asked.await.map_err(|_| away())?;
        match fetched {
            Ok(document) => Ok(document),
            // One that is not too old may do.
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
                // The first one answers nobody's question after something that is missing.
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
            // Another key than those that are known.
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
        let kept = Kept::<u32>::new();
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
        // What is missing is asked for once, until some time has passed.
        assert_eq!(get(true, false).await.unwrap(), 2);
        for _ in 0..100 {
            assert_eq!(get(true, false).await.unwrap(), 2);
        }
        let count = asked.load(Ordering::SeqCst);
        assert_eq!(count, 2);
        // One that does not answer is not asked again at once.
        let kept = Kept::<u32>::new();
        let asked = AtomicU32::new(0);
        for _ in 0..100 {
            asked.fetch_add(1, Ordering::SeqCst);
            let failed = kept.get(|_| false, || async { Err(away()) }).await;
            assert_eq!(failed.unwrap_err().code(), tonic::Code::Unavailable);
        }
    }
}
