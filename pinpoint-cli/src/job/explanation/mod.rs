//! The differences between the profiles of two builds, of files or of a job that explains another.

pub(crate) mod about;
pub(crate) mod explanation_report;
pub(crate) mod made;
mod pairs;
mod perf_data;
pub(crate) mod problems;
pub(crate) mod profile_file;
mod report_file;
pub(crate) mod stored;
mod timelines;
pub(crate) mod warnings;
