//! The requests of Chromium's API: they name a bot and a benchmark, and their commits in its ways.

use pinpoint_core::api::{
    FlatCommit, ScheduleBisectRequest, ScheduleCulpritFinderRequest, SchedulePairwiseRequest,
    Source, ValidBisection, ValidCulpritFinder, ValidPairwise,
};
use pinpoint_core::bots::Bots;
use pinpoint_core::{
    BisectionSpec, CombinedCommit, CulpritFinderSpec, Magnitude, PairwiseSpec, Range, Variant,
};

use super::configured::{ConfiguredBenchmark, RequestError, unsupported};
use super::{JobError, JobRequest};
use crate::local::same_repository;
use crate::store::NewJob;

/// A request of Chromium's API.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub enum ScheduleRequest {
    /// Finds the commit that changed a metric.
    Bisection(ScheduleBisectRequest),
    /// Decides whether two commits differ.
    Pairwise(SchedulePairwiseRequest),
    /// Decides whether two commits differ, finds the commit, and confirms it.
    CulpritFinder(ScheduleCulpritFinderRequest),
}

impl ScheduleRequest {
    /// The requested job, for the workers of its bot. Its title is left to the caller.
    ///
    /// # Errors
    ///
    /// All problems of the request, or the first problem that prevents the job.
    pub fn job(&self, bots: &Bots) -> Result<NewJob, RequestError> {
        let mut request = match self {
            Self::Bisection(request) => bisection(&ValidBisection::read(request, bots)?, bots)?,
            Self::Pairwise(request) => pairwise(&ValidPairwise::read(request, bots)?, bots)?,
            Self::CulpritFinder(request) => {
                let valid = ValidCulpritFinder::read(request, bots)?;
                // The verified difference is searched for, unless another is named.
                let magnitude = request.comparison_magnitude.trim();
                let magnitude = (!magnitude.is_empty()).then_some(valid.magnitude);
                culprit_finder(&valid, magnitude.map(Magnitude::Absolute), bots)?
            }
        };
        // Fields that the job itself does not need, such as the issue to report to, are kept here.
        request.config.request = Some(self.to_json()?);
        Ok(request.into_job()?)
    }

    /// The request in the JSON of its message.
    ///
    /// # Errors
    ///
    /// It contains an invalid duration.
    pub fn to_json(&self) -> Result<serde_json::Value, JobError> {
        let written = match self {
            Self::Bisection(request) => serde_json::to_value(request),
            Self::Pairwise(request) => serde_json::to_value(request),
            Self::CulpritFinder(request) => serde_json::to_value(request),
        };
        written.map_err(JobError::Unwritable)
    }
}

fn bisection(valid: &ValidBisection, bots: &Bots) -> Result<JobRequest, RequestError> {
    if valid.pin.is_some() {
        return unsupported(
            "pin",
            "a change from Gerrit can't be laid on top of commits here",
        );
    }
    if valid.spec.chart.is_none() {
        return unsupported(
            "comparison_mode",
            "only performance is compared here; name a chart",
        );
    }
    let mut benchmark = ConfiguredBenchmark::find(&valid.workload, bots)?;
    benchmark.check_extra("extra_args", &valid.extra_args)?;
    benchmark.command.extend_from_slice(&valid.extra_args);
    let mut request = benchmark.request(valid.spec.clone().into())?;
    request.user = valid.user.clone().unwrap_or_default();
    Ok(request)
}

fn culprit_finder(
    valid: &ValidCulpritFinder,
    magnitude: Option<Magnitude>,
    bots: &Bots,
) -> Result<JobRequest, RequestError> {
    let spec = CulpritFinderSpec::new(Range::Between {
        good: valid.good.clone().into(),
        bad: valid.bad.clone().into(),
    });
    let spec = CulpritFinderSpec {
        bisection: BisectionSpec {
            chart: Some(valid.chart.clone()),
            magnitude,
            direction: valid.direction,
            ..spec.bisection
        },
        ..spec
    };
    ConfiguredBenchmark::find(&valid.workload, bots)?.request(spec.into())
}

