//! `pinpoint plan`: the cost of a job, and the certainty of its answer.

mod report;
mod scatter;

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pinpoint_backends::local::{CpuList, Repository, RepositoryError, RunMeasure};
use pinpoint_core::simulation::{Plan as Planned, PlanError, Scatter, ScatterError};
use pinpoint_core::{
    BisectionSpec, CombinedCommit, Direction, JobSpec, Magnitude, PairwiseSpec, Range,
};

use crate::arguments::{Display, KindArgument, MeasureArgument, Plan, searched};
use crate::commands::plan::scatter::Measured;
use crate::error::CliError;
use crate::exit_code::FOUND;
use crate::job::new_job::values_of;
use crate::job::prior::Prior;
use crate::job::stop::Interrupt;
use crate::show::output::{self, errln};

/// The time between two pictures of the progress.
const TICK: Duration = Duration::from_millis(120);

pub(crate) async fn run(arguments: Plan, display: Display) -> Result<u8, CliError> {
    let interrupt = Interrupt::listen().map_err(CliError::file("wait for signals in", "."))?;
    let mut interrupted = std::pin::pin!(interrupt.interrupted());
    let work = async {
        let question = Question::new(&arguments)?;
        if !arguments.command.is_empty() {
            arguments.benchmark.say_where(&display);
        }
        let measure = (arguments.benchmark.measure).and_then(MeasureArgument::named);
        let Measured { scatter, measures } = scatter(arguments, &question, &display).await?;
        let magnitude = question
            .magnitude
            .map(|magnitude| scatter.in_its_unit(magnitude))
            .transpose()
            .map_err(unfit)?;
        if magnitude.is_none() && scatter.interquartile_range == 0.0 {
            return Err(CliError::Input(match measure {
                Some(measure @ (RunMeasure::Instructions | RunMeasure::Memory)) => format!(
                    "{} hardly scatters here, so that a few runs show any change: name the \
                     smallest one that matters with --magnitude, as in --magnitude 1%",
                    measure.as_str()
                ),
                _ => "more than half of the runs gave the same value, so that no size of a change \
                      suggests itself: name one with --magnitude"
                    .into(),
            }));
        }
        let simulated = Simulated::begin(&display);
        // All cores work on it, and signals must be handled in the meantime.
        let estimated = tokio::task::spawn_blocking(move || {
            let estimates = (question.plan).estimate_while(&scatter, magnitude, || {
                simulated.one_more();
                true
            });
            // It is requested until the command ends.
            let estimates = estimates?.unwrap_or_default();
            Ok::<_, PlanError>((question, scatter, estimates))
        });
        let (question, scatter, estimates) = match estimated.await {
            Ok(estimated) => estimated.map_err(refused)?,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_shut_down) => return Err(CliError::Interrupted),
            },
        };
        let answer = report::PlanReport {
            plan: &question.plan,
            prior: &question.prior,
            scatter: &scatter,
            magnitude,
            estimates: &estimates,
        };
        report::print(answer, &measures, &display);
        Ok(FOUND)
    };
    tokio::select! {
        done = work => done,
        () = &mut interrupted => Err(CliError::Interrupted),
    }
}

/// Shows that jobs are being simulated, which takes a while.
struct Simulated(Option<ProgressBar>);

impl Simulated {
    fn begin(display: &Display) -> Self {
        if display.quiet {
            return Self(None);
        }
        if !output::is_live() {
            errln!("simulating jobs, which takes some seconds");
            return Self(None);
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {pos} jobs simulated") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(TICK);
        output::keep_above(Some(bar.clone()));
        Self(Some(bar))
    }

    fn one_more(&self) {
        if let Some(bar) = &self.0 {
            bar.inc(1);
        }
    }
}

impl Drop for Simulated {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
            output::keep_above(None);
        }
    }
}

/// The job that is planned.
struct Question {
    plan: Planned,
    prior: Prior,
    magnitude: Option<Magnitude>,
    /// The repository and the good end, when ends were named.
    good: Option<(Repository, CombinedCommit)>,
}

