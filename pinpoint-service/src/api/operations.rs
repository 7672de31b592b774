//! The table of everything that a request can ask for: its RPC, its REST routes, and the
//! right that it needs. Routes are made from it, rights are checked by it, and the
//! description of the REST interface comes from it; what is not in it is refused.

use http::Method;

use crate::api::access::Access::{Anyone, With};
use crate::api::access::{Operation, Right};
use crate::api::descriptors::method_of;
#[cfg(feature = "published")]
use crate::compat::operations as published;

const GET: Method = Method::GET;
const POST: Method = Method::POST;

/// The operation that REST answers with a file.
pub(crate) const GET_REPORT: &str = "pinpoint.v2.Pinpoint/GetReport";

/// The operation whose problems are reported with those of its JSON.
pub(crate) const CREATE_JOB: &str = "pinpoint.v2.Pinpoint/CreateJob";

const OPERATIONS: &[Operation] = &[
    Operation {
        rpc: CREATE_JOB,
        access: With(Right::Create),
        routes: &[(POST, "/api/v2/jobs")],
    },
    Operation {
        rpc: "pinpoint.v2.Pinpoint/PlanJob",
        access: With(Right::Create),
        routes: &[(POST, "/api/v2/plans")],
    },
    Operation {
        rpc: "pinpoint.v2.Pinpoint/GetJob",
        access: With(Right::See),
        routes: &[(GET, "/api/v2/jobs/{job_id}")],
    },
    Operation {
        rpc: GET_REPORT,
        access: With(Right::See),
        routes: &[(GET, "/api/v2/jobs/{job_id}/report")],
    },
    Operation {
        rpc: "pinpoint.v2.Pinpoint/ListJobs",
        access: With(Right::See),
        routes: &[(GET, "/api/v2/jobs")],
    },
    Operation {
        rpc: "pinpoint.v2.Pinpoint/CountJobs",
        access: With(Right::See),
        routes: &[(GET, "/api/v2/jobs/count")],
    },
    Operation {
        rpc: "pinpoint.v2.Pinpoint/ListRuns",
        access: With(Right::See),
        routes: &[(GET, "/api/v2/jobs/{job_id}/runs")],
    },
    Operation {
        rpc: "pinpoint.v2.Pinpoint/ListBuilds",
        access: With(Right::See),
        routes: &[(GET, "/api/v2/jobs/{job_id}/builds")],
    },
    Operation {
        rpc: "pinpoint.v2.Pinpoint/WatchJob",
        access: With(Right::See),
        routes: &[(GET, "/api/v2/jobs/{job_id}/events")],
    },
    Operation {
        rpc: "pinpoint.v2.Pinpoint/CancelJob",
        access: With(Right::End),
        routes: &[(POST, "/api/v2/jobs/{job_id}/cancel")],
    },
    Operation {
        rpc: "pinpoint.v2.Pinpoint/PauseJob",
        access: With(Right::End),
        routes: &[(POST, "/api/v2/jobs/{job_id}/pause")],
    },
    Operation {
        rpc: "pinpoint.v2.Pinpoint/ResumeJob",
        access: With(Right::End),
        routes: &[(POST, "/api/v2/jobs/{job_id}/resume")],
    },
    Operation {
        rpc: "pinpoint.v2.Pinpoint/RetryJob",
        access: With(Right::Create),
        routes: &[(POST, "/api/v2/jobs/{job_id}/retry")],
    },
    Operation {
        rpc: "pinpoint.v2.Pinpoint/CloneJob",
        access: With(Right::See),
        routes: &[(GET, "/api/v2/jobs/{job_id}/arguments")],
    },
    Operation {
        rpc: "pinpoint.v2.Pinpoint/CompareJobs",
        access: With(Right::See),
        routes: &[(GET, "/api/v2/jobs/{job_id}/compare/{other_id}")],
    },
    Operation {
        rpc: "pinpoint.v2.Pinpoint/ListWorkers",
        access: With(Right::See),
        routes: &[(GET, "/api/v2/workers")],
    },
    Operation {
        rpc: "pinpoint.v2.Pinpoint/ListBots",
        access: With(Right::See),
        routes: &[(GET, "/api/v2/bots")],
    },
    Operation {
        rpc: "pinpoint.v2.Pinpoint/GetQuota",
        access: With(Right::See),
        routes: &[(GET, "/api/v2/quota")],
    },
    Operation {
        rpc: "pinpoint.v2.Pinpoint/GetAudit",
        access: With(Right::ReadAudit),
        routes: &[(GET, "/api/v2/audit")],
    },
    Operation {
        rpc: "grpc.health.v1.Health/Check",
        access: Anyone,
        routes: &[],
    },
    Operation {
        rpc: "grpc.health.v1.Health/Watch",
        access: Anyone,
        routes: &[],
    },
    Operation {
        rpc: "grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        access: With(Right::See),
        routes: &[],
    },
    Operation {
        rpc: "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        access: With(Right::See),
        routes: &[],
    },
];

