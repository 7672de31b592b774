//! From arguments to a job in LUCI.

use std::path::{Path, PathBuf};

use pinpoint_backends::gerrit::ChangeName;
use pinpoint_backends::gitiles::{GitilesHistory, RepositoryUrl, is_full_hash};
use pinpoint_backends::google::TokenSource;
use pinpoint_backends::job::{CommandLine, JobConfig, JobRequest};
use pinpoint_backends::local::RepositoryError;
use pinpoint_backends::luci::{Benchmark, LuciConfig, LuciExecutor, RequestedCharts, given_build};
use pinpoint_backends::swarming::CasReference;
use pinpoint_core::bots::Workers;
use pinpoint_core::{
    BisectionSpec, CombinedCommit, Commit, JobMachine, JobSpec, PairwiseSpec, Patch, Range, Variant,
};
use pinpoint_midpoint::{History, MidpointError};
use pinpoint_report::command_line::with_ends;
use serde_json::json;

use super::executor::{cache_of, source_of};
use super::patch::{at_gerrit, looked_up};
use super::reports::{report, reports};
use super::settings::{RECENT, settings};
use crate::arguments::{
    Assignment, Bisect, Callback, Display, JobOptions, Output, Pairwise, ProfilerArgument, searched,
};
use crate::commands::bots;
use crate::commands::explain::after_search::end_explained;
use crate::error::CliError;
use crate::exit_code::FOUND;
use crate::job::command_line;
use crate::job::new_job::{CarriedOut, end, name, store_job};
use crate::job::storage::{Storage, state_dir};
use crate::show::output::{errln, outln, print_json};

/// The job in whose name requests are shown.
const DRY_RUN: &str = "dry-run";

/// `pinpoint bisect`, and with verification `pinpoint culprit`.
pub(crate) async fn bisect(
    arguments: Bisect,
    verification: Option<(u32, Callback)>,
    display: Display,
) -> Result<u8, CliError> {
    let pairs = verification.as_ref().map(|(pairs, _)| *pairs);
    let charts = match &arguments.chart {
        Some(chart) => RequestedCharts::Named(chart.clone()),
        None => RequestedCharts::Only,
    };
    let question = BisectionSpec {
        chart: arguments.chart.clone(),
        ..arguments.question(Range::Counted { between: 0 })
    };
    if pairs.is_some() {
        refuse_few_machines(&arguments.job.assignment)?;
    }
    let mut job = NewJob::new(
        arguments.job,
        charts,
        arguments.command,
        arguments.bug,
        &display,
    )?;
    job.config.write_back = arguments.write_back.map(Into::into);
    job.config.culprit_callback = verification.and_then(|(_, callback)| callback.into_config());
    let change = arguments.patch.as_deref().map(at_gerrit).transpose()?;
    let spec = |[good, bad]: [CombinedCommit; 2]| {
        let bisection = BisectionSpec {
            range: Range::Between { good, bad },
            ..question.clone()
        };
        searched(bisection, pairs)
    };
    let display = job.options.assignment.display(display);
    let storage = job.prepare(spec(job.any_ends()), &display).await?;
    let good = job.commit(&arguments.good).await?;
    let bad = job.commit(&arguments.bad).await?;
    let patch = job.patch(change.as_ref()).await?;
    let ends = [&good, &bad].map(|end| with_patch(end.clone(), patch.as_ref()));
    let Some(storage) = storage else {
        return job.show(&ends.map(Variant::from), &display);
    };
    let command_line = command_line::of_this_process(&arguments.good, &arguments.bad);
    let names = [&*arguments.good, &*arguments.bad];
    job.check_range([&good, &bad], names, &command_line).await?;
    let find_chart = arguments.chart.is_none();
    let spec = spec(ends);
    let explain = arguments.explain.then_some(arguments.profiler);
    job.run(&storage, spec, find_chart, command_line, explain, &display)
        .await
}

