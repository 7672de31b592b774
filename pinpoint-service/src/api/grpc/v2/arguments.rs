//! The arguments of a job: from a request to a question, and back from a job.

use pinpoint_backends::job::{JobConfig, JobError, RequestError, WorkloadRequest, spec_of};
use pinpoint_backends::store::Job;
use pinpoint_core::api::Workload;
use pinpoint_core::bots::Bots;
use pinpoint_core::{
    Aggregate, Bisection, BisectionSpec, CombinedCommit, Commit, CulpritFinderSpec, Direction,
    JobSpec, Magnitude, Pairwise, PairwiseSpec, Patch, Range, Strategy, Variant,
};
use tonic::Status;

use super::super::errors::{self, Problems};
use super::super::fields::{MOST_NAME, too_long};
use super::messages::{self, CreateJobRequest, create_job_request, magnitude};

/// The least confidence that can be asked for: below it, the answer would more likely be wrong
/// than right.
pub(crate) const LEAST_CONFIDENCE: f64 = 0.5;

/// Problems of a request, each with its field.
#[derive(Debug, Default)]
struct Check(Vec<(String, String)>);

impl Check {
    fn note(&mut self, field: impl Into<String>, problem: impl Into<String>) {
        self.0.push((field.into(), problem.into()));
    }

    fn needed(&mut self, field: &str, text: &str) -> String {
        let text = text.trim();
        if text.is_empty() {
            self.note(field, "this field is required");
        }
        text.to_owned()
    }

    /// The bot, the benchmark and its story have to be known.
    fn workload(&mut self, workload: &Workload, bots: &Bots) {
        let Workload {
            bot,
            benchmark,
            story,
            ..
        } = workload;
        if !bot.is_empty()
            && let Err(unknown) = bots.get(bot)
        {
            self.note("bot", unknown.to_string());
        }
        let known = bots.benchmarks().get(benchmark);
        let error = match known.map(|known| known.command(story.as_deref())) {
            _ if benchmark.is_empty() => return,
            Some(Ok(Some(_))) => return,
            None | Some(Ok(None)) => RequestError::no_command(benchmark, bots),
            Some(Err(error)) => error.into(),
        };
        if let Problems::Fields(fields) = error.into() {
            self.0.extend(fields);
        }
    }

    /// A text of people or of a benchmark, which may be left out. Blanks alone are a mistake.
    fn text(&mut self, field: &str, text: &str) -> Option<String> {
        if let Some(problem) = too_long(text, MOST_NAME) {
            self.note(field, problem);
        }
        let trimmed = text.trim();
        if trimmed.is_empty() && !text.is_empty() {
            self.note(
                field,
                "it has only blanks; leave it out, or write something",
            );
        }
        Some(trimmed.to_owned()).filter(|text| !text.is_empty())
    }

    /// Notes the engine's objection to a search in which only this is set.
    fn search(&mut self, field: String, alone: BisectionSpec) {
        if let Err(error) = Bisection::new(alone) {
            self.note(field, error.to_string());
        }
    }

    fn pairs(&mut self, field: &str, pairs: u32) -> u32 {
        let alone = PairwiseSpec {
            pairs,
            ..PairwiseSpec::unnamed()
        };
        if let Err(error) = Pairwise::new(alone) {
            self.note(field, error.to_string());
        }
        pairs
    }

    fn seconds(&mut self, field: &str, seconds: Option<u64>) -> Option<u64> {
        if seconds == Some(0) {
            self.note(field, "it has to be at least 1");
        }
        seconds.map(milliseconds)
    }

    fn confidence(&mut self, field: String, confidence: f64) -> f64 {
        if !(LEAST_CONFIDENCE..1.0).contains(&confidence) {
            let problem = format!(
                "the confidence is {LEAST_CONFIDENCE} or more, and less than 1; it is {confidence}"
            );
            self.note(field, problem);
        }
        confidence
    }

    /// Arguments of a line.
    fn arguments(&mut self, field: &str, line: &str) -> Vec<String> {
        shlex::split(line).unwrap_or_else(|| {
            self.note(field, "a quotation mark or an escape is not ended");
            Vec::new()
        })
    }

