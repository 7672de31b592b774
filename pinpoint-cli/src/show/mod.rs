//! The screen: progress, results and lists as text.

pub(crate) mod alert_list;
pub(crate) mod changes;
pub(crate) mod cluster_list;
pub(crate) mod comparison;
pub(crate) mod culprit_summary;
pub(crate) mod error_text;
pub(crate) mod explanation_text;
pub(crate) mod ingested;
pub(crate) mod job_list;
pub(crate) mod job_result;
#[cfg(feature = "luci")]
pub(crate) mod notices;
pub(crate) mod output;
pub(crate) mod pairwise_summary;
pub(crate) mod progress;
pub(crate) mod reading;
pub(crate) mod regression_list;
pub(crate) mod reporter;
#[cfg(test)]
pub(crate) mod screen_tests;
pub(crate) mod summary;
pub(crate) mod text;
pub(crate) mod trace_lists;
pub(crate) mod trace_table;
pub(crate) mod trial;
pub(crate) mod try_table;
pub(crate) mod vertical_table;
pub(crate) mod worker_list;