fn pairwise(valid: &ValidPairwise, bots: &Bots) -> Result<JobRequest, RequestError> {
    let benchmark = ConfiguredBenchmark::find(&valid.workload, bots)?;
    let target = bots.target(benchmark.bot.name, &valid.workload.benchmark)?;
    if valid.target.as_ref().is_some_and(|asked| asked != target) {
        return unsupported(
            "target",
            "the benchmark is built in another way on this bot",
        );
    }
    let side = |[arguments_field, field]: [&'static str; 2], source, arguments: &[String]| {
        benchmark.check_extra(arguments_field, arguments)?;
        Ok::<_, RequestError>(Variant {
            arguments: arguments.to_vec(),
            ..commit_of(field, source, benchmark.repository)?.into()
        })
    };
    let base = side(
        ["base_extra_args", "start_commit"],
        &valid.base,
        &valid.base_extra_args,
    )?;
    let experiment = side(
        ["experiment_extra_args", "end_commit"],
        &valid.experiment,
        &valid.experiment_extra_args,
    )?;
    let spec = PairwiseSpec {
        chart: valid.chart.clone(),
        direction: valid.direction,
        pairs: valid.attempts,
        // Its callers know Pinpoint's decisions.
        published: true,
        ..PairwiseSpec::new(base, experiment)
    };
    let mut request = benchmark.request(spec.into())?;
    request.name = valid.name.clone().unwrap_or_default();
    request.user = valid.user.clone().unwrap_or_default();
    Ok(request)
}

/// A side of a comparison: a commit of the bot's repository.
fn commit_of(
    field: &'static str,
    side: &Source,
    repository: &str,
) -> Result<CombinedCommit, RequestError> {
    let Source::Commit(FlatCommit {
        main,
        dependencies,
        patch,
    }) = side
    else {
        return unsupported(field, "a build can't be named here; name a commit");
    };
    if !dependencies.is_empty() {
        return unsupported(field, "dependencies can't be held at other revisions here");
    }
    if patch.is_some() {
        let reason =
            "a change from Gerrit can't be applied by this method; CreateJob of pinpoint.v2 can";
        return unsupported(field, reason);
    }
    if !same_repository(&main.repository, repository) {
        return unsupported(field, "the commit is not one of the bot's repository");
    }
    Ok(main.clone().into())
}

#[cfg(test)]
mod tests {
    use pinpoint_core::Direction;
    use pinpoint_core::api::CombinedCommit as Message;
    use pinpoint_core::api::{CasReference, Commit, GerritChange, cas_reference::Digest};
    use pinpoint_core::bots::ConfigFile;

    use super::*;
    use crate::job::JobConfig;
    use crate::local::LocalConfig;

    const BOTS: &str = r#"
        [bots.lab]
        local = true
        repository = "https://example.org/tool.git"

        [bots.nightly]
        alias = "lab"

        [bots.bare]
        local = true

        [bots.phones]
        browser = "release"
        bucket = "try"
        builder = "Android Builder"
        repository = "https://example.org/src.git"
        swarming_server = "https://example.org"
        dimensions = [{ key = "pool", value = "phones" }]

        [benchmarks.parsing]
        stories = ["small", "large"]
        bots = ["lab"]
        build = "make"
        command = ["./bench", "{story}"]
        format = "lines"
        aggregate = "max"
        timeout = "5m"
        env = { THREADS = "4" }
        repositories = ["https://example.org/dependency.git"]
        allow_extra_args = ["--repeat=*", "--extra-browser-args=--js-flags=*"]

        [benchmarks.elsewhere]
        bots = ["bare"]
        command = ["./bench"]

        [benchmarks.known]
        stories = ["small"]
    "#;

    fn bots() -> Bots {
        let file = ConfigFile {
            name: "bots.toml",
            text: BOTS,
        };
        Bots::read(&[file]).unwrap()
    }

    fn bisect() -> ScheduleBisectRequest {
        ScheduleBisectRequest {
            start_git_hash: "a".repeat(40),
            end_git_hash: "b".repeat(40),
            configuration: "nightly".into(),
            benchmark: "parsing".into(),
            story: "small".into(),
            chart: "time".into(),
            user: "ada@example.org".into(),
            ..ScheduleBisectRequest::default()
        }
    }

