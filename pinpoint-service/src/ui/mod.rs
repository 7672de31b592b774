//! The web page: every job, a new one, and a search that narrows as one looks.
//!
//! Pages are rendered here, from the same methods that answer the API ([`Pinpoint`]), so that
//! rights, limits, the audit log and errors are the same. Each works without scripts: links, forms
//! that ask (GET) and forms that change something (POST), and `<details>`. The modules in `assets/`
//! add to that: changes come over server-sent events, as fragments that the same functions render.
//!
//! Nothing is fetched from another host, and no style or script is in a page itself: the
//! content security policy of [`frame`] allows neither.
//!
//! [`Pinpoint`]: crate::api::grpc::v2::messages::pinpoint_server::Pinpoint

mod account;
mod actions;
mod admin;
mod assets;
pub(crate) mod bots;
mod commit;
mod compare;
mod compressed;
mod dates;
mod frame;
pub(crate) mod job;
mod jobs;
mod machines;
mod new;
mod problems;
mod sessions;
mod unsent;
pub(crate) mod view;

use axum::response::Redirect;
use axum::routing::{get, post};

use crate::api::access::Right;
use crate::page::{Page, given, open, posted, seen};

pub(crate) use self::compressed::compressed;
pub(crate) use self::problems::{IsPage, as_pages, wants_page};
pub(crate) use self::sessions::{signed_out, signing_in};
pub(crate) use self::view::{FORM_USER, theme};

/// The pages and the targets of their forms.
pub(crate) const PAGES: &[Page] = &[
    seen("/", || get(jobs::page)),
    seen("/events", || get(jobs::events)),
    posted("/view", Right::See, || post(jobs::keep)),
    seen("/jobs/{id}", || get(job::page)),
    seen("/jobs/{id}/events", || get(job::live::events)),
    seen("/jobs/{id}/journal.jsonl", || get(job::files::journal)),
    seen("/jobs/{id}/files/{folder}/{name}", || {
        get(job::files::output)
    }),
    seen("/compare", || get(compare::page)),
    given("/jobs/{id}/cancel", Right::End, || get(actions::ask_reason)),
    posted("/jobs/{id}/cancel", Right::End, || post(actions::cancel)),
    posted("/jobs/{id}/pause", Right::End, || post(actions::pause)),
    posted("/jobs/{id}/resume", Right::End, || post(actions::resume)),
    posted("/jobs/{id}/retry", Right::Create, || post(actions::retry)),
    given("/new", Right::Create, || get(new::page)),
    posted("/new", Right::Create, || post(new::sent)),
    given("/new/estimate", Right::Create, || get(new::estimated)),
    given("/new/commands", Right::Create, || get(new::commanded)),
    seen("/new/commit", || get(new::commit)),
    seen("/new/patch", || get(new::patch)),
    seen("/new/builds", || get(new::builds)),
    seen("/new/bots", || get(new::bots)),
    seen("/new/benchmarks", || get(new::benchmarks)),
    seen("/new/stories", || get(new::stories)),
    // With the older page, its programs ask for the same path.
    #[cfg(not(feature = "published"))]
    seen("/bots", || get(bots::bots_page)),
    seen("/workers", || get(bots::workers)),
    seen("/commits/{hash}", || get(commit::page)),
    seen("/account", || get(account::page)),
    posted("/account/preferences", Right::See, || post(account::prefer)),
    posted("/account/tokens", Right::See, || {
        post(account::create_token)
    }),
    posted("/account/tokens/revoke", Right::See, || {
        post(account::revoke_token)
    }),
    given("/admin", Right::ReadAudit, || get(admin::page)),
    posted("/admin/verify", Right::ReadAudit, || post(admin::verify)),
    open("/assets/{name}", || get(assets::answer)),
    // Browsers ask for it before they have read the page.
    open("/favicon.ico", || {
        get(async || Redirect::permanent(assets::path("icon.svg")))
    }),
];
