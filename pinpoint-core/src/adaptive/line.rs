//! The commits of a search in a line, with their prior probabilities.
//!
//! ```text
//! site 0      gap 0       site 1   gap 1   site 2      gap 2      site 3
//! good  · · · · · · · ·  measured    ·    measured  · · · · · · ·   bad
//! ```
//!
//! A *site* is a commit that was built; a *gap* holds the commits between two neighboring sites.
//! The first commit on a new level is one of a gap or the site after it: no run distinguishes
//! these, for any length of the gap.

use super::tuning::MOST_FAILED_BUILDS;
use crate::Position;
use crate::outcome::Unchanged;

#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) sites: Vec<Position>,
    /// One fewer than sites.
    pub(crate) gaps: Vec<Gap>,
    /// Sites between two builds that are the same, and unlike them: a change there is
    /// undone before the second one.
    passed_over: Vec<Position>,
    ranges: Vec<Weights>,
}

/// The offsets of a range from `low` up to, not including, `high`.
#[derive(Debug, Clone)]
pub(crate) struct Gap {
    range: u32,
    low: u64,
    high: u64,
    /// Offsets that can't be used, rising.
    skipped: Vec<u64>,
    /// The builds on its two sides are the same, or it lies between two that are.
    pub(crate) closed: bool,
}

/// A commit to be built to split a gap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Split {
    pub(crate) commit: Position,
    /// The share of the gap's prior probability up to it, itself included.
    pub(crate) share: f64,
    /// A guess at the probability that it builds.
    pub(crate) builds: f64,
}

/// The prior probability of a range, shared among its commits.
#[derive(Debug, Clone)]
struct Weights {
    range: u32,
    /// The probability of the whole range and the commit after it.
    mass: f64,
    /// Commits in it, that one included.
    commits: u64,
    /// The share of the commits before each, when they are not alike.
    cumulative: Option<Vec<f64>>,
}

impl Weights {
    /// The prior probability of the offsets before this one.
    fn before(&self, offset: u64) -> f64 {
        let share = match &self.cumulative {
            Some(cumulative) => cumulative[offset as usize],
            None => offset as f64 / self.commits as f64,
        };
        self.mass * share
    }

    /// The first offset up to and including which there is this much probability.
    fn reaching(&self, mass: f64) -> u64 {
        let share = mass / self.mass;
        match &self.cumulative {
            Some(cumulative) => cumulative[1..].partition_point(|upto| *upto < share) as u64,
            None => ((share * self.commits as f64).ceil() as u64).saturating_sub(1),
        }
    }
}

impl Line {
    /// The two ends with this many commits between them.
    pub(crate) fn new(between: u64, priors: Option<&[f64]>) -> Self {
        let cumulative = priors.map(|priors| {
            let largest = priors.iter().copied().fold(0.0, f64::max);
            let mut sum = 0.0;
            let mut cumulative = vec![0.0];
            for weight in priors {
                sum += weight / largest;
                cumulative.push(sum);
            }
            cumulative.iter_mut().for_each(|upto| *upto /= sum);
            cumulative
        });
        Self {
            sites: vec![Position::Lower, Position::Higher],
            gaps: vec![Gap {
                range: 0,
                low: 0,
                high: between,
                skipped: Vec::new(),
                closed: false,
            }],
            passed_over: Vec::new(),
            ranges: vec![Weights {
                range: 0,
                mass: 1.0,
                commits: between + 1,
                cumulative,
            }],
        }
    }

    /// The index of a commit among the sites.
    pub(crate) fn site_of(&self, commit: Position) -> Option<usize> {
        self.sites.iter().position(|site| *site == commit)
    }

    fn weights(&self, range: u32) -> &Weights {
        // The first is that of range 0.
        (self.ranges.iter())
            .find(|weights| weights.range == range)
            .unwrap_or(&self.ranges[0])
    }

