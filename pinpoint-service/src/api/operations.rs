//! The table of everything that a request can ask for: its RPC, its REST routes, and the
//! right that it needs. Routes are made from it, rights are checked by it, and the
//! description of the REST interface comes from it; what is not in it is refused.

use http::Method;

use crate::api::descriptors::method_of;

/// A right of callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Right {
    /// See jobs, bots, benchmarks and workers.
    See,
    /// Make jobs in one's own name.
    Create,
    /// End one's own jobs.
    End,
    /// End the jobs of others.
    EndOthers,
    /// Make jobs in the name of others.
    ActForOthers,
    /// Read the audit log.
    ReadAudit,
}

impl Right {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::See,
        Self::Create,
        Self::End,
        Self::EndOthers,
        Self::ActForOthers,
        Self::ReadAudit,
    ];

    /// The name, as tokens and configurations write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::See => "see",
            Self::Create => "create",
            Self::End => "end",
            Self::EndOthers => "end_others",
            Self::ActForOthers => "act_for_others",
            Self::ReadAudit => "read_audit",
        }
    }
}

impl Right {
    /// The right, after "may".
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::See => "view jobs",
            Self::Create => "create jobs",
            Self::End => "cancel, pause and resume jobs",
            Self::EndOthers => "cancel, pause and resume the jobs of others",
            Self::ActForOthers => "act on behalf of others",
            Self::ReadAudit => "read the audit log",
        }
    }
}

/// The roles, each with its rights. A role includes the rights of those before it.
pub const ROLES: [(&str, &[Right]); 3] = [
    ("viewer", &[Right::See]),
    ("editor", &[Right::See, Right::Create, Right::End]),
    (
        "admin",
        &[
            Right::See,
            Right::Create,
            Right::End,
            Right::EndOthers,
            Right::ActForOthers,
            Right::ReadAudit,
        ],
    ),
];

/// The rights of a role, or the right itself, by name.
pub fn rights_of(name: &str) -> Option<Vec<Right>> {
    if let Some((_, rights)) = ROLES.iter().find(|(role, _)| *role == name) {
        return Some(rights.to_vec());
    }
    let right = Right::ALL.into_iter().find(|right| right.as_str() == name);
    right.map(|right| vec![right])
}

/// The callers that may ask for an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everybody, signed in or not.
    Anyone,
    /// Callers with a right.
    With(Right),
}

impl Access {
    /// The right; nothing for public operations.
    pub(crate) fn right(self) -> Option<Right> {
        match self {
            Anyone => None,
            With(right) => Some(right),
        }
    }
}

/// An operation of the API.
#[derive(Debug)]
pub(crate) struct Operation {
    /// The RPC, as gRPC names it in a path: `package.Service/Method`.
    pub(crate) rpc: &'static str,
    pub(crate) access: Access,
    /// Methods and paths of REST, with `{field}` where a part of the path is a field.
    pub(crate) routes: &'static [(Method, &'static str)],
}

use Access::{Anyone, With};

const GET: Method = Method::GET;
const POST: Method = Method::POST;

/// The operation that REST answers with a file.
pub(crate) const GET_REPORT: &str = "pinpoint.v2.Pinpoint/GetReport";

/// The operation whose problems are reported with those of its JSON.
pub(crate) const CREATE_JOB: &str = "pinpoint.v2.Pinpoint/CreateJob";

