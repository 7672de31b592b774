//! The groups of options in the help, in this order.

pub(super) const BENCHMARK: &str = "Benchmark";
pub(super) const QUESTION: &str = "Question";
pub(super) const BUDGET: &str = "Budget";
pub(super) const STRATEGY: &str = "Strategy";
pub(super) const WORKERS: &str = "Workers";
pub(super) const TEMPORAL: &str = "Temporal";
pub(super) const LUCI: &str = "LUCI";
pub(super) const STORAGE: &str = "Storage";
pub(super) const OUTPUT: &str = "Output";
