//! What is shown while a job runs: a live view on a terminal, plain lines
//! elsewhere. Always on standard error: standard output is for the result.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pinpoint_backends::store::JobId;
use pinpoint_core::{
    Bisection, CombinedCommit, CommitNames, Comparison, CulpritFinder, DriveEvent, Engine, Event,
    JobMachine, Machine, Metric, OpenRange, Pairwise, Position, Progress, Range, Record, Report,
    Search, Task, Verdict,
};

use crate::arguments::Display;
use crate::output::{errln, is_live};
use crate::pairwise_summary::line_of;
use crate::quantity::{count, duration, p_value, quantity};
use crate::summary::{line, reason, short};
use crate::text::{BOLD, DIM, Text, plain, text};

/// How wide the picture of the range is.
const WIDTH: usize = 60;
/// The most metrics that are named.
const MOST_METRICS: usize = 20;

pub(crate) struct Reporter {
    screen: Screen,
    unit: Option<String>,
    /// Comparisons that were told.
    told: BTreeSet<(Position, Position, u32, u32)>,
    /// The regression was verified, and that was told.
    verified: bool,
    /// When the search began in this process, and the runs made before.
    began: Option<(Instant, u64)>,
}

enum Screen {
    Quiet,
    Lines,
    Live(ProgressBar),
}

