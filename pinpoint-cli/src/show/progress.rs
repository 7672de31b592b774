//! The progress of a job as text: lines that stay, and the current state on a terminal.
//!
//! Nothing is printed and no clock is read here, see [`reporter`](crate::show::reporter).

mod current_work;
mod range_bar;
mod screen_state;

use std::collections::BTreeSet;
use std::time::Duration;

use pinpoint_core::{
    Bisection, CombinedCommit, CommitNames, Comparison, CulpritFinder, DriveEvent, Engine, Event,
    JobMachine, Machine, MeasuredMetric, Metric, Pairwise, Position, Progress, Range, Record,
    Report, Search, Task, Verdict,
};
use pinpoint_report::quantity::{count, duration, p_value, quantity};
use pinpoint_report::text::{self, shortened};
use pinpoint_report::words::{line, line_of, metric_facts, reason, short};

use self::current_work::{is_run, name, now};
use self::range_bar::bar;
pub(crate) use self::screen_state::{SILENCE, ScreenState, Terminal};
use crate::show::text::{BOLD, DIM, FOUND, Text, text};

/// The most metrics that are named.
const MOST_METRICS: usize = 20;

/// The longest reason for a pause that is shown.
const MOST_OF_A_REASON: usize = 500;

/// Follows a job.
pub(crate) struct Watch {
    pub(crate) screen: ScreenState,
    unit: Option<String>,
    /// Comparisons that were reported.
    reported: BTreeSet<(Position, Position, u32, u32)>,
    /// The verification of the regression was reported.
    verified: bool,
    /// The time when the search began in this process, and the runs made before.
    began: Option<(Duration, u64)>,
    /// Others carry the job out.
    follows: bool,
}

impl Watch {
    pub(crate) fn new(terminal: Terminal) -> Self {
        Self {
            screen: ScreenState::new(terminal),
            unit: None,
            reported: BTreeSet::new(),
            verified: false,
            began: None,
            follows: false,
        }
    }

    /// Others carry the job out.
    pub(crate) fn follow(&mut self) {
        self.follows = true;
    }

    /// Follows a job of any kind, from finding its metric to its end.
    pub(crate) fn watch(&mut self, event: &DriveEvent<'_>, engine: &Engine<JobMachine>) {
        let (machine, names) = (engine.machine(), engine.names());
        if let DriveEvent::Pausing(reason) = event {
            // The error at the end has all of it.
            let reason = reason.to_string();
            let first = reason.lines().next().unwrap_or_default();
            let reason = shortened(first.trim_end_matches(':'), MOST_OF_A_REASON).into_owned();
            self.screen.tell(text!(
                "pausing: {reason}; waiting for the other work to end"
            ));
            return;
        }
        let of_metric = match event {
            DriveEvent::Replayed(_) => engine.metric(),
            DriveEvent::Recorded {
                event: Some(Event::MetricFound { metric, .. }),
                ..
            } => Some(metric),
            _ => None,
        };
        if let Some(metric) = of_metric {
            self.metric(machine, metric);
        }
        if !machine.is_searching() {
            return self.watch_preparation(event, machine, names);
        }
        match machine.search() {
            Search::Bisection(machine) => self.watch_bisection(event, machine, names),
            Search::Pairwise(machine) => self.watch_pairwise(event, machine, names),
            Search::CulpritFinder(machine) => self.watch_culprit_finder(event, machine, names),
            // The job goes on, without its progress being shown.
            _ => {}
        }
    }

    fn watch_preparation(
        &mut self,
        event: &DriveEvent<'_>,
        machine: &JobMachine,
        names: &CommitNames,
    ) {
        match event {
            DriveEvent::Replayed(records) => {
                let ends = match machine.search() {
                    Search::Pairwise(_) => ["base", "experiment"],
                    _ => ["good", "bad"],
                };
                if let Some((lower, higher)) = machine.ends() {
                    self.ends([(ends[0], lower), (ends[1], higher)]);
                }
                if *records > 0 {
                    self.screen.tell(text!(
                        "{}: the metric is still to be found",
                        self.resumed_or_so_far()
                    ));
                }
            }
            _ => self.tell_build_or_failure(event, names),
        }
        // The search begins when this is over.
        self.began = Some((self.screen.time, 0));
        self.screen.show(now(machine, names));
    }

