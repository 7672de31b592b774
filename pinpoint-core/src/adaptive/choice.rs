//! What to run next: what tells most about where the change is, for its cost.
//!
//! Two gaps are told apart by the runs of the commits between them, if there
//! are runs to compare them with:
//!
//! ```text
//! old · · · ·|· · · · · ·|· · · · new
//!    before  g  between  h  behind
//! ```
//!
//! If the change is at g, those between are on the new level, and an explanation
//! that has it at h must fit one level to all before h: its sum of squares is
//! larger by step² · before·between / (before + between), where the words stand
//! for numbers of runs. So a run helps where it makes that product grow, for the
//! pairs of gaps that are both probable: either between two of them, or, when
//! there are many runs between them already, on the side that has few. That there
//! is no change at all is one of the explanations; it is told from a change at g
//! by before·behind / (before + behind).
//!
//! What a run is expected to tell is put in numbers as *mutual information*: by
//! how much it reduces the uncertainty. A commit that must be built first costs
//! that much more, so that it is built where enough runs of it pay for the build.

use std::f64::consts::LN_2;

use libm::{exp, log};

use super::line::Line;
use super::posterior::Analysis;
use crate::Position;

/// Runs of a new commit over which the cost of its build may be spread.
const SERIES: [f64; 5] = [1.0, 2.0, 4.0, 8.0, 16.0];
/// The most gaps that are told apart at a time: the most probable ones.
const MOST_GAPS: usize = 8;
/// Less is not worth a run, in nats.
const NOTHING: f64 = 1e-9;

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Choice {
    Build(Position),
    /// So many more runs of these commits.
    Run(Vec<(Position, u32)>),
}

/// What can be done, and at what cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options<'a> {
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

/// A gap where the change may be.
#[derive(Debug, Clone, Copy)]
struct ProbableGap {
    gap: usize,
    probability: f64,
    /// Runs before it in its segment.
    before: f64,
}

/// The probable gaps between two known changes.
struct Segment {
    from: usize,
    to: usize,
    /// In the order of the line.
    gaps: Vec<ProbableGap>,
    /// All its runs.
    runs: f64,
    no_change: f64,
}

impl Segment {
    /// What the runs tell apart so far, or would if there were `more` of them
    /// before the gaps from `first` on: a sum over all pairs of explanations,
    /// each weighted with the probabilities of both.
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
                let told = product(older, between) + product(between, all - newer);
                sum += gap.probability * other.probability * told / 2.0;
            }
        }
        sum
    }
}

/// By how much uncertainty falls when so much more is told apart, at levels
/// whose squared distance is `far`. At most the uncertainty there is.
fn information(most: f64, far: f64, told: f64) -> f64 {
    if most < NOTHING {
        return 0.0;
    }
    most * (1.0 - exp(-far * told / (2.0 * most)))
}

/// What may be done for one run.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Run a site.
    Site(usize),
    /// Build a commit, to run it.
    New(Position),
}

/// The best thing to do; none when nothing can be learned any more.
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
        let mut best: Option<(f64, Step)> = None;
        let mut offer = |gain: f64, what| {
            if gain > NOTHING && best.as_ref().is_none_or(|(most, _)| gain > *most) {
                best = Some((gain, what));
            }
        };
        for segment in segments(analysis, changes, &runs) {
            if segment.gaps.is_empty() {
                continue;
            }
            let now = segment.discrimination(&segment.gaps, 0, 0.0);
            // A run of any site between the same two gaps tells the same: the
            // one with the fewest runs keeps them even.
            for first in 0..=segment.gaps.len() {
                let from = match first {
                    0 => segment.from,
                    _ => segment.gaps[first - 1].gap + 1,
                };
                let to = (segment.gaps.get(first)).map_or(segment.to, |gap| gap.gap);
                let site = (from..=to)
                    .filter(|site| options.usable[*site])
                    .min_by(|a, b| runs[*a].total_cmp(&runs[*b]));
                if let Some(site) = site {
                    let more = segment.discrimination(&segment.gaps, first, 1.0) - now;
                    offer(information(LN_2, far, more), Step::Site(site));
                }
            }
            let Some(build_cost) = options.build_cost else {
                continue;
            };
            let mut older = 0.0;
            for (index, gap) in segment.gaps.iter().enumerate() {
                let change: f64 = segment.gaps.iter().map(|gap| gap.probability).sum();
                let wanted = ((change / 2.0 - older) / gap.probability).clamp(0.0, 1.0);
                for (commit, part, builds) in line.splits(gap.gap, wanted) {
                    let mut gaps = segment.gaps.clone();
                    gaps[index].probability *= part;
                    gaps.insert(
                        index + 1,
                        ProbableGap {
                            probability: gap.probability * (1.0 - part),
                            ..*gap
                        },
                    );
                    let now = segment.discrimination(&gaps, 0, 0.0);
                    let most = entropy((older + part * gap.probability).min(1.0));
                    for series in SERIES {
                        let more = segment.discrimination(&gaps, index + 1, series) - now;
                        let gain = builds * information(most, far, more) / (series + build_cost);
                        offer(gain, Step::New(commit));
                    }
                }
                older += gap.probability;
            }
        }
        match best {
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
                    gap: *gap,
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
