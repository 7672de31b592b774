//! The request for a job, to which the arguments of each door come down: of the command line, of
//! Python, of the APIs and of published workflows. They only parse; the rules are here.

use pinpoint_core::{
    BisectionSpec, CulpritFinderSpec, Direction, FindMetric, JobMachine, JobSpec, Range, SpecError,
    Variant,
};
use serde::Deserialize;

use super::stored::written;
use super::{JobConfig, JobError};
use crate::local::{LocalConfig, LocalError, MeasureChoice, RunMeasure, limits};
use crate::store::NewJob;

/// A request for a job: the question, how it is answered, and the names of the job in lists.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct JobRequest {
    /// The question.
    pub spec: JobSpec,
    /// The configuration of its execution.
    pub config: JobConfig,
    /// A title for people: the command line.
    pub title: String,
    /// The repository in lists, unless it is the one of the configuration.
    pub repository: Option<String>,
    /// The job name, if it has one.
    pub name: String,
    /// The benchmark.
    pub benchmark: String,
    /// The bot.
    pub bot: String,
    /// The user who asks for it.
    pub user: String,
}

/// The measure of runs that decides where their output is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestedMeasure {
    /// The one that separates the two ends best.
    Auto,
    /// This one.
    #[serde(untagged)]
    Named(RunMeasure),
}

impl JobRequest {
    /// A request with a configuration that has everything. Its names are left to the caller.
    pub fn new(spec: impl Into<JobSpec>, config: JobConfig) -> Self {
        Self {
            spec: spec.into(),
            config,
            title: String::new(),
            repository: None,
            name: String::new(),
            benchmark: String::new(),
            bot: String::new(),
            user: String::new(),
        }
    }

    /// A request for commits that are built and run on a machine. What the question says about the
    /// good end, the chart and the limits of work is filled in on both sides; the metric is found
    /// before the search.
    pub fn local(spec: impl Into<JobSpec>, mut local: LocalConfig) -> Self {
        let mut request = Self::new(spec, JobConfig::default());
        let sides = sides_of(&request.spec);
        let differ = { sides.as_ref() }.is_some_and(|[one, other]| one.commit != other.commit);
        let limits = limits(local.build_jobs);
        match &mut request.spec {
            JobSpec::Bisection(search)
            | JobSpec::CulpritFinder(CulpritFinderSpec {
                bisection: search, ..
            }) => {
                search.limits = limits;
                local.chart = local.chart.or_else(|| search.chart.clone());
            }
            JobSpec::Pairwise(pairs) => {
                pairs.limits = limits;
                local.chart = local.chart.or_else(|| pairs.chart.take());
                pairs.chart.clone_from(&local.chart);
                local.every_chart = local.chart.is_none();
                // To see how much a commit scatters, it is run.
                pairs.skip_same_builds = local.trace && differ;
            }
            // A question of a later kind says it all itself.
            _ => {}
        }
        if let Some([good, _]) = sides {
            local.good = good.commit;
            local.good_arguments = good.arguments;
            local.good_env = good.env;
        }
        request.config.local = Some(local);
        request.config.find_metric = Some(FindMetric::default());
        request
    }

    /// The direction of improvement; without one, the format decides, or the unit.
    #[must_use]
    pub fn with_direction(mut self, direction: Option<Direction>) -> Self {
        let asked = direction.unwrap_or_default();
        match &mut self.spec {
            JobSpec::Bisection(spec) => spec.direction = asked,
            JobSpec::CulpritFinder(spec) => spec.bisection.direction = asked,
            JobSpec::Pairwise(spec) => spec.direction = asked,
            _ => {}
        }
        let find = self.config.find_metric.unwrap_or_default();
        self.config.find_metric = Some(FindMetric {
            directions: direction.is_none(),
            ..find
        });
        self
    }

    /// Measures runs by the operating system, if a measure is named and they are made on a machine.
    ///
    /// # Errors
    ///
    /// When the output has a format, or the measure can't be taken here.
    pub fn with_measure(mut self, measure: Option<RequestedMeasure>) -> Result<Self, LocalError> {
        let sides = sides_of(&self.spec);
        let (Some(measure), Some(local)) = (measure, &mut self.config.local) else {
            return Ok(self);
        };
        let is_comparison = matches!(self.spec, JobSpec::Pairwise(_));
        match (measure, sides) {
            (RequestedMeasure::Named(measure), _) => local.measure_by(measure)?,
            (RequestedMeasure::Auto, Some([_, other])) => local.choose_measure(MeasureChoice {
                other,
                // An improvement is an answer to a comparison, too.
                either_way: is_comparison,
            })?,
            (RequestedMeasure::Auto, None) => {}
        }
        if let JobSpec::Pairwise(pairs) = &mut self.spec {
            pairs.chart.clone_from(&local.chart);
            local.every_chart &= local.chart.is_none();
            let find = self.config.find_metric.get_or_insert_default();
            find.only_chart = measure == RequestedMeasure::Auto;
        }
        Ok(self)
    }

