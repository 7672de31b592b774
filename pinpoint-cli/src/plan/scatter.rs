//! The noise of runs of one commit: given, read from a file, or measured.

use std::io::Read;
use std::path::Path;

use pinpoint_backends::local::{LocalConfig, LocalExecutor, Location, default_machine_dir};
use pinpoint_core::simulation::Noise;
use pinpoint_core::translate::{self, Reading};
use pinpoint_core::{
    Aggregate, BuildRequest, Charts, Direction, Event, ExecutorError, InProcess, Key, Located,
    Magnitude, Record, Report, RunRequest, direction_of,
};

use crate::arguments::Display;
use crate::error::CliError;
use crate::output::errln;
use crate::storage::state_dir;
use crate::text::{DIM, shortened};

/// With fewer values, their quartiles say nothing.
const LEAST_VALUES: usize = 5;
/// The level of simulated values when only their noise is known, in
/// interquartile ranges: noise of 1 %.
const LEVEL: f64 = 100.0;

/// How runs of one commit scatter, and what they take.
#[derive(Debug, Clone)]
pub(crate) struct Scatter {
    /// As the simulation has it.
    pub(crate) noise: Noise,
    /// The value of a commit without noise, as the simulation has it.
    pub(crate) level: f64,
    /// What 1 in the simulation is in the unit below.
    pub(crate) scale: f64,
    /// The interquartile range of the values of one commit, in the unit below.
    pub(crate) interquartile_range: f64,
    pub(crate) unit: Unit,
    /// The median in the metric's unit, when that is known.
    median: Option<f64>,
    /// Where better lies, when the metric tells.
    pub(crate) direction: Direction,
    /// Values that it was learned from; 0 when it was told.
    pub(crate) values: usize,
    /// How many runs fail.
    pub(crate) failure_rate: f64,
    /// Seconds that a run takes, and a build.
    pub(crate) run_time: Option<f64>,
    pub(crate) build_time: Option<f64>,
}

/// What changes are told in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Unit {
    /// Percent of the median.
    Percent,
    Metric(Option<String>),
}

impl Scatter {
    /// Normal noise of this size.
    pub(crate) fn told(noise: Magnitude) -> Result<Self, CliError> {
        let (size, unit, level) = match noise {
            Magnitude::Absolute(size) => (size, Unit::Metric(None), LEVEL),
            Magnitude::Percent(percent) => (percent, Unit::Percent, 100.0 / percent),
        };
        if size <= 0.0 {
            return Err(CliError::Input(format!(
                "--noise: the interquartile range of runs must be above 0; it is {size}"
            )));
        }
        Ok(Self {
            noise: Noise::Normal,
            level,
            scale: size,
            interquartile_range: size,
            unit,
            median: None,
            direction: Direction::Unknown,
            values: 0,
            failure_rate: 0.0,
            run_time: None,
            build_time: None,
        })
    }

    /// The noise of values that were measured: a simulated run takes one of them.
    pub(crate) fn of_values(mut values: Vec<f64>, unit: Unit) -> Result<Self, CliError> {
        let count = values.len();
        if count < LEAST_VALUES {
            return Err(CliError::Input(format!(
                "{count} values are too few to estimate the noise: give at least {LEAST_VALUES}"
            )));
        }
        values.sort_by(f64::total_cmp);
        // The quartiles that the comparisons of this project use.
        let interquartile_range = values[3 * count / 4] - values[count / 4];
        let median = (values[(count - 1) / 2] + values[count / 2]) / 2.0;
        let direction = match &unit {
            Unit::Metric(unit) => direction_of(Direction::Unknown, unit.as_deref()),
            _ => Direction::Unknown,
        };
        Ok(Self {
            noise: Noise::Measured(values.iter().map(|value| value - median).collect()),
            level: median,
            scale: 1.0,
            interquartile_range,
            unit,
            median: Some(median),
            direction,
            values: count,
            failure_rate: 0.0,
            run_time: None,
            build_time: None,
        })
    }

    /// The size of a change in the unit of this noise.
    pub(crate) fn in_its_unit(&self, magnitude: Magnitude) -> Result<f64, CliError> {
        let size = match (magnitude, &self.unit, self.median) {
            (Magnitude::Absolute(size), Unit::Metric(_), _)
            | (Magnitude::Percent(size), Unit::Percent, _) => size,
            (Magnitude::Percent(percent), Unit::Metric(_), Some(median)) => {
                median * percent / 100.0
            }
            _ => {
                return Err(CliError::Input(
                    "--noise and --magnitude: give both in percent, or both in the metric's unit"
                        .into(),
                ));
            }
        };
        if size == 0.0 {
            return Err(CliError::Input(
                "--magnitude: a change of 0 can't be found; name the smallest one that matters"
                    .into(),
            ));
        }
        Ok(size.abs())
    }
}

