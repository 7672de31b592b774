//! The pages of jobs that are followed: the states of each, and the events that lead from one to
//! the next.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use axum::body::Bytes;
use maud::{Markup, html};
use serde_json::json;
use tokio::sync::watch;

use super::differences::changes;
use super::job_view_query::JobViewQuery;
use crate::ui::assets::path;

/// The field of an address with the state of the page.
pub(super) const SHOWN: &str = "shown";

/// The state of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// Of the part that everybody sees.
    hash: String,
    /// The state on which the buttons depend.
    pub(super) state: String,
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

    pub(super) fn read(text: &str) -> Self {
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
pub(super) struct Feed {
    /// Its current state; nothing until it was drawn.
    pub(super) shown: watch::Receiver<Option<Arc<PageState>>>,
}

/// A state of a page.
#[derive(Debug)]
pub(super) struct PageState {
    pub(super) token: Token,
    /// That of the state before.
    pub(super) from: Option<Token>,
    address: String,
    html: String,
    /// The event that leads here from the state before.
    pub(super) changes: Bytes,
    /// The event that leads here from anywhere.
    whole: OnceLock<Bytes>,
    /// Nothing follows.
    pub(super) is_last: bool,
}

impl PageState {
    /// The state that follows another one.
    pub(super) fn after(
        before: Option<&Self>,
        (token, html): (Token, String),
        is_live: bool,
        asked: &JobViewQuery,
    ) -> Self {
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
            is_last: !is_live,
        }
    }

    pub(super) fn whole(&self) -> Bytes {
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
    /// The feed of the pages that are asked for in this way. Where nobody follows them yet, `begin`
    /// starts a task that draws them.
    pub(super) fn feed(
        &self,
        asked: &JobViewQuery,
        begin: impl FnOnce(watch::Sender<Option<Arc<PageState>>>),
    ) -> Arc<Feed> {
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
        begin(sender);
        feed
    }
}