/// Paths of Chromium's services are those that its clients use.
pub(crate) const OPERATIONS: &[Operation] = &[
    Operation {
        rpc: "pinpoint.v1.Pinpoint/ScheduleBisection",
        access: With(Right::Create),
        routes: &[
            (POST, "/pinpoint/v1/bisection"),
            (POST, "/pinpoint/v1/schedule"),
        ],
    },
    Operation {
        rpc: "pinpoint.v1.Pinpoint/ScheduleCulpritFinder",
        access: With(Right::Create),
        routes: &[
            (POST, "/pinpoint/v1/culprit_finder"),
            (POST, "/pinpoint/v1/culprit-finder"),
        ],
    },
    Operation {
        rpc: "pinpoint.v1.Pinpoint/SchedulePairwise",
        access: With(Right::Create),
        routes: &[(POST, "/pinpoint/v1/pairwise")],
    },
    Operation {
        rpc: "pinpoint.v1.Pinpoint/CancelJob",
        access: With(Right::End),
        routes: &[(POST, "/pinpoint/v1/cancel")],
    },
    Operation {
        rpc: "pinpoint.v1.Pinpoint/QueryBisection",
        access: With(Right::See),
        routes: &[(GET, "/pinpoint/v1/query")],
    },
    Operation {
        rpc: "pinpoint.v1.Pinpoint/QueryPairwise",
        access: With(Right::See),
        routes: &[(GET, "/pinpoint/v1/query-pairwise")],
    },
    Operation {
        rpc: "pinpoint.v1.Pinpoint/LegacyJobQuery",
        access: With(Right::See),
        routes: &[(GET, "/pinpoint/v1/legacy-job")],
    },
    Operation {
        rpc: "pinpoint.v1.PinpointGateway/QueryJobList",
        access: With(Right::See),
        routes: &[(GET, "/pinpoint/v1/jobs")],
    },
    Operation {
        rpc: "pinpoint.v1.PinpointGateway/GetUserInfo",
        access: With(Right::See),
        routes: &[(GET, "/pinpoint/v1/user")],
    },
    Operation {
        rpc: "pinpoint.v1.PinpointGateway/ListBotConfigurations",
        access: With(Right::See),
        routes: &[(GET, "/pinpoint/v1/bot-configurations")],
    },
    Operation {
        rpc: "pinpoint.v1.PinpointGateway/ListBenchmarks",
        access: With(Right::See),
        routes: &[(GET, "/pinpoint/v1/benchmarks")],
    },
    Operation {
        rpc: "pinpoint.v1.PinpointGateway/GetBenchmark",
        access: With(Right::See),
        routes: &[(GET, "/pinpoint/v1/benchmark-info/{benchmark}")],
    },
    Operation {
        rpc: "pinpoint.v1.PinpointGateway/ListRecentBuilds",
        access: With(Right::See),
        routes: &[(GET, "/pinpoint/v1/recent-builds/{configuration}")],
    },
    Operation {
        rpc: "pinpoint.v1.PinpointGateway/GetCommit",
        access: With(Right::See),
        routes: &[(GET, "/pinpoint/v1/commit/{commit}")],
    },
    Operation {
        rpc: "pinpoint.v1.PinpointGateway/GetPatch",
        access: With(Right::See),
        routes: &[(GET, "/pinpoint/v1/patch")],
    },
    Operation {
        rpc: "pinpoint.v1.PinpointGateway/CreateTryJob",
        access: With(Right::Create),
        routes: &[(POST, "/pinpoint/v1/new")],
    },
    Operation {
        rpc: "pinpoint.v1.PinpointGateway/CancelJob",
        access: With(Right::End),
        routes: &[(POST, "/pinpoint/v1/job/cancel")],
    },
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
    OPERATIONS.iter().find(|operation| {
        let mut routes = operation.routes.iter();
        routes.any(|(verb, route)| is(verb) && *route == path)
    })
}

/// The operation of a gRPC path, which begins with a slash.
pub(crate) fn of_rpc(path: &str) -> Option<&'static Operation> {
    let rpc = path.strip_prefix('/')?;
    OPERATIONS.iter().find(|operation| operation.rpc == rpc)
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
        let mut rows: Vec<_> = OPERATIONS
            .iter()
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
        for row in OPERATIONS {
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
        for row in OPERATIONS {
            let changes = !matches!(row.access, Anyone | With(Right::See | Right::ReadAudit));
            for (method, path) in row.routes {
                assert_eq!(*method == POST, changes, "{path}");
            }
        }
    }
}
