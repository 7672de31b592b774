//! The next run or build: the one with most information about the change, for its cost.
//!
//! Two gaps are distinguished by the runs of the commits between them, if there
//! are runs to compare them with:
//!
//! ```text
//! old · · · ·|· · · · · ·|· · · · new
//!    before  g  between  h  after
//! ```
//!
//! If the change is at g, the commits between are on the new level, and an explanation
//! that has it at h must fit one level to all before h: its sum of squares is
//! larger by step² · before·between / (before + between), where the words are numbers of
//! runs. So a run helps where it makes that product grow, for pairs of gaps that are both
//! probable: either between two of them, or, when there are many runs between them
//! already, on the side that has few. "No change" is one of the explanations; it is
//! distinguished from a change at g by before·after / (before + after).
//!
//! The expected value of a run is its *mutual information*: its reduction of the
//! uncertainty. A commit that must be built first costs more, so it is built where
//! enough runs of it pay for the build.

use std::f64::consts::LN_2;

use libm::exp;

use super::line::Line;
use super::posterior::{Analysis, entropy};
use super::tuning::{LEAST_INFORMATION, MOST_GAPS, RUNS_OF_NEW_COMMIT};
use crate::Position;

/// The next thing to do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Choice {
    Build(Position),
    /// This many more runs of these commits.
    Run(Vec<(Position, u32)>),
}

/// The possible runs and builds, and their cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options<'a> {
    /// Runs of each site.
    pub(crate) runs: &'a [f64],
    /// The sites that can be run.
    pub(crate) usable: &'a [bool],
    /// The cost of a build, in runs; absent when nothing more may be built.
    pub(crate) build_cost: Option<f64>,
    /// The number of runs to choose.
    pub(crate) batch: u32,
}

/// A gap where the change may be.
#[derive(Debug, Clone, Copy)]
struct ProbableGap {
    site: usize,
    probability: f64,
    /// Runs before it in its segment.
    before: f64,
}

/// The probable gaps between two known changes.
struct Segment {
    from: usize,
    to: usize,
    /// The gaps, in order.
    gaps: Vec<ProbableGap>,
    /// All its runs.
    runs: f64,
    no_change: f64,
}

impl Segment {
    /// The discrimination of the explanations by the runs, with `more` runs before the
    /// gaps from `first` on: a sum over all pairs of explanations, each weighted with the
    /// probabilities of both.
    fn discrimination(&self, gaps: &[ProbableGap], first: usize, more: f64) -> f64 {
        let all = self.runs + more;
        let before = |index: usize| gaps[index].before + if index >= first { more } else { 0.0 };
        let product = |one: f64, other: f64| {
            if one > 0.0 && other > 0.0 {
                one * other / (one + other)
            } else {
                0.0
            }
        };
        let mut sum = 0.0;
        for (index, gap) in gaps.iter().enumerate() {
            let older = before(index);
            sum += self.no_change * gap.probability * product(older, all - older);
            for (later, other) in gaps.iter().enumerate().skip(index + 1) {
                let newer = before(later);
                let between = newer - older;
                // The mean over either of the two being true.
                let apart = product(older, between) + product(between, all - newer);
                sum += gap.probability * other.probability * apart / 2.0;
            }
        }
        sum
    }

    /// Offers one more run of a site between each two neighboring gaps. All sites there give the
    /// same information: the one with the fewest runs keeps them even.
    fn offer_runs(&self, far: f64, usable: &[bool], runs: &[f64], best: &mut Best) {
        let now = self.discrimination(&self.gaps, 0, 0.0);
        for first in 0..=self.gaps.len() {
            let from = match first {
                0 => self.from,
                _ => self.gaps[first - 1].site + 1,
            };
            let to = (self.gaps.get(first)).map_or(self.to, |gap| gap.site);
            let site = (from..=to)
                .filter(|site| usable[*site])
                .min_by(|a, b| runs[*a].total_cmp(&runs[*b]));
            if let Some(site) = site {
                let more = self.discrimination(&self.gaps, first, 1.0) - now;
                best.offer(information(LN_2, far, more), Step::Site(site));
            }
        }
    }

