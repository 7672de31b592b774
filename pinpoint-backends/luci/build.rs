//! Compiles the messages of services, in Rust alone: no `protoc` is needed.

#[cfg(not(feature = "cas"))]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}

#[cfg(feature = "cas")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto");
    let descriptors = protox::compile(
        [
            "build/bazel/remote/execution/v2/remote_execution.proto",
            "google/bytestream/bytestream.proto",
        ],
        ["proto"],
    )?;
    tonic_prost_build::configure()
        .build_server(false)
        // Received data are not copied.
        .bytes(".")
        .include_file("remote_execution.rs")
        .compile_fds(descriptors.clone())?;
    // The server that tests read from, with its own messages.
    let tests = std::path::Path::new(&std::env::var("OUT_DIR")?).join("tests");
    std::fs::create_dir_all(&tests)?;
    tonic_prost_build::configure()
        .build_client(false)
        .bytes(".")
        .out_dir(tests)
        .include_file("remote_execution.rs")
        .compile_fds(descriptors)?;
    Ok(())
}
