//! Compares our messages with those of the services' own `.proto` files, which the modules of the
//! programs in Go ship.
//!
//! Messages of pRPC are types that `serde` reads: their members are those of JSON. Messages of gRPC
//! are generated from `.proto` files of ours, which omit much: there the numbers count, too.

mod members;

use std::path::{Path, PathBuf};
use std::process::Command;

use pinpoint_backends::buildbucket::{
    Build, CancelBuildRequest, ScheduleBuildRequest, SearchBuilds,
};
use pinpoint_backends::swarming::{BotInfo, NewTaskRequest, ResultOrError, TaskResult};
use prost_reflect::{DescriptorPool, Kind, MessageDescriptor};
use protox::Compiler;
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};

use members::{Member, members_of};

/// The folder of a module that the programs in Go use.
#[allow(clippy::disallowed_methods, reason = "tests wait on their own threads")]
fn module(name: &str) -> PathBuf {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/google/go");
    let output = Command::new("go")
        .args(["list", "-m", "-f", "{{.Dir}}", name])
        .current_dir(programs)
        .output()
        .unwrap_or_else(|error| panic!("go: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    let folder = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    assert!(
        output.status.success() && !folder.is_empty(),
        "{name} is not there: build the programs in tests/google/go first {errors}"
    );
    folder.into()
}

/// Files by the names that imports have.
struct Modules {
    luci: PathBuf,
    apis: PathBuf,
}

impl FileResolver for Modules {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        // No module has it. Only services that execute something answer with it, and nothing here
        // does.
        if name == "google/longrunning/operations.proto" {
            let operation = "syntax = \"proto3\"; package google.longrunning; message Operation {}";
            return File::from_source(name, operation);
        }
        let path = match name.strip_prefix("go.chromium.org/luci/") {
            Some(rest) => self.luci.join(rest),
            None if name.starts_with("build/bazel/") => self.apis.join(name),
            None => self.luci.join("common/proto/googleapis").join(name),
        };
        match path.is_file() {
            true => File::open(name, &path),
            false => Err(protox::Error::file_not_found(name)),
        }
    }
}

fn published() -> DescriptorPool {
    let mut files = ChainFileResolver::new();
    files.add(Modules {
        luci: module("go.chromium.org/luci"),
        apis: module("github.com/bazelbuild/remote-apis"),
    });
    files.add(GoogleFileResolver::new());
    let mut compiler = Compiler::with_file_resolver(files);
    compiler.include_imports(true);
    let opened = compiler.open_files([
        "go.chromium.org/luci/buildbucket/proto/builds_service.proto",
        "go.chromium.org/luci/swarming/proto/api_v2/swarming.proto",
        "build/bazel/remote/execution/v2/remote_execution.proto",
    ]);
    opened.unwrap_or_else(|error| panic!("{error}"));
    compiler.descriptor_pool()
}

fn message(pool: &DescriptorPool, name: &str) -> MessageDescriptor {
    let found = pool.get_message_by_name(name);
    found.unwrap_or_else(|| panic!("there is no message {name}"))
}

/// Our members that a message lacks, each with its place.
fn missing(message: &MessageDescriptor, members: &[(String, Member)], place: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (name, member) in members {
        let place = format!("{place}.{name}");
        let Some(field) = message.get_field_by_json_name(name) else {
            found.push(format!(
                "{place}: {} has no such field",
                message.full_name()
            ));
            continue;
        };
        let (member, is_list) = match member {
            Member::List(inner) => (&**inner, true),
            member => (member, false),
        };
        let kind = field.kind();
        let is_named = |name| kind.as_message().is_some_and(|it| it.full_name() == name);
        let is_text = matches!(kind, Kind::String)
            || is_named("google.protobuf.Timestamp")
            || is_named("google.protobuf.FieldMask");
        let is_long = matches!(kind, Kind::Int64);
        let is_short = matches!(kind, Kind::Int32 | Kind::Uint32 | Kind::Sint32);
        let fits = match member {
            Member::Text => is_text,
            Member::Truth => matches!(kind, Kind::Bool),
            Member::Number => is_short,
            Member::LongNumber => is_long,
            Member::Map => is_named("google.protobuf.Struct"),
            Member::Message(inner) => {
                if let Some(of) = kind.as_message() {
                    found.extend(missing(of, inner, &place));
                }
                kind.as_message().is_some()
            }
            Member::Choice(variants) => {
                let kind = kind.as_enum().cloned();
                let known = |name: &String| {
                    let kind = kind.as_ref();
                    kind.is_some_and(|it| it.get_value_by_name(name).is_some())
                };
                variants.iter().all(known)
            }
            Member::List(_) => false,
        };
        if !fits || field.is_list() != is_list {
            found.push(format!("{place}: {member:?} in place of {kind:?}"));
        }
    }
    found
}

