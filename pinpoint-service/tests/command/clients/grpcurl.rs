//! [grpcurl](https://github.com/fullstorydev/grpcurl), which knows the methods by reflection or
//! from the `.proto` files. It takes 80 seconds of processor time to build, so `.ci/run` tests with
//! it only where it was named.

use std::env;
use std::process::{Command, Output};

use serde_json::{Value, json};

use super::{Service, bisection, protos, ran};

const NEEDED: &str = "grpcurl: `go install github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.3`, \
                      and its path in PINPOINT_TEST_GRPCURL";

fn grpcurl(service: &Service, options: &[&str], words: &[&str]) -> Output {
    let program = env::var_os("PINPOINT_TEST_GRPCURL").unwrap_or_else(|| "grpcurl".into());
    let mut command = Command::new(program);
    command
        .args(["-max-time", "240", "-cacert"])
        .arg(service.authority());
    command.args(options).arg(&service.address).args(words);
    ran(NEEDED, &mut command)
}

#[test]
#[ignore = "needs grpcurl in PINPOINT_TEST_GRPCURL"]
fn methods_are_called() {
    let service = Service::start();
    let token = format!("authorization: Bearer {}", service.token);
    let protos = protos().display().to_string();
    let files = [
        "-import-path",
        &protos,
        "-proto",
        "pinpoint/v1/service.proto",
        "-proto",
        "pinpoint/v1/gateway.proto",
    ];
    let listed = grpcurl(&service, &["-H", &token], &["list"]);
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    for name in ["pinpoint.v1.Pinpoint", "pinpoint.v1.PinpointGateway"] {
        assert!(listed.lines().any(|line| line == name), "{listed}");
    }
    for known in [&[][..], &files] {
        let call = |message: &Value, method: &str| -> Value {
            let message = message.to_string();
            let mut options = vec!["-H", &*token, "-emit-defaults", "-d", &*message];
            options.extend(known);
            let output = grpcurl(&service, &options, &[method]);
            assert!(output.status.success(), "{method}: {output:?}");
            serde_json::from_slice(&output.stdout).unwrap()
        };
        let user = call(&json!({}), "pinpoint.v1.PinpointGateway/GetUserInfo");
        assert_eq!(user, json!({ "email": "ada@example.org" }));
        let made = call(&bisection(), "pinpoint.v1.Pinpoint/ScheduleBisection");
        let id = json!({ "job_id": made["jobId"] });
        let found = call(&id, "pinpoint.v1.Pinpoint/QueryBisection");
        assert_eq!(
            found,
            json!({ "jobId": made["jobId"], "culprits": [], "detailedCulprits": [] })
        );
        let jobs = call(&json!({}), "pinpoint.v1.PinpointGateway/QueryJobList");
        assert_eq!(jobs["jobs"][0]["jobId"], made["jobId"]);
        let ended = call(&id, "pinpoint.v1.Pinpoint/CancelJob");
        assert_eq!(ended["state"], "Canceled");
    }
    let mut options = vec!["-d", "{}"];
    options.extend(files);
    let method = ["pinpoint.v1.PinpointGateway/GetUserInfo"];
    let refused = grpcurl(&service, &options, &method);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("Unauthenticated"), "{said}");
    // All problems, each with its field.
    options.extend(["-H", &token]);
    let invalid = grpcurl(
        &service,
        &options,
        &["pinpoint.v1.Pinpoint/ScheduleBisection"],
    );
    let said = String::from_utf8_lossy(&invalid.stderr).into_owned();
    for part in ["InvalidArgument", "google.rpc.BadRequest", "end_git_hash"] {
        assert!(said.contains(part), "{said}");
    }
}
