//! Searches in worlds whose truth is known: the accuracy and the cost of a strategy.
//!
//! A [`Scenario`] is a world: the number of commits, the scatter of values, the changes by one or
//! several of the commits, and other disturbances. A search in it asks the public
//! [`Bisection`](crate::Bisection) machine, answers its actions from random numbers, and compares
//! the answer with the truth: that is a [`Trial`]. Many of them make a [`Summary`].
//!
//! ```
//! use pinpoint_core::simulation::{Scenario, Summary};
//! use pinpoint_core::{BisectionSpec, Magnitude};
//!
//! // One of 128 commits makes the benchmark slower by two interquartile ranges
//! // of its noise.
//! let scenario = Scenario { changes: vec![2.0], ..Scenario::new(128) };
//! let spec = BisectionSpec {
//!     magnitude: Some(Magnitude::Absolute(2.0)),
//!     ..BisectionSpec::new(scenario.range())
//! };
//! let trials = (0..100)
//!     .map(|seed| scenario.search(&spec, seed))
//!     .collect::<Result<Vec<_>, _>>()?;
//! let summary = Summary::of(&trials);
//! assert!(summary.exactly_right.value > 0.9);
//! assert!(summary.runs.mean.value < 60.0);
//! # Ok::<(), pinpoint_core::SpecError>(())
//! ```
//!
//! [`Scenario::ideal`] is the practical limit: the cost of a searcher that knows both distributions
//! and that there is exactly one change.
//!
//! A [`Plan`] estimates the cost and the accuracy of a search or a comparison in the user's noise.
//!
//! Everything is decided by the seed: the same scenario, spec and seed give the same
//! trial, bit for bit. Trials are independent of each other, so a caller may spread them
//! over its cores.

mod answer;
mod ideal;
mod memory;
mod noise;
mod plan;
pub mod promise;
mod scatter;
mod scenario;
mod search;
mod summary;
mod truth;

pub use ideal::Ideal;
pub use memory::Memory;
pub use noise::Noise;
pub use plan::{Estimate, Plan, PlanError};
pub use scatter::{Scatter, ScatterError, ScatterUnit};
pub use scenario::{Broken, Scenario};
pub use search::{Simulation, Trial};
pub use summary::{Calibration, Cost, Mean, Summary};
