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
//! # The parts
//!
//! | file | holds |
//! | --- | --- |
//! | `config.rs` | what is measured |
//! | `services.rs` | where the services are |
//! | `handle.rs` | what a ticket says |
//! | `once.rs` | asking for work that must not be begun twice |
//! | `sources.rs` | ranges, and names of commits |
//! | `builds.rs` | builds: found, asked for, waited for |
//! | `runs.rs` | single runs |
//! | `pairs.rs` | pairs of runs on one bot |
//! | `metric.rs` | a run that shows the metric |
//! | `bots.rs` | which bot is next |
//! | `poll.rs` | one question about all tasks under way |
//! | `profiles.rs` | profiles that tasks leave |
//! | `outputs.rs` | what tasks leave |
//! | `executor.rs` | the executor |
//! | `result_source.rs` | names for the result of a job |
//! | `dry_run.rs` | the requests of an action, sent by nobody |
//! | `reports/` | what others are told of the result |
//!
//! # Once only
//!
//! A process may end after it has asked for a build or a task and before that is on record. So
//! each carries the tag `pinpoint_key` with the job and the action, and it is looked for before
//! it is asked for, the first time and whenever an answer was lost. Requests that are sent again
//! have the id of the first one.
//!
//! # What an end means
//!
//! | end | meaning |
//! | --- | --- |
//! | build: `FAILURE` | the commit does not build, and is skipped |
//! | build: `SUCCESS` without the target | the commit can't be run, and is skipped |
//! | build: `INFRA_FAILURE`, `CANCELED` by others, more than 4 h | trouble: tried again |
//! | task: `COMPLETED` with values | a run |
//! | task: `COMPLETED` with a failure or without values, `TIMED_OUT` | a failed run |
//! | task: `NO_RESOURCE` | asked for again on another bot, 3 tasks in all |
//! | task: `BOT_DIED`, `EXPIRED`, `CANCELED` and `KILLED` by others | trouble: tried again |
//! | task: `CLIENT_ERROR` | the build is gone: built again; else refused |

mod bots;
mod builds;
mod config;
mod dry_run;
mod error;
mod executor;
mod handle;
mod metric;
mod once;
mod outputs;
mod pairs;
mod poll;
mod profiles;
mod reports;
mod result_source;
mod runs;
mod services;
mod sources;

pub use config::{Benchmark, Intervals, LuciConfig, LuciSettings, WantedCharts};
pub use error::LuciError;
pub use executor::LuciExecutor;
pub use outputs::{OutputError, TaskOutputs};
pub use profiles::LuciProfiling;
pub use reports::{ReportError, ReportSettings, Reported, Reports, Subject};
pub use services::{Addresses, LuciServices};