impl Reporter {
    pub(crate) fn new(display: &Display, id: &JobId) -> Self {
        let screen = if display.quiet {
            Screen::Quiet
        } else if is_live() {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(120));
            Screen::Live(bar)
        } else {
            Screen::Lines
        };
        let mut reporter = Self {
            screen,
            unit: None,
            told: BTreeSet::new(),
            verified: false,
            began: None,
        };
        reporter.tell(text!("{DIM}job {id}{DIM:#}"));
        reporter
    }

    /// A line that stays.
    fn tell(&mut self, text: Text) {
        match &self.screen {
            Screen::Quiet => {}
            Screen::Lines => errln!("{text}"),
            Screen::Live(bar) => bar.suspend(|| errln!("{text}")),
        }
    }

    /// What goes on now; only a terminal shows it.
    fn show(&mut self, text: String) {
        if let Screen::Live(bar) = &self.screen {
            // The bar prints by itself.
            bar.set_message(plain(&text).into_owned());
        }
    }

    /// Shows a step of a job.
    pub(crate) fn watch(&mut self, event: &DriveEvent<'_>, engine: &Engine<JobMachine>) {
        let (machine, names) = (engine.machine(), engine.names());
        match event {
            DriveEvent::Replayed(_) => {
                if let (false, Some((first, second))) = (machine.is_searching(), machine.ends()) {
                    let ends = match machine.search() {
                        Search::Pairwise(_) => ["base", "experiment"],
                        _ => ["good", "bad"],
                    };
                    self.preparing([(ends[0], first), (ends[1], second)]);
                }
                self.metric(engine.metric());
            }
            DriveEvent::Recorded {
                event: Some(Event::MetricFound { metric, .. }),
                ..
            } => self.metric(Some(metric)),
            _ => {}
        }
        match machine.search() {
            Search::Bisection(search) => self.watch_bisection(event, search, names),
            Search::Pairwise(search) => self.watch_pairwise(event, search, names),
            Search::CulpritFinder(search) => self.watch_culprit_finder(event, search, names),
        }
    }

    fn preparing(&mut self, ends: [(&str, &CombinedCommit); 2]) {
        for (name, commit) in ends {
            self.tell(text!("{name:<5} {}", line(commit)));
        }
        let first = ends[0].0;
        self.show(format!(
            "building the {first} and trying the benchmark there"
        ));
    }

    fn metric(&mut self, metric: Option<&Metric>) {
        if let Some(metric) = metric {
            let unit = metric.unit.as_deref().map_or_else(String::new, |unit| {
                format!(" in {}", crate::text::name(unit))
            });
            match &metric.chart {
                Some(chart) => {
                    let chart = crate::text::name(chart);
                    self.tell(text!("metric {BOLD}{chart}{BOLD:#}{unit}"));
                }
                None => {
                    let charts = &metric.charts;
                    let names: Vec<String> = (charts.keys().take(MOST_METRICS))
                        .map(|chart| crate::text::name(chart))
                        .collect();
                    let more = match charts.len().saturating_sub(MOST_METRICS) {
                        0 => String::new(),
                        more => format!(" and {more} more"),
                    };
                    self.tell(text!("metrics {}{more}", names.join(", ")));
                }
            }
            self.unit.clone_from(&metric.unit);
        }
    }

    fn watch_pairwise(&mut self, event: &DriveEvent<'_>, machine: &Pairwise, names: &CommitNames) {
        if matches!(self.screen, Screen::Quiet) {
            return;
        }
        let runs = 2 * u64::from(machine.pairs_done());
        match event {
            DriveEvent::Replayed(records) => self.resumed(*records, runs, machine.builds()),
            DriveEvent::Started(_) => return,
            DriveEvent::Recorded { .. } => self.tell_build_or_failure(event, names),
        }
        let to_come = 2 * u64::from(machine.spec().pairs) - runs;
        let text = format!(
            "{} of {}{}\n  {}",
            machine.pairs_done(),
            count(machine.spec().pairs.into(), "pair"),
            self.remaining(runs, to_come),
            now(machine, names),
        );
        self.show(text);
    }

    fn watch_culprit_finder(
        &mut self,
        event: &DriveEvent<'_>,
        machine: &CulpritFinder,
        names: &CommitNames,
    ) {
        if matches!(self.screen, Screen::Quiet) {
            return;
        }
        match event {
            DriveEvent::Replayed(records) => {
                self.resumed(*records, machine.runs(), machine.builds());
                if let Some(bisection) = machine.bisection() {
                    self.told.extend(bisection.comparisons().iter().map(key));
                    self.verified = true;
                }
            }
            DriveEvent::Started(_) => return,
            DriveEvent::Recorded { .. } => {
                if let Some(bisection) = machine.bisection() {
                    if let Some(verified) = machine.verification().outcome()
                        && !std::mem::replace(&mut self.verified, true)
                    {
                        let line = line_of(verified, self.unit.as_deref());
                        self.tell(text!("{BOLD}verified{BOLD:#} by {line}"));
                    }
                    self.happened(event, bisection, names);
                } else {
                    self.tell_build_or_failure(event, names);
                }
            }
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
            Some(bisection) if matches!(self.screen, Screen::Live(_)) => {
                self.picture(bisection, &now(machine, names), names)
            }
            Some(_) => return,
        };
        self.show(text);
    }

    /// A job is resumed, or begins.
    fn resumed(&mut self, records: u64, runs: u64, builds: u64) {
        self.began = Some((Instant::now(), runs));
        if records > 0 {
            self.tell(text!(
                "resumed: {} and {} already done",
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
        if matches!(self.screen, Screen::Quiet) {
            return;
        }
        match event {
            DriveEvent::Replayed(records) => {
                let progress = machine.progress();
                self.resumed(*records, progress.runs, progress.builds);
                // What was found before was told before.
                let known = machine.comparisons();
                self.told.extend(known.iter().map(key));
            }
            DriveEvent::Started(_) => return,
            DriveEvent::Recorded { .. } => self.happened(event, machine, names),
        }
        if matches!(self.screen, Screen::Live(_)) {
            self.show(self.picture(machine, &now(machine, names), names));
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
            self.tell(text!("{} between the two", count(*commits, "commit")));
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
            let how = match (&build.failure, build.cached) {
                (Some(reason), _) => format!("does not build: {}", self::reason(reason)),
                (None, true) => "built before".into(),
                (None, false) => {
                    format!("built in {}", duration(build.duration as f64 / 1000.0))
                }
            };
            let log = match (&build.failure, &build.log) {
                (Some(_), Some(log)) => format!(" (log: {log})"),
                _ => String::new(),
            };
            self.tell(text!("{} {DIM}{how}{log}{DIM:#}", line(&build.commit)));
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
                self.tell(text!(
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
            if self.told.insert(key(&comparison)) {
                let text = self.comparison(&comparison, &progress, names);
                self.tell(text);
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

    /// The range, what is left of it, and what goes on.
    fn picture(&self, machine: &Bisection, now: &str, names: &CommitNames) -> String {
        let progress = machine.progress();
        let left: u64 = progress.open.iter().map(|open| open.between + 1).sum();
        let remaining = self.remaining(progress.runs, progress.runs_to_come);
        let total = match machine.spec().range {
            Range::Counted { between } => Some(between),
            Range::Between { .. } => names.range(0).map(|listing| listing.count),
        };
        let bar = total.map_or_else(String::new, |total| {
            format!("[{}]\n  ", bar(total, &progress))
        });
        format!(
            "{bar}{} left, {}, {}{remaining}\n  {now}",
            count(left, "commit"),
            count(progress.runs, "run"),
            count(progress.builds, "build"),
        )
    }

    /// How long so many runs will take, by those made in this process.
    fn remaining(&self, runs: u64, to_come: u64) -> String {
        let seconds = self.began.and_then(|(began, before)| {
            let made = runs.checked_sub(before).filter(|made| *made > 0)?;
            let each = began.elapsed().as_secs_f64() / made as f64;
            Some(each * to_come as f64)
        });
        seconds.map_or_else(String::new, |seconds| {
            format!(", at least {} left", duration(seconds))
        })
    }

    pub(crate) fn finish(&mut self) {
        if let Screen::Live(bar) = &self.screen {
            bar.finish_and_clear();
        }
    }
}

fn is_run(action: &pinpoint_core::Action) -> bool {
    matches!(action.task, Task::Run { .. } | Task::RunPair { .. })
}

fn key(comparison: &Comparison) -> (Position, Position, u32, u32) {
    (
        comparison.lower,
        comparison.higher,
        comparison.lower_runs,
        comparison.higher_runs,
    )
}

fn name(position: Position, names: &CommitNames) -> String {
    match (names.commit(position), position) {
        (Some(commit), _) => short(commit),
        (None, Position::Within { offset, .. }) => format!("commit {}", offset + 1),
        (None, end) => format!("the {end:?} end"),
    }
}

/// What builds and what runs now.
fn now(machine: &impl Machine, names: &CommitNames) -> String {
    let outstanding = machine.outstanding();
    let building: Vec<String> = outstanding
        .iter()
        .filter_map(|action| match action.task {
            Task::Build { commit } => Some(name(commit, names)),
            _ => None,
        })
        .collect();
    if !building.is_empty() {
        return format!("building {}", building.join(", "));
    }
    match outstanding
        .iter()
        .find(|action| is_run(action))
        .map(|action| &action.task)
    {
        Some(Task::Run { commit, index, .. }) => {
            format!("running {}, run {}", name(*commit, names), index + 1)
        }
        Some(Task::RunPair {
            first,
            second,
            index,
            ..
        }) => format!(
            "running {} and {}, pair {}",
            name(*first, names),
            name(*second, names),
            index + 1
        ),
        _ => "looking at the history".into(),
    }
}

/// The range from the good end to the bad: `█` where a culprit is still looked
/// for, `│` where a commit was measured, `·` elsewhere.
fn bar(total: u64, progress: &Progress) -> String {
    // The good end has place 0, the first commit 1, the bad end total + 1.
    let place = |position: Position| match position {
        Position::Lower => Some(0),
        Position::Higher => Some(total + 1),
        Position::Within { range: 0, offset } => Some(offset + 1),
        Position::Within { .. } => None,
    };
    let column = |place: u64| {
        let share = place as f64 / (total + 1) as f64;
        ((share * (WIDTH - 1) as f64) as usize).min(WIDTH - 1)
    };
    let mut cells = ['·'; WIDTH];
    for OpenRange { lower, higher, .. } in &progress.open {
        if let (Some(lower), Some(higher)) = (place(*lower), place(*higher)) {
            cells[column(lower)..=column(higher)].fill('█');
        }
    }
    for measured in &progress.measured {
        if let Some(place) = place(measured.commit) {
            cells[column(place)] = '│';
        }
    }
    cells.iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pinpoint_core::MeasuredCommit;

    #[test]
    fn the_bar_shows_what_is_open_and_what_was_measured() {
        let at = |offset| Position::Within { range: 0, offset };
        let progress = Progress {
            runs: 0,
            builds: 0,
            runs_to_come: 0,
            measured: vec![MeasuredCommit {
                commit: Position::Lower,
                runs: 10,
                failures: 0,
                median: None,
            }],
            open: vec![OpenRange {
                lower: at(29),
                higher: Position::Higher,
                between: 28,
            }],
        };
        let bar = bar(58, &progress);
        assert_eq!(bar.chars().count(), WIDTH);
        assert_eq!(bar.chars().next(), Some('│'));
        assert_eq!(bar.chars().nth(20), Some('·'));
        assert!(bar.chars().skip(30).all(|cell| cell == '█'), "{bar}");
    }
}
