//! The page of a job as it changes: differences are drawn once for all who look at the job in the
//! same way, and go out to each of them as the same bytes.
//!
//! A page names its state by a [`Token`]. From there the stream leads it on: `changes` has the page
//! in which equal elements are left out (see [`differences`](super::differences)), and the address
//! at which a stream that is cut off continues. `look` announces a change of the buttons, which
//! differ between users: the page then asks for itself.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use futures_util::stream;
use http::Uri;
use maud::{Markup, html};
use pinpoint_backends::store::JobId;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::Content;
use super::asked::JobViewQuery;
use super::differences::changes;
use super::kept::SharedJob;
use crate::api::query::Query;
use crate::api::rest::Problem;
use crate::api::rest::events::{HEARTBEAT, stream_of};
use crate::jobs::watching::{LIFETIME, ObservedMark};
use crate::state::{Phase, Service};
use crate::ui::assets::path;
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

/// The field of an address with the state of the page.
const SHOWN: &str = "shown";

/// The state of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// Of the part that everybody sees.
    hash: String,
    /// The state on which the buttons depend.
    state: String,
}

impl Token {
    pub(super) fn from_html(html: &str, state: String) -> Self {
        let mut hasher = DefaultHasher::new();
        html.hash(&mut hasher);
        Self {
            hash: format!("{:016x}", hasher.finish()),
            state,
        }
    }

    fn read(text: &str) -> Self {
        let (hash, state) = text.split_once('-').unwrap_or((text, ""));
        Self {
            hash: hash.to_owned(),
            state: state.to_owned(),
        }
    }
}

impl fmt::Display for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.hash, self.state)
    }
}

/// The place of the buttons in the part that everybody sees.
pub(super) fn place_of_actions() -> Markup {
    html! { i #actions data-same {} }
}

/// The address of the events that follow a state of the page.
pub(super) fn address(asked: &JobViewQuery, token: &Token) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(asked.fields());
    query.append_pair(SHOWN, &token.to_string());
    format!("{}/events?{}", asked.path, query.finish())
}

/// The pages that are followed, each by its address.
#[derive(Debug, Clone, Default)]
pub(crate) struct Feeds {
    of: Arc<Mutex<HashMap<String, Weak<Feed>>>>,
}

/// A page that changes, for as long as a task draws it.
#[derive(Debug)]
struct Feed {
    /// Its current state; nothing until it was drawn.
    shown: watch::Receiver<Option<Arc<PageState>>>,
}

/// A state of a page.
#[derive(Debug)]
struct PageState {
    token: Token,
    /// That of the state before.
    from: Option<Token>,
    address: String,
    html: String,
    /// The event that leads here from the state before.
    changes: Bytes,
    /// The event that leads here from anywhere.
    whole: OnceLock<Bytes>,
    /// Nothing follows.
    is_last: bool,
}

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
    let feed = service.caches.feeds.feed(&service, &job, &asked);
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
            let (ends, phase) = (self.ends, &mut self.phase);
            let ending = async {
                // No sender is left where the service never ends.
                if phase.wait_for(|it| *it == Phase::Ending).await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                // No task draws it any more.
                changed = self.shown.changed() => changed.ok()?,
                () = tokio::time::sleep(HEARTBEAT) => return Some(Bytes::from_static(b":\n\n")),
                () = sleep_until(ends) => return None,
                () = ending => return None,
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

impl PageState {
    /// The state that follows another one.
    fn after(before: Option<&Self>, content: Content, asked: &JobViewQuery) -> Self {
        let (token, html) = (content.token, content.html);
        let address = address(asked, &token);
        let changes = match before {
            Some(before) => event(&address, &changes(&before.html, &html)),
            None => Bytes::new(),
        };
        Self {
            token,
            from: before.map(|before| before.token.clone()),
            address,
            html,
            changes,
            whole: OnceLock::new(),
            is_last: !content.is_live,
        }
    }

    fn whole(&self) -> Bytes {
        let whole = || event(&self.address, &self.html);
        self.whole.get_or_init(whole).clone()
    }
}

/// The event that makes a page show this.
fn event(address: &str, html: &str) -> Bytes {
    let event = json!({ "version": path("page.js"), "live": address, "html": html });
    format!("event: changes\ndata: {event}\n\n").into()
}

impl Feeds {
    /// The feed of the pages that are asked for in this way.
    fn feed(&self, service: &Service, job: &JobId, asked: &JobViewQuery) -> Arc<Feed> {
        let mut feeds = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        feeds.retain(|_, feed| feed.strong_count() > 0);
        let address = asked.address();
        let there = feeds.get(&address).and_then(Weak::upgrade);
        if let Some(feed) = there.filter(|feed| feed.shown.has_changed().is_ok()) {
            return feed;
        }
        let (sender, shown) = watch::channel(None);
        let feed = Arc::new(Feed { shown });
        feeds.insert(address, Arc::downgrade(&feed));
        // The job is kept while the task has its place.
        let kept = service.caches.kept.place(job);
        tokio::spawn(draw(
            sender,
            service.clone(),
            job.clone(),
            asked.clone(),
            kept,
        ));
        feed
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
            let shown = Arc::new(PageState::after(before.as_deref(), content, &asked));
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
