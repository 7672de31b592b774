//! Runs of the benchmark: the command, its output, its measures and its profiler.

pub(crate) mod benchmark;
pub(crate) mod checkout_watch;
pub(crate) mod command_words;
pub(crate) mod find_metric;
pub(crate) mod instructions;
pub(crate) mod last_run;
pub(crate) mod measures;
pub(crate) mod memory_floor;
pub(crate) mod metric;
pub(crate) mod outside_reads;
pub(crate) mod profiler;
pub(crate) mod result_source;
pub(crate) mod results;
pub(crate) mod runner;
pub(crate) mod sessions;
pub(crate) mod settle;
pub(crate) mod tails;
pub(crate) mod uncommitted;
