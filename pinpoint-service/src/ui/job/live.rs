//! The page of a job as it changes: differences are drawn once for all who look at the job in the
//! same way, and go out to each of them as the same bytes.
//!
//! A page names its state by a [`Token`]. From there the stream leads it on: `changes` has the page
//! in which equal elements are left out (see [`differences`](super::differences)), and the address
//! at which a stream that is cut off continues. `look` announces a change of the buttons, which
//! differ between users: the page then asks for itself.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use futures_util::stream;
use http::Uri;
use pinpoint_backends::store::JobId;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::content::Content;
use super::feeds::{Feed, PageState, SHOWN, Token};
use super::job_cache::SharedJob;
use super::job_view_query::JobViewQuery;
use crate::api::query::Query;
use crate::api::rest::Problem;
use crate::api::rest::events::{HEARTBEAT, stream_of};
use crate::jobs::watching::{LIFETIME, ObservedMark};
use crate::phase::{Phase, ending};
use crate::state::Service;
use crate::ui::view::View;

/// The least time between two changes of a page: the eye sees no more of them, and a browser needs
/// time for other things.
const PACE: Duration = Duration::from_millis(160);

/// A page rests for as long as its drawing took, so that it takes half of a processor at most;
/// but no longer than this, however slow that is.
const MOST_REST: Duration = Duration::from_secs(1);

/// The time after which a page is drawn although no record came: for the state of workers, and
/// ages.
const REFRESH: Duration = Duration::from_secs(10);

/// The event that sends a page for itself.
const LOOK_EVENT: Bytes = Bytes::from_static(b"event: look\ndata: {}\n\n");

/// GET `/jobs/{id}/events`: the changes of the page of this address.
pub(in crate::ui) async fn events(
    State(service): State<Service>,
    Path(id): Path<String>,
    uri: Uri,
    view: View,
) -> Result<Response, Problem> {
    let asked = JobViewQuery {
        path: format!("/jobs/{id}"),
        at: None,
        ..JobViewQuery::from_uri(&uri)?
    };
    let shown = Query::from_uri(&uri)?.take(SHOWN);
    let job = service.job_without_outcome(&id).await?.1.id;
    // The place is free again when the stream is dropped.
    let place = service.limits.stream(view.user())?;
    let feed = service.caches.feeds.feed(&asked, |sender| {
        // The job is kept while the task has its place.
        let kept = service.caches.kept.place(&job);
        let (service, asked) = (service.clone(), asked.clone());
        tokio::spawn(draw(sender, service, job, asked, kept));
    });
    let follower = Follower {
        shown: feed.shown.clone(),
        at: Token::read(&shown.unwrap_or_default()),
        is_over: false,
        ends: Instant::now() + LIFETIME,
        phase: service.phase.clone(),
        _feed: feed,
    };
    let events = stream::unfold((follower, place), async |(mut follower, place)| {
        let text = follower.next().await?;
        Some((text, (follower, place)))
    });
    Ok(stream_of(events))
}

/// A client that follows a page.
struct Follower {
    shown: watch::Receiver<Option<Arc<PageState>>>,
    /// The state of the page.
    at: Token,
    is_over: bool,
    ends: Instant,
    phase: watch::Receiver<Phase>,
    _feed: Arc<Feed>,
}

impl Follower {
    /// The next event; nothing when the stream ends. A browser reconnects without help.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.is_over {
                return None;
            }
            let shown = self.shown.borrow_and_update().clone();
            if let Some(text) = shown.and_then(|shown| self.led_to(&shown)) {
                return Some(text);
            }
            tokio::select! {
                // No task draws it any more.
                changed = self.shown.changed() => changed.ok()?,
                () = tokio::time::sleep(HEARTBEAT) => return Some(Bytes::from_static(b":\n\n")),
                () = sleep_until(self.ends) => return None,
                () = ending(&mut self.phase) => return None,
            }
        }
    }

    /// The event that leads from the state of the page to the current one.
    fn led_to(&mut self, shown: &PageState) -> Option<Bytes> {
        let before = std::mem::replace(&mut self.at, shown.token.clone());
        self.is_over = shown.is_last;
        if before.state != shown.token.state || shown.is_last {
            return Some(LOOK_EVENT);
        }
        if before == shown.token {
            return None;
        }
        Some(match shown.from.as_ref() == Some(&before) {
            true => shown.changes.clone(),
            false => shown.whole(),
        })
    }
}

/// Draws a page whenever its job has changed, as long as somebody follows it.
async fn draw(
    feed: watch::Sender<Option<Arc<PageState>>>,
    service: Service,
    job: JobId,
    asked: JobViewQuery,
    _kept: SharedJob,
) {
    let mut marks = service.caches.watches.marks().of(&service.store, &job);
    let mut before: Option<Arc<PageState>> = None;
    loop {
        let began = Instant::now();
        let content = match Content::load(&service, job.as_str(), &asked).await {
            Ok(content) => content,
            Err(status) => {
                // Its followers reconnect.
                tracing::warn!(%status, job = job.as_str(), "a page can't be drawn");
                return;
            }
        };
        let is_as_before =
            |before: &Arc<PageState>| before.token == content.token && content.is_live;
        if !before.as_ref().is_some_and(is_as_before) {
            let shown = Arc::new(PageState::after(
                before.as_deref(),
                (content.token, content.html),
                content.is_live,
                &asked,
            ));
            let is_last = shown.is_last;
            feed.send_replace(Some(shown.clone()));
            if is_last {
                return;
            }
            before = Some(shown);
        }
        let took = began.elapsed();
        sleep_until(began + (took + took.min(MOST_REST)).max(PACE)).await;
        let refresh = sleep_until(Instant::now() + REFRESH);
        tokio::pin!(refresh);
        loop {
            tokio::select! {
                changed = marks.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    if *marks.borrow_and_update() != ObservedMark::Nothing {
                        break;
                    }
                }
                () = &mut refresh => break,
                () = feed.closed() => return,
            }
        }
    }
}