    /// The two commits in question.
    fn ends(&mut self, ends: [(&str, &CombinedCommit); 2]) {
        let width = ends.map(|(name, _)| name.len()).into_iter().max();
        let width = width.unwrap_or_default();
        for (name, commit) in ends {
            self.screen.tell(text!("{name:<width$}  {}", line(commit)));
        }
    }

    /// Shows the metric of the job; values are in its unit from now on.
    fn metric(&mut self, machine: &JobMachine, metric: &Metric) {
        let facts = MeasuredMetric::of(machine, Some(metric))
            .map_or_else(String::new, |measured| metric_facts(&measured));
        match &metric.chart {
            Some(chart) => {
                let chart = text::name(chart);
                let unit = metric.unit.as_deref().map(text::name);
                let unit = unit.map_or_else(String::new, |unit| format!(" in {unit}"));
                self.screen
                    .tell(text!("metric {BOLD}{chart}{BOLD:#}{unit}{facts}"));
            }
            None => {
                let charts = &metric.charts;
                let names: Vec<String> = (charts.keys().take(MOST_METRICS))
                    .map(|chart| text::name(chart))
                    .collect();
                let more = match charts.len().saturating_sub(MOST_METRICS) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                self.screen
                    .tell(text!("metrics {}{more}{facts}", names.join(", ")));
            }
        }
        for remark in &metric.remarks {
            self.screen
                .tell(text!("{FOUND}warning{FOUND:#}: {}", text::plain(remark)));
        }
        self.unit.clone_from(&metric.unit);
    }

    fn watch_pairwise(&mut self, event: &DriveEvent<'_>, machine: &Pairwise, names: &CommitNames) {
        let runs = 2 * u64::from(machine.pairs_done());
        match event {
            DriveEvent::Replayed(records) => self.resumed(*records, runs, machine.builds()),
            DriveEvent::Recorded { .. } => self.tell_build_or_failure(event, names),
            _ => return,
        }
        let to_come = 2 * u64::from(machine.spec().pairs) - runs;
        let text = format!(
            "{} of {}{}\n  {}",
            machine.pairs_done(),
            count(machine.spec().pairs.into(), "pair"),
            self.remaining(runs, to_come),
            now(machine, names),
        );
        self.screen.show(text);
    }

    fn watch_culprit_finder(
        &mut self,
        event: &DriveEvent<'_>,
        machine: &CulpritFinder,
        names: &CommitNames,
    ) {
        match event {
            DriveEvent::Replayed(records) => {
                self.resumed(*records, machine.runs(), machine.builds());
                if let Some(bisection) = machine.bisection() {
                    self.reported
                        .extend(bisection.comparisons().iter().map(key));
                    self.verified = true;
                }
            }
            DriveEvent::Recorded { .. } => {
                if let Some(bisection) = machine.bisection() {
                    if let Some(verified) = machine.verification().outcome()
                        && !std::mem::replace(&mut self.verified, true)
                    {
                        let line = line_of(verified, self.unit.as_deref());
                        self.screen.tell(text!("{BOLD}verified{BOLD:#} by {line}"));
                    }
                    self.happened(event, bisection, names);
                } else {
                    self.tell_build_or_failure(event, names);
                }
            }
            _ => return,
        }
        let confirming: Vec<String> = (machine.confirmations())
            .filter_map(|(culprit, comparison)| {
                let comparison = comparison?;
                Some(format!(
                    "{} of {} with {}",
                    comparison.pairs_done(),
                    count(comparison.spec().pairs.into(), "pair"),
                    name(culprit.commit, names)
                ))
            })
            .collect();
        let text = match machine.bisection() {
            None => format!(
                "verifying the regression: {} of {}\n  {}",
                machine.verification().pairs_done(),
                count(machine.spec().pairs.into(), "pair"),
                now(machine, names),
            ),
            Some(_) if !confirming.is_empty() => format!(
                "verifying what was found: {}\n  {}",
                confirming.join(", "),
                now(machine, names)
            ),
            Some(bisection) if self.screen.terminal.is_live => {
                self.picture(bisection, &now(machine, names), names)
            }
            Some(_) => return,
        };
        self.screen.show(text);
    }

