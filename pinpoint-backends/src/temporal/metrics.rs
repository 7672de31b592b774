//! Counters, times and gauges for Prometheus, in addition to those of Temporal's library.
//!
//! Labels are the kind, the bot and the benchmark of a job, and results: nothing that grows with
//! the number of jobs or of users. Gauges are of the worker's own bots, with values from
//! `queues.rs`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use pinpoint_core::job::JobState;
use pinpoint_core::{Record, Report, Request, RunReport};
use temporalio_common::telemetry::metrics::{
    CoreMeter, Counter, Gauge, HistogramDuration, MetricAttributes, MetricKeyValue,
    MetricParameters, NewAttributes, NoOpCoreMeter, TemporalMeter,
};
use temporalio_common::telemetry::{
    HistogramBucketOverrides, PrometheusExporterOptions, TelemetryOptions,
    start_prometheus_metric_exporter, telemetry_init,
};
use temporalio_sdk::activities::ActivityInfo;

use super::error::TemporalError;
use crate::store::Job;

/// The upper bounds of times, in seconds: a run may take milliseconds, and a queue a day.
const SECONDS: [f64; 12] = [
    0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3_600.0, 14_400.0, 43_200.0, 86_400.0,
];

const WORKED: &str = "pinpoint_work";
const WAITED: &str = "pinpoint_wait";

/// The meters of this process. Without an address they do nothing.
#[derive(Clone)]
pub(crate) struct Metrics {
    meter: Arc<dyn CoreMeter>,
    is_served: bool,
    jobs_started: Counter,
    jobs_ended: Counter,
    runs: Counter,
    builds: Counter,
    retries: Counter,
    worked: HistogramDuration,
    waited: HistogramDuration,
    queue_length: Gauge,
    queue_age: Gauge,
    machines: Gauge,
}

impl Metrics {
    pub(crate) fn none() -> Self {
        Self::from_meter(Arc::new(NoOpCoreMeter), false)
    }

    /// Serves them as `/metrics` at an address, until the process ends.
    pub(crate) async fn serve(address: &str) -> Result<Self, TemporalError> {
        let unusable = |source: Box<dyn std::error::Error + Send + Sync>| TemporalError::Metrics {
            address: address.to_owned(),
            source,
        };
        let mut found = tokio::net::lookup_host(address)
            .await
            .map_err(|error| unusable(error.into()))?;
        let socket = found
            .next()
            .ok_or_else(|| unusable("the host has no address".into()))?;
        let buckets = [WORKED, WAITED].map(|name| (name.to_owned(), SECONDS.to_vec()));
        let options = PrometheusExporterOptions::builder()
            .socket_addr(socket)
            .counters_total_suffix(true)
            .unit_suffix(true)
            .use_seconds_for_durations(true)
            .histogram_bucket_overrides(HistogramBucketOverrides {
                overrides: HashMap::from(buckets),
            })
            .build();
        let served = start_prometheus_metric_exporter(options);
        Ok(Self::from_meter(
            served.map_err(|error| unusable(error.into()))?.meter,
            true,
        ))
    }

    fn from_meter(meter: Arc<dyn CoreMeter>, is_served: bool) -> Self {
        let named = |name: &'static str, description: &'static str| {
            MetricParameters::builder()
                .name(name)
                .description(description)
                .build()
        };
        let timed = |name: &'static str, description: &'static str| {
            let parameters = MetricParameters::builder().name(name).unit("seconds");
            meter.histogram_duration(parameters.description(description).build())
        };
        Self {
            jobs_started: meter.counter(named("pinpoint_jobs_started", "Jobs begun")),
            jobs_ended: meter.counter(named("pinpoint_jobs_ended", "Jobs that have ended")),
            runs: meter.counter(named("pinpoint_runs", "Runs of benchmarks")),
            builds: meter.counter(named("pinpoint_builds", "Builds of commits")),
            retries: meter.counter(named("pinpoint_retries", "Tries after the first one")),
            worked: timed(WORKED, "The time of a try"),
            waited: timed(WAITED, "The time until a worker took a try"),
            queue_length: meter.gauge(named(
                "pinpoint_queue_length",
                "Jobs, runs and builds that wait for a worker",
            )),
            queue_age: meter.gauge(named(
                "pinpoint_queue_age_seconds",
                "The time that the oldest of them has waited",
            )),
            machines: meter.gauge(named("pinpoint_machines", "Machines that serve the bot")),
            meter,
            is_served,
        }
    }

    pub(crate) fn is_served(&self) -> bool {
        self.is_served
    }

    /// The settings by which Temporal's library reports here, too.
    pub(crate) fn telemetry(&self) -> TelemetryOptions {
        TelemetryOptions::builder()
            .maybe_metrics(self.is_served.then(|| Arc::clone(&self.meter)))
            .attach_service_name(false)
            .build()
    }

    /// The meter of connections.
    pub(crate) fn of_connections(&self) -> Option<TemporalMeter> {
        telemetry_init(self.telemetry())
            .ok()?
            .get_temporal_metric_meter()
    }

    fn labels(&self, job: &Job, more: &[(&str, &str)]) -> MetricAttributes {
        let of_job = [
            ("kind", &*job.kind),
            ("bot", &*job.bot),
            ("benchmark", &*job.benchmark),
        ];
        self.attributes(of_job.iter().chain(more))
    }

