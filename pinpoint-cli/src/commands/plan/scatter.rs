//! The noise of runs of one commit: given, read from a file, or measured.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use pinpoint_backends::local::{
    LocalConfig, LocalExecutor, Location, RunMeasure, default_machine_dir,
};
use pinpoint_core::results::Format;
use pinpoint_core::simulation::Scatter;
use pinpoint_core::translate::{self, ReadingSettings};
use pinpoint_core::{
    Aggregate, BuildRequest, Charts, Event, FindMetricRequest, InProcess, Key, Located, Record,
    Report, RunRequest, direction_of,
};
use pinpoint_report::text::shortened;

use crate::arguments::Display;
use crate::error::CliError;
use crate::job::storage::state_dir;
use crate::job::work::counted_by;
use crate::show::output::errln;
use crate::show::text::DIM;

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

/// The measured noise, and that of each measure that could decide instead; of none if values are
/// read from the output.
pub(crate) struct Measured {
    pub(crate) scatter: Scatter,
    pub(crate) measures: Vec<(RunMeasure, Scatter)>,
}

/// Builds the good end and runs it this often.
pub(crate) async fn measure(
    mut config: LocalConfig,
    aggregate: Aggregate,
    runs: u32,
    display: &Display,
) -> Result<Measured, CliError> {
    config.count_instructions_at_no_cost();
    let directory = tempfile::Builder::new()
        .prefix("pinpoint-plan-")
        .tempdir()
        .map_err(CliError::file("make a directory in", std::env::temp_dir()))?;
    let job = directory
        .path()
        .file_name()
        .map_or_else(|| "plan".into(), |name| name.to_string_lossy().into_owned());
    let good = config.good.clone();
    // Builds are kept: the bisection will find them.
    let location = Location {
        state_dir: state_dir(display)?,
        job_dir: directory.path().to_owned(),
        machine_dir: default_machine_dir(),
    };
    let counter = config.instructions;
    let executor = LocalExecutor::open(config, location, &job)?;
    let say = |text: &str| {
        if !display.quiet {
            errln!("{DIM}{text}{DIM:#}");
        }
    };
    let key = |action| Key {
        job: job.clone(),
        action,
    };

    if let Some(counter) = counter {
        say(counted_by(counter));
    }
    say("building the good end");
    let find = FindMetricRequest {
        key: key(0),
        commit: good.clone(),
        aggregate: Some(aggregate),
    };
    let metric = executor.find_metric(&find).await?;
    let build = BuildRequest {
        key: key(1),
        commit: Located::Commit(good.clone()),
    };
    let build = executor.build(&build).await?;
    let (mut charts, mut times, mut failed) = (BTreeMap::new(), Vec::new(), None);
    let is_measured = metric.format == Format::Time.to_string();
    let reading = ReadingSettings {
        charts: match is_measured {
            true => Charts::All,
            false => Charts::Deciding(metric.chart.clone()),
        },
        aggregate: Some(aggregate),
        created: 0,
    };
    for index in 0..runs {
        say(&format!("run {} of {runs}", index + 1));
        let run = RunRequest {
            key: key(u64::from(index) + 2),
            variant: good.clone().into(),
            index,
            bot: None,
            charts: reading.charts.clone(),
            metric: Some(metric.clone()),
        };
        let run = executor.run(&run).await?;
        times.extend(run.usage.map(|usage| usage.wall));
        let record = Record::Reported {
            action: u64::from(index) + 2,
            report: Report::Ran(run),
        };
        match translate::event(&record, None, &reading) {
            Some(Event::Ran { values, .. }) => {
                for (chart, values) in values {
                    charts.entry(chart).or_insert_with(Vec::new).extend(values);
                }
            }
            Some(Event::RunFailed { reason, .. }) => failed = Some(reason),
            _ => {}
        }
    }
    let deciding = metric.chart.as_deref().unwrap_or_default();
    let values = charts.get(deciding).cloned().unwrap_or_default();
    let count = values.len();
    let direction = direction_of(metric.direction, metric.unit.as_deref());
    let mut scatter = Scatter::of_values(values, metric.unit).map_err(|error| match &failed {
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
    let measures = RunMeasure::ALL.into_iter().filter_map(|measure| {
        let values = charts.remove(measure.chart()).filter(|_| is_measured)?;
        let unit = metric.charts.get(measure.chart())?.unit.clone();
        Some((measure, Scatter::of_values(values, unit).ok()?))
    });
    Ok(Measured {
        measures: measures.collect(),
        scatter,
    })
}