/// `pinpoint pairwise`.
pub(crate) async fn pairwise(arguments: Pairwise, display: Display) -> Result<u8, CliError> {
    let charts = match &arguments.chart {
        Some(chart) => RequestedCharts::Named(chart.clone()),
        None => RequestedCharts::Every,
    };
    let question = arguments.question();
    let job = NewJob::new(arguments.job, charts, arguments.command, None, &display)?;
    let change = arguments.patch.as_deref().map(at_gerrit).transpose()?;
    let builds = [
        ("--base-build", &arguments.base_build),
        ("--experiment-build", &arguments.experiment_build),
    ];
    let [base_build, experiment_build] = builds.map(|(option, build)| {
        let build = build.as_deref().map(|build| job.build(option, build));
        build.transpose()
    });
    let builds = (base_build?, experiment_build?);
    let spec = |[base, experiment]: [Variant; 2]| PairwiseSpec {
        sides: PairwiseSpec::new(base, experiment).sides,
        ..question.clone()
    };
    let display = job.options.assignment.display(display);
    let any = spec(job.any_ends().map(Variant::from));
    let storage = job.prepare(any.into(), &display).await?;
    let (base, experiment, are_given) = match builds {
        (Some(base), Some(experiment)) => (given_build(&base), given_build(&experiment), true),
        _ => {
            // Required where there are no builds.
            let base = job.commit(&arguments.base.unwrap_or_default()).await?;
            let experiment = match &arguments.experiment {
                Some(revision) => job.commit(revision).await?,
                None => base.clone(),
            };
            let patch = job.patch(change.as_ref()).await?;
            let experiment = with_patch(experiment, patch.as_ref());
            (base.into(), experiment, false)
        }
    };
    let base = Variant {
        arguments: arguments.base_arg,
        ..Variant::from(base)
    };
    let experiment = Variant {
        arguments: arguments.experiment_arg,
        ..Variant::from(experiment)
    };
    // To see how much a commit scatters, a user names it twice.
    if !are_given && arguments.experiment.is_none() && base == experiment {
        return Err(CliError::Input(
            "there is nothing to compare the base with: name an EXPERIMENT, or give --patch or --experiment-arg".into(),
        ));
    }
    let Some(storage) = storage else {
        return job.show(&[base, experiment], &display);
    };
    // All pairs are requested at once: a missing chart would cost all of them.
    let find_chart = arguments.chart.is_some();
    let spec = spec([base, experiment]).into();
    let command_line = command_line::without_ends();
    job.run(&storage, spec, find_chart, command_line, None, &display)
        .await
}

/// Refuses a culprit finder on a bot that has too few machines for it.
fn refuse_few_machines(assignment: &Assignment) -> Result<(), CliError> {
    let all = bots::read(&assignment.config.bot_config)?;
    let bot = all.get(assignment.bot.as_deref().unwrap_or_default())?;
    match bot.no_culprit_finder {
        false => Ok(()),
        true => Err(CliError::Input(format!(
            "bot `{}` has too few machines for a culprit finder; choose another bot, or `pinpoint bisect`",
            bot.name
        ))),
    }
}

/// A job that the arguments ask for.
struct NewJob {
    options: JobOptions,
    config: LuciConfig,
    executor: LuciExecutor,
    repository: RepositoryUrl,
    source: TokenSource,
    bot: String,
    report: Option<PathBuf>,
}

