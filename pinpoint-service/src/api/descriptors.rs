//! The `.proto` files, as this program knows them while it runs: for reflection, and for the
//! translation between JSON and messages.

use std::sync::LazyLock;

use prost_reflect::{DescriptorPool, MethodDescriptor};

/// All files, as a `FileDescriptorSet`.
pub(crate) const ENCODED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

pub(crate) static POOL: LazyLock<DescriptorPool> =
    LazyLock::new(|| DescriptorPool::decode(ENCODED).expect("the build script wrote a sound set"));

/// The method of `package.Service/Method`.
pub(crate) fn method_of(rpc: &str) -> Option<MethodDescriptor> {
    let (service, method) = rpc.split_once('/')?;
    let service = POOL.get_service_by_name(service)?;
    service.methods().find(|found| found.name() == method)
}