    /// A commit by its whole hash, which is never taken for an option of git.
    fn commit(&mut self, field: &str, hash: &str) -> CombinedCommit {
        let hash = self.needed(field, hash).to_ascii_lowercase();
        let is_hash =
            matches!(hash.len(), 40 | 64) && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !hash.is_empty() && !is_hash {
            let problem = "this is not a full git hash; give all 40 (or 64) hexadecimal digits";
            self.note(field, problem);
        }
        Commit::new("", hash).into()
    }

    fn end(self) -> Result<(), Status> {
        match self.0.is_empty() {
            true => Ok(()),
            false => Err(errors::bad_request(self.0)),
        }
    }
}

/// The question of a request. Its sides that name a change have this patch.
///
/// # Errors
///
/// All problems of the request.
pub(super) fn question(
    request: &CreateJobRequest,
    patch: Option<&Patch>,
    bots: &Bots,
) -> Result<WorkloadRequest, Problems> {
    use create_job_request::Question as Asked;

    let mut check = Check::default();
    let aggregate = match request.aggregate.trim() {
        "" => None,
        text => text.parse::<Aggregate>().map_or_else(
            |error| {
                check.note("aggregate", error.to_string());
                None
            },
            Some,
        ),
    };
    let workload = Workload {
        bot: check.needed("bot", &request.bot),
        benchmark: check.needed("benchmark", &request.benchmark),
        story: check.text("story", &request.story),
        story_tags: match check.text("story_tags", &request.story_tags) {
            Some(tags) => tags.split(',').filter_map(text).collect(),
            None => Vec::new(),
        },
        aggregate,
    };
    check.workload(&workload, bots);
    for (field, text) in [("bot", &request.bot), ("benchmark", &request.benchmark)] {
        if let Some(problem) = too_long(text, MOST_NAME) {
            check.note(field, problem);
        }
    }
    check.text("name", &request.name);
    check.text("user", &request.user);
    if request.bug_id.is_some_and(|bug| bug < 0) {
        check.note("bug_id", "the number of an issue is not negative");
    }
    let chart = check.text("chart", &request.chart);
    let direction = direction(&mut check, request.direction);
    let spec: JobSpec = match &request.question {
        None => {
            let problem = "ask one question: `bisection`, `pairwise` or `culprit_finder`";
            check.note("question", problem);
            PairwiseSpec::unnamed().into()
        }
        Some(Asked::Bisection(asked)) => {
            let spec = search(&mut check, "bisection", asked);
            BisectionSpec {
                chart,
                direction,
                ..spec
            }
            .into()
        }
        Some(Asked::CulpritFinder(asked)) => {
            let missing = messages::Bisection::default();
            let bisection = asked.bisection.as_ref().unwrap_or(&missing);
            let bisection = search(&mut check, "culprit_finder.bisection", bisection);
            let default = CulpritFinderSpec::new(bisection.range.clone());
            CulpritFinderSpec {
                pairs: check.pairs("culprit_finder.pairs", asked.pairs.unwrap_or(default.pairs)),
                bisection: BisectionSpec {
                    chart,
                    direction,
                    ..bisection
                },
                ..default
            }
            .into()
        }
        Some(Asked::Pairwise(asked)) => {
            let base = check.commit("pairwise.base", &asked.base);
            let experiment = check.commit("pairwise.experiment", &asked.experiment);
            let mut side = |field: &str, commit: CombinedCommit, line: &str, named: bool| Variant {
                arguments: check.arguments(field, line),
                ..Variant::from(CombinedCommit {
                    patch: patch.filter(|_| named).cloned(),
                    ..commit
                })
            };
            let (line, named) = (&asked.base_extra_args, asked.base_patch.is_some());
            let base = side("pairwise.base_extra_args", base, line, named);
            let (line, named) = (
                &asked.experiment_extra_args,
                asked.experiment_patch.is_some(),
            );
            let experiment = side("pairwise.experiment_extra_args", experiment, line, named);
            let default = PairwiseSpec::new(base, experiment);
            PairwiseSpec {
                chart,
                direction,
                pairs: check.pairs("pairwise.pairs", asked.pairs.unwrap_or(default.pairs)),
                early_stopping: asked.early_stopping,
                max_time: check.seconds("pairwise.max_seconds", asked.max_seconds),
                seed: asked.seed,
                ..default
            }
            .into()
        }
    };
    match check.0.is_empty() {
        true => Ok(WorkloadRequest {
            workload,
            spec,
            request: None,
        }),
        false => Err(Problems::Fields(check.0)),
    }
}