impl NewJob {
    fn new(
        options: JobOptions,
        charts: RequestedCharts,
        arguments: Vec<String>,
        issue: Option<u64>,
        display: &Display,
    ) -> Result<Self, CliError> {
        let Assignment {
            bot,
            config: bot_config,
            luci,
            ..
        } = &options.assignment;
        // Required with --executor.
        let bot = bot.as_deref().unwrap_or_default();
        let benchmark = options.benchmark_name.clone().unwrap_or_default();
        let all = bots::read(&bot_config.bot_config)?;
        let bot = all.get(bot)?;
        let wrong = |reason: &str| CliError::Input(format!("bot `{}` {reason}", bot.name));
        if bot.out_of_resources {
            return Err(wrong("is out of resources, and takes no jobs for now"));
        }
        let Workers::Swarming(machines) = bot.workers else {
            return Err(wrong(
                "has no Swarming server: leave --executor out, and its workers take the job",
            ));
        };
        let repository = bot.repository.and_then(|url| url.parse().ok());
        let repository = repository.ok_or_else(|| wrong("names no repository at Gitiles"))?;
        let config = LuciConfig {
            charts,
            issue,
            settings: settings(luci.luci_config.as_deref())?,
            ..LuciConfig::new(
                machines.clone(),
                Benchmark {
                    target: all.target(bot.name, &benchmark)?.into(),
                    name: benchmark,
                    story: luci.story.clone(),
                    story_tags: luci.story_tags.clone(),
                    arguments,
                },
                options.seed,
            )
        };
        let source = source_of(&luci.tokens)
            .map_err(|error| CliError::Input(format!("--luci-tokens: {error}")))?;
        // At the end of the job, an error would come too late.
        reports(&config, &source)?;
        if luci.dry_run && (issue.is_some() || config.settings.reports.culprits.is_some()) {
            errln!("the reports of the result are not shown: they depend on it");
        }
        let cache = cache_of(&state_dir(display)?);
        let executor = LuciExecutor::open(config.clone(), &source, &cache)?;
        let report = options
            .report
            .as_deref()
            .map(crate::job::report::destination);
        Ok(Self {
            report: report.transpose()?,
            bot: bot.configured_as.to_owned(),
            options,
            config,
            executor,
            repository,
            source,
        })
    }

    /// Opens the store, unless the requests are only shown. Invalid searches and unusable stores
    /// are refused before any service is asked.
    async fn prepare(&self, spec: JobSpec, display: &Display) -> Result<Option<Storage>, CliError> {
        JobMachine::new(spec)?;
        match self.options.assignment.luci.dry_run {
            true => Ok(None),
            false => Storage::open(display).await.map(Some),
        }
    }

    /// Placeholders for the ends, which are not looked up yet.
    fn any_ends(&self) -> [CombinedCommit; 2] {
        ["first", "second"].map(|end| Commit::new(self.repository.to_string(), end).into())
    }

    fn history(&self) -> Result<GitilesHistory, CliError> {
        let history = { self.executor.gitiles() }.history(&self.repository.to_string());
        Ok(history.map_err(MidpointError::from)?)
    }

    /// The build that an option names by its digest.
    fn build(&self, option: &str, name: &Path) -> Result<CasReference, CliError> {
        let name = name.to_string_lossy();
        let whole = match name.matches('/').count() {
            1 => format!("{}/{name}", self.config.settings.cas_instance),
            _ => name.to_string(),
        };
        whole.parse().map_err(|_| {
            CliError::Input(format!(
                "{option}: {name} is not the digest of a build in CAS; with --executor it is \
                 HASH/SIZE or INSTANCE/HASH/SIZE, as a job's report names it"
            ))
        })
    }

    /// The patch set that a user names. A dry run sends only look-ups of names.
    async fn patch(&self, change: Option<&ChangeName>) -> Result<Option<Patch>, CliError> {
        let Some(change) = change else {
            return Ok(None);
        };
        let address = &self.config.settings.addresses.gerrit;
        looked_up(change, address, &self.source).await.map(Some)
    }

    /// The commit that a user names. A dry run sends only look-ups of names.
    async fn commit(&self, name: &str) -> Result<Commit, CliError> {
        let is_dry_run = self.options.assignment.luci.dry_run;
        let hash = match is_dry_run && is_full_hash(name) {
            true => name.to_ascii_lowercase(),
            false if name == RECENT => self.executor.recent(&self.repository).await?,
            false => {
                let found = self.history()?.resolve(name).await;
                found.map_err(MidpointError::from)?
            }
        };
        let commit = Commit::new(self.repository.to_string(), hash);
        match is_dry_run {
            true => Ok(commit),
            false => Ok(self.executor.describe_commit(commit).await?),
        }
    }

