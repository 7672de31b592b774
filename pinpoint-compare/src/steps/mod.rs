//! Detectors of steps in a series of values: pure functions on slices.
//!
//! | question | function |
//! | --- | --- |
//! | is there a step in the middle of this window? | [`fit`](fn@fit), [`Rule::judge`] |
//! | at which points of a trace? | [`fit_every_point`]; `original` alone, fast: [`original_every_point`] |
//! | where is the step of a whole tile? | [`fit_tile`] |
//! | did a trace change, at a stated rate of false alarms? | [`detect`], value by value [`Detector`] |
//! | the same, at a rate that is proven? | [`Conformal`] |
//! | where is a change that is known to be there? | [`locate_change`] |
//! | did a commit change any of many traces, and which? | [`CommitTest`], [`e_bh`] |
//! | where does Mozilla's Perfherder raise an alert? | [`perfherder_alerts`] |
//! | which traces have one shape? | [`clusters`](fn@clusters), [`percents`] |
//! | which clusters were there in an earlier run? | [`match_fingerprints`] |
//!
//! In all of them **a rise is negative**: the step is the mean before minus the mean after. A
//! missing value is `None`; NaN is an error.

mod clusters;
mod conformal;
mod error;
mod fingerprints;
mod fit;
mod generator;
mod many;
mod perfherder;
mod rank;
mod rules;
mod statistic;
mod tile;
mod windows;

pub use clusters::{
    Cluster, ClusterOptions, Clustering, MEMBERS_KEPT, MOST_CLUSTERS, cluster_count, clusters,
    normalized, percents,
};
pub use conformal::{Conformal, ConformalAlarm, ConformalOptions};
pub use error::StepError;
pub use fingerprints::{Fingerprint, Found, KEYS_COMPARED, Triage, match_fingerprints};
pub use fit::{FLOOR, LEAST_WINDOW, StepFit, fit, fit_with};
pub use many::{CommitTest, e_bh, higher_criticism};
pub use perfherder::{
    PERFHERDER_SECONDS, PerfherderAlert, PerfherderOptions, PerfherderThreshold, perfherder_alerts,
    perfherder_range,
};
pub use rank::{
    Alarm, DEFAULT_RATE, Detector, DetectorOptions, LEAST_VALUES, Location, Shape, StepEvent,
    detect, locate_change,
};
pub use rules::{ComplexRule, Judgement, Operator, Rule, SimpleRule};
pub use statistic::{Side, Statistic};
pub use tile::{LEAST_SIDE, fit_tile};
#[cfg(feature = "rayon")]
pub use windows::original_many;
pub use windows::{
    FitAt, MOST_RADIUS, RADIUS, Sums, filled, fit_every_point, is_left_out, original_every_point,
    present,
};
