//! The builds that failed, with the ends of their outputs.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use maud::{Markup, html};
use pinpoint_core::BuildReport;

use super::foreign::{Foreign, clean, output};
use super::model::{FailedBuild, Report};
use crate::quantity::count;
use crate::words::line;

/// The end of an output that is shown, in bytes.
const END: u64 = 8 << 10;
/// The most outputs that are shown.
const MOST_OUTPUTS: usize = 64;

/// The failed builds of a job, with the outputs in its directory.
pub(super) fn failed(
    reports: impl Iterator<Item = BuildReport>,
    job_dir: &Path,
) -> Vec<FailedBuild> {
    let mut builds = Vec::new();
    for report in reports {
        let Some(reason) = report.failure else {
            continue;
        };
        let log = log_of(report.log.as_deref(), job_dir);
        builds.push(FailedBuild {
            commit: report.commit,
            reason,
            output: log
                .filter(|_| builds.len() < MOST_OUTPUTS)
                // It may have been left out of the job's files.
                .and_then(|log| end_of(&log).ok()),
        });
    }
    builds
}

/// The output of a build that another machine may have made.
fn log_of(log: Option<&str>, job_dir: &Path) -> Option<PathBuf> {
    let name = Path::new(log?).file_name()?;
    Some(job_dir.join("builds").join(name))
}

fn end_of(log: &Path) -> io::Result<String> {
    let mut file = File::open(log)?;
    let start = file.metadata()?.len().saturating_sub(END);
    file.seek(SeekFrom::Start(start))?;
    let mut end = Vec::new();
    file.take(END).read_to_end(&mut end)?;
    let end = String::from_utf8_lossy(&end);
    let end = match start {
        0 => &*end,
        // From the beginning of a line.
        _ => end.split_once('\n').map_or(&*end, |(_, lines)| lines),
    };
    Ok(output(end.trim_end()))
}

pub(super) fn section(report: &Report) -> Markup {
    let builds = &report.failed_builds;
    if builds.is_empty() {
        return html! {};
    }
    html! {
        section {
            h2 { "Builds" }
            details #builds {
                summary { "The end of the output of " (count(builds.len() as u64, "failed build")) }
                @for build in builds {
                    h3 { (Foreign(&line(&build.commit))) }
                    p { (Foreign(&build.reason)) }
                    @match &build.output {
                        Some(output) => pre.output { (clean(output)) },
                        None => p.note { "Its output is not available." },
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pinpoint_core::Commit;

    use super::*;

    #[test]
    fn failed_builds_have_the_ends_of_their_outputs_wherever_they_were_made() {
        let directory = tempfile::tempdir().unwrap();
        let logs = directory.path().join("builds");
        std::fs::create_dir(&logs).unwrap();
        let lines: Vec<String> = (0..5000).map(|number| format!("line {number}")).collect();
        std::fs::write(logs.join("a.log"), lines.join("\r\n") + "\n").unwrap();
        let commit = |hash| Commit::new("app", hash).into();
        let mut here = BuildReport::failed(commit("a"), "exit code 2");
        here.log = Some("/on/another/machine/builds/a.log".into());
        let mut lost = BuildReport::failed(commit("b"), "exit code 3");
        lost.log = Some("b.log".into());
        let built = BuildReport::built(commit("c"));
        let builds = failed([here, built, lost].into_iter(), directory.path());
        assert_eq!(builds.len(), 2);
        let shown = builds[0].output.as_deref().unwrap();
        assert!(shown.starts_with("line 4") && shown.ends_with("line 4998\nline 4999"));
        assert!(shown.len() < END as usize);
        assert_eq!(builds[1].output, None);
    }
}