fn search(check: &mut Check, field: &str, asked: &messages::Bisection) -> BisectionSpec {
    let good = check.commit(&format!("{field}.good"), &asked.good);
    let bad = check.commit(&format!("{field}.bad"), &asked.bad);
    if !asked.good.trim().is_empty() && good == bad {
        let problem = "both ends are the same commit";
        check.note(format!("{field}.bad"), problem);
    }
    let named = |name: &str| format!("{field}.{name}");
    let default = BisectionSpec::new(Range::Between { good, bad });
    let spec = BisectionSpec {
        strategy: strategy(check, &named("strategy"), asked.strategy),
        confidence: asked.confidence.unwrap_or(default.confidence),
        magnitude: size(check, &named("magnitude"), asked.magnitude.as_ref()),
        attempts: asked.attempts,
        build_cost: asked.build_cost.unwrap_or(default.build_cost),
        max_runs: asked.max_runs,
        max_builds: asked.max_builds,
        max_time: check.seconds(&named("max_seconds"), asked.max_seconds),
        seed: asked.seed,
        ..default
    };
    limits(check, &named, &spec);
    spec
}

/// Notes the numbers of a search that are out of range, each separately.
fn limits(check: &mut Check, named: &dyn Fn(&str) -> String, spec: &BisectionSpec) {
    check.confidence(named("confidence"), spec.confidence);
    let default = || BisectionSpec {
        strategy: spec.strategy,
        ..BisectionSpec::new(Range::Counted { between: 0 })
    };
    let attempts = BisectionSpec {
        attempts: spec.attempts,
        ..default()
    };
    let has_attempts = Bisection::new(attempts.clone()).is_ok();
    check.search(named("attempts"), attempts.clone());
    check.search(
        named("build_cost"),
        BisectionSpec {
            build_cost: spec.build_cost,
            ..default()
        },
    );
    check.search(
        named("max_runs"),
        BisectionSpec {
            max_runs: spec.max_runs,
            attempts: attempts.attempts.filter(|_| has_attempts),
            ..default()
        },
    );
    check.search(
        named("max_builds"),
        BisectionSpec {
            max_builds: spec.max_builds,
            ..default()
        },
    );
}

fn strategy(check: &mut Check, field: &str, asked: i32) -> Strategy {
    match messages::Strategy::try_from(asked) {
        Ok(messages::Strategy::Unspecified) => Strategy::default(),
        Ok(messages::Strategy::Adaptive) => Strategy::Adaptive,
        Ok(messages::Strategy::Pinpoint) => Strategy::Pinpoint,
        Err(_) => {
            check.note(field, "there is no such strategy");
            Strategy::default()
        }
    }
}

fn direction(check: &mut Check, asked: i32) -> Direction {
    match messages::Direction::try_from(asked) {
        Ok(messages::Direction::Unspecified) => Direction::Unknown,
        Ok(messages::Direction::Up) => Direction::Up,
        Ok(messages::Direction::Down) => Direction::Down,
        Err(_) => {
            check.note("direction", "there is no such direction");
            Direction::Unknown
        }
    }
}

fn size(check: &mut Check, field: &str, asked: Option<&messages::Magnitude>) -> Option<Magnitude> {
    let (size, magnitude) = match asked?.size {
        Some(magnitude::Size::Absolute(size)) => (size, Magnitude::Absolute(size)),
        Some(magnitude::Size::Percent(size)) => (size, Magnitude::Percent(size)),
        None => {
            check.note(field, "give it as `absolute` or as `percent`");
            return None;
        }
    };
    if !(size.is_finite() && size > 0.0) {
        check.note(
            field,
            format!("it has to be a number above 0; it is {size}"),
        );
    }
    Some(magnitude)
}

/// The question and the first values of a plan.
pub(super) struct Planned {
    pub(super) spec: JobSpec,
    pub(super) magnitude: Option<Magnitude>,
    pub(super) direction: Direction,
}

