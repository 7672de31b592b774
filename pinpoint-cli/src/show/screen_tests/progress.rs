//! The progress shown while a job runs.

use std::time::Duration;

use pinpoint_backends::local::SettleWait;
use pinpoint_core::{
    BisectionSpec, BuildReport, CombinedCommit, CulpritFinderSpec, Direction, DriveEvent, Engine,
    FindMetric, JobKey, JobMachine, JobSpec, Listing, Located, Machine, Measure, Metric,
    MetricSource, PairReport, PairwiseSpec, Range, Record, Report, Request, RunReport, Series,
    Strategy, Task,
};

use super::{commit, styles_shown, without_styles};
use crate::show::progress::{Terminal, Watch};

/// The number of the bad end.
const BAD: u64 = 32;

/// A benchmark that one commit made slower.
struct World {
    /// The commit, and by how much it is slower.
    culprit: u64,
    slower: f64,
    /// A commit that does not build.
    broken: Option<u64>,
    /// Every so manieth run fails.
    failing: Option<u64>,
}

impl Default for World {
    fn default() -> Self {
        Self {
            culprit: 21,
            slower: 1.2,
            broken: None,
            failing: None,
        }
    }
}

impl World {
    fn number(located: &Located) -> u64 {
        let number = |commit: &CombinedCommit| commit.main.git_hash[..2].parse().unwrap();
        match located {
            Located::Commit(commit) => number(commit),
            Located::Offset { listing, offset } => number(&listing.lower) + offset + 1,
        }
    }

    fn run(&self, state: &CombinedCommit, action: u64) -> RunReport {
        if self
            .failing
            .is_some_and(|every| action.is_multiple_of(every))
        {
            return RunReport::failed(0, "exit code 3");
        }
        // A bit of noise, the same each time.
        let noise = 1.0 + 0.002 * ((action * 7919 % 101) as f64 / 50.0 - 1.0);
        let level = match Self::number(&Located::Commit(state.clone())) {
            number if number >= self.culprit => self.slower,
            _ => 1.0,
        };
        let series = Series {
            values: vec![0.0125 * level * noise],
            unit: Some("s".into()),
            direction: Direction::Down,
        };
        RunReport::new(0).series("latency", series)
    }

    fn answer(&self, action: u64, request: &Request) -> Report {
        match request {
            Request::FindMetric(_) => Report::Metric(Metric {
                format: "lines".into(),
                chart: Some("latency".into()),
                unit: Some("s".into()),
                direction: Direction::Down,
                charts: [("latency".to_owned(), Measure::default())].into(),
                source: Some(MetricSource::StandardOutput),
                remarks: Vec::new(),
            }),
            Request::List(request) => {
                let number =
                    |commit: &CombinedCommit| Self::number(&Located::Commit(commit.clone()));
                let between = number(&request.higher) - number(&request.lower) - 1;
                Report::Listed(Listing::new(request, between))
            }
            Request::Build(request) => {
                let number = Self::number(&request.commit);
                if self.broken == Some(number) {
                    let mut failed = BuildReport::failed(commit(number), "make: *** Error 2");
                    failed.log = Some("/state/builds/x/log".into());
                    return Report::Built(failed);
                }
                let mut built = BuildReport::built(commit(number));
                built.duration = 83_000;
                built.cached = number == 0;
                Report::Built(built)
            }
            Request::Run(request) => Report::Ran(self.run(&request.variant.commit, action)),
            Request::RunPair(request) => Report::RanPair(Box::new(PairReport {
                first: self.run(&request.first.commit, action),
                second: self.run(&request.second.commit, action + 1),
            })),
            other => panic!("{other:?}"),
        }
    }
}

/// A job under way, and its output so far.
struct Job {
    world: World,
    engine: Engine<JobMachine>,
    watch: Watch,
    terminal: Terminal,
    seconds: u64,
    shown: String,
}

impl Job {
    fn begin(machine: JobMachine, world: World, terminal: Terminal) -> Self {
        let key = JobKey {
            id: "job".into(),
            created: 0,
        };
        let mut job = Self {
            world,
            engine: Engine::new(key, machine),
            watch: Watch::new(terminal),
            terminal,
            seconds: 0,
            shown: String::new(),
        };
        job.watch.watch(&DriveEvent::Replayed(0), &job.engine);
        job.look(true);
        job
    }

    /// Adds the changes to the output.
    fn look(&mut self, with_now: bool) {
        let update = self.watch.screen.take();
        for line in update.lines {
            let line = if self.terminal.is_live {
                styles_shown(&line)
            } else {
                without_styles(&line)
            };
            self.shown += &format!("{line}\n");
        }
        if let Some(now) = update.now.filter(|_| with_now) {
            self.shown += &format!("    | {}\n", now.replace('\n', "\n    | "));
        }
    }

    /// Carries out this many actions; shows the progress at every tenth.
    fn go_on(mut self, actions: usize) -> Self {
        for number in 1..=actions {
            if self.engine.machine().outcome().is_some() {
                break;
            }
            let action = self.engine.outstanding().remove(0);
            let record = match self.engine.request(&action).unwrap() {
                Some(request) => Record::Reported {
                    action: action.number,
                    report: self.world.answer(action.number, &request),
                },
                None => Record::Canceled {
                    action: action.number,
                },
            };
            let applied = self.engine.apply(&record).unwrap();
            self.seconds += match action.task {
                Task::Build { .. } | Task::FindMetric { .. } => 83,
                Task::Run { .. } => 2,
                Task::RunPair { .. } => 4,
                _ => 0,
            };
            self.watch.screen.at(Duration::from_secs(self.seconds));
            let event = DriveEvent::Recorded {
                record: &record,
                event: applied.event.as_ref(),
                task: applied.task.as_ref(),
            };
            self.watch.watch(&event, &self.engine);
            self.look(number % 10 == 0);
        }
        self
    }