impl Question {
    fn new(arguments: &Plan) -> Result<Self, CliError> {
        let strategy = arguments.strategy.into();
        let mut prior = Prior::default();
        let (commits, good) = match (&arguments.good, &arguments.bad) {
            (Some(good), Some(bad)) => {
                let repository = Repository::discover(&arguments.benchmark.repo)?;
                let good = repository.resolve_revision(good)?;
                let bad = repository.resolve_revision(bad)?;
                let ends = (good.git_hash.as_str(), bad.git_hash.as_str());
                repository
                    .range_check(ends.0, ends.1)
                    .map_err(|error| match error {
                        RepositoryError::Reversed { .. } => {
                            CliError::Input(format!("{error}\n\nname the older commit first"))
                        }
                        error => error.into(),
                    })?;
                let paths = repository.paths_between(ends.0, ends.1, &arguments.path)?;
                prior = Prior::new(&arguments.prior, strategy, &repository, ends, &paths)?;
                // The bad end may be the culprit, too.
                let commits = repository.count_between(ends.0, ends.1, &paths)? + 1;
                (commits, Some((repository, CombinedCommit::from(good))))
            }
            _ => {
                let is_search = arguments.kind != KindArgument::Pairwise;
                if is_search && arguments.commits.is_none() {
                    return Err(CliError::Input(
                        "say how many commits there are: give --commits, or name both ends".into(),
                    ));
                }
                (arguments.commits.unwrap_or(1), None)
            }
        };
        let search = BisectionSpec {
            strategy,
            direction: Direction::Unknown,
            priors: prior.weights.clone(),
            confidence: arguments.confidence,
            attempts: arguments.attempts,
            seed: arguments.seed,
            build_cost: arguments.build_cost,
            max_runs: arguments.max_runs,
            max_builds: arguments.max_builds,
            ..BisectionSpec::new(Range::Counted { between: 0 })
        };
        let pairs = arguments.pairs.unwrap_or(PairwiseSpec::unnamed().pairs);
        let spec: JobSpec = match arguments.kind {
            KindArgument::Bisection => searched(search, None),
            KindArgument::Pairwise => PairwiseSpec {
                pairs,
                seed: arguments.seed,
                ..PairwiseSpec::unnamed()
            }
            .into(),
            KindArgument::CulpritFinder => searched(search, Some(pairs)),
        };
        // Refused before anything is built or run.
        let plan = Planned::new(commits, spec).map_err(refused)?;
        Ok(Self {
            plan,
            prior,
            magnitude: arguments.magnitude,
            good,
        })
    }
}

/// Gets the noise from the source that the arguments name.
async fn scatter(
    arguments: Plan,
    question: &Question,
    display: &Display,
) -> Result<Measured, CliError> {
    let mut measures = Vec::new();
    let mut scatter = if let Some(noise) = arguments.noise {
        Scatter::normal(noise).map_err(unfit)?
    } else if let Some(path) = &arguments.values {
        Scatter::of_values(scatter::read(path)?, None).map_err(unfit)?
    } else if let (Some((repository, good)), false) = (&question.good, arguments.command.is_empty())
    {
        let inherited = values_of(&arguments.benchmark.inherited_env())?;
        (arguments.benchmark.cpu.as_ref()).map_or(Ok(()), CpuList::check)?;
        let aggregate = arguments.benchmark.aggregate.unwrap_or_default();
        let measure = arguments.benchmark.measure;
        let command = arguments.command;
        let mut config =
            (arguments.benchmark).into_config(repository.path(), good, None, command)?;
        config.chart = arguments.chart;
        match measure.map(MeasureArgument::named) {
            Some(Some(measure)) => config.measure_by(measure)?,
            Some(None) => {
                return Err(CliError::Input(
                    "--measure auto: a measure is chosen by what tells two commits apart, and only \
                     one is run; leave --measure out to see the noise of each"
                        .into(),
                ));
            }
            None => {}
        }
        config.env.extend(inherited);
        let measured = scatter::measure(config, aggregate, arguments.runs, display).await?;
        measures = measured.measures;
        measured.scatter
    } else {
        return Err(CliError::Input(
            "the noise of the benchmark is needed: give it with --noise, give values of runs of one \
             commit with --values, or name both ends and the benchmark: pinpoint plan GOOD BAD -- COMMAND"
                .into(),
        ));
    };
    if let Some(direction) = arguments.direction {
        scatter.direction = direction.into();
    }
    let seconds = |told: Option<std::time::Duration>| told.map(|told| told.as_secs_f64());
    scatter.run_time = seconds(arguments.run_time).or(scatter.run_time);
    scatter.build_time = seconds(arguments.build_time).or(scatter.build_time);
    Ok(Measured { scatter, measures })
}

/// Names the option to change.
fn refused(error: PlanError) -> CliError {
    match error {
        PlanError::Spec(error) => error.into(),
        PlanError::NoCommits => CliError::Input(format!("--commits: {error}")),
        PlanError::TooManyPairs { .. } => CliError::Input(format!("--pairs: {error}")),
        error => CliError::Input(error.to_string()),
    }
}

/// Names the option to change.
fn unfit(error: ScatterError) -> CliError {
    let option = match error {
        ScatterError::NotPositive(_) => "--noise: ",
        ScatterError::Units => "--noise and --magnitude: ",
        ScatterError::NoChange => "--magnitude: ",
        _ => "",
    };
    CliError::Input(format!("{option}{error}"))
}