    fn attributes<'a>(
        &self,
        labels: impl IntoIterator<Item = &'a (&'a str, &'a str)>,
    ) -> MetricAttributes {
        let labels = labels.into_iter();
        let labels = labels.map(|(name, value)| MetricKeyValue::new(*name, (*value).to_owned()));
        self.meter
            .new_attributes(NewAttributes::new(labels.collect()))
    }

    /// Sets the number of waiting jobs, runs or builds of a bot, and the age of the oldest.
    pub(crate) fn queue(&self, bot: &str, of: &str, length: u64, age: Duration) {
        let labels = self.attributes(&[("bot", bot), ("of", of)]);
        self.queue_length.record(length, &labels);
        self.queue_age.record(age.as_secs(), &labels);
    }

    /// Sets the numbers of a bot's free and busy machines.
    pub(crate) fn machines(&self, bot: &str, free: u64, busy: u64) {
        for (state, count) in [("free", free), ("busy", busy)] {
            let labels = self.attributes(&[("bot", bot), ("state", state)]);
            self.machines.record(count, &labels);
        }
    }

    pub(crate) fn job_started(&self, job: &Job) {
        self.jobs_started.add(1, &self.labels(job, &[]));
    }

    pub(crate) fn job_ended(&self, job: &Job, state: JobState) {
        let labels = self.labels(job, &[("result", state.as_str())]);
        self.jobs_ended.add(1, &labels);
    }

    /// Counts an action that a worker has taken.
    pub(crate) fn taken(&self, job: &Job, request: &Request, info: &ActivityInfo) {
        let labels = self.labels(job, &[("action", request.kind())]);
        let waited = (info.started_time.zip(info.current_attempt_scheduled_time))
            .and_then(|(started, scheduled)| started.duration_since(scheduled).ok());
        if let Some(waited) = waited {
            self.waited.record(waited, &labels);
        }
        if info.attempt > 1 {
            self.retries.add(1, &labels);
        }
    }

    /// Counts a try that has ended.
    pub(crate) fn worked(&self, job: &Job, request: &Request, time: Duration) {
        let labels = self.labels(job, &[("action", request.kind())]);
        self.worked.record(time, &labels);
    }

    /// Counts an action that has its answer.
    pub(crate) fn answered(&self, job: &Job, request: &Request, record: &Record) {
        let (counter, count) = match request {
            Request::Run(_) => (&self.runs, 1),
            Request::RunPair(_) => (&self.runs, 2),
            Request::Build(_) => (&self.builds, 1),
            _ => return,
        };
        for result in results_of(count, record) {
            counter.add(1, &self.labels(job, &[("result", result)]));
        }
    }
}

/// The result of each of an action's `count` runs or builds.
fn results_of(count: usize, record: &Record) -> Vec<&'static str> {
    let result = |failure: &Option<String>| if failure.is_some() { "failed" } else { "ok" };
    let of_run = |run: &RunReport| result(&run.failure);
    match record {
        Record::Reported { report, .. } => match report {
            Report::Built(build) => vec![result(&build.failure)],
            Report::Ran(run) => vec![of_run(run)],
            Report::RanPair(pair) => vec![of_run(&pair.first), of_run(&pair.second)],
            _ => Vec::new(),
        },
        Record::GaveUp { .. } => vec!["given_up"; count],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use pinpoint_core::PairReport;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn what_is_counted_can_be_scraped() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap().to_string();
        let taken = Metrics::serve(&address).await.err().unwrap();
        assert!(taken.to_string().contains(&address), "{taken}");
        drop(free);

        let metrics = Metrics::serve(&address).await.unwrap();
        let labels = [("kind", "bisection"), ("bot", "lab"), ("result", "ok")];
        let labels = labels.map(|(name, value)| MetricKeyValue::new(name, value));
        let labels = metrics
            .meter
            .new_attributes(NewAttributes::new(labels.into()));
        metrics.runs.add(2, &labels);
        metrics.worked.record(Duration::from_secs(7), &labels);
        metrics.queue("lab", "runs", 40, Duration::from_millis(90_500));
        metrics.queue("lab", "runs", 3, Duration::from_millis(7_900));
        metrics.machines("lab", 2, 1);
        let mut stream = tokio::net::TcpStream::connect(&address).await.unwrap();
        let request = "GET /metrics HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut scraped = String::new();
        stream.read_to_string(&mut scraped).await.unwrap();
        let labels = r#"bot="lab",kind="bisection",result="ok""#;
        for line in [
            format!("pinpoint_runs_total{{{labels}}} 2"),
            format!("pinpoint_work_seconds_bucket{{{labels},le=\"5\"}} 0"),
            format!("pinpoint_work_seconds_bucket{{{labels},le=\"15\"}} 1"),
            r#"pinpoint_queue_length{bot="lab",of="runs"} 3"#.into(),
            r#"pinpoint_queue_age_seconds{bot="lab",of="runs"} 7"#.into(),
            r#"pinpoint_machines{bot="lab",state="free"} 2"#.into(),
            r#"pinpoint_machines{bot="lab",state="busy"} 1"#.into(),
        ] {
            assert!(scraped.contains(&line), "{line}\n{scraped}");
        }
    }

    #[test]
    fn every_run_has_its_result() {
        let pair = Report::RanPair(Box::new(PairReport {
            first: RunReport::new(1),
            second: RunReport::failed(2, "exit code 1"),
        }));
        let reported = |report| Record::Reported { action: 1, report };
        assert_eq!(results_of(2, &reported(pair)), ["ok", "failed"]);
        let run = Report::Ran(RunReport::new(1));
        assert_eq!(results_of(1, &reported(run)), ["ok"]);
        let gave_up = Record::GaveUp {
            action: 1,
            reason: "gone".into(),
        };
        assert_eq!(results_of(2, &gave_up), ["given_up", "given_up"]);
    }
}