#[test]
#[ignore = "needs the modules of the programs in Go, and `go`"]
fn members_of_json_are_those_of_the_services() {
    let pool = published();
    let types = [
        ("buildbucket.v2.Build", members_of::<Build>()),
        (
            "buildbucket.v2.ScheduleBuildRequest",
            members_of::<ScheduleBuildRequest>(),
        ),
        (
            "buildbucket.v2.SearchBuildsRequest",
            members_of::<SearchBuilds>(),
        ),
        (
            "buildbucket.v2.CancelBuildRequest",
            members_of::<CancelBuildRequest>(),
        ),
        ("swarming.v2.NewTaskRequest", members_of::<NewTaskRequest>()),
        ("swarming.v2.TaskResultResponse", members_of::<TaskResult>()),
        (
            "swarming.v2.BatchGetResultResponse.ResultOrError",
            members_of::<ResultOrError>(),
        ),
        ("swarming.v2.BotInfo", members_of::<BotInfo>()),
    ];
    for (name, members) in types {
        assert!(!members.is_empty(), "{name}");
        assert_eq!(
            missing(&message(&pool, name), &members, name),
            Vec::<String>::new()
        );
    }
    // Otherwise the above would prove nothing.
    let wrong = [
        ("patience".to_owned(), Member::Text),
        ("id".to_owned(), Member::Text),
        ("tags".to_owned(), Member::Message(Vec::new())),
    ];
    let found = missing(&message(&pool, "buildbucket.v2.Build"), &wrong, "");
    assert_eq!(found.len(), 3, "{found:?}");
}

/// Fields of a different type, on purpose: a directory is kept as the bytes that its digest is of,
/// which are the same on the wire.
const AS_BYTES: &str = "build.bazel.remote.execution.v2.GetTreeResponse.directories";

#[test]
#[ignore = "needs the modules of the programs in Go, and `go`"]
fn numbers_of_fields_are_those_of_the_remote_execution_api() {
    let pool = published();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("proto");
    let mut compiler = Compiler::new([folder]).unwrap();
    let file = "build/bazel/remote/execution/v2/remote_execution.proto";
    compiler.include_imports(true).open_file(file).unwrap();
    let ours = compiler.descriptor_pool();
    let is_ours = |name: &str| name.starts_with("build.bazel.") || name.starts_with("google.rpc.");
    let mut compared = 0;
    for message_of_ours in ours.all_messages() {
        if !is_ours(message_of_ours.full_name()) {
            continue;
        }
        let theirs = message(&pool, message_of_ours.full_name());
        for field in message_of_ours.fields() {
            let name = field.full_name().to_owned();
            let other = theirs.get_field(field.number());
            let other = other.unwrap_or_else(|| panic!("{name} has another number"));
            assert_eq!(other.name(), field.name(), "{name}");
            assert_eq!(other.cardinality(), field.cardinality(), "{name}");
            if name != AS_BYTES {
                assert_eq!(
                    format!("{:?}", other.kind()),
                    format!("{:?}", field.kind()),
                    "{name}"
                );
            }
            compared += 1;
        }
    }
    for choice in ours.all_enums().filter(|it| is_ours(it.full_name())) {
        let theirs = pool.get_enum_by_name(choice.full_name()).unwrap();
        for value in choice.values() {
            let other = theirs.get_value(value.number());
            assert_eq!(
                other.unwrap().name(),
                value.name(),
                "{}",
                choice.full_name()
            );
        }
    }
    for service in ours.services() {
        let theirs = pool
            .services()
            .find(|it| it.full_name() == service.full_name());
        let theirs = theirs.unwrap_or_else(|| panic!("{}", service.full_name()));
        for method in service.methods() {
            let other = theirs
                .methods()
                .find(|it| it.name() == method.name())
                .unwrap();
            for (ours, theirs) in [
                (method.input(), other.input()),
                (method.output(), other.output()),
            ] {
                assert_eq!(ours.full_name(), theirs.full_name());
            }
            assert_eq!(method.is_server_streaming(), other.is_server_streaming());
        }
    }
    assert!(compared > 30, "{compared}");
}
