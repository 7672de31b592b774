//! Refusals of what is beyond a limit, each with the time to try again.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pinpoint_backends::store::QuotaLimit;
use pinpoint_report::quantity::count;
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use crate::config::Limit;
use crate::transport::metrics::METRICS;

/// The hint for a limit that is reached until a job or a stream ends.
pub(super) const LOOK_AGAIN: Duration = Duration::from_secs(30);

pub(super) fn too_many_requests(who: &str, most: Limit, wait: Duration) -> Status {
    let most = most.get().map_or(0, |most| most.get());
    let message = format!(
        "too many requests (limit: {most} per minute); try again in {}",
        count(whole_seconds(wait), "second")
    );
    reached("requests_a_minute", who, &message, wait)
}

/// A limit that the store has found to be reached.
pub(crate) fn quota_reached(
    limit: QuotaLimit,
    user: &str,
    most: u32,
    until: Option<i64>,
) -> Status {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let wait = until.map(|until| {
        let until = Duration::from_millis(u64::try_from(until).unwrap_or_default());
        until.saturating_sub(now)
    });
    let then = match wait {
        Some(wait) => format!(
            "try again in {}",
            humantime::format_duration(Duration::from_secs(whole_seconds(wait)))
        ),
        None => "cancel one, or try again when one has finished".into(),
    };
    let message = format!("user {user} has reached the limit of {most} {limit}; {then}");
    reached(limit.as_str(), user, &message, wait.unwrap_or(LOOK_AGAIN))
}

/// An answer that can't be sent now: too much waits already.
pub(crate) fn answers_reached() -> Status {
    let message = "too many answers wait for clients to take them; read those that you have asked \
                   for, and try again in a second";
    reached("answers_mib", "all", message, Duration::from_secs(1))
}

/// A request without room, or one that took too long for others to have any.
pub(crate) fn requests_reached() -> Status {
    let message = "too many requests are arriving, and this one took too long, or came last; send \
                   it again in a second";
    reached("requests_mib", "all", message, Duration::from_secs(1))
}

/// The refusal by a limit, with the time to try again.
pub(super) fn reached(limit: &'static str, who: &str, message: &str, wait: Duration) -> Status {
    METRICS.refused.with_label_values(&[limit]).inc();
    let seconds = whole_seconds(wait);
    let mut details = ErrorDetails::with_quota_failure_violation(who, limit);
    details.set_retry_info(Some(Duration::from_secs(seconds)));
    let mut metadata = MetadataMap::new();
    metadata.insert("retry-after", seconds.into());
    Status::with_error_details_and_metadata(Code::ResourceExhausted, message, details, metadata)
}

/// The whole seconds of a wait, at least one, so that no client retries at once.
pub(crate) fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0 || wait.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_when_to_try_again() {
        for (wait, seconds) in [(0, 1), (1, 1), (1000, 1), (1001, 2)] {
            assert_eq!(whole_seconds(Duration::from_millis(wait)), seconds);
        }
        let refused = too_many_requests("ada", Limit::new(9), Duration::from_millis(1500));
        assert_eq!(refused.metadata().get("retry-after").unwrap(), "2");
        let details = refused.get_error_details();
        let retry = details.retry_info().unwrap().retry_delay;
        assert_eq!(retry, Some(Duration::from_secs(2)));
        let quota = details.quota_failure().unwrap();
        assert_eq!(quota.violations[0].description, "requests_a_minute");
    }
}