    fn compare() -> SchedulePairwiseRequest {
        let commit = |hash: &str, repository: &str| {
            Some(Message {
                main: Some(Commit {
                    git_hash: hash.repeat(40),
                    repository: repository.into(),
                    ..Commit::default()
                }),
                ..Message::default()
            })
        };
        SchedulePairwiseRequest {
            start_commit: commit("a", ""),
            end_commit: commit("b", "https://Example.org/tool"),
            configuration: "lab".into(),
            benchmark: "parsing".into(),
            story: "large".into(),
            ..SchedulePairwiseRequest::default()
        }
    }

    fn made(request: ScheduleRequest) -> (NewJob, LocalConfig) {
        let job = request.job(&bots()).unwrap();
        let config: JobConfig = serde_json::from_value(job.config.clone()).unwrap();
        assert!(config.by_workers);
        (job, config.local.unwrap())
    }

    #[test]
    fn a_bisection_is_run_as_the_bots_say() {
        let (job, local) = made(ScheduleRequest::Bisection(bisect()));
        assert_eq!((&*job.kind, &*job.bot), ("bisection", "lab"));
        assert_eq!(
            (&*job.benchmark, &*job.user),
            ("parsing", "ada@example.org")
        );
        assert_eq!(local.command, ["./bench", "small"]);
        assert_eq!(local.build.as_deref(), Some("make"));
        assert_eq!(local.timeout.unwrap().as_secs(), 300);
        assert_eq!(local.env["THREADS"], "4");
        assert_eq!(local.urls.len(), 2);
        let name = local.repository.to_string();
        assert_eq!(local.urls[&name], "https://example.org/tool.git");
        assert_eq!(local.chart.as_deref(), Some("time"));
        let spec: BisectionSpec = serde_json::from_value(job.spec).unwrap();
        assert_eq!(spec.magnitude, Some(Magnitude::Absolute(1.0)));
        assert_eq!(spec.aggregate.unwrap().to_string(), "max");
        let Range::Between { good, .. } = spec.range else {
            panic!("{:?}", spec.range);
        };
        assert_eq!(good.main.repository, name);
    }

    #[test]
    fn arguments_that_the_operator_allows_become_part_of_the_command() {
        let (_, local) = made(ScheduleRequest::Bisection(ScheduleBisectRequest {
            extra_args: "--repeat=2 '--repeat=$(id) 3'".into(),
            ..bisect()
        }));
        // No shell reads them.
        let expected = ["./bench", "small", "--repeat=2", "--repeat=$(id) 3"];
        assert_eq!(local.command, expected);
        let (job, local) = made(ScheduleRequest::Pairwise(SchedulePairwiseRequest {
            base_extra_args: "--repeat=2".into(),
            experiment_extra_args: "--extra-browser-args=\"--js-flags=--a --b\"".into(),
            ..compare()
        }));
        assert_eq!(local.command, ["./bench", "large"]);
        assert_eq!(local.good_arguments, ["--repeat=2"]);
        let spec: PairwiseSpec = serde_json::from_value(job.spec).unwrap();
        let sides = spec.sides.unwrap();
        assert_eq!(sides.base.arguments, ["--repeat=2"]);
        let browser = ["--extra-browser-args=--js-flags=--a --b"];
        assert_eq!(sides.experiment.arguments, browser);
    }

    /// A host that only looks like the repository's is another one.
    #[test]
    fn a_commit_of_another_repository_is_refused() {
        for url in [
            "https://example.org.evil.example/tool.git",
            "https://evil-example.org/tool.git",
            "https://example.org@evil.example/tool.git",
            "https://example.org:8443/tool.git",
            "https://example.org./tool.git",
            "http://example.org/tool.git",
            "https://example.org/other.git",
            "--upload-pack=x",
        ] {
            let mut request = compare();
            let state = request.end_commit.as_mut().unwrap();
            state.main.as_mut().unwrap().repository = url.into();
            let error = ScheduleRequest::Pairwise(request).job(&bots()).unwrap_err();
            let expected = "end_commit: the commit is not one of the bot's repository";
            assert_eq!(error.to_string(), expected, "{url}");
        }
    }

    #[test]
    fn a_comparison_is_of_commits_of_the_bots_repository() {
        let (job, local) = made(ScheduleRequest::Pairwise(compare()));
        let spec: PairwiseSpec = serde_json::from_value(job.spec).unwrap();
        let sides = spec.sides.unwrap();
        let main = &sides.experiment.commit.main;
        assert_eq!(main.repository, "https://example.org/tool.git");
        assert_eq!((spec.pairs, spec.chart), (30, None));
        assert!(local.every_chart);
        // A pair needs one value of each run.
        assert_eq!(spec.aggregate.unwrap().to_string(), "mean");
    }

