//! One search or comparison, with its answer compared with the truth.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Scenario;
use super::answer::SimulatedOutcome;
use super::memory::Disturbance;
use super::noise::NORMAL_RANGE;
use super::truth::Truth;
use crate::random::SplitMix64;
use crate::{
    Action, Bisection, BisectionSpec, CulpritFinder, CulpritFinderSpec, Event, Machine, PairedRun,
    Pairwise, PairwiseSpec, Position, SpecError, Status, Task,
};

/// The reason of every run that fails.
const FAILED: &str = "failed";

/// A search of a scenario under way, one answer at a time.
///
/// One action is carried out after the other, in the order in which the machine
/// asked for them, and the machine handles each answer before the next begins.
///
/// ```
/// use pinpoint_core::simulation::{Scenario, Simulation};
/// use pinpoint_core::{BisectionSpec, Machine};
///
/// let scenario = Scenario { changes: vec![8.0], ..Scenario::new(16) };
/// let spec = BisectionSpec::new(scenario.range());
/// let mut simulation = Simulation::new(&scenario, &spec, 1)?;
/// while simulation.step() {
///     assert!(simulation.machine().progress().runs <= 1_000);
/// }
/// assert!(simulation.machine().outcome().is_some());
/// # Ok::<(), pinpoint_core::SpecError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Simulation<'a, M = Bisection> {
    scenario: &'a Scenario,
    machine: M,
    truth: Truth,
    random: SplitMix64,
    disturbance: Disturbance,
    chart: String,
    waiting: VecDeque<Action>,
    /// Runs that were made.
    runs: u64,
    /// Milliseconds since the search began.
    elapsed: u64,
}

/// A search that ended, and the correctness of its answer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Trial {
    /// The answer in a word.
    pub status: Status,
    /// Commits that changed something.
    pub changes: u32,
    /// The number of them that were named as culprits.
    pub found: u32,
    /// The changes whose commits were not named, as the scenario has them.
    pub missed: Vec<f64>,
    /// Every commit that was named a culprit: its stated probability, if any, and true when it is
    /// one.
    pub named: Vec<(Option<f64>, bool)>,
    /// Commits that were left as candidates.
    pub candidates: u64,
    /// Changes that no run can trace to one commit, as commits next to them can't be measured.
    pub indistinct: u32,
    /// The fewest candidates with which an answer can hold these.
    pub least_candidates: u64,
    /// True when each commit that changed something was named or left as a
    /// candidate.
    pub holds: bool,
    /// Runs that were made.
    pub runs: u64,
    /// Commits that were built.
    pub builds: u64,
}

impl Trial {
    /// The commits that changed something were named, and no others; those that no run can
    /// distinguish from their neighbors are among the fewest candidates possible. Where nothing
    /// changed: no commit was named, and none was left as a candidate.
    pub fn is_exactly_right(&self) -> bool {
        let nothing_claimed = self.changes > 0 || self.status == Status::NoRegression;
        let rest_is_left =
            self.indistinct == 0 || self.holds && self.candidates == self.least_candidates;
        self.found == self.changes - self.indistinct
            && self.false_culprits() == 0
            && nothing_claimed
            && rest_is_left
    }

    /// Returns true if no commit was named, but all that changed something are among the
    /// candidates.
    pub fn is_right_range(&self) -> bool {
        self.named.is_empty() && self.candidates > 0 && self.holds
    }

    /// Commits named as culprits that changed nothing.
    pub fn false_culprits(&self) -> u32 {
        self.named.len() as u32 - self.found
    }
}

impl Scenario {
    /// Searches this world with the question of the spec, and compares the answer
    /// with the truth. The range and the seed of the spec do not count: those of
    /// the scenario and this seed do.
    ///
    /// In a scenario with numbers that are not finite, the trial has failed.
    ///
    /// Errors: as [`Bisection::new`].
    ///
    /// Cost: that of the machine, plus one step for each commit where some do not
    /// build.
    pub fn search(&self, spec: &BisectionSpec, seed: u64) -> Result<Trial, SpecError> {
        Ok(Simulation::new(self, spec, seed)?.run_to_its_end())
    }

