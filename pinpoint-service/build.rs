//! Compiles the services of the API, in Rust alone: no `protoc` is needed.

use std::path::PathBuf;

use prost::Message;
use prost_types::FileDescriptorSet;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto");
    let mut descriptors = FileDescriptorSet::default();
    if std::env::var_os("CARGO_FEATURE_PUBLISHED").is_some() {
        // The messages of Chromium's API are those of `pinpoint-core`.
        let path = std::env::var("DEP_PINPOINT_API_DESCRIPTORS")?;
        println!("cargo::rerun-if-changed={path}");
        descriptors = FileDescriptorSet::decode(&*std::fs::read(path)?)?;
    }
    for file in protox::compile(["pinpoint/v2/pinpoint.proto"], ["proto"])?.file {
        // Both import the same files of Google's.
        if !descriptors.file.iter().any(|it| it.name == file.name) {
            descriptors.file.push(file);
        }
    }
    let all = PathBuf::from(std::env::var("OUT_DIR")?).join("descriptors.bin");
    std::fs::write(all, descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        .build_client(false)
        // A method that a service does not implement says so.
        .generate_default_stubs(true)
        .btree_map(".")
        .extern_path(
            ".google.protobuf.Timestamp",
            "::pinpoint_core::api::Timestamp",
        )
        .extern_path(".pinpoint.v1", "::pinpoint_core::api")
        .compile_fds(descriptors)?;
    Ok(())
}
