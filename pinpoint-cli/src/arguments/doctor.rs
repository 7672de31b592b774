//! `pinpoint doctor`.

use clap::Args;
use pinpoint_backends::local::CpuList;

use super::BENCHMARK;

/// Find what makes measurements on this machine noisy.
///
/// The same work is repeated for some seconds, while the kernel is asked what else
/// happens here: load, steal, the frequency governor, turbo, hyper-threads, thermal
/// throttling, address randomization, swap, the battery, limits and other jobs. Each finding comes
/// with what to do about it, and the times of the work show the smallest change that 20 runs can
/// find here.
///
/// A job does this for a quarter of a second when it starts, unless the variable
/// PINPOINT_DOCTOR is `off`: it warns of a machine in a bad state, and its report shows
/// what was found.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint doctor
  pinpoint doctor --cpu 2
  pinpoint doctor --output json")]
pub(crate) struct Doctor {
    /// The processors to look at, those that runs are to be pinned to [default: all].
    #[arg(long, value_name = "LIST", help_heading = BENCHMARK)]
    pub(crate) cpu: Option<CpuList>,
}