/// The numbers of a file, one on each line; empty lines do not count.
pub(crate) fn read(path: &Path) -> Result<Vec<f64>, CliError> {
    let unreadable = |error| CliError::Input(format!("can't read {}: {error}", path.display()));
    let text = if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .map_err(unreadable)?;
        text
    } else {
        std::fs::read_to_string(path).map_err(unreadable)?
    };
    text.lines()
        .zip(1..)
        .filter(|(line, _)| !line.trim().is_empty())
        .map(|(line, number)| {
            let value = line.trim().parse::<f64>().ok();
            value.filter(|value| value.is_finite()).ok_or_else(|| {
                CliError::Input(format!(
                    "{}, line {number}: {:?} is not a number; each line has to hold the value of one run",
                    path.display(),
                    shortened(line.trim(), 100)
                ))
            })
        })
        .collect()
}

/// Builds the good end and runs it so often.
pub(crate) async fn measure(
    config: LocalConfig,
    aggregate: Aggregate,
    runs: u32,
    display: &Display,
) -> Result<Scatter, CliError> {
    let directory = tempfile::Builder::new()
        .prefix("pinpoint-plan-")
        .tempdir()
        .map_err(CliError::file("make a directory in", std::env::temp_dir()))?;
    let job = directory
        .path()
        .file_name()
        .map_or_else(|| "plan".into(), |name| name.to_string_lossy().into_owned());
    let good = config.good.clone();
    // Builds are kept: the bisection will find them made.
    let location = Location {
        state_dir: state_dir(display)?,
        job_dir: directory.path().to_owned(),
        machine_dir: default_machine_dir(),
    };
    let stopped = |error: ExecutorError| CliError::Measurement(Box::new(error.into()));
    let executor = LocalExecutor::open(config, location, &job)
        .map_err(|error| CliError::Measurement(Box::new(error.into())))?;
    let say = |text: &str| {
        if !display.quiet {
            errln!("{DIM}{text}{DIM:#}");
        }
    };
    let key = |action| Key {
        job: job.clone(),
        action,
    };

    say("building the good end");
    let metric = executor.prepare().await.map_err(stopped)?;
    let build = BuildRequest {
        key: key(0),
        commit: Located::Commit(good.clone()),
    };
    let build = executor.build(&build).await.map_err(stopped)?;
    let (mut values, mut times, mut failed) = (Vec::new(), Vec::new(), None);
    let reading = Reading {
        charts: Charts::Deciding(metric.chart.clone()),
        aggregate: Some(aggregate),
        created: 0,
    };
    for index in 0..runs {
        say(&format!("run {} of {runs}", index + 1));
        let run = RunRequest {
            key: key(u64::from(index) + 1),
            variant: good.clone().into(),
            index,
            bot: None,
            charts: reading.charts.clone(),
            metric: None,
        };
        let run = executor.run(&run).await.map_err(stopped)?;
        times.extend(run.usage.map(|usage| usage.wall));
        let record = Record::Reported {
            action: u64::from(index) + 1,
            report: Report::Ran(run),
        };
        match translate::event(&record, None, &reading) {
            Some(Event::Ran { values: ran, .. }) => values.extend(ran.into_values().flatten()),
            Some(Event::RunFailed { reason, .. }) => failed = Some(reason),
            _ => {}
        }
    }
    let count = values.len();
    let direction = direction_of(metric.direction, metric.unit.as_deref());
    let mut scatter =
        Scatter::of_values(values, Unit::Metric(metric.unit)).map_err(|error| match &failed {
            Some(reason) => CliError::Input(format!(
                "{} of {runs} runs of the good end failed ({reason}): {error}",
                runs as usize - count
            )),
            None => CliError::Input(format!("--runs {runs}: {error}")),
        })?;
    scatter.direction = direction;
    scatter.failure_rate = 1.0 - count as f64 / f64::from(runs);
    times.sort_by(f64::total_cmp);
    scatter.run_time = times.get(times.len() / 2).copied();
    scatter.build_time = (!build.cached).then_some(build.duration as f64 / 1000.0);
    Ok(scatter)
}
