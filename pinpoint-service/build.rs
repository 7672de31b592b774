//! Compiles the services of the API, in Rust alone: no `protoc` is needed.

use std::path::PathBuf;

use prost::Message;
use prost_types::FileDescriptorSet;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The messages of Chromium's API are those of `pinpoint-core`.
    let path = std::env::var("DEP_PINPOINT_API_DESCRIPTORS")?;
    println!("cargo::rerun-if-changed={path}");
    let descriptors = FileDescriptorSet::decode(&*std::fs::read(path)?)?;
    let all = PathBuf::from(std::env::var("OUT_DIR")?).join("descriptors.bin");
    std::fs::write(all, descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        .build_client(false)
        // A method that a service does not have answers so.
        .generate_default_stubs(true)
        .extern_path(
            ".google.protobuf.Timestamp",
            "::pinpoint_core::api::Timestamp",
        )
        .extern_path(".pinpoint.v1", "::pinpoint_core::api")
        .compile_fds(descriptors)?;
    Ok(())
}
