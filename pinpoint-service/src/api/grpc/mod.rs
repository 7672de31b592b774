//! The services of gRPC, and the gate before them: a method can be called only if it has a row in
//! the table of operations, with the right that the row names.

pub(crate) mod errors;
pub(crate) mod fields;
pub(crate) mod jobs;
pub(crate) mod v2;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use http::Method;
use http_body_util::BodyExt;
use tonic::service::Routes;
use tonic::{Code, Status};

use self::v2::messages::pinpoint_server::PinpointServer;
use crate::api::descriptors::ENCODED;
use crate::api::operations;
use crate::auth::caller::Context;
use crate::state::Service;
use crate::transport::arriving::MOST_BODY_BYTES;

/// All methods, ours and those of `others`, each after its check.
pub(crate) fn router(service: &Service, others: Routes) -> Router {
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(ENCODED)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let sound = "the build script wrote a sound set";
    let pinpoint = PinpointServer::new(service.clone()).max_decoding_message_size(MOST_BODY_BYTES);
    others
        .add_service(pinpoint)
        .add_service(reflection().build_v1().expect(sound))
        .add_service(reflection().build_v1alpha().expect(sound))
        .into_axum_router()
        .layer(from_fn_with_state(service.clone(), gate))
}

/// Lets a call pass if the table allows it. A refusal is a row of the audit log.
async fn gate(State(service): State<Service>, mut request: Request, next: Next) -> Response {
    let path = request.uri().path();
    // A page of another site can make a browser send a GET.
    if request.method() != Method::POST {
        return Status::unimplemented("methods are called with POST").into_http();
    }
    let Some(operation) = operations::of_rpc(path) else {
        // The same answer for everybody, so that it tells nothing.
        return Status::unimplemented(format!("there is no method {path}")).into_http();
    };
    let Some(context) = request.extensions_mut().get_mut::<Context>() else {
        return errors::no_context().into_http();
    };
    context.operation = operation.rpc;
    if let Err(refused) = service.admit(context, operation.access).await {
        return refused.into_http();
    }
    if !operation.is_stream() {
        return read_well(next.run(request).await);
    }
    let stream = match service.limits.stream(&context.name()) {
        Ok(stream) => stream,
        Err(refused) => return refused.into_http(),
    };
    // The place is free again when the body is dropped.
    let hold = move |frame| {
        let _ = &stream;
        frame
    };
    read_well(next.run(request).await).map(|body| Body::new(body.map_frame(hold)))
}

/// Marks an undecodable message as the client's mistake: the library blames the service.
fn read_well(response: Response) -> Response {
    let status = Status::from_header_map(response.headers());
    let unread = status.filter(|status| {
        status.code() == Code::Internal && status.message().starts_with(UNREADABLE)
    });
    match unread {
        Some(status) => Status::invalid_argument(status.message()).into_http(),
        None => response,
    }
}

/// The beginning of the library's message about an undecodable message.
const UNREADABLE: &str = "failed to decode Protobuf message";