    /// The prior probability of a gap and the site after it.
    pub(crate) fn mass(&self, gap: usize) -> f64 {
        let Gap {
            range,
            low,
            high,
            closed,
            ..
        } = self.gaps[gap];
        if closed {
            return 0.0;
        }
        let weights = self.weights(range);
        weights.before(high + 1) - weights.before(low)
    }

    /// Closes the gaps that hold no culprit because the builds on both sides are the same.
    ///
    /// From the good end on, each site is followed to the last one that is the same.
    /// Where a change was made, undone and made again (`A B A B`), this leaves the last of
    /// the three, and never nothing at all.
    pub(crate) fn close_same(&mut self, are_same: impl Fn(Position, Position) -> bool) {
        self.passed_over.clear();
        self.gaps.iter_mut().for_each(|gap| gap.closed = false);
        let mut first = 0;
        while first < self.sites.len() {
            let is_same = |site: &usize| are_same(self.sites[first], self.sites[*site]);
            let last = (first + 1..self.sites.len()).rev().find(is_same);
            if let Some(last) = last {
                let unlike = (first..last).filter(|site| *site != first && !is_same(site));
                self.passed_over
                    .extend(unlike.map(|site| self.sites[site]).collect::<Vec<_>>());
                (self.gaps[first..last].iter_mut()).for_each(|gap| gap.closed = true);
            }
            first = last.unwrap_or(first) + 1;
        }
    }

    /// Returns true if the runs of a site count.
    pub(crate) fn counts(&self, site: Position) -> bool {
        !self.passed_over.contains(&site)
    }

    /// Returns true if the two ends are the same.
    pub(crate) fn is_closed(&self) -> bool {
        self.gaps.iter().all(|gap| gap.closed)
    }

    /// The commits of closed gaps, from one open gap to the next.
    pub(crate) fn unchanged(&self) -> Vec<Unchanged> {
        let mut found: Vec<Unchanged> = Vec::new();
        for (gap, _) in (self.gaps.iter().enumerate()).filter(|(_, gap)| gap.closed) {
            let (after, last, commits) = (self.sites[gap], self.sites[gap + 1], self.commits(gap));
            match found.last_mut().filter(|span| span.last == after) {
                Some(span) => {
                    span.last = last;
                    span.commits += commits;
                }
                None => found.push(Unchanged {
                    after,
                    last,
                    commits,
                }),
            }
        }
        found
    }

    /// Commits of a gap and the site after it.
    pub(crate) fn commits(&self, gap: usize) -> u64 {
        self.gaps[gap].len() + 1
    }

    /// The commits of a gap and the site after it.
    pub(crate) fn candidates(&self, gap: usize) -> impl Iterator<Item = Position> {
        let Gap {
            range, low, high, ..
        } = self.gaps[gap];
        (low..high)
            .map(move |offset| Position::Within { range, offset })
            .chain([self.sites[gap + 1]])
    }

    /// The builds that may split a gap next.
    ///
    /// `wanted` is the share of the gap's prior probability at which a split gives most
    /// information. Where builds failed, commits far from them are better guesses than neighbors: a
    /// broken build usually lasts for a while.
    pub(crate) fn splits(&self, gap: usize, wanted: f64) -> Vec<Split> {
        let Gap {
            range,
            low,
            high,
            ref skipped,
            ..
        } = self.gaps[gap];
        if low == high || skipped.len() >= MOST_FAILED_BUILDS.min((high - low) as usize) {
            return Vec::new();
        }
        let weights = self.weights(range);
        let (start, mass) = (weights.before(low), self.mass(gap));
        let best = weights.reaching(start + wanted * mass);
        let mut found = Vec::new();
        let mut begin = low;
        for end in skipped.iter().copied().chain([high]) {
            if begin < end {
                let nearest = best.clamp(begin, end - 1);
                let middle = begin + (end - begin - 1) / 2;
                for offset in [nearest, middle] {
                    let upto = weights.before(offset + 1) - start;
                    let share = if mass > 0.0 { upto / mass } else { 0.5 };
                    let builds = (skipped.iter())
                        .map(|skipped| skipped.abs_diff(offset))
                        .min()
                        .map_or(1.0, |distance| {
                            let distance = distance as f64;
                            distance / (distance + skipped.len() as f64)
                        });
                    found.push(Split {
                        commit: Position::Within { range, offset },
                        share,
                        builds,
                    });
                }
            }
            begin = end + 1;
        }
        found
    }

