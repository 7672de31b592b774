//! The published Pinpoint, Chromium's, for clients and links that exist: its API `pinpoint.v1`, and
//! the page that it had before.
//!
//! It imports the rest of the service, which knows it only as rows of tables and as services of
//! gRPC. Messages of `pinpoint.v1` are plain data that other modules use, too.

mod gateway;
mod legacy_query;
mod older_page;
pub(crate) mod operations;
mod pinpoint;

/// The traits of both services, which the build script writes from the `.proto` files.
#[allow(
    clippy::all,
    missing_docs,
    unreachable_pub,
    reason = "written by tonic-prost-build"
)]
pub(crate) mod services {
    include!(concat!(env!("OUT_DIR"), "/pinpoint.v1.rs"));
}

use axum::routing::get;
use pinpoint_core::JobState;
use tonic::service::Routes;

use self::services::pinpoint_gateway_server::PinpointGatewayServer;
use self::services::pinpoint_server::PinpointServer;
use crate::page::{Page, seen};
use crate::state::Service;
use crate::transport::arriving::MOST_BODY_BYTES;

/// The paths of the older page that programs ask for.
pub(crate) const PAGES: &[Page] = &[
    seen("/json/jobs/list", || get(older_page::list)),
    seen("/json/job/{id}", || get(older_page::job)),
    seen("/benchmarks", || get(older_page::benchmarks)),
    seen("/bots", || get(older_page::bots_or_page)),
    seen("/stories", || get(older_page::stories)),
];

/// The address of a job on the older page, to which people have links.
pub(crate) const LINKS: &[Page] = &[seen("/results/jobid/{id}", || get(older_page::elsewhere))];

/// Adds the services of `pinpoint.v1`.
pub(crate) fn add_services(routes: Routes, service: &Service) -> Routes {
    let pinpoint = PinpointServer::new(service.clone()).max_decoding_message_size(MOST_BODY_BYTES);
    let gateway =
        PinpointGatewayServer::new(service.clone()).max_decoding_message_size(MOST_BODY_BYTES);
    routes.add_service(pinpoint).add_service(gateway)
}

/// The names of states in answers.
fn state_name(state: JobState) -> &'static str {
    match state {
        JobState::Pending => "Pending",
        JobState::Running => "Running",
        JobState::Completed => "Completed",
        JobState::Failed => "Failed",
        JobState::Canceled => "Canceled",
        other => other.as_str(),
    }
}
