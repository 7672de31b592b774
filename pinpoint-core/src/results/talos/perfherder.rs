//! The form of a job in `PERFHERDER_DATA`.

use serde::{Deserialize, Serialize};

use super::details::Details;
use super::job::{Job, Suite, WriteJobError, check_free};
use super::lines::PERFHERDER;
use crate::results::{ReadError, document};

#[derive(Deserialize)]
struct Read {
    #[serde(default)]
    framework: Details,
    #[serde(default)]
    application: Details,
    suites: Vec<Suite>,
    #[serde(flatten)]
    other: Details,
}

#[derive(Serialize)]
struct Written<'a> {
    #[serde(skip_serializing_if = "Details::is_empty")]
    framework: &'a Details,
    #[serde(skip_serializing_if = "Details::is_empty")]
    application: &'a Details,
    suites: &'a [Suite],
    #[serde(flatten)]
    other: &'a Details,
}

pub(super) fn read(text: &str) -> Result<Job, ReadError> {
    let seed = std::marker::PhantomData::<Read>;
    let read = document::read(text, "Perfherder", seed)?;
    Ok(Job {
        framework: read.framework,
        application: read.application,
        suites: read.suites,
        other: read.other,
    })
}

pub(super) fn write(job: &Job) -> Result<String, WriteJobError> {
    check_free(&job.other, &["framework", "application", "suites"])?;
    for suite in &job.suites {
        // Those that TALOSDATA does not know; of the others none is left over.
        check_free(
            &suite.other,
            &["name", "value", "subtests", "talos_summary"],
        )?;
        for subtest in &suite.subtests {
            check_free(
                &subtest.other,
                &["name", "value", "replicates", "talos_summary"],
            )?;
        }
        if let Some(subtest) = (suite.subtests.iter()).find(|subtest| subtest.value.is_none()) {
            return Err(WriteJobError::NoValue {
                suite: suite.name.clone(),
                subtest: subtest.name.clone(),
            });
        }
    }
    let document = serde_json::to_string(&Written {
        framework: &job.framework,
        application: &job.application,
        suites: &job.suites,
        other: &job.other,
    })?;
    Ok(format!("{PERFHERDER}{document}"))
}
