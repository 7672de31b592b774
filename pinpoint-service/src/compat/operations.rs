//! The operations of `pinpoint.v1`. Their paths are those that its clients use.

use http::Method;

use crate::api::access::Access::With;
use crate::api::access::{Operation, Right};

const GET: Method = Method::GET;
const POST: Method = Method::POST;

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
];
