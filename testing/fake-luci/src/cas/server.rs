//! The store of files as a server: small files, many in one request. Nothing here is so large
//! that it needs a stream, and trees are read directory by directory.

use std::pin::Pin;

use axum::Router;
use futures_util::Stream;
use tonic::service::Routes;
use tonic::{Code, Request, Response, Status};

use self::messages::batch_read_blobs_response::Response as Blob;
use self::messages::capabilities_server::{Capabilities, CapabilitiesServer};
use self::messages::content_addressable_storage_server::{
    ContentAddressableStorage, ContentAddressableStorageServer,
};
use self::messages::google::rpc;
use self::messages::{
    BatchReadBlobsRequest, BatchReadBlobsResponse, CacheCapabilities, GetCapabilitiesRequest,
    GetTreeRequest, GetTreeResponse, ServerCapabilities, digest_function,
};
use super::INSTANCE;
use crate::services::FakeLuci;

mod messages {
    //! The messages and the server, generated from the `.proto` files of the client.

    #![allow(
        clippy::all,
        dead_code,
        missing_docs,
        unreachable_pub,
        reason = "generated"
    )]

    include!(concat!(env!("OUT_DIR"), "/remote_execution.rs"));

    pub(super) use build::bazel::remote::execution::v2::*;
}

/// The methods, for the address that the other services have.
pub(crate) fn routes(luci: &FakeLuci) -> Router {
    Routes::new(CapabilitiesServer::new(luci.clone()))
        .add_service(ContentAddressableStorageServer::new(luci.clone()))
        .into_axum_router()
}

fn check_instance(name: &str) -> Result<(), Status> {
    match name == INSTANCE {
        true => Ok(()),
        false => Err(Status::invalid_argument(format!("no instance {name:?}"))),
    }
}

#[tonic::async_trait]
impl Capabilities for FakeLuci {
    async fn get_capabilities(
        &self,
        request: Request<GetCapabilitiesRequest>,
    ) -> Result<Response<ServerCapabilities>, Status> {
        check_instance(&request.get_ref().instance_name)?;
        Ok(Response::new(ServerCapabilities {
            cache_capabilities: Some(CacheCapabilities {
                digest_functions: vec![digest_function::Value::Sha256 as i32],
                ..CacheCapabilities::default()
            }),
        }))
    }
}

#[tonic::async_trait]
impl ContentAddressableStorage for FakeLuci {
    async fn batch_read_blobs(
        &self,
        request: Request<BatchReadBlobsRequest>,
    ) -> Result<Response<BatchReadBlobsResponse>, Status> {
        let BatchReadBlobsRequest {
            instance_name,
            digests,
            ..
        } = request.into_inner();
        check_instance(&instance_name)?;
        let state = self.state();
        let responses = digests.into_iter().map(|digest| {
            let name = format!("{}/{}", digest.hash, digest.size_bytes);
            let blob = state.blobs.get(&name);
            let code = blob.map_or(Code::NotFound, |_| Code::Ok);
            Blob {
                digest: Some(digest),
                data: blob.cloned().unwrap_or_default(),
                status: Some(rpc::Status {
                    code: code.into(),
                    ..rpc::Status::default()
                }),
                ..Blob::default()
            }
        });
        Ok(Response::new(BatchReadBlobsResponse {
            responses: responses.collect(),
        }))
    }

    type GetTreeStream = Pin<Box<dyn Stream<Item = Result<GetTreeResponse, Status>> + Send>>;

    async fn get_tree(
        &self,
        _: Request<GetTreeRequest>,
    ) -> Result<Response<Self::GetTreeStream>, Status> {
        Err(Status::unimplemented("directories are read one by one"))
    }
}