/// All operations.
pub(crate) fn all() -> impl Iterator<Item = &'static Operation> {
    let all = OPERATIONS.iter();
    #[cfg(feature = "published")]
    let all = published::OPERATIONS.iter().chain(all);
    all
}

impl Operation {
    /// Returns true if an answer may last for any time.
    pub(crate) fn is_stream(&self) -> bool {
        let of_others = ["/Watch", "/ServerReflectionInfo"];
        let is_of_others = of_others.iter().any(|name| self.rpc.ends_with(name));
        is_of_others || method_of(self.rpc).is_some_and(|method| method.is_server_streaming())
    }
}

/// The operation of a REST route; a HEAD is one of the GETs.
pub(crate) fn of_route(method: &Method, path: &str) -> Option<&'static Operation> {
    let is = |verb: &Method| verb == method || *verb == GET && *method == Method::HEAD;
    all().find(|operation| {
        let mut routes = operation.routes.iter();
        routes.any(|(verb, route)| is(verb) && *route == path)
    })
}

/// The operation of a gRPC path, which begins with a slash.
pub(crate) fn of_rpc(path: &str) -> Option<&'static Operation> {
    let rpc = path.strip_prefix('/')?;
    all().find(|operation| operation.rpc == rpc)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// A new RPC without a row here could not be called; this test finds it before it is released.
    #[test]
    fn every_method_has_one_row() {
        let services = crate::api::descriptors::POOL.services();
        let methods = services.flat_map(|service| {
            let methods: Vec<_> = service.methods().collect();
            methods
                .into_iter()
                .map(move |method| format!("{}/{}", service.full_name(), method.name()))
        });
        let mut rows: Vec<_> = all()
            .map(|row| row.rpc)
            .filter(|rpc| !rpc.starts_with("grpc."))
            .collect();
        rows.sort_unstable();
        let mut methods: Vec<_> = methods.collect();
        methods.sort_unstable();
        assert_eq!(rows, methods);
    }

    #[test]
    fn paths_are_there_once_and_their_parts_are_fields() {
        let mut seen = BTreeSet::new();
        for row in all() {
            for (method, path) in row.routes {
                assert!(seen.insert((method.as_str(), *path)), "{method} {path}");
                let input = method_of(row.rpc).unwrap().input();
                let parts = path
                    .split('/')
                    .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
                for part in parts {
                    assert!(input.get_field_by_name(part).is_some(), "{path}: {part}");
                }
            }
        }
    }

    /// Following a link must not change anything.
    #[test]
    fn what_changes_something_is_a_post() {
        for row in all() {
            let changes = !matches!(row.access, Anyone | With(Right::See | Right::ReadAudit));
            for (method, path) in row.routes {
                assert_eq!(*method == POST, changes, "{path}");
            }
        }
    }
}