    /// Checks that the question can be answered.
    ///
    /// # Errors
    ///
    /// When the spec asks for a search that can't be made.
    pub fn check(&self) -> Result<(), SpecError> {
        JobMachine::new(self.spec.clone()).map(drop)
    }

    /// The job to store.
    ///
    /// # Errors
    ///
    /// When the spec asks for a search that can't be made, or a path is not UTF-8.
    pub fn into_job(self) -> Result<NewJob, JobError> {
        let mut config = self.config;
        if config.by_workers {
            // They are on other machines.
            config.report = None;
        }
        let local = config.local.as_ref();
        let repository = local.map(|local| local.repository.to_string());
        Ok(NewJob {
            title: self.title,
            repository: self.repository.or(repository).unwrap_or_default(),
            name: self.name,
            benchmark: self.benchmark,
            bot: self.bot,
            user: self.user,
            config: written(&config)?,
            ..NewJob::new(self.spec)?
        })
    }
}

/// The two sides that a question names.
fn sides_of(spec: &JobSpec) -> Option<[Variant; 2]> {
    match spec {
        JobSpec::Bisection(BisectionSpec { range, .. })
        | JobSpec::CulpritFinder(CulpritFinderSpec {
            bisection: BisectionSpec { range, .. },
            ..
        }) => match range {
            Range::Between { good, bad } => Some([good.clone().into(), bad.clone().into()]),
            _ => None,
        },
        JobSpec::Pairwise(spec) => {
            let sides = spec.sides.as_ref()?;
            Some([sides.base.clone(), sides.experiment.clone()])
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use pinpoint_core::{CombinedCommit, Commit, PairwiseSpec};

    use super::*;

    fn commit(hash: &str) -> CombinedCommit {
        Commit::new("/r", hash).into()
    }

    fn local() -> LocalConfig {
        LocalConfig {
            trace: true,
            build_jobs: 3,
            ..LocalConfig::new("/r".to_owned(), commit("x"), vec!["bench".into()])
        }
    }

    fn pairwise(request: &JobRequest) -> (&PairwiseSpec, &LocalConfig) {
        match (&request.spec, &request.config.local) {
            (JobSpec::Pairwise(spec), Some(local)) => (spec, local),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_follows_from_the_question_is_filled_in() {
        let base = Variant {
            arguments: vec!["-v".into()],
            ..commit("a").into()
        };
        let request = JobRequest::local(PairwiseSpec::new(base, commit("b")), local());
        let (spec, local) = pairwise(&request);
        assert!(spec.skip_same_builds && local.every_chart);
        assert_eq!(spec.limits, limits(3));
        assert_eq!(
            (&local.good, &*local.good_arguments[0]),
            (&commit("a"), "-v")
        );
        let request = request.with_direction(Some(Direction::Up));
        let request = request.with_measure(Some(RequestedMeasure::Auto)).unwrap();
        let (spec, local) = pairwise(&request);
        let choice = local.measure_choice.as_ref().unwrap();
        assert!(choice.either_way && !local.every_chart);
        assert_eq!(
            (&choice.other.commit, spec.direction),
            (&commit("b"), Direction::Up)
        );
        let find = FindMetric {
            directions: false,
            only_chart: true,
        };
        assert_eq!(request.config.find_metric, Some(find));
    }

    #[test]
    fn direction_and_measure_may_come_in_any_order() {
        let spec = PairwiseSpec::new(commit("a"), commit("b"));
        for measure in [
            RequestedMeasure::Auto,
            RequestedMeasure::Named(RunMeasure::Wall),
        ] {
            let request = || JobRequest::local(spec.clone(), local());
            let direction_first = request()
                .with_direction(Some(Direction::Up))
                .with_measure(Some(measure));
            let measure_first = request().with_measure(Some(measure)).unwrap();
            let measure_first = measure_first.with_direction(Some(Direction::Up));
            let [one, other] = [direction_first.unwrap(), measure_first];
            assert_eq!((one.spec, one.config), (other.spec, other.config));
        }
    }

    #[test]
    fn a_search_finds_its_chart_and_direction() {
        let [good, bad] = ["a", "b"].map(commit);
        let spec = BisectionSpec::new(Range::Between { good, bad });
        let request = JobRequest::local(spec, local()).with_direction(None);
        assert!(request.config.find_metric.unwrap().directions);
        let measure = RequestedMeasure::Named(RunMeasure::Wall);
        let request = request.with_measure(Some(measure)).unwrap();
        let local = request.config.local.unwrap();
        assert_eq!((&*local.chart.unwrap(), local.good), ("wall", commit("a")));
        let JobSpec::Bisection(spec) = request.spec else {
            panic!("{:?}", request.spec);
        };
        // The first run finds it.
        assert_eq!(spec.chart, None);
    }
}