/// The question of a plan, whose range is not known.
pub(super) fn planned(request: &messages::PlanJobRequest) -> Result<Planned, Status> {
    let mut check = Check::default();
    let default = BisectionSpec::new(Range::Counted { between: 0 });
    let magnitude = size(&mut check, "magnitude", request.magnitude.as_ref());
    let direction = direction(&mut check, request.direction);
    let search = BisectionSpec {
        strategy: strategy(&mut check, "strategy", request.strategy),
        direction,
        confidence: request.confidence.unwrap_or(default.confidence),
        magnitude,
        attempts: request.attempts,
        build_cost: request.build_cost.unwrap_or(default.build_cost),
        max_runs: request.max_runs,
        max_builds: request.max_builds,
        seed: request.seed,
        ..default
    };
    let pairs = request.pairs.unwrap_or(PairwiseSpec::unnamed().pairs);
    let kind = messages::Kind::try_from(request.kind);
    if !matches!(kind, Ok(messages::Kind::Pairwise)) {
        limits(&mut check, &str::to_owned, &search);
    }
    if matches!(
        kind,
        Ok(messages::Kind::Pairwise | messages::Kind::CulpritFinder)
    ) {
        check.pairs("pairs", pairs);
    }
    let spec: JobSpec = match kind {
        Ok(messages::Kind::Unspecified | messages::Kind::Bisection) => search.into(),
        Ok(messages::Kind::Pairwise) => PairwiseSpec {
            direction,
            pairs,
            early_stopping: request.early_stopping,
            seed: request.seed,
            ..PairwiseSpec::unnamed()
        }
        .into(),
        Ok(messages::Kind::CulpritFinder) => CulpritFinderSpec {
            pairs,
            bisection: search,
            ..CulpritFinderSpec::new(Range::Counted { between: 0 })
        }
        .into(),
        Err(_) => {
            check.note("kind", "there is no such kind of job");
            search.into()
        }
    };
    check.end()?;
    Ok(Planned {
        spec,
        magnitude,
        direction,
    })
}

/// An amount, where one is given.
pub(super) fn amount(
    field: &str,
    asked: Option<&messages::Magnitude>,
) -> Result<Option<Magnitude>, Status> {
    let mut check = Check::default();
    let amount = size(&mut check, field, asked);
    check.end()?;
    Ok(amount)
}

/// The arguments of a job; nothing for one that was not made by a request, or whose request ours
/// can't express.
///
/// # Errors
///
/// When the job can't be read.
pub(super) fn arguments(job: &Job) -> Result<Option<CreateJobRequest>, JobError> {
    let Some(request) = JobConfig::of(job)?.request else {
        return Ok(None);
    };
    let text = |name: &str| request[name].as_str().unwrap_or_default().to_owned();
    // Requests of Chromium's API may say more.
    let more = ["extraArgs", "pin"];
    if more.iter().any(|name| !text(name).trim().is_empty()) {
        return Ok(None);
    }
    let spec = spec_of(job)?;
    let (chart, aggregate) = (spec.chart().map(str::to_owned), spec.aggregate());
    let direction = match spec.direction() {
        Direction::Up => messages::Direction::Up,
        Direction::Down => messages::Direction::Down,
        Direction::Unknown => messages::Direction::Unspecified,
    };
    use create_job_request::Question as Asked;
    let question = match spec {
        JobSpec::Bisection(spec) => searched(&spec).map(Asked::Bisection),
        JobSpec::CulpritFinder(spec) => searched(&spec.bisection).map(|search| {
            Asked::CulpritFinder(messages::CulpritFinder {
                bisection: Some(search),
                pairs: Some(spec.pairs),
            })
        }),
        JobSpec::Pairwise(spec) => compared(&spec, &request["pairwise"]).map(Asked::Pairwise),
        _ => None,
    };
    let Some(question) = question else {
        return Ok(None);
    };
    Ok(Some(CreateJobRequest {
        bot: job.bot.clone(),
        benchmark: job.benchmark.clone(),
        story: text("story"),
        chart: chart.unwrap_or_default(),
        direction: direction as i32,
        aggregate: aggregate.map_or_else(String::new, |it| it.to_string()),
        name: job.name.clone(),
        user: String::new(),
        bug_id: request["bugId"].as_str().and_then(|bug| bug.parse().ok()),
        question: Some(question),
        story_tags: text("storyTags"),
    }))
}