    /// The process ends here, and another one resumes the job.
    fn resume(mut self) -> Self {
        self.shown += "---- interrupted, and resumed\n";
        self.watch = Watch::new(self.terminal);
        self.seconds = 0;
        let records = self.engine.records();
        self.watch
            .watch(&DriveEvent::Replayed(records), &self.engine);
        self.look(true);
        self
    }
}

const LINES: Terminal = Terminal {
    is_live: false,
    columns: 80,
};

fn live(columns: usize) -> Terminal {
    Terminal {
        is_live: true,
        columns,
    }
}

fn bisection(strategy: Strategy) -> JobMachine {
    let spec = BisectionSpec {
        strategy,
        direction: Direction::Down,
        ..BisectionSpec::new(Range::Between {
            good: commit(0),
            bad: commit(BAD),
        })
    };
    finding(JobSpec::Bisection(spec))
}

fn finding(spec: JobSpec) -> JobMachine {
    JobMachine::finding(spec, FindMetric::default()).unwrap()
}

#[test]
fn a_bisection_in_lines() {
    let job = Job::begin(bisection(Strategy::Pinpoint), World::default(), LINES);
    insta::assert_snapshot!(job.go_on(1000).shown);
}

#[test]
fn a_bisection_on_a_terminal() {
    for columns in [60, 80, 120] {
        let machine = bisection(Strategy::Adaptive);
        let job = Job::begin(machine, World::default(), live(columns));
        let name = format!("a_bisection_on_a_terminal_of_{columns}_columns");
        insta::assert_snapshot!(name, job.go_on(1000).shown);
    }
}

#[test]
fn commits_that_do_not_build_and_runs_that_fail() {
    let world = World {
        broken: Some(16),
        failing: Some(13),
        ..World::default()
    };
    let job = Job::begin(bisection(Strategy::Pinpoint), world, LINES);
    insta::assert_snapshot!(job.go_on(1000).shown);
}

#[test]
fn a_bisection_that_is_interrupted_and_resumed() {
    let machine = bisection(Strategy::Pinpoint);
    let job = Job::begin(machine, World::default(), live(80));
    insta::assert_snapshot!(job.go_on(40).resume().go_on(1000).shown);
}

#[test]
fn a_run_that_waits_for_a_quiet_machine() {
    for (name, terminal) in [("waits_in_lines", LINES), ("waits_on_a_terminal", live(80))] {
        let machine = bisection(Strategy::Adaptive);
        let mut job = Job::begin(machine, World::default(), terminal).go_on(4);
        let most = Duration::from_secs(60);
        let wait = |seconds| SettleWait {
            busy: 1.83,
            processors: 2,
            waited: Duration::from_secs(seconds),
            most,
        };
        for waiting in [Some(wait(1)), Some(wait(12)), None, Some(wait(2))] {
            job.watch.screen.waits(waiting);
            job.look(true);
        }
        insta::assert_snapshot!(name, job.shown);
    }
}

#[test]
fn a_long_run_is_not_silent() {
    let machine = bisection(Strategy::Adaptive);
    let mut job = Job::begin(machine, World::default(), LINES).go_on(4);
    job.shown.clear();
    for seconds in [59, 61, 100, 121] {
        job.watch
            .screen
            .at(Duration::from_secs(job.seconds + seconds));
        job.watch.screen.break_silence();
        job.look(true);
    }
    let lines: Vec<&str> = job.shown.lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains(" so far: running "), "{lines:?}");
}

#[test]
fn a_job_that_is_resumed_before_its_metric_is_found() {
    let machine = bisection(Strategy::Adaptive);
    let job = Job::begin(machine, World::default(), live(80));
    insta::assert_snapshot!(job.resume().go_on(4).shown);
}

#[test]
fn pairs() {
    for (name, terminal) in [("pairs_in_lines", LINES), ("pairs_on_a_terminal", live(80))] {
        let spec = PairwiseSpec::new(commit(0), commit(BAD));
        let world = World {
            failing: Some(13),
            ..World::default()
        };
        let job = Job::begin(finding(JobSpec::Pairwise(spec)), world, terminal);
        insta::assert_snapshot!(name, job.go_on(1000).shown);
    }
}

#[test]
fn a_culprit_finder() {
    for (name, terminal) in [
        ("a_culprit_finder_in_lines", LINES),
        ("a_culprit_finder_on_a_terminal", live(80)),
    ] {
        let mut spec = CulpritFinderSpec::new(Range::Between {
            good: commit(0),
            bad: commit(BAD),
        });
        spec.bisection.direction = Direction::Down;
        let machine = finding(JobSpec::CulpritFinder(spec));
        let job = Job::begin(machine, World::default(), terminal);
        insta::assert_snapshot!(name, job.go_on(1000).shown);
    }
}

#[test]
fn a_culprit_finder_that_is_resumed_while_it_searches() {
    let spec = CulpritFinderSpec::new(Range::Between {
        good: commit(0),
        bad: commit(BAD),
    });
    let job = Job::begin(
        finding(JobSpec::CulpritFinder(spec)),
        World::default(),
        LINES,
    );
    insta::assert_snapshot!(job.go_on(45).resume().go_on(1000).shown);
}