    /// Offers the builds that would split each gap.
    fn offer_builds(&self, far: f64, line: &Line, build_cost: f64, best: &mut Best) {
        let change: f64 = self.gaps.iter().map(|gap| gap.probability).sum();
        let mut older = 0.0;
        for (index, gap) in self.gaps.iter().enumerate() {
            let wanted = ((change / 2.0 - older) / gap.probability).clamp(0.0, 1.0);
            for split in line.splits(gap.site, wanted) {
                let mut gaps = self.gaps.clone();
                gaps[index].probability *= split.share;
                let newer = ProbableGap {
                    probability: gap.probability * (1.0 - split.share),
                    ..*gap
                };
                gaps.insert(index + 1, newer);
                let now = self.discrimination(&gaps, 0, 0.0);
                let most = entropy((older + split.share * gap.probability).min(1.0));
                for runs in RUNS_OF_NEW_COMMIT {
                    let more = self.discrimination(&gaps, index + 1, runs) - now;
                    let gain = split.builds * information(most, far, more) / (runs + build_cost);
                    best.offer(gain, Step::New(split.commit));
                }
            }
            older += gap.probability;
        }
    }
}

/// The reduction of uncertainty when the explanations are distinguished by so much more,
/// at levels whose squared distance is `far`. At most the current uncertainty.
fn information(most: f64, far: f64, more: f64) -> f64 {
    if most < LEAST_INFORMATION {
        return 0.0;
    }
    most * (1.0 - exp(-far * more / (2.0 * most)))
}

/// One step, with its cost in runs taken into account.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Run a site.
    Site(usize),
    /// Build a commit, to run it.
    New(Position),
}

/// The best step offered so far, with its gain; the first among equals.
#[derive(Debug, Default)]
struct Best(Option<(f64, Step)>);

impl Best {
    fn offer(&mut self, gain: f64, step: Step) {
        if gain > LEAST_INFORMATION && self.0.is_none_or(|(most, _)| gain > most) {
            self.0 = Some((gain, step));
        }
    }
}

/// The best step; none when nothing can be learned any more.
///
/// Cost: O(b·m) for a batch of b runs and m sites.
pub(crate) fn choose(
    line: &Line,
    analysis: &Analysis,
    changes: &[usize],
    options: Options<'_>,
) -> Option<Choice> {
    let far = analysis.separation;
    let mut runs = options.runs.to_vec();
    let mut chosen: Vec<(usize, u32)> = Vec::new();
    for _ in 0..options.batch {
        let mut best = Best::default();
        for segment in segments(analysis, changes, &runs) {
            if segment.gaps.is_empty() {
                continue;
            }
            segment.offer_runs(far, options.usable, &runs, &mut best);
            if let Some(build_cost) = options.build_cost {
                segment.offer_builds(far, line, build_cost, &mut best);
            }
        }
        match best.0 {
            Some((_, Step::New(commit))) if chosen.is_empty() => {
                return Some(Choice::Build(commit));
            }
            Some((_, Step::Site(site))) => {
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

/// The segments between the known changes, each with its probable gaps.
fn segments(analysis: &Analysis, changes: &[usize], runs: &[f64]) -> Vec<Segment> {
    let mut probable: Vec<usize> = (0..analysis.gaps.len())
        .filter(|gap| analysis.gaps[*gap] > 0.0 && !changes.contains(gap))
        .collect();
    if probable.len() > MOST_GAPS {
        let by_probability = |a: &usize, b: &usize| {
            analysis.gaps[*b]
                .total_cmp(&analysis.gaps[*a])
                .then(a.cmp(b))
        };
        probable.select_nth_unstable_by(MOST_GAPS, by_probability);
        probable.truncate(MOST_GAPS);
        probable.sort_unstable();
    }
    let mut found = Vec::new();
    let mut from = 0;
    for to in changes.iter().copied().chain([analysis.gaps.len()]) {
        let mut before = 0.0;
        let mut site = from;
        let gaps = (probable.iter())
            .filter(|gap| (from..to).contains(*gap))
            .map(|gap| {
                before += runs[site..=*gap].iter().sum::<f64>();
                site = *gap + 1;
                ProbableGap {
                    site: *gap,
                    probability: analysis.gaps[*gap],
                    before,
                }
            })
            .collect();
        found.push(Segment {
            from,
            to,
            gaps,
            runs: runs[from..=to].iter().sum(),
            no_change: analysis.no_change,
        });
        from = to + 1;
    }
    found
}