    fn resumed_or_so_far(&self) -> &'static str {
        if self.follows { "so far" } else { "resumed" }
    }

    /// A job is resumed, or begins.
    fn resumed(&mut self, records: u64, runs: u64, builds: u64) {
        self.began = Some((self.screen.time, runs));
        if records > 0 {
            self.screen.tell(text!(
                "{}: {} and {} already done",
                self.resumed_or_so_far(),
                count(runs, "run"),
                count(builds, "build")
            ));
        }
    }

    fn watch_bisection(
        &mut self,
        event: &DriveEvent<'_>,
        machine: &Bisection,
        names: &CommitNames,
    ) {
        match event {
            DriveEvent::Replayed(records) => {
                let progress = machine.progress();
                self.resumed(*records, progress.runs, progress.builds);
                // Earlier findings were reported before.
                let known = machine.comparisons();
                self.reported.extend(known.iter().map(key));
            }
            DriveEvent::Recorded { .. } => self.happened(event, machine, names),
            _ => return,
        }
        let now = now(machine, names);
        if !self.screen.terminal.is_live {
            let Progress { runs, builds, .. } = machine.progress();
            let [runs, builds] = [count(runs, "run"), count(builds, "build")];
            self.screen.show(format!("{runs}, {builds} so far: {now}"));
        } else {
            self.screen.show(self.picture(machine, &now, names));
        }
    }

    fn happened(&mut self, event: &DriveEvent<'_>, machine: &Bisection, names: &CommitNames) {
        if let DriveEvent::Recorded {
            event:
                Some(Event::Listed {
                    count: commits,
                    range: 0,
                    ..
                }),
            ..
        } = event
        {
            self.screen
                .tell(text!("{} between the two", count(*commits, "commit")));
        }
        self.tell_build_or_failure(event, names);
        // Comparisons follow runs, and looking costs a little.
        let ran = matches!(
            event,
            DriveEvent::Recorded {
                event: Some(Event::Ran { .. } | Event::RunFailed { .. }),
                ..
            }
        );
        if machine.outcome().is_some() || (ran && !machine.outstanding().iter().any(is_run)) {
            self.tell_comparisons(machine, names);
        }
    }

    fn tell_build_or_failure(&mut self, event: &DriveEvent<'_>, names: &CommitNames) {
        let DriveEvent::Recorded {
            record,
            event: Some(event),
            task: Some(task),
        } = event
        else {
            return;
        };
        if let Record::Reported {
            report: Report::Built(build),
            ..
        } = record
        {
            let mut how = match (&build.failure, &build.same_as, build.cached) {
                (Some(reason), ..) => format!("does not build: {}", self::reason(reason)),
                (None, Some(same), _) => {
                    format!(
                        "not built: nothing that it reads differs from {}",
                        short(same)
                    )
                }
                (None, None, true) => "built before".into(),
                (None, None, false) => {
                    format!("built in {}", duration(build.duration as f64 / 1000.0))
                }
            };
            if let Some(unproved) = &build.unproved {
                how.push_str(&format!(
                    "; could not determine its inputs: {}",
                    self::reason(unproved)
                ));
            }
            let log = match (&build.failure, &build.log) {
                (Some(_), Some(log)) => format!(" (log: {log})"),
                _ => String::new(),
            };
            self.screen
                .tell(text!("{} {DIM}{how}{log}{DIM:#}", line(&build.commit)));
        }
        let failures = match (task, event) {
            (Task::Run { commit, .. }, Event::RunFailed { reason, .. }) => {
                vec![(*commit, Some(reason))]
            }
            (
                Task::RunPair { first, second, .. },
                Event::RanPair {
                    first: first_run,
                    second: second_run,
                    ..
                },
            ) => vec![
                (*first, first_run.failure.as_ref()),
                (*second, second_run.failure.as_ref()),
            ],
            _ => return,
        };
        for (commit, failure) in failures {
            if let Some(failure) = failure {
                self.screen.tell(text!(
                    "{} {DIM}run failed: {}{DIM:#}",
                    name(commit, names),
                    reason(failure)
                ));
            }
        }
    }

    fn tell_comparisons(&mut self, machine: &Bisection, names: &CommitNames) {
        let progress = machine.progress();
        for comparison in machine.comparisons() {
            if self.reported.insert(key(&comparison)) {
                let text = self.comparison(&comparison, &progress, names);
                self.screen.tell(text);
            }
        }
    }

    fn comparison(
        &self,
        comparison: &Comparison,
        progress: &Progress,
        names: &CommitNames,
    ) -> Text {
        let side = |position: Position, runs: u32| {
            let median = progress
                .measured
                .iter()
                .find(|measured| measured.commit == position)
                .and_then(|measured| measured.median)
                .map_or_else(String::new, |median| {
                    format!(" {}", quantity(median, self.unit.as_deref()))
                });
            format!("{}{median} ({runs})", name(position, names))
        };
        let verdict = match comparison.verdict {
            Verdict::Different => "different",
            Verdict::Same => "same",
            Verdict::Unknown | Verdict::Nil => "not clear yet",
        };
        let p = match &comparison.performance {
            Some(performance) => performance.p_value,
            None => comparison.functional.p_value,
        };
        let p = p.map_or_else(Text::default, |p| text!(" {DIM}p = {}{DIM:#}", p_value(p)));
        text!(
            "{} | {}: {BOLD}{verdict}{BOLD:#}{p}",
            side(comparison.lower, comparison.lower_runs),
            side(comparison.higher, comparison.higher_runs),
        )
    }

    /// The range, its open part, and the current work.
    fn picture(&self, machine: &Bisection, now: &str, names: &CommitNames) -> String {
        let progress = machine.progress();
        let left: u64 = progress.open.iter().map(|open| open.between + 1).sum();
        let remaining = self.remaining(progress.runs, progress.runs_to_come);
        let total = match machine.spec().range {
            Range::Counted { between } => Some(between),
            _ => names.range(0).map(|listing| listing.count),
        };
        let bar = total.map_or_else(String::new, |total| {
            format!(
                "[{}]\n  ",
                bar(total, &progress, self.screen.terminal.columns)
            )
        });
        format!(
            "{bar}{} left, {}, {}{remaining}\n  {now}",
            count(left, "commit"),
            count(progress.runs, "run"),
            count(progress.builds, "build"),
        )
    }

    /// The time that so many runs will take, by those made in this process.
    fn remaining(&self, runs: u64, to_come: u64) -> String {
        let seconds = self.began.and_then(|(began, before)| {
            let made = runs
                .checked_sub(before)
                .filter(|made| *made > 0 && to_come > 0)?;
            let each = self.screen.time.saturating_sub(began).as_secs_f64() / made as f64;
            Some(each * to_come as f64)
        });
        seconds.map_or_else(String::new, |seconds| {
            format!(", at least {} left", duration(seconds))
        })
    }
}

fn key(comparison: &Comparison) -> (Position, Position, u32, u32) {
    (
        comparison.lower,
        comparison.higher,
        comparison.lower_runs,
        comparison.higher_runs,
    )
}
