//! Compiles the messages of the store of files, in Rust alone: no `protoc` is needed.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const PROTO: &str = "../../pinpoint-backends/luci/proto";
    println!("cargo::rerun-if-changed={PROTO}");
    let messages = protox::compile(
        ["build/bazel/remote/execution/v2/remote_execution.proto"],
        [PROTO],
    )?;
    tonic_prost_build::configure()
        .build_client(false)
        .include_file("remote_execution.rs")
        .compile_fds(messages)?;
    Ok(())
}
