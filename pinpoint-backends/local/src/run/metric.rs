//! Reading the output of a run.

use pinpoint_core::results::{Format, ReadError, Reading, RequestedMetric, RunOutput, find_metric};
use pinpoint_core::{Aggregate, ChartChoice, Charts, Metric, MetricSource, Series};

use crate::config::LocalConfig;
use crate::error::LocalError;
use crate::listed::listed;
use crate::run::measures::Values;

/// Reads the values of a run.
pub(crate) struct MetricReader<'a> {
    /// Absent where each run is read separately.
    metric: Option<&'a Metric>,
    format: Format,
    outputs: Outputs,
    wanted: ChartChoice<'a>,
    aggregate: Option<Aggregate>,
}

/// The outputs of a run that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outputs {
    None,
    /// The results file or standard output.
    Results,
    /// Standard error in its place.
    Stderr,
    /// Both: it is not known yet which of them holds the values.
    Both,
}

impl Outputs {
    /// The outputs in which a metric is looked for.
    pub(crate) fn to_find(config: &LocalConfig) -> Self {
        match (&config.format, &config.results) {
            (Format::Time, _) => Self::None,
            (_, Some(_)) => Self::Results,
            (_, None) => Self::Both,
        }
    }
}

impl<'a> MetricReader<'a> {
    pub(crate) fn new(
        config: &'a LocalConfig,
        metric: Option<&'a Metric>,
        charts: &'a Charts,
    ) -> Result<Self, LocalError> {
        let format = match metric {
            Some(metric) => {
                (metric.format.parse()).map_err(|source| LocalError::Format { source })?
            }
            None => config.format.clone(),
        };
        Ok(Self {
            metric,
            wanted: match charts {
                Charts::All => ChartChoice::Every,
                Charts::Deciding(chart) => {
                    ChartChoice::named_or_only(chart.as_deref().or(config.chart.as_deref()))
                }
            },
            outputs: match metric {
                None => Outputs::to_find(config),
                Some(_) if format == Format::Time => Outputs::None,
                Some(metric) if metric.source == Some(MetricSource::StandardError) => {
                    Outputs::Stderr
                }
                Some(_) => Outputs::Results,
            },
            format,
            aggregate: config.run_aggregate,
        })
    }

    /// The outputs of a run that it reads.
    pub(crate) fn outputs(&self) -> Outputs {
        self.outputs
    }

    /// The chart that decides, if known before a run.
    pub(crate) fn chart(&self) -> Option<String> {
        self.metric?.chart.clone()
    }

    /// Checks whether it is known before a run that this chart decides.
    pub(crate) fn is_decided_by(&self, chart: &str) -> bool {
        let deciding = match (self.metric, self.wanted) {
            (Some(metric), _) => metric.chart.as_deref(),
            (None, ChartChoice::Named(name)) => Some(name),
            (None, ChartChoice::Only | ChartChoice::Every) => None,
        };
        deciding == Some(chart)
    }

    /// The chart that decides and the values of a run that succeeded; or the reason for
    /// its failure.
    pub(crate) fn read(&self, run: RunOutput<'_>) -> Result<(Option<String>, Values), String> {
        let (chart, values) = match self.metric {
            Some(metric) => {
                let reading = self.read_all(run).map_err(|error| error.to_string())?;
                let mut values = in_units(metric, reading)?;
                if let (ChartChoice::Named(_) | ChartChoice::Only, Some(chart)) =
                    (self.wanted, &metric.chart)
                {
                    values.retain(|name, _| name == chart);
                }
                (metric.chart.clone(), values)
            }
            None => {
                let asked = RequestedMetric {
                    format: &self.format,
                    charts: self.wanted,
                    aggregate: None,
                };
                let found = find_metric(asked, run);
                let (metric, values) = found.map_err(|error| error.to_string())?;
                (metric.chart, values)
            }
        };
        match self.aggregate {
            Some(aggregate) => Ok((chart, aggregated(values, aggregate)?)),
            None => Ok((chart, values)),
        }
    }

    fn read_all(&self, run: RunOutput<'_>) -> Result<Reading, ReadError> {
        match self.outputs {
            Outputs::None => {
                let mut reading = Reading::default();
                reading.charts.clone_from(run.measures);
                Ok(reading)
            }
            Outputs::Stderr => self.format.read_with_failures(run.stderr),
            Outputs::Results | Outputs::Both => self.format.read_with_failures(run.results),
        }
    }
}

/// The names of the charts of one more run of the good end, which reveal charts that change; empty
/// where it can't be read.
pub(crate) fn names_again(metric: &Metric, run: RunOutput<'_>) -> Vec<String> {
    let read = |format: Format| match &metric.source {
        Some(MetricSource::StandardError) => format.read_with_failures(run.stderr),
        _ => format.read_with_failures(run.results),
    };
    let reading = metric.format.parse().ok().and_then(|it| read(it).ok());
    reading.map_or_else(Vec::new, |reading| {
        let names = reading.charts.into_keys();
        names.chain(reading.failed.into_keys()).collect()
    })
}

/// Reduces each chart to one value.
pub(crate) fn aggregated(values: Values, aggregate: Aggregate) -> Result<Values, String> {
    let one = |(chart, series): (String, Series)| {
        let value = aggregate.apply_to(&chart, &series.values);
        let values = vec![value.map_err(|error| error.to_string())?];
        Ok((chart, Series { values, ..series }))
    };
    values.into_iter().map(one).collect()
}

/// The charts of a run in the units of the metric; or the reason why they, or the chart that
/// decides, are missing.
fn in_units(metric: &Metric, reading: Reading) -> Result<Values, String> {
    if let Some(chart) = &metric.chart
        && !reading.charts.contains_key(chart)
    {
        return Err(missing(chart, &reading));
    }
    metric
        .in_units(reading.charts)
        .map_err(|error| error.to_string())
}

/// The failure of a run without the chart that decides.
fn missing(chart: &str, reading: &Reading) -> String {
    if let Some(reason) = reading.failed.get(chart) {
        return format!("gave no value for `{chart}`: {reason}");
    }
    let there: Vec<String> = reading.charts.keys().cloned().collect();
    match there.is_empty() {
        true => format!("gave no value for `{chart}`"),
        false => format!("gave no value for `{chart}`, only for {}", listed(&there)),
    }
}
