//! Browsers that are compared with each release: what is run, how it is called, and the results in
//! the form of Perf. Pure.
//!
//! | file | holds |
//! | --- | --- |
//! | `tables.rs` | bots, benchmarks and the names of earlier data, as data |
//! | `version.rs` | versions of browsers, in order |
//! | `comparison.rs` | a browser on a bot: its arguments and names |
//! | `perf_format.rs` | results as Perf reads them, and the names of their objects |
//! | `earlier.rs` | the results of an earlier system, from a table |

mod comparison;
mod earlier;
mod perf_format;
mod tables;
mod version;

pub use comparison::{
    Browser, CbbError, Channel, ComparedBrowser, MOST_FAILING_PERCENT, is_enough,
};
pub use earlier::{EarlierError, EarlierFile, EarlierResults, read_earlier};
pub use perf_format::{Links, PerfFile, object_name, task_list};
pub use tables::{CbbBenchmark, CbbTables, TablesError};
pub use version::{NoVersion, Version};