    /// Compares the two ends of this world in pairs of runs: to say that they differ is to
    /// name the bad end as the culprit. The seed of the spec does not count.
    ///
    /// Errors: as [`Pairwise::new`].
    pub fn compare(&self, spec: &PairwiseSpec, seed: u64) -> Result<Trial, SpecError> {
        let mut random = SplitMix64::new(seed);
        let machine = Pairwise::new(PairwiseSpec {
            seed: random.next_u64(),
            ..spec.clone()
        })?;
        let simulation = Simulation::with_machine(self, machine, spec.chart.as_deref(), random);
        Ok(simulation.run_to_its_end())
    }

    /// Like [`Scenario::search`], with a culprit finder. Culprits that it could not confirm are
    /// candidates.
    ///
    /// Errors: as [`CulpritFinder::new`].
    pub fn find_culprit(&self, spec: &CulpritFinderSpec, seed: u64) -> Result<Trial, SpecError> {
        let mut random = SplitMix64::new(seed);
        let machine = CulpritFinder::new(CulpritFinderSpec {
            bisection: BisectionSpec {
                range: self.range(),
                seed: random.next_u64(),
                ..spec.bisection.clone()
            },
            ..spec.clone()
        })?;
        let simulation =
            Simulation::with_machine(self, machine, spec.bisection.chart.as_deref(), random);
        Ok(simulation.run_to_its_end())
    }
}

impl<'a> Simulation<'a> {
    /// A search about to start; [`Scenario::search`] lists the parts of the spec that count.
    pub fn new(scenario: &'a Scenario, spec: &BisectionSpec, seed: u64) -> Result<Self, SpecError> {
        let mut random = SplitMix64::new(seed);
        let machine = Bisection::new(BisectionSpec {
            range: scenario.range(),
            seed: random.next_u64(),
            ..spec.clone()
        })?;
        Ok(Self::with_machine(
            scenario,
            machine,
            spec.chart.as_deref(),
            random,
        ))
    }
}

impl<'a, M: Machine> Simulation<'a, M> {
    /// Draws the truth.
    fn with_machine(
        scenario: &'a Scenario,
        machine: M,
        chart: Option<&str>,
        mut random: SplitMix64,
    ) -> Self {
        let truth = Truth::draw(scenario, &mut random);
        Self {
            scenario,
            machine,
            truth,
            disturbance: scenario.memory.start(&mut random),
            random,
            chart: chart.unwrap_or("value").to_owned(),
            waiting: VecDeque::new(),
            runs: 0,
            elapsed: 0,
        }
    }

    /// Answers one action. False when there was none, because the search has
    /// ended, or when the scenario gives a value that is not finite.
    pub fn step(&mut self) -> bool {
        self.waiting.extend(self.machine.poll());
        let Some(action) = self.waiting.pop_front() else {
            return false;
        };
        let event = self.answer(action);
        // An event that can't have happened, like a value that is not finite,
        // answers nothing.
        self.machine.handle(event).is_ok()
    }

    /// The machine in its current state.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// The commits that change something, oldest first: 0 is the first commit
    /// after the good end, the last one is the bad end.
    pub fn culprits(&self) -> impl Iterator<Item = u64> {
        self.truth.changes.keys().copied()
    }

    fn answer(&mut self, action: Action) -> Event {
        let number = action.number;
        let scenario = self.scenario;
        match action.task {
            Task::Build { commit } => {
                self.elapsed += scenario.build_time;
                if place(scenario, commit).is_some_and(|place| self.truth.broken.contains(&place)) {
                    Event::BuildFailed {
                        action: number,
                        reason: "does not build".to_owned(),
                    }
                } else {
                    Event::built(number)
                }
            }
            Task::Run { commit, bot, .. } => self.run(number, commit, bot),
            // A range of which the count is known is never listed.
            Task::List { range, .. } => Event::Listed {
                action: number,
                range,
                count: 0,
            },
            Task::Cancel { action } => {
                self.waiting.retain(|waiting| waiting.number != action);
                Event::Canceled { action: number }
            }
            Task::RunPair {
                first, second, bot, ..
            } => {
                let bot = self.bot(bot);
                let [first, second] = [first, second].map(|commit| self.paired_run(commit, bot));
                Event::RanPair {
                    action: number,
                    bot: bot.map(|bot| bot.to_string()),
                    first,
                    second,
                }
            }
            // The metric of these machines is known.
            Task::FindMetric { .. } => Event::Canceled { action: number },
        }
    }

