//! Diagnosis of disturbances to measurements on this machine.
//!
//! [`examine`] repeats the same work for some seconds, and reads the kernel's reports about that
//! time. [`Diagnosis`] holds both, and the findings that follow from them. The findings are a pure
//! function of the rest.

mod calibrated_loop;
mod cpu_times;
mod diagnosis;
mod findings;
mod loop_times;
pub(super) mod preconditions;
mod readings;

pub(super) use cpu_times::{CpuTimes, CpuUse};
pub use diagnosis::{Diagnosis, THOROUGHLY, examine};
pub(super) use findings::severity_of_load;
pub use findings::{Cause, Finding, Severity};
pub use loop_times::LoopTimes;
pub use readings::{BusyProgram, Readings};
