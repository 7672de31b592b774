//! Pinpoint for a team: an API with live events, and Chromium's Pinpoint API, over gRPC, gRPC-Web
//! and REST on one port.
//!
//! [`router`] gives an [`axum::Router`] that a Rust service can mount; the command
//! `pinpoint-service` serves it. Jobs are kept in a
//! [`JobStore`](pinpoint_backends::store::JobStore), and carried out by the
//! workers of their bots: this crate makes, shows and ends them. It keeps nothing in memory
//! that another process of the same store would need.
//!
//! Each request passes the same way: the layer of [`router`] finds out who calls, REST
//! becomes a call of gRPC (`rest`), the gate of `grpc` looks the operation up in the table of
//! `operations`, and a method does the work.
//!
//! # Features
//!
//! `published`, on by default: the published Pinpoint. It has the services `pinpoint.v1.Pinpoint`
//! (with the legacy query) and `pinpoint.v1.PinpointGateway`, their routes under `/pinpoint/v1/`,
//! and the older page, that is `/json/jobs/list`, `/json/job/{id}`, `/benchmarks`, `/stories`,
//! `/bots` for programs and the redirect from `/results/jobid/{id}`. Without it, they lead nowhere;
//! the API `pinpoint.v2` and the pages are the same.

#![forbid(unsafe_code)]

mod api;
mod auth;
#[cfg(feature = "published")]
mod compat;
pub mod config;
mod jobs;
mod page;
mod pages;
mod phase;
mod router;
mod state;
mod transport;
mod ui;

pub use api::access::{ROLES, Right, rights_of};
pub use auth::caller::Caller;
pub use auth::limits::Limits;
pub use auth::sign_in::{ClientCertificate, SignIn, SignInError, form_token};
pub use auth::users::user_name;
pub use jobs::commits::Commits;
pub use jobs::gerrit::{Gerrit, GerritError};
pub use jobs::watching::Watches;
pub use phase::Phase;
pub use router::{operations, router};
pub use state::{Caches, Service};
pub use transport::connections::Connection;
pub use transport::guard::{ConnectionGuard, Guarded};
pub use transport::metrics::metrics;