    fn run(&mut self, action: u64, commit: Position, bot: Option<String>) -> Event {
        let started = self.elapsed;
        let number = self.bot(bot);
        let bot = number.map(|number| number.to_string());
        match self.value(commit, number) {
            None => Event::RunFailed {
                action,
                bot,
                started,
                reason: FAILED.to_owned(),
            },
            Some(value) => Event::Ran {
                action,
                bot,
                started,
                values: BTreeMap::from([(self.chart.clone(), vec![value])]),
            },
        }
    }

    fn paired_run(&mut self, commit: Position, bot: Option<usize>) -> PairedRun {
        let started = self.elapsed;
        let value = self.value(commit, bot);
        let of_chart = |value: f64| (self.chart.clone(), vec![value]);
        PairedRun {
            started,
            values: value.map(of_chart).into_iter().collect(),
            failure: value.is_none().then(|| FAILED.to_owned()),
        }
    }

    /// The bot that was asked for, or any of those that there are.
    fn bot(&mut self, asked: Option<String>) -> Option<usize> {
        let bots = self.truth.bots.len();
        (asked.and_then(|name| name.parse().ok()))
            .filter(|number| *number < bots)
            .or_else(|| (bots > 0).then(|| self.random.below(bots as u64) as usize))
    }

    /// The value of the next run; `None` when it fails.
    fn value(&mut self, commit: Position, bot: Option<usize>) -> Option<f64> {
        let (scenario, random) = (self.scenario, &mut self.random);
        let started = self.elapsed;
        self.elapsed += scenario.run_time;
        let drift = (scenario.drift * self.runs as f64).min(Scenario::MOST_DRIFT);
        self.runs += 1;
        let offset = bot.map_or(0.0, |number| self.truth.bots[number]);

        let place = place(scenario, commit);
        let changed = |place: u64| self.truth.changes.range(..=place);
        let changes = place.into_iter().flat_map(changed).map(|(_, by)| *by);
        let is_changed = place.is_some_and(|place| changed(place).next().is_some());
        if random.chance(scenario.failure_rates[usize::from(is_changed)]) {
            return None;
        }
        let is_failing = place.is_some_and(|place| self.truth.failing.contains(&place));
        let rate = scenario.broken.map_or(0.0, |broken| broken.rate);
        if is_failing && random.chance(rate) {
            return None;
        }
        let (factor, deviation) = self.disturbance.next(&scenario.memory, started, random);
        let value = match scenario.proportional {
            None => {
                let level = scenario.level + changes.sum::<f64>() + drift + offset;
                match deviation {
                    None => scenario.noise.observe(level, random),
                    Some(normal) => level + normal / NORMAL_RANGE,
                }
            }
            Some(range) => {
                let level = scenario.level * changes.map(|by| 1.0 + by).product::<f64>();
                let deviation = deviation.map_or_else(
                    || scenario.noise.observe(0.0, random),
                    |normal| normal / NORMAL_RANGE,
                );
                level * (1.0 + range * (deviation + drift + offset))
            }
        };
        let is_coarse = place.is_some_and(|place| place >= self.truth.coarse_from);
        let tick = scenario.ticks[usize::from(is_coarse)];
        let value = value * factor;
        Some(match tick > 0.0 {
            true => (value / tick).round() * tick,
            false => value,
        })
    }

    fn run_to_its_end(mut self) -> Trial
    where
        M::Outcome: SimulatedOutcome,
    {
        while self.step() {}
        self.trial()
    }

    /// Compares the answer with the truth. A search without an answer has failed.
    fn trial(&self) -> Trial
    where
        M::Outcome: SimulatedOutcome,
    {
        let changes = &self.truth.changes;
        let outcome = self.machine.outcome();
        let named: BTreeMap<Option<u64>, Option<f64>> = outcome
            .into_iter()
            .flat_map(SimulatedOutcome::culprits)
            .map(|(commit, probability)| (place(self.scenario, commit), probability))
            .collect();
        let left: BTreeSet<Option<u64>> = outcome
            .into_iter()
            .flat_map(SimulatedOutcome::candidates)
            .map(|candidate| place(self.scenario, candidate))
            .collect();
        let is_named = |change: &&u64| named.contains_key(&Some(**change));
        let spans: Vec<u64> = (changes.keys())
            .map(|change| self.truth.indistinct(self.scenario, *change))
            .filter(|commits| *commits > 1)
            .collect();
        Trial {
            status: outcome.map_or(Status::Failed, SimulatedOutcome::status),
            changes: changes.len() as u32,
            found: changes.keys().filter(is_named).count() as u32,
            missed: (changes.iter())
                .filter(|(change, _)| !is_named(change))
                .map(|(_, by)| *by)
                .collect(),
            named: named
                .iter()
                .map(|(place, probability)| {
                    let is_true = place.is_some_and(|place| changes.contains_key(&place));
                    (*probability, is_true)
                })
                .collect(),
            candidates: left.len() as u64,
            indistinct: spans.len() as u32,
            least_candidates: spans.iter().sum(),
            holds: changes
                .keys()
                .all(|change| is_named(&change) || left.contains(&Some(*change))),
            runs: outcome.map_or(self.runs, |outcome| outcome.cost().0),
            builds: outcome.map_or(0, |outcome| outcome.cost().1),
        }
    }
}

