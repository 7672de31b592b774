//! Compiles the messages of the API, in Rust alone: no `protoc` is needed.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=proto");
    #[cfg(feature = "api")]
    api()?;
    Ok(())
}

#[cfg(feature = "api")]
fn api() -> Result<(), Box<dyn std::error::Error>> {
    use prost::Message;

    let files = ["pinpoint/v1/service.proto", "pinpoint/v1/gateway.proto"];
    let descriptors = protox::compile(files, ["proto"])?;
    // With the comments, for crates that generate services and documentation from it: their
    // build scripts get its path.
    let path = std::path::PathBuf::from(std::env::var("OUT_DIR")?).join("pinpoint.v1.bin");
    std::fs::write(&path, descriptors.encode_to_vec())?;
    println!("cargo::metadata=descriptors={}", path.display());
    // Ours writes itself as JSON; that of `prost-types` does not.
    let timestamp = (
        ".google.protobuf.Timestamp",
        "crate::api::timestamp::Timestamp",
    );

    let mut json = pbjson_build::Builder::new();
    for file in &descriptors.file {
        json.register_file_descriptor(file.clone());
    }
    json.btree_map(["."])
        .ignore_unknown_fields()
        .ignore_unknown_enum_variants()
        .extern_path(timestamp.0, timestamp.1)
        .build(&[".pinpoint.v1"])?;

    // The service is generated where there is a transport for it.
    prost_build::Config::new()
        .btree_map(["."])
        .extern_path(timestamp.0, timestamp.1)
        .compile_fds(descriptors)?;
    Ok(())
}
