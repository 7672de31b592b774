//! What to run next: what tells most about the place of the change, for its cost.
//!
//! A run of a commit that is before the change as likely as behind it tells
//! most, and the more the farther the two levels are apart. *Mutual information*
//! puts this in numbers: by how much the run is expected to reduce the
//! uncertainty of the question. Three things make a run worth its cost:
//!
//! - it tells on which side of the change its commit is;
//! - it sharpens the levels with which uncertain commits are compared;
//! - it tells whether there is a change at all.
//!
//! A commit that must be built first costs that much more, so that it is built
//! where enough runs of it pay for the build.

use libm::{exp, log};

use super::line::Line;
use super::posterior::Analysis;
use crate::Position;

/// Runs of a new commit over which the cost of its build may be spread.
const SERIES: [f64; 5] = [1.0, 2.0, 4.0, 8.0, 16.0];
/// Runs that each side of a change counts for at least, so that the first ones
/// are worth something.
const LEAST: f64 = 0.3;

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Choice {
    Build(Position),
    /// So many more runs of these commits.
    Run(Vec<(Position, u32)>),
}

/// What can be done, and at what cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Means<'a> {
    /// Runs of each site.
    pub(crate) runs: &'a [f64],
    /// Whether each site can be run.
    pub(crate) usable: &'a [bool],
    /// Of a build, in runs; absent when nothing more may be built.
    pub(crate) build_cost: Option<f64>,
    /// How many runs to choose.
    pub(crate) batch: u32,
}

/// The uncertainty of a question that is answered yes with this probability, in
/// nats.
pub(crate) fn entropy(probability: f64) -> f64 {
    let part = |p: f64| if p > 0.0 { -p * log(p) } else { 0.0 };
    part(probability) + part(1.0 - probability)
}

/// What is learned about such a question from a measurement whose two answers
/// lie so far apart, in standard deviations squared: q·(1-q)·d²/2 for small d,
/// everything for large ones.
fn information(probability: f64, distance: f64) -> f64 {
    let most = entropy(probability);
    if most < 1e-12 {
        return 0.0;
    }
    most * (1.0 - exp(-probability * (1.0 - probability) * distance / (2.0 * most)))
}

/// The sites between two known changes, and what is uncertain among them.
struct Stretch {
    from: usize,
    to: usize,
    /// The probability of a change in it.
    change: f64,
    /// For each of its sites, the probability that it is behind the change, if
    /// there is one.
    behind: Vec<f64>,
}

impl Stretch {
    /// Runs before and behind the change.
    fn sides(&self, runs: &[f64]) -> [f64; 2] {
        let mut sides = [0.0; 2];
        for (behind, runs) in self.behind.iter().zip(&runs[self.from..=self.to]) {
            sides[0] += runs * (1.0 - behind);
            sides[1] += runs * behind;
        }
        sides
    }
}

/// The weight of a comparison of so many runs of one commit with two levels.
fn weight(runs: f64, sides: [f64; 2]) -> f64 {
    if runs <= 0.0 {
        return 0.0;
    }
    1.0 / (1.0 / runs + 0.25 / sides[0].max(LEAST) + 0.25 / sides[1].max(LEAST))
}

/// What is learned from `more` runs of a commit that is behind the change with
/// this probability.
fn gain(stretch: &Stretch, behind: f64, runs: f64, more: f64, sides: [f64; 2], far: f64) -> f64 {
    let others = [sides[0] - runs * (1.0 - behind), sides[1] - runs * behind];
    let sharper = weight(runs + more, others) - weight(runs, others);
    let place = stretch.change * information(behind, far * sharper);
    let all = (sides[0] + sides[1]).max(1.0);
    let share = ((1.0 - behind) * sides[1] + behind * sides[0]) / all;
    place + information(stretch.change, far * more * share * share)
}