    #[test]
    fn a_culprit_finder_looks_for_what_it_verified() {
        let request = |magnitude: &str| ScheduleCulpritFinderRequest {
            start_git_hash: "a".repeat(40),
            end_git_hash: "b".repeat(40),
            configuration: "lab".into(),
            benchmark: "parsing".into(),
            story: "small".into(),
            chart: "time".into(),
            improvement_direction: "UP".into(),
            comparison_magnitude: magnitude.into(),
            ..ScheduleCulpritFinderRequest::default()
        };
        for (magnitude, expected) in [("", None), ("2.5", Some(Magnitude::Absolute(2.5)))] {
            let (job, _) = made(ScheduleRequest::CulpritFinder(request(magnitude)));
            let spec: CulpritFinderSpec = serde_json::from_value(job.spec).unwrap();
            assert_eq!(spec.bisection.magnitude, expected);
            assert_eq!(spec.bisection.direction, Direction::Up);
            assert_eq!(spec.pairs, 30);
        }
    }

    #[test]
    fn what_workers_can_not_do_is_refused() {
        type Change<T> = fn(&mut T);
        let bisections: [(Change<ScheduleBisectRequest>, &str); 9] = [
            (
                |it| it.end_git_hash = "HEAD".into(),
                "the request is not valid:\nend_git_hash:",
            ),
            (
                |it| it.configuration = "phones".into(),
                "configuration: bot `phones` runs on Swarming",
            ),
            (
                |it| it.configuration = "bare".into(),
                "the request is not valid:\nconfiguration:",
            ),
            (
                |it| it.benchmark = "unheard".into(),
                "benchmark: `unheard` can't be requested",
            ),
            (
                |it| it.benchmark = "known".into(),
                "benchmark: `known` can't be requested",
            ),
            (
                |it| it.benchmark = "elsewhere".into(),
                "benchmark: `elsewhere` is not run on bot",
            ),
            (
                |it| it.story = "other".into(),
                "story: the benchmark has no story `other`",
            ),
            (|it| it.story_tags = "a,b".into(), "story_tags: "),
            (|it| it.extra_args = "--x".into(), "extra_args: "),
        ];
        for (change, expected) in bisections {
            let mut request = bisect();
            change(&mut request);
            let error = ScheduleRequest::Bisection(request)
                .job(&bots())
                .unwrap_err();
            assert!(error.to_string().starts_with(expected), "{error}");
        }
        let pairs: [(Change<SchedulePairwiseRequest>, &str); 6] = [
            (
                |it| it.configuration = "bare".into(),
                "the request is not valid:\nstart_commit.main",
            ),
            (|it| it.target = "other".into(), "target: "),
            (
                |it| it.experiment_extra_args = "-x".into(),
                "experiment_extra_args: ",
            ),
            (
                |it| {
                    it.end_commit = None;
                    it.end_build = Some(CasReference {
                        cas_instance: "i".into(),
                        digest: Some(Digest {
                            hash: "c".repeat(64),
                            size_bytes: 1,
                        }),
                    });
                },
                "end_commit: a build",
            ),
            (
                |it| {
                    let state = it.end_commit.as_mut().unwrap();
                    state.modified_deps = vec![Commit {
                        git_hash: "c".repeat(40),
                        repository: "https://example.org/dependency.git".into(),
                        ..Commit::default()
                    }];
                },
                "end_commit: dependencies",
            ),
            (
                |it| {
                    it.start_commit.as_mut().unwrap().patch = Some(GerritChange {
                        host: "h".into(),
                        project: "p".into(),
                        change: 1,
                        patchset: 1,
                        patchset_hash: String::new(),
                    });
                },
                "start_commit: a change",
            ),
        ];
        for (change, expected) in pairs {
            let mut request = compare();
            change(&mut request);
            let error = ScheduleRequest::Pairwise(request).job(&bots()).unwrap_err();
            assert!(error.to_string().starts_with(expected), "{error}");
        }
    }
}
