//! Pinpoint for a team: Chromium's Pinpoint API, and our own with live events, over gRPC,
//! gRPC-Web and REST on one port.
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

#![forbid(unsafe_code)]

mod api;
mod auth;
mod compat;
pub mod config;
mod jobs;
mod pages;
mod router;
mod state;
mod transport;
mod ui;

pub use api::operations::{ROLES, Right, rights_of};
pub use auth::caller::Caller;
pub use auth::limits::Limits;
pub use auth::sign_in::{ClientCertificate, SignIn, SignInError, form_token};
pub use auth::users::user_name;
pub use jobs::commits::Commits;
pub use jobs::gerrit::{Gerrit, GerritError};
pub use jobs::watching::Watches;
pub use router::{operations, router};
pub use state::{Caches, Phase, Service};
pub use transport::connections::{Connection, ConnectionGuard, Guarded};
pub use transport::metrics::metrics;
