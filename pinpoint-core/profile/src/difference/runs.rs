//! The costs of all functions in all runs.

use crate::costs::{Children, add_up, costs};
use crate::identity::Identified;
use crate::{Call, Profile, Sample, StackId};

/// One run: the costs of its functions, and its stacks with the cost of each and below.
pub(super) struct Run<'a> {
    pub(super) own: Vec<f64>,
    pub(super) total: Vec<f64>,
    pub(super) calls: Option<Vec<f64>>,
    pub(super) profile: &'a Profile,
    of: &'a [u32],
    pub(super) below: Vec<f64>,
    pub(super) children: Children,
    is_idle: &'a [bool],
}

/// All runs: those of the base, and then those of the experiment.
pub(super) struct Runs<'a> {
    pub(super) all: Vec<Run<'a>>,
    pub(super) base: usize,
    pub(super) paired: bool,
    functions: usize,
}

/// Functions that were seen to call each other.
pub(super) struct Edge {
    pub(super) caller: usize,
    pub(super) callee: usize,
    pub(super) weight: f64,
}

impl<'a> Runs<'a> {
    pub(super) fn new(
        base: &'a [Profile],
        experiment: &'a [Profile],
        identified: &'a Identified,
        paired: bool,
    ) -> Self {
        let profiles = base.iter().chain(experiment).zip(&identified.of);
        Self {
            all: profiles
                .map(|(profile, of)| Run::new(profile, of, identified))
                .collect(),
            base: base.len(),
            paired,
            functions: identified.functions.len(),
        }
    }

    /// A value of each run, the base's and then the experiment's.
    pub(super) fn values(&self, of: impl Fn(&Run) -> f64) -> Vec<f64> {
        self.all.iter().map(of).collect()
    }

    /// The whole cost of each run.
    pub(super) fn wholes(&self) -> Vec<f64> {
        self.values(|run| run.own.iter().sum())
    }

    /// The number of functions that were seen in a run.
    pub(super) fn seen(&self) -> usize {
        let is_seen = |function: &usize| {
            let mut runs = self.all.iter();
            runs.any(|run| run.own[*function] > 0.0 || run.total[*function] > 0.0)
        };
        (0..self.functions).filter(is_seen).count()
    }

    /// The greatest part of a side's whole cost that each function has, of a value for each.
    pub(super) fn shares(&self, of_run: impl Fn(&Run<'a>) -> Vec<f64>) -> Vec<f64> {
        let wholes = self.wholes();
        let (base, experiment) = wholes.split_at(self.base);
        let sums: [f64; 2] = [base.iter().sum(), experiment.iter().sum()];
        let mut of_sides = vec![[0.0; 2]; self.functions];
        for (index, run) in self.all.iter().enumerate() {
            let side = usize::from(index >= self.base);
            for (sum, value) in of_sides.iter_mut().zip(of_run(run)) {
                sum[side] += value;
            }
        }
        let share = |values: [f64; 2]| {
            let of = |side: usize| {
                if sums[side] > 0.0 {
                    values[side] / sums[side]
                } else {
                    0.0
                }
            };
            of(0).max(of(1))
        };
        of_sides.into_iter().map(share).collect()
    }

    /// The functions that are tested together: those that are listed, since they have this part of
    /// a side, and all that cost as much in all runs, on either side. The listed ones alone would
    /// be those that are greater on one side by chance, too.
    pub(super) fn tested(&self, listed: &[usize], least_share: f64) -> Vec<usize> {
        let least = self.least(least_share);
        let mut sums = vec![0.0; self.functions];
        for run in &self.all {
            for (sum, own) in sums.iter_mut().zip(&run.own) {
                *sum += own;
            }
        }
        let functions = sums.into_iter().enumerate();
        let is_tested = |function: &usize, sum: f64| {
            (sum > 0.0 && sum >= least) || listed.binary_search(function).is_ok()
        };
        functions
            .filter(|(function, sum)| is_tested(function, *sum))
            .map(|(function, _)| function)
            .collect()
    }

    /// The least cost in all runs together of anything that is this part of either side.
    pub(super) fn least(&self, share: f64) -> f64 {
        let (base, all) = (self.base as f64, self.all.len() as f64);
        let whole: f64 = self.wholes().iter().sum();
        share * base.min(all - base) / all * whole
    }

    /// The runs of each side with the sign and the weight that they have in a difference
    /// of means.
    pub(super) fn signed(&self) -> impl Iterator<Item = (&Run<'a>, f64)> {
        let (base, experiment) = (self.base as f64, (self.all.len() - self.base) as f64);
        self.all.iter().enumerate().map(move |(index, run)| {
            let weight = if index < self.base {
                -1.0 / base
            } else {
                1.0 / experiment
            };
            (run, weight)
        })
    }
}

impl<'a> Run<'a> {
    fn new(profile: &'a Profile, of: &'a [u32], identified: &'a Identified) -> Self {
        let count = identified.functions.len();
        let costs = costs(profile, of, count, &identified.idle);
        let mut run = Self {
            own: costs.own,
            total: costs.total,
            calls: costs.calls,
            profile,
            of,
            below: vec![0.0; profile.stacks.len()],
            children: Children::from_profile(profile),
            is_idle: &identified.idle,
        };
        let mut below = std::mem::take(&mut run.below);
        for sample in run.busy_samples() {
            below[sample.stack.0 as usize] += sample.weight;
        }
        add_up(profile, &mut below);
        run.below = below;
        run
    }

    /// The samples in which something ran.
    pub(super) fn busy_samples(&self) -> impl Iterator<Item = &'a Sample> {
        let is_idle = |stack: StackId| {
            let function = self.function(stack.0 as usize);
            function.is_some_and(|function| self.is_idle[function])
        };
        let samples = self.profile.samples.iter();
        samples.filter(move |sample| !is_idle(sample.stack))
    }

    /// The function at the leaf of a stack.
    pub(super) fn function(&self, stack: usize) -> Option<usize> {
        let frame = *self.profile.stacks.frames.get(stack)?;
        self.of
            .get(frame as usize)
            .map(|function| *function as usize)
    }

    /// The stack that this one was called from.
    pub(super) fn parent(&self, stack: usize) -> usize {
        let parent = self.profile.stacks.parents.get(stack);
        parent.map_or(0, |parent| *parent as usize)
    }

    /// The calls, where they are counted.
    pub(super) fn counted_calls(&self) -> impl Iterator<Item = Edge> {
        self.profile.calls.iter().filter_map(|call: &Call| {
            Some(Edge {
                caller: *self.of.get(call.caller.0 as usize)? as usize,
                callee: *self.of.get(call.callee.0 as usize)? as usize,
                weight: call.weight,
            })
        })
    }

    /// Calls as the stacks show them: each stack with its parent.
    pub(super) fn seen_calls(&self) -> impl Iterator<Item = Edge> {
        (1..self.below.len()).filter_map(|stack| {
            let parent = self.profile.stacks.parents[stack] as usize;
            Some(Edge {
                caller: self.function(parent)?,
                callee: self.function(stack)?,
                weight: self.below[stack],
            })
        })
    }
}
