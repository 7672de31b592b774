//! Jobs in LUCI, Chromium's infrastructure.

#[cfg(feature = "luci")]
mod executor;
#[cfg(feature = "luci")]
mod job;
#[cfg(feature = "luci")]
mod patch;
#[cfg(feature = "luci")]
mod reports;

use pinpoint_core::Executor;
use pinpoint_core::job::ResultSource;

#[cfg(feature = "luci")]
pub(crate) use self::executor::{open, profiled};
#[cfg(feature = "luci")]
pub(crate) use self::job::{bisect, pairwise};
#[cfg(feature = "luci")]
pub(crate) use self::reports::report;
#[cfg(not(feature = "luci"))]
pub(crate) use self::without::{bisect, open, pairwise, profiled, report};

/// Lists, builds and runs the commits of a job, and names them.
pub(crate) trait Elsewhere: Executor + ResultSource {}

impl<T: Executor + ResultSource> Elsewhere for T {}

#[cfg(not(feature = "luci"))]
mod without {
    use std::path::Path;

    use pinpoint_backends::job::{JobConfig, JobError};
    use pinpoint_backends::local::Profiling;
    use pinpoint_backends::store::JobId;
    use pinpoint_core::job::JobResult;

    use super::Elsewhere;
    use crate::arguments::{Bisect, Display, LuciTokens, Pairwise};
    use crate::error::{CliError, refused};
    use crate::job::storage::Storage;

    pub(crate) async fn bisect(_: Bisect, _: Option<u32>, _: Display) -> Result<u8, CliError> {
        Err(not_built_in())
    }

    pub(crate) async fn pairwise(_: Pairwise, _: Display) -> Result<u8, CliError> {
        Err(not_built_in())
    }

    pub(crate) fn open(
        _: &JobConfig,
        _: &LuciTokens,
        _: &Path,
        _: Option<&Path>,
    ) -> Result<Box<dyn Elsewhere>, JobError> {
        Err(refused(NOT_BUILT_IN))
    }

    pub(crate) fn profiled(
        _: JobConfig,
        _: Profiling,
        _: Vec<String>,
    ) -> Result<JobConfig, CliError> {
        Err(not_built_in())
    }

    /// Does nothing: such a job has no result here to report.
    pub(crate) async fn report(
        _: &Storage,
        _: &JobId,
        _: &LuciTokens,
        _: &JobResult,
        _: &Display,
    ) -> Option<u8> {
        None
    }

    const NOT_BUILT_IN: &str = "this program was built without LUCI; install it with \
                                `cargo install --path pinpoint-cli --features luci`";

    fn not_built_in() -> CliError {
        CliError::Input(NOT_BUILT_IN.into())
    }
}
