//! The paths at which outputs of builds and runs are served.

use std::path::Path as FilePath;

use pinpoint_core::{BuildReport, RunReport};

use super::job_snapshot::JobSnapshot;

/// The name of an output without its folder and its end.
fn stem(log: Option<&String>) -> Option<&str> {
    let stem = FilePath::new(log?).file_stem()?.to_str()?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    stem.bytes().all(is_plain).then_some(stem)
}

/// The path of the output of a build.
pub(super) fn log_of_build(moment: &JobSnapshot, build: &BuildReport) -> Option<String> {
    let stem = stem(build.log.as_ref())?;
    Some(format!("/jobs/{}/files/builds/{stem}.log", moment.job.id))
}

/// The paths of the outputs of a run that failed: others are not kept whole.
pub(super) fn logs_of_run(moment: &JobSnapshot, run: &RunReport) -> Vec<(&'static str, String)> {
    let (Some(stem), Some(_)) = (stem(run.log.as_ref()), &run.failure) else {
        return Vec::new();
    };
    let path = |end| format!("/jobs/{}/files/runs/{stem}.{end}", moment.job.id);
    vec![
        ("Standard output", path("out")),
        ("Standard error", path("err")),
    ]
}
