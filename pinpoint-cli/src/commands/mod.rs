//! The commands: from arguments to a job or an answer, one file each.

pub(crate) mod alerts;
pub(crate) mod annotate;
pub(crate) mod bisect;
pub(crate) mod bots;
pub(crate) mod compare;
pub(crate) mod culprit;
pub(crate) mod demo;
pub(crate) mod detect;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod ingest;
pub(crate) mod jobs;
pub(crate) mod midpoint;
pub(crate) mod pairwise;
pub(crate) mod plan;
pub(crate) mod regressions;
pub(crate) mod traces;
pub(crate) mod verticals;
pub(crate) mod watch;
pub(crate) mod worker;
