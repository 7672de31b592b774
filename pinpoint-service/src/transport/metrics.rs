//! Counters of this process, for Prometheus.
//!
//! Labels are operations, codes, kinds of jobs and limits, all of them names of this program:
//! nothing that grows with users, jobs or requests.

use std::sync::LazyLock;

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{StatusCode, header};
use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, Registry,
    TextEncoder,
};

/// The upper bounds of times, in seconds.
const SECONDS: [f64; 8] = [0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 30.0, 60.0];

pub(crate) static METRICS: LazyLock<Metrics> = LazyLock::new(Metrics::new);

pub(crate) struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    seconds: HistogramVec,
    /// Requests that have no answer yet.
    pub(crate) under_way: IntGauge,
    /// Streams that are open.
    pub(crate) streams: IntGauge,
    /// Jobs made, by kind.
    pub(crate) jobs: IntCounterVec,
    /// Refusals, by limit.
    pub(crate) refused: IntCounterVec,
    /// Failures of the store.
    pub(crate) store_errors: IntCounter,
}

impl Metrics {
    fn new() -> Self {
        let counters = |name, help, labels: &[&str]| {
            IntCounterVec::new(Opts::new(name, help), labels).expect(SOUND)
        };
        let gauge = |name, help| IntGauge::new(name, help).expect(SOUND);
        let seconds = HistogramOpts::new(
            "pinpoint_request_seconds",
            "The time until an answer begins",
        );
        let metrics = Self {
            registry: Registry::new(),
            requests: counters(
                "pinpoint_requests_total",
                "Requests that have an answer",
                &["operation", "code"],
            ),
            seconds: HistogramVec::new(seconds.buckets(SECONDS.to_vec()), &["operation"])
                .expect(SOUND),
            under_way: gauge(
                "pinpoint_requests_under_way",
                "Requests without an answer yet",
            ),
            streams: gauge("pinpoint_streams", "Streams that are open"),
            jobs: counters("pinpoint_jobs_created_total", "Jobs made", &["kind"]),
            refused: counters(
                "pinpoint_limits_reached_total",
                "Requests that a limit refused",
                &["limit"],
            ),
            store_errors: IntCounter::new(
                "pinpoint_store_errors_total",
                "Requests that the job store failed",
            )
            .expect(SOUND),
        };
        let all: [Box<dyn prometheus::core::Collector>; 7] = [
            Box::new(metrics.requests.clone()),
            Box::new(metrics.seconds.clone()),
            Box::new(metrics.under_way.clone()),
            Box::new(metrics.streams.clone()),
            Box::new(metrics.jobs.clone()),
            Box::new(metrics.refused.clone()),
            Box::new(metrics.store_errors.clone()),
        ];
        for collector in all {
            metrics.registry.register(collector).expect(SOUND);
        }
        metrics
    }

    /// Counts a request that was answered.
    pub(crate) fn answered(&self, operation: &'static str, code: &'static str, seconds: f64) {
        self.requests.with_label_values(&[operation, code]).inc();
        let times: Histogram = self.seconds.with_label_values(&[operation]);
        times.observe(seconds);
    }
}

const SOUND: &str = "the names of the metrics are sound";

/// The route `/metrics`, for a port that only the operator reaches.
pub fn metrics() -> Router {
    Router::new().route("/metrics", get(async || text()))
}

fn text() -> Response {
    match TextEncoder::new().encode_to_string(&METRICS.registry.gather()) {
        Ok(text) => ([(header::CONTENT_TYPE, prometheus::TEXT_FORMAT)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_told() {
        let metrics = Metrics::new();
        metrics.answered("a/B", "ok", 0.01);
        metrics.answered("a/B", "not_found", 0.3);
        let text = TextEncoder::new().encode_to_string(&metrics.registry.gather());
        let text = text.unwrap();
        for line in [
            r#"pinpoint_requests_total{code="not_found",operation="a/B"} 1"#,
            r#"pinpoint_request_seconds_bucket{operation="a/B",le="0.02"} 1"#,
            r#"pinpoint_request_seconds_bucket{operation="a/B",le="0.5"} 2"#,
            "pinpoint_streams 0",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}
