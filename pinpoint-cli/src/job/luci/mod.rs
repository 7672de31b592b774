//! Jobs in LUCI, Chromium's infrastructure.

#[cfg(feature = "luci")]
mod cbb;
#[cfg(feature = "luci")]
mod culprit_callback;
#[cfg(feature = "luci")]
mod executor;
#[cfg(feature = "luci")]
mod export;
#[cfg(feature = "luci")]
mod job;
#[cfg(feature = "luci")]
mod legacy;
#[cfg(feature = "luci")]
mod patch;
#[cfg(feature = "luci")]
mod reports;
#[cfg(feature = "luci")]
mod settings;
#[cfg(feature = "luci")]
mod write_back;

use pinpoint_core::Executor;
use pinpoint_core::job::ResultSource;

#[cfg(feature = "luci")]
pub(crate) use self::cbb::cbb;
#[cfg(feature = "luci")]
pub(crate) use self::executor::{open, profiled};
#[cfg(feature = "luci")]
pub(crate) use self::export::export;
#[cfg(feature = "luci")]
pub(crate) use self::job::{bisect, pairwise};
#[cfg(feature = "luci")]
pub(crate) use self::legacy::show_legacy;
#[cfg(feature = "luci")]
pub(crate) use self::reports::report;
#[cfg(not(feature = "luci"))]
pub(crate) use self::without::{
    bisect, cbb, export, open, pairwise, profiled, report, show_legacy, write_back,
};
#[cfg(feature = "luci")]
pub(crate) use self::write_back::again as write_back;

/// Lists, builds and runs the commits of a job, and names them.
pub(crate) trait Elsewhere: Executor + ResultSource {}

impl<T: Executor + ResultSource> Elsewhere for T {}

#[cfg(not(feature = "luci"))]
mod without {
    use std::path::Path;

    use pinpoint_backends::job::{JobConfig, JobError};
    use pinpoint_backends::local::Profiling;
    use pinpoint_backends::store::{Job, JobId};
    use pinpoint_core::job::JobResult;

    use super::Elsewhere;
    use crate::arguments::{Bisect, Callback, Cbb, Display, Export, LuciTokens, Pairwise};
    use crate::error::{CliError, refused};
    use crate::job::storage::Storage;

    pub(crate) async fn bisect(
        _: Bisect,
        _: Option<(u32, Callback)>,
        _: Display,
    ) -> Result<u8, CliError> {
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

    pub(crate) fn cbb(_: Cbb, _: &Display) -> Result<u8, CliError> {
        Err(not_built_in())
    }

    pub(crate) async fn export(_: Export, _: &Display) -> Result<u8, CliError> {
        Err(not_built_in())
    }

    pub(crate) async fn show_legacy(_: &Storage, _: &Job) -> Result<u8, CliError> {
        Err(not_built_in())
    }

    pub(crate) async fn write_back(
        _: &Storage,
        _: &Job,
        _: &LuciTokens,
        _: &Display,
    ) -> Result<u8, CliError> {
        Err(not_built_in())
    }

    const NOT_BUILT_IN: &str = "this program was built without LUCI; install it with \
                                `cargo install --path pinpoint-cli --features luci`";

    fn not_built_in() -> CliError {
        CliError::Input(NOT_BUILT_IN.into())
    }
}