    /// Refuses ends that do not form a range.
    async fn check_range(
        &self,
        [good, bad]: [&Commit; 2],
        names: [&str; 2],
        command_line: &CommandLine,
    ) -> Result<(), CliError> {
        let (good, bad) = (&good.git_hash, &bad.git_hash);
        if good == bad {
            let commit = good.clone();
            return Err(RepositoryError::SameCommit { commit }.into());
        }
        let history = self.history()?;
        let is_ancestor = async |one: &str, other: &str| {
            let answer = history.is_ancestor(one, other).await;
            Ok::<_, CliError>(answer.map_err(MidpointError::from)?)
        };
        if is_ancestor(good, bad).await? {
            return Ok(());
        }
        let (good, bad) = (good.clone(), bad.clone());
        if !is_ancestor(&bad, &good).await? {
            return Err(CliError::Input(format!(
                "the good commit {good} is not part of the history of the bad one {bad}"
            )));
        }
        let [first, second] = names;
        Err(CliError::Reversed {
            error: RepositoryError::Reversed { good, bad },
            swapped: with_ends(command_line, second, first)
                .unwrap_or_else(|| format!("pinpoint bisect … {second} {first}")),
        })
    }

    /// Prints the requests by which these ends are built and run.
    fn show(&self, ends: &[Variant; 2], display: &Display) -> Result<u8, CliError> {
        let mut requests = Vec::new();
        let [first, second] = ends.each_ref().map(|end| &end.commit.main.git_hash);
        if first != second {
            requests.push(self.history()?.rendered_range(first, second));
        }
        requests.extend(self.executor.rendered(ends, DRY_RUN)?);
        match display.output {
            Output::Json => print_json(json!({ "requests": requests })),
            Output::Text => outln!("{}", requests.join("\n\n")),
        }
        Ok(FOUND)
    }

    /// Stores the job, and carries it out. A run before the search takes as long as any other: it is
    /// made only if the direction is not known, or the chart has to be found or looked for.
    async fn run(
        self,
        storage: &Storage,
        spec: JobSpec,
        find_chart: bool,
        command_line: CommandLine,
        explain: Option<ProfilerArgument>,
        display: &Display,
    ) -> Result<u8, CliError> {
        let config = JobConfig {
            luci: Some(json!(self.config)),
            report: self.report.clone(),
            command_line: Some(command_line),
            ..JobConfig::default()
        };
        let by = CarriedOut::InLuci {
            bot: self.bot,
            repository: self.repository.to_string(),
            tokens: self.options.assignment.luci.tokens.clone(),
        };
        let direction = self.options.direction();
        let mut request = JobRequest::new(spec, config).with_direction(direction);
        if !find_chart && direction.is_some() {
            request.config.find_metric = None;
        }
        name(&mut request, &self.options, &by, &[]);
        let id = store_job(storage, request, None, None).await?;
        let result = by
            .run(storage, &id, self.report.as_deref(), display)
            .await?;
        let Some(result) = &result else {
            return Ok(end(None, display));
        };
        let tokens = &self.options.assignment.luci.tokens;
        let resumed = &display.resumed_with(tokens.words());
        let (code, missing) = match explain {
            // Others need not wait for the explanation, which takes as long as a comparison.
            Some(profiler) => {
                let missing = report(storage, &id, tokens, result, resumed).await;
                let explained =
                    end_explained(result, profiler, self.report.as_deref(), tokens, resumed);
                (explained.await?, missing)
            }
            None => {
                let code = end(Some(result), display);
                (code, report(storage, &id, tokens, result, resumed).await)
            }
        };
        Ok(missing.unwrap_or(code))
    }
}

fn with_patch(main: Commit, patch: Option<&Patch>) -> CombinedCommit {
    CombinedCommit {
        patch: patch.cloned(),
        ..main.into()
    }
}
