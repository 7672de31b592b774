//! A stored job in the form of the API that Chromium's Pinpoint replaced.

use pinpoint_core::api::{LegacyJob, LegacyJobResponse, ScheduleBisectRequest, from_json};
use pinpoint_core::{Answers, BisectionSpec, Commit, Magnitude, Range};
use serde_json::Value;

use super::{JobError, spec_of, stored_result};
use crate::store::Job;

/// The facts that a job in the store lacks.
pub struct LegacyContext<'a> {
    /// The build target of its benchmark on its bot; empty when unknown.
    pub target: &'a str,
    /// The machine of runs that name none.
    pub host: &'a str,
    /// The name of its state.
    pub status: &'a str,
    /// The time of this conversion, in milliseconds since 1970.
    pub now: i64,
    /// The address of its page; empty when there is none.
    pub page: &'a str,
    /// The whole message of a commit, if it is known.
    pub message: &'a dyn Fn(&Commit) -> Option<String>,
}

/// The job and the answers in its journal.
///
/// # Errors
///
/// When a part of the job can't be read, or a word of its request is not of its form.
pub fn legacy_response(
    job: &Job,
    answers: &Answers,
    context: &LegacyContext<'_>,
) -> Result<LegacyJobResponse, JobError> {
    let spec = spec_of(job)?;
    let result = stored_result(job)?;
    let request = request_of(job, spec.bisection());
    let cancel = job.cancel.as_ref();
    let shown = LegacyJob {
        id: job.id.as_str(),
        request: &request,
        target: context.target,
        host: context.host,
        status: context.status,
        result: result.as_ref(),
        search: spec.bisection(),
        exception: job.error.as_deref().unwrap_or_default(),
        cancel_reason: cancel.map_or("", |cancel| &cancel.reason),
        created: job.created,
        now: context.now,
        page: context.page,
        message: context.message,
    };
    Ok(shown.response(answers)?)
}

/// The words of the request that a job was made from. One of the command line has the same.
fn request_of(job: &Job, search: Option<&BisectionSpec>) -> ScheduleBisectRequest {
    let asked = job.config.get("request").filter(|it| it.is_object());
    let asked = asked.and_then(|asked| from_json(&asked.to_string()).ok());
    let mut request = asked.unwrap_or_else(|| of_command_line(job, search));
    if let Some(Range::Between { good, bad }) = search.map(|search| &search.range) {
        // A name such as HEAD means what it meant then.
        request.start_git_hash = good.main.revision();
        request.end_git_hash = bad.main.revision();
    }
    let unnamed = [
        (&mut request.configuration, &job.bot),
        (&mut request.benchmark, &job.benchmark),
        (&mut request.user, &job.user),
    ];
    for (field, known) in unnamed {
        if field.is_empty() {
            field.clone_from(known);
        }
    }
    request
}

fn of_command_line(job: &Job, search: Option<&BisectionSpec>) -> ScheduleBisectRequest {
    let luci = &job.config["luci"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let benchmark = &luci["benchmark"];
    let words = benchmark["arguments"].as_array();
    let words = words.into_iter().flatten().filter_map(Value::as_str);
    let magnitude = match search.and_then(|search| search.magnitude) {
        Some(Magnitude::Absolute(magnitude)) => magnitude.to_string(),
        _ => String::new(),
    };
    let attempts = search.and_then(|search| search.attempts);
    ScheduleBisectRequest {
        story: text(&benchmark["story"]),
        story_tags: text(&benchmark["story_tags"]),
        // A word with a NUL byte can't be on a command line.
        extra_args: shlex::try_join(words).unwrap_or_default(),
        bug_id: luci["issue"]
            .as_u64()
            .map_or_else(String::new, |it| it.to_string()),
        project: luci["issue"].as_u64().map_or("", |_| "chromium").into(),
        chart: search.and_then(|it| it.chart.clone()).unwrap_or_default(),
        comparison_magnitude: magnitude,
        initial_attempt_count: attempts.map_or_else(String::new, |it| it.to_string()),
        ..ScheduleBisectRequest::default()
    }
}
