//! The services of gRPC, and the gate before them: no method is reached without a row in the
//! table of operations, and the right that it names.

mod errors;
mod legacy;
mod pinpoint;

/// The traits of the services, which the build script writes from the `.proto` files.
#[allow(
    clippy::all,
    missing_docs,
    unreachable_pub,
    reason = "written by tonic-prost-build"
)]
mod services {
    include!(concat!(env!("OUT_DIR"), "/pinpoint.v1.rs"));
}

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use tonic::Status;
use tonic::service::Routes;
use tonic_health::pb::health_server::{Health, HealthServer};

use self::services::pinpoint_server::PinpointServer;
use crate::Service;
use crate::caller::Context;
use crate::descriptors::ENCODED;
use crate::limits::MOST_BODY_BYTES;
use crate::operations;

/// All methods, each after its check.
pub(crate) fn router(service: &Service, health: HealthServer<impl Health>) -> Router {
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(ENCODED)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let sound = "the build script wrote a sound set";
    let pinpoint = PinpointServer::new(service.clone()).max_decoding_message_size(MOST_BODY_BYTES);
    Routes::new(health)
        .add_service(pinpoint)
        .add_service(reflection().build_v1().expect(sound))
        .add_service(reflection().build_v1alpha().expect(sound))
        .into_axum_router()
        .layer(from_fn(gate))
}

/// Lets a call pass if the table allows it.
async fn gate(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let allowed = match operations::of_rpc(path) {
        // The same answer for everybody, so that it tells nothing.
        None => Err(Status::unimplemented(format!("there is no method {path}"))),
        Some(operation) => {
            Context::of(request.extensions()).and_then(|context| context.allow(operation.access))
        }
    };
    match allowed {
        Ok(()) => next.run(request).await,
        Err(status) => status.into_http(),
    }
}