    /// The commit to build when one commit has at least this share of a gap's prior
    /// probability: that commit, or its parent when it is the site after the gap, or
    /// one near it.
    pub(crate) fn suspect(&self, gap: usize, share: f64) -> Option<Position> {
        let Gap {
            range,
            low,
            high,
            ref skipped,
            ..
        } = self.gaps[gap];
        let weights = self.weights(range);
        let mass = self.mass(gap);
        let offset = (weights.reaching(weights.before(low) + mass / 2.0)).clamp(low, high);
        let own = weights.before(offset + 1) - weights.before(offset);
        if low == high || own < share * mass {
            return None;
        }
        (low..=offset.min(high - 1))
            .rev()
            .chain(offset + 1..high)
            .find(|offset| skipped.binary_search(offset).is_err())
            .map(|offset| Position::Within { range, offset })
    }

    /// Returns true if no commit of the gap is left to be built.
    pub(crate) fn is_exhausted(&self, gap: usize) -> bool {
        let gap = &self.gaps[gap];
        gap.skipped.len() >= MOST_FAILED_BUILDS.min(gap.len() as usize)
    }

    fn gap_of(&self, commit: Position) -> Option<(usize, u64)> {
        let Position::Within { range, offset } = commit else {
            return None;
        };
        (self.gaps.iter())
            .position(|gap| gap.range == range && (gap.low..gap.high).contains(&offset))
            .map(|gap| (gap, offset))
    }

    /// A commit of a gap was built.
    pub(crate) fn split(&mut self, commit: Position) {
        if let Some((at, offset)) = self.gap_of(commit) {
            let gap = &mut self.gaps[at];
            let skipped = (gap.skipped).split_off(gap.skipped.partition_point(|s| *s < offset));
            let higher = Gap {
                low: offset + 1,
                skipped,
                ..*gap
            };
            gap.high = offset;
            self.gaps.insert(at + 1, higher);
            self.sites.insert(at + 1, commit);
        }
    }

    /// A commit of a gap can't be used.
    pub(crate) fn skip(&mut self, commit: Position) {
        if let Some((at, offset)) = self.gap_of(commit) {
            let skipped = &mut self.gaps[at].skipped;
            let index = skipped.partition_point(|s| *s < offset);
            skipped.insert(index, offset);
        }
    }

    /// Turns a site without any information, one that can't be used, back into a commit
    /// of a gap. False where the gaps on its two sides are of different ranges.
    pub(crate) fn drop_site(&mut self, site: usize) -> bool {
        let (commit, at) = (self.sites[site], site - 1);
        let fits = self.gaps[at].range == self.gaps[site].range && self.gap_of(commit).is_none();
        if fits {
            self.sites.remove(site);
            let higher = self.gaps.remove(site);
            self.gaps[at].high = higher.high;
            self.gaps[at].closed &= higher.closed;
            self.gaps[at].skipped.extend(higher.skipped);
            self.skip(commit);
        }
        fits
    }

    /// The two neighbors at an empty gap turned out to have commits between.
    pub(crate) fn open(&mut self, gap: usize, range: u32, between: u64) {
        let mass = self.mass(gap);
        self.ranges.push(Weights {
            range,
            mass,
            commits: between + 1,
            cumulative: None,
        });
        self.gaps[gap] = Gap {
            range,
            low: 0,
            high: between,
            skipped: Vec::new(),
            closed: false,
        };
    }
}

impl Gap {
    /// Commits between its two sites.
    pub(crate) fn len(&self) -> u64 {
        self.high - self.low
    }
}
