//! The measured metric, in words.

use pinpoint_core::job::{DirectionSource, MeasuredMetric};
use pinpoint_core::{Direction, MetricSource};

use crate::text::{name, plain};

/// The metric of a job on one line: its name and unit, its source, its better direction and the
/// reason, and the aggregate.
pub fn metric(metric: &MeasuredMetric) -> String {
    let mut text = match &metric.chart {
        Some(chart) => name(chart),
        None => "all metrics".to_owned(),
    };
    if let Some(unit) = &metric.unit {
        text += &format!(" in {}", name(unit));
    }
    text + &metric_facts(metric)
}

/// The rest of that line after the name; empty where nothing is known.
pub fn metric_facts(metric: &MeasuredMetric) -> String {
    let facts = [
        source(metric),
        direction(metric),
        (metric.aggregate).map(|it| format!("{it} of the values of a run")),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    match facts.is_empty() {
        true => String::new(),
        false => format!(": {}", facts.join("; ")),
    }
}

fn source(metric: &MeasuredMetric) -> Option<String> {
    let format = metric.format.as_deref().map(plain);
    Some(match (metric.source.as_ref()?, format) {
        (MetricSource::Measured, _) => match metric.chart.as_deref() {
            Some("wall") => "the wall-clock time of the command".to_owned(),
            Some("user") => "the processor time of the command".to_owned(),
            Some("system") => "the kernel's processor time for the command".to_owned(),
            Some("peak_memory") => "the peak memory of the command".to_owned(),
            Some("instructions") => "the instructions of the command".to_owned(),
            _ => "measured by the operating system".to_owned(),
        },
        (MetricSource::Function, _) => {
            "returned by the function that runs the benchmark".to_owned()
        }
        (source, Some(format)) => format!("read as {format} from {}", plain(&source.to_string())),
        (source, None) => format!("read from {}", plain(&source.to_string())),
    })
}

fn direction(metric: &MeasuredMetric) -> Option<String> {
    let better = match metric.direction? {
        Direction::Down => "lower is better",
        Direction::Up => "higher is better",
        Direction::Unknown => return Some("a change either way counts".to_owned()),
    };
    let is_measured = metric.source == Some(MetricSource::Measured);
    let reason = match metric.direction_source {
        Some(DirectionSource::Told) => ", as specified",
        Some(DirectionSource::Format) if !is_measured => ", by its format",
        Some(DirectionSource::Unit) => ", by its unit",
        _ => "",
    };
    Some(format!("{better}{reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_was_measured_and_where_it_was_read() {
        let read = MeasuredMetric {
            chart: Some("latency".into()),
            unit: Some("ms".into()),
            format: Some("lines".into()),
            source: Some(MetricSource::StandardError),
            direction: Some(Direction::Down),
            direction_source: Some(DirectionSource::Unit),
            aggregate: Some("median".parse().unwrap()),
        };
        assert_eq!(
            metric(&read),
            "latency in ms: read as lines from standard error; lower is better, by its unit; \
             median of the values of a run"
        );
        let wall = MeasuredMetric {
            chart: Some("wall".into()),
            unit: Some("s".into()),
            format: Some("time".into()),
            source: Some(MetricSource::Measured),
            direction_source: Some(DirectionSource::Format),
            aggregate: None,
            ..read.clone()
        };
        assert_eq!(
            metric(&wall),
            "wall in s: the wall-clock time of the command; lower is better"
        );
        let every = MeasuredMetric {
            chart: None,
            unit: None,
            source: Some(MetricSource::ResultsFile("out.json".into())),
            format: Some("gbench".into()),
            direction: None,
            direction_source: None,
            aggregate: None,
        };
        assert_eq!(
            metric(&every),
            "all metrics: read as gbench from `out.json`"
        );
        let unknown = MeasuredMetric {
            source: None,
            unit: None,
            direction: Some(Direction::Unknown),
            direction_source: Some(DirectionSource::Unknown),
            aggregate: None,
            ..read
        };
        assert_eq!(metric(&unknown), "latency: a change either way counts");
    }
}