/// The best thing to do; none when nothing can be learned any more.
///
/// Cost: O(b·m) for a batch of b runs and m sites.
pub(crate) fn choose(
    line: &Line,
    analysis: &Analysis,
    changes: &[usize],
    means: Means<'_>,
) -> Option<Choice> {
    let stretches = stretches(analysis, changes);
    let far = analysis.separation;
    let mut runs = means.runs.to_vec();
    let mut chosen: Vec<(usize, u32)> = Vec::new();
    for _ in 0..means.batch {
        let mut best: Option<(f64, Option<usize>, Option<Position>)> = None;
        let mut offer = |gain: f64, site, commit| {
            if gain > 1e-12 && best.as_ref().is_none_or(|(most, _, _)| gain > *most) {
                best = Some((gain, site, commit));
            }
        };
        for stretch in &stretches {
            let sides = stretch.sides(&runs);
            // The site whose place is told best by another run.
            let mut target: Option<(f64, usize)> = None;
            for site in stretch.from..=stretch.to {
                let behind = stretch.behind[site - stretch.from];
                let value = gain(stretch, behind, runs[site], 1.0, sides, far);
                if runs[site] > 0.0 && target.is_none_or(|(most, _)| value > most) {
                    target = Some((value, site));
                }
                if means.usable[site] {
                    offer(value, Some(site), None);
                }
            }
            if let Some((_, target)) = target {
                let behind = stretch.behind[target - stretch.from];
                let here = runs[target];
                let others = [sides[0] - here * (1.0 - behind), sides[1] - here * behind];
                let before = weight(here, others);
                for site in (stretch.from..=stretch.to).filter(|site| *site != target) {
                    if !means.usable[site] {
                        continue;
                    }
                    let side = stretch.behind[site - stretch.from];
                    let sharper = weight(here, [others[0] + 1.0 - side, others[1] + side]) - before;
                    let value = stretch.change * information(behind, far * sharper)
                        + information(
                            stretch.change,
                            far * {
                                let all = (sides[0] + sides[1]).max(1.0);
                                let share = ((1.0 - side) * sides[1] + side * sides[0]) / all;
                                share * share
                            },
                        );
                    offer(value, Some(site), None);
                }
            }
            let Some(build_cost) = means.build_cost else {
                continue;
            };
            for gap in stretch.from..stretch.to {
                let mass = analysis.gaps[gap];
                if mass <= 0.0 || stretch.change <= 0.0 {
                    continue;
                }
                let share = mass / stretch.change;
                let start = stretch.behind[gap - stretch.from];
                let wanted = ((0.5 - start) / share).clamp(0.0, 1.0);
                for (commit, part, builds) in line.splits(gap, wanted) {
                    let behind = start + part * share;
                    for series in SERIES {
                        let value = gain(stretch, behind, 0.0, series, sides, far);
                        offer(builds * value / (series + build_cost), None, Some(commit));
                    }
                }
            }
        }
        match best {
            Some((_, _, Some(commit))) if chosen.is_empty() => return Some(Choice::Build(commit)),
            Some((_, Some(site), _)) => {
                runs[site] += 1.0;
                match chosen.iter_mut().find(|(known, _)| *known == site) {
                    Some((_, count)) => *count += 1,
                    None => chosen.push((site, 1)),
                }
            }
            _ => break,
        }
    }
    (!chosen.is_empty()).then(|| {
        Choice::Run(
            (chosen.into_iter())
                .map(|(site, count)| (line.sites[site], count))
                .collect(),
        )
    })
}

fn stretches(analysis: &Analysis, changes: &[usize]) -> Vec<Stretch> {
    let mut found = Vec::new();
    let mut from = 0;
    for to in changes.iter().copied().chain([analysis.gaps.len()]) {
        let change: f64 = analysis.gaps[from..to].iter().sum();
        let mut sum = 0.0;
        let mut behind = vec![0.0];
        for gap in from..to {
            sum += analysis.gaps[gap];
            behind.push(if change > 0.0 { sum / change } else { 0.0 });
        }
        found.push(Stretch {
            from,
            to,
            change,
            behind,
        });
        from = to + 1;
    }
    found
}
