//! The interface for requests: the table of operations, gRPC, REST and the description of both.

pub(crate) mod access;
pub(crate) mod descriptors;
pub(crate) mod grpc;
pub(crate) mod openapi;
pub(crate) mod operations;
pub(crate) mod query;
pub(crate) mod rest;
