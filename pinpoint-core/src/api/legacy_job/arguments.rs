//! The words of the request.

use std::collections::BTreeMap;

use super::super::ScheduleBisectRequest;
use super::super::legacy_job_response::Argument;
use super::LegacyJobError;

/// The mode of a request that names none.
const PERFORMANCE: &str = "performance";

pub(super) fn comparison_mode(request: &ScheduleBisectRequest) -> &str {
    match request.comparison_mode.as_str() {
        "" => PERFORMANCE,
        mode => mode,
    }
}

pub(super) fn read(
    request: &ScheduleBisectRequest,
    configuration: &str,
    target: &str,
) -> Result<Argument, LegacyJobError> {
    let wrong = |field, text: &str, expected| LegacyJobError {
        field,
        text: text.into(),
        expected,
    };
    let attempts = request.initial_attempt_count.trim();
    let initial_attempt_count = match attempts {
        "" => 0,
        text => text
            .parse()
            .map_err(|_| wrong("initial_attempt_count", text, "a whole number"))?,
    };
    let magnitude = request.comparison_magnitude.trim();
    let comparison_magnitude = match magnitude {
        "" => 0.0,
        text => { text.parse().ok() }
            .filter(|magnitude: &f64| magnitude.is_finite())
            .ok_or_else(|| wrong("comparison_magnitude", text, "a finite number"))?,
    };
    let tags: BTreeMap<String, String> = match request.tags.trim() {
        "" => BTreeMap::new(),
        text => serde_json::from_str(text)
            .map_err(|_| wrong("tags", text, "a JSON object of strings"))?,
    };
    Ok(Argument {
        comparison_mode: comparison_mode(request).into(),
        target: target.into(),
        start_git_hash: request.start_git_hash.clone(),
        end_git_hash: request.end_git_hash.clone(),
        tags: tags.into_iter().collect(),
        initial_attempt_count,
        configuration: configuration.into(),
        benchmark: request.benchmark.clone(),
        story: request.story.clone(),
        story_tags: request.story_tags.clone(),
        chart: request.chart.clone(),
        statistic: match request.statistic.as_str() {
            "" => request.aggregation_method.clone(),
            statistic => statistic.into(),
        },
        comparison_magnitude,
        extra_test_args: request.extra_args.clone(),
        project: request.project.clone(),
        bug_id: request.bug_id.clone(),
        // Catapult's pin, trace and batch have no counterpart.
        ..Argument::default()
    })
}
