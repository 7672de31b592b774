//! Python's `grpcio`, with stubs that `grpcio-tools` makes of the two `.proto` files.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Service, protos, succeeded};

const NEEDED: &str = "a Python with grpcio and grpcio-tools: in the root of the repository, \
                      `python3 -m venv target/clients` and \
                      `target/clients/bin/python3 -m pip install grpcio grpcio-tools`; \
                      or its path in PINPOINT_TEST_GRPC_PYTHON";

fn python() -> PathBuf {
    let target = || match env::var_os("CARGO_TARGET_DIR") {
        Some(directory) => PathBuf::from(directory),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"),
    };
    env::var_os("PINPOINT_TEST_GRPC_PYTHON")
        .map_or_else(|| target().join("clients/bin/python3"), PathBuf::from)
}

#[test]
#[ignore = "needs Python with grpcio and grpcio-tools; see .ci/run"]
fn stubs_of_the_protos_work() {
    let service = Service::start();
    let stubs = service.directory.path().join("stubs");
    std::fs::create_dir(&stubs).unwrap();
    let out = |kind: &str| format!("--{kind}_out={}", stubs.display());
    let mut protoc = Command::new(python());
    protoc
        .args(["-m", "grpc_tools.protoc", "-I"])
        .arg(protos())
        .args([out("python"), out("grpc_python")])
        .args(["pinpoint/v1/service.proto", "pinpoint/v1/gateway.proto"]);
    succeeded(NEEDED, &mut protoc);
    let mut client = Command::new("timeout");
    client
        .arg("600")
        .arg(python())
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command/clients/client.py"))
        .args([&service.address, &service.token])
        .arg(service.authority())
        .env("PYTHONPATH", &stubs);
    assert_eq!(succeeded(NEEDED, &mut client), "passed\n");
}
