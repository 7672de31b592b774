//! LUCI, Chromium's infrastructure, as an executor: histories at Gitiles, builds by Buildbucket, runs by
//! Swarming, results in CAS.
//!
//! ```no_run
//! # fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::path::Path;
//!
//! use pinpoint_luci::google::TokenSource;
//! use pinpoint_luci::luci::{Benchmark, LuciConfig, LuciExecutor};
//! use pinpoint_core::bots::{Bots, Workers};
//!
//! let (bot, benchmark) = ("linux-perf", "speedometer3.crossbench");
//! let bots = Bots::builtin();
//! let Workers::Swarming(machines) = bots.get(bot)?.workers else {
//!     return Err("no bot of Swarming".into());
//! };
//! let benchmark = Benchmark {
//!     name: benchmark.into(),
//!     target: bots.target(bot, benchmark)?.into(),
//!     story: None,
//!     story_tags: None,
//!     arguments: Vec::new(),
//! };
//! let config = LuciConfig::new(machines.clone(), benchmark, 7);
//! let source: TokenSource = "command:luci-auth token -scopes {scopes}".parse()?;
//! let executor = LuciExecutor::open(config, &source, Path::new("/var/cache/pinpoint/gitiles"))?;
//! # Ok(())
//! # }
//! ```
//!
//! # Modules
//!
//! | file | holds |
//! | --- | --- |
//! | `config.rs` | the configuration of jobs |
//! | `services.rs` | the addresses and clients of the services |
//! | `given.rs` | builds that a job is given |
//! | `handle.rs` | the contents of a ticket |
//! | `once.rs` | requests for work that must not be begun twice |
//! | `sources.rs` | ranges, and names of commits |
//! | `builds.rs` | builds: found, requested, waited for |
//! | `runs.rs` | single runs |
//! | `pairs.rs` | pairs of runs on one bot |
//! | `recent.rs` | the newest commit that is built |
//! | `metric.rs` | a run that shows the metric |
//! | `bots.rs` | the choice of the next bot |
//! | `poll.rs` | one query of all tasks under way |
//! | `profiles.rs` | profiles from tasks |
//! | `outputs.rs` | the outputs of tasks |
//! | `executor.rs` | the executor |
//! | `result_source.rs` | names for the result of a job |
//! | `dry_run.rs` | the requests of an action, without sending them |
//! | `reports/` | reports on the result |
//! | `export.rs`, `table.rs` | runs of one commit, and their values in a table |
//! | `culprit_callback.rs` | culprits for Perf's culprit service |
//! | `write_back.rs` | the job in Catapult's database |
//!
//! # Once only
//!
//! A process may end after it has requested a build or a task and before that is on record. So each
//! carries the tag `pinpoint_key` with the job and the action, and is looked for before it is
//! requested, the first time and whenever an answer was lost. Requests that are sent again have the
//! id of the first one.
//!
//! # Meaning of an end
//!
//! | end | meaning |
//! | --- | --- |
//! | build: `FAILURE` | the commit does not build, and is skipped |
//! | build: `SUCCESS` without the target | the commit cannot be run, and is skipped |
//! | build: `INFRA_FAILURE`, `CANCELED` by others, more than 4 h | trouble: tried again |
//! | task: `COMPLETED` with values | a run |
//! | task: `COMPLETED` with a failure or without values, `TIMED_OUT` | a failed run |
//! | task: `NO_RESOURCE` | requested again without a bot's id, a pair on another bot; 3 tasks in a try |
//! | task: `BOT_DIED`, `EXPIRED`, `CANCELED` and `KILLED` by others | trouble: tried again |
//! | task: `CLIENT_ERROR` | the build is gone: built again; otherwise refused |

mod bots;
mod builds;
mod config;
mod culprit_callback;
mod dry_run;
mod error;
mod executor;
mod export;
mod given;
mod handle;
mod metric;
mod once;
mod outputs;
mod pairs;
mod poll;
mod profiles;
mod recent;
mod reports;
mod result_source;
mod runs;
mod services;
mod sources;
mod table;
mod write_back;

pub use config::{Benchmark, Intervals, LuciConfig, LuciSettings, RequestedCharts};
pub use culprit_callback::{
    CallbackError, CulpritCallback, ToldPerf, tell_perf, verified_culprits,
};
pub use error::LuciError;
pub use executor::LuciExecutor;
pub use export::{Collected, ExportError, ExportPlan, ExportRow, ExportTable, Exported};
pub use given::given_build;
pub use outputs::{OutputError, TaskOutputs};
pub use profiles::LuciProfiling;
pub use reports::{CompletedReport, ReportError, ReportSettings, ReportSubject, Reports};
pub use services::{Addresses, LuciServices};
pub use write_back::{WriteBack, WriteBackError, WrittenBack, write_back};