/// 0 is the first commit after the good end, which itself has no place.
fn place(scenario: &Scenario, commit: Position) -> Option<u64> {
    match commit {
        Position::Lower => None,
        Position::Within { offset, .. } => Some(offset),
        Position::Higher => Some(scenario.commits.saturating_sub(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::Noise;
    use crate::{Magnitude, Strategy};

    fn spec() -> BisectionSpec {
        BisectionSpec {
            // Its requests are known.
            strategy: Strategy::Pinpoint,
            magnitude: Some(Magnitude::Absolute(4.0)),
            ..BisectionSpec::new(Scenario::new(1).range())
        }
    }

    /// The truth, and all events.
    fn record(scenario: &Scenario, seed: u64) -> (Truth, Vec<(Task, Event)>) {
        let mut simulation = Simulation::new(scenario, &spec(), seed).expect("a valid spec");
        let mut events = Vec::new();
        loop {
            simulation.waiting.extend(simulation.machine.poll());
            let Some(action) = simulation.waiting.pop_front() else {
                return (simulation.truth, events);
            };
            let event = simulation.answer(action.clone());
            events.push((action.task, event.clone()));
            simulation.machine.handle(event).expect("a possible event");
        }
    }

    /// The place, the bot and, unless it failed, the value of every run.
    fn runs(
        events: &[(Task, Event)],
        scenario: &Scenario,
    ) -> Vec<(Option<u64>, Option<String>, Option<f64>)> {
        events
            .iter()
            .filter_map(|(task, event)| {
                let Task::Run { commit, .. } = task else {
                    return None;
                };
                let place = place(scenario, *commit);
                match event {
                    Event::Ran { bot, values, .. } => {
                        Some((place, bot.clone(), Some(values["value"][0])))
                    }
                    Event::RunFailed { bot, .. } => Some((place, bot.clone(), None)),
                    other => panic!("no answer to a run: {other:?}"),
                }
            })
            .collect()
    }

    #[test]
    fn weights_say_which_commits_change_something() {
        let scenario = Scenario {
            changes: vec![1.0, 1.0],
            weights: Some(vec![0.0, 3.0, 0.0, 1.0, 0.0]),
            ..Scenario::new(5)
        };
        let both: Vec<u64> = Truth::draw(&scenario, &mut SplitMix64::new(1))
            .changes
            .into_keys()
            .collect();
        assert_eq!(both, [1, 3]);
        let one = Scenario {
            changes: vec![1.0],
            ..scenario.clone()
        };
        let drawn = (0..1_000)
            .map(|seed| Truth::draw(&one, &mut SplitMix64::new(seed)).changes)
            .filter(|changes| changes.contains_key(&1))
            .count();
        assert!((690..810).contains(&drawn), "3 of 4: {drawn}");
        // More changes than commits that may make them.
        let many = Scenario {
            changes: vec![1.0; 9],
            ..scenario
        };
        let drawn = Truth::draw(&many, &mut SplitMix64::new(1)).changes;
        assert_eq!(drawn.len(), 2);
    }

    #[test]
    fn values_change_where_the_truth_says() {
        let scenario = Scenario {
            noise: Noise::Measured(Vec::new()),
            changes: vec![4.0, -8.0],
            ..Scenario::new(32)
        };
        for seed in 0..20 {
            let (truth, events) = record(&scenario, seed);
            let places: Vec<u64> = truth.changes.keys().copied().collect();
            for (place, _, value) in runs(&events, &scenario) {
                let expected = match place {
                    Some(place) if place >= places[1] => 96.0,
                    Some(place) if place >= places[0] => 104.0,
                    _ => 100.0,
                };
                assert_eq!(value, Some(expected), "{places:?} {place:?}");
            }
        }
    }

    #[test]
    fn every_place_is_about_as_likely() {
        let scenario = Scenario {
            changes: vec![1.0],
            ..Scenario::new(4)
        };
        let mut seen = [0; 4];
        for seed in 0..2_000 {
            let truth = Truth::draw(&scenario, &mut SplitMix64::new(seed));
            seen[*truth.changes.keys().next().expect("a change") as usize] += 1;
        }
        assert!(
            seen.iter().all(|count| (420..580).contains(count)),
            "{seen:?}"
        );
    }

    #[test]
    fn values_drift_with_each_run_but_not_for_ever() {
        let scenario = Scenario {
            noise: Noise::Measured(Vec::new()),
            drift: 0.25,
            ..Scenario::new(4)
        };
        let (_, events) = record(&scenario, 1);
        let values: Vec<_> = runs(&events, &scenario)
            .into_iter()
            .filter_map(|run| run.2)
            .collect();
        assert_eq!(values[..6], [100.0, 100.25, 100.5, 100.75, 101.0, 101.0]);
    }

    #[test]
    fn bots_differ_and_are_named() {
        let scenario = Scenario {
            noise: Noise::Measured(Vec::new()),
            bots: 3,
            ..Scenario::new(4)
        };
        let (truth, events) = record(&scenario, 1);
        let mut seen = BTreeSet::new();
        for (_, bot, value) in runs(&events, &scenario) {
            let bot = bot.expect("a bot");
            let offset = truth.bots[bot.parse::<usize>().expect("a number")];
            assert_eq!(value, Some(100.0 + offset));
            seen.insert(bot);
        }
        assert_eq!(seen.len(), 3);
    }

    #[test]
    fn a_bot_that_was_asked_for_makes_the_run() {
        let scenario = Scenario {
            bots: 3,
            ..Scenario::new(4)
        };
        let mut simulation = Simulation::new(&scenario, &spec(), 1).expect("a valid spec");
        for _ in 0..20 {
            let event = simulation.run(0, Position::Lower, Some("2".to_owned()));
            assert!(matches!(event, Event::Ran { bot, .. } if bot.as_deref() == Some("2")));
        }
    }

    #[test]
    fn culprits_and_the_commits_before_them_build() {
        let scenario = Scenario {
            changes: vec![4.0],
            unbuildable: 0.9,
            ..Scenario::new(64)
        };
        for seed in 0..50 {
            let (truth, events) = record(&scenario, seed);
            let culprit = *truth.changes.keys().next().expect("a change");
            assert!(truth.broken.len() > 40);
            for needed in [Some(culprit), culprit.checked_sub(1), Some(63)] {
                assert!(needed.is_none_or(|place| !truth.broken.contains(&place)));
            }
            for (task, event) in events {
                if let Task::Build { commit } = task {
                    let fails =
                        place(&scenario, commit).is_some_and(|place| truth.broken.contains(&place));
                    assert_eq!(matches!(event, Event::BuildFailed { .. }), fails);
                }
            }
        }
    }

    #[test]
    fn runs_fail_as_often_as_the_rates_say() {
        let scenario = Scenario {
            changes: vec![0.0],
            failure_rates: [0.0, 0.5],
            ..Scenario::new(16)
        };
        let (mut made, mut failed) = (0, 0);
        for seed in 0..100 {
            let (truth, events) = record(&scenario, seed);
            let culprit = *truth.changes.keys().next().expect("a change");
            for (place, _, value) in runs(&events, &scenario) {
                if place.is_some_and(|place| place >= culprit) {
                    made += 1;
                    failed += i32::from(value.is_none());
                } else {
                    assert!(value.is_some());
                }
            }
        }
        assert!((2 * failed - made).abs() * 20 < made, "{failed} of {made}");
    }

    #[test]
    fn builds_and_runs_take_their_time() {
        let scenario = Scenario {
            build_time: 1_000,
            run_time: 10,
            ..Scenario::new(4)
        };
        let (_, events) = record(&scenario, 1);
        let started: Vec<u64> = events
            .iter()
            .filter_map(|(_, event)| match event {
                Event::Ran { started, .. } => Some(*started),
                _ => None,
            })
            .collect();
        assert_eq!(started[..3], [2_000, 2_010, 2_020]);
    }
}