fn searched(spec: &BisectionSpec) -> Option<messages::Bisection> {
    let Range::Between { good, bad } = &spec.range else {
        return None;
    };
    let strategy = match spec.strategy {
        Strategy::Adaptive => messages::Strategy::Adaptive,
        Strategy::Pinpoint => messages::Strategy::Pinpoint,
        _ => return None,
    };
    let size = match spec.magnitude {
        None => None,
        Some(Magnitude::Absolute(size)) => Some(magnitude::Size::Absolute(size)),
        Some(Magnitude::Percent(size)) => Some(magnitude::Size::Percent(size)),
        Some(_) => return None,
    };
    let magnitude = size.map(|size| messages::Magnitude { size: Some(size) });
    Some(messages::Bisection {
        good: plain(good)?,
        bad: plain(bad)?,
        strategy: strategy as i32,
        confidence: Some(spec.confidence),
        magnitude,
        attempts: spec.attempts,
        build_cost: Some(spec.build_cost),
        max_runs: spec.max_runs,
        max_builds: spec.max_builds,
        max_seconds: spec.max_time.map(|time| time / 1000),
        seed: spec.seed,
    })
}

/// The question of a comparison, as it was asked.
fn compared(spec: &PairwiseSpec, asked: &serde_json::Value) -> Option<messages::Pairwise> {
    let sides = spec.sides.as_ref()?;
    let side = |side: &Variant, patch: &Option<messages::Patch>| {
        let is_plain = side.env.is_empty() && side.artifact.is_none();
        let commit = CombinedCommit {
            // The request says which change it is.
            patch: side.commit.patch.clone().filter(|_| patch.is_none()),
            ..side.commit.clone()
        };
        plain(&commit).filter(|_| is_plain)
    };
    let (base_patch, experiment_patch) =
        (named(&asked["basePatch"]), named(&asked["experimentPatch"]));
    let line = |side: &Variant| shlex::try_join(side.arguments.iter().map(String::as_str)).ok();
    Some(messages::Pairwise {
        base: side(&sides.base, &base_patch)?,
        experiment: side(&sides.experiment, &experiment_patch)?,
        pairs: Some(spec.pairs),
        early_stopping: spec.early_stopping,
        max_seconds: spec.max_time.map(|time| time / 1000),
        seed: spec.seed,
        base_extra_args: line(&sides.base)?,
        experiment_extra_args: line(&sides.experiment)?,
        base_patch,
        experiment_patch,
    })
}

/// A change as a request in JSON names it, in which numbers of 64 bits are texts.
fn named(patch: &serde_json::Value) -> Option<messages::Patch> {
    let number = |name: &str| patch[name].as_str()?.parse().ok();
    Some(messages::Patch {
        host: patch["host"].as_str()?.to_owned(),
        change: number("change")?,
        patchset: number("patchset"),
    })
}

/// The hash of a plain commit.
fn plain(commit: &CombinedCommit) -> Option<String> {
    let is_plain = commit.modified_deps.is_empty() && commit.patch.is_none();
    is_plain.then(|| commit.main.git_hash.clone())
}

fn milliseconds(seconds: u64) -> u64 {
    seconds.saturating_mul(1000)
}

/// The commits that a request names, each with its field.
pub(super) fn commits(request: &mut CreateJobRequest) -> Vec<(&'static str, &mut String)> {
    use create_job_request::Question as Asked;

    match &mut request.question {
        Some(Asked::Bisection(asked)) => vec![
            ("bisection.good", &mut asked.good),
            ("bisection.bad", &mut asked.bad),
        ],
        Some(Asked::CulpritFinder(asked)) => match &mut asked.bisection {
            Some(asked) => vec![
                ("culprit_finder.bisection.good", &mut asked.good),
                ("culprit_finder.bisection.bad", &mut asked.bad),
            ],
            None => Vec::new(),
        },
        Some(Asked::Pairwise(asked)) => vec![
            ("pairwise.base", &mut asked.base),
            ("pairwise.experiment", &mut asked.experiment),
        ],
        None => Vec::new(),
    }
}

pub(super) fn text(text: &str) -> Option<String> {
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}
