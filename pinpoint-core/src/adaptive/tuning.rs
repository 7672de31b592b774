//! The constants of the strategy, and the scenarios that move with each.
//!
//! "At 0.2: a 30 → 110" means that with the value 0.2 the scenario `a` took 110 runs
//! instead of 30. Scenarios are rows of the benchmark `efficiency`
//! (`cargo bench -p pinpoint-benches --bench efficiency -- --quick`), over 12 searches
//! each, so that only differences of a third or more mean anything; "nothing" is all rows
//! of that name. A stored job names its strategy, so a change of any value here changes
//! the decisions of stored jobs: see `ARCHITECTURE.md`.

use super::memory::{Assumptions, Memory};

// Prior probabilities.

/// Prior of no change at all. At 0.2: nothing 35 → 120.
pub(super) const NO_CHANGE: f64 = 0.45;
/// Prior of no change besides those found. At 0.5: two-opposite 47 → 130, pass-fail 0.05->0.95 25 →
/// 106.
pub(super) const NO_FURTHER_CHANGE: f64 = 0.9;
/// The same after one, two and more changes: a history with several has more. At 0.9 for
/// all of them, and without [`FURTHER_RUNS`]: `history modes` of the benchmark `real_noise` is
/// right in 52 % of its searches instead of 83 %.
pub(super) const NO_FURTHER_CHANGE_AFTER: [f64; 3] = [0.9, 0.8, 0.7];
/// Prior of no further change of at least [`LIKE_KNOWN`] of the size of those found. Without
/// looking for one: `two-alike heavy-tails 16 told=right` is right in 83 % of its searches instead
/// of 96 %. At 0.5: `bursts +10%` of the benchmark `real_noise` 31 → 41.
pub(super) const NO_CHANGE_LIKE_KNOWN: f64 = 0.8;
/// See [`NO_CHANGE_LIKE_KNOWN`]. At 0: `proportional x10` of the benchmark `real_noise` 18 → 26.
/// At 0.5: `two-alike heavy-tails 16 told=right` is right in 88 % of its searches.
pub(super) const LIKE_KNOWN: f64 = 0.34;
/// Where no magnitude was given, a further change is worth finding if it is at least this part of
/// the smallest one found. At 0.05: +30 % is missed next to a change that makes the level ten times
/// as high.
pub(super) const FURTHER_SIZE: f64 = 0.025;
/// Prior of a change too small to be worth finding, where nothing worth finding changed. At 0.5:
/// nothing normal 34 → 54.
pub(super) const SMALL_CHANGE: f64 = 0.05;
/// Priors of a change of values alone, of failures alone, or of both, once a run has failed. At
/// [0.9, 0.05, 0.05]: pass-fail rows only, by up to a fifth.
pub(super) const KINDS: [f64; 3] = [0.5, 0.4, 0.1];
/// The same as long as no run failed. At [0.5, 0.5, 0]: nothing normal 34 → 52.
pub(super) const KINDS_WITHOUT_FAILURE: [f64; 3] = [0.95, 0.05, 0.0];

// The probability at which something counts as known.

/// The part of the allowed error that the model may use. Noise is never quite as modeled. At 0.5:
/// about a tenth more runs in all scenarios with one change.
pub(super) const MODEL_ERROR: f64 = 0.9;
/// The least runs of a culprit and of the commit before it. At 4: large changes (d=4)
/// 21 → 24.
pub(super) const PAIR_RUNS: u32 = 2;
/// The least pairs of runs back to back, one of a culprit and one of the commit before it, and the
/// least part of the effect that their median shows. Without them: 2 % of the searches are wrong
/// in the rows `clock x1.5 20s` of the benchmark `real_noise`.
pub(super) const BACK_TO_BACK_PAIRS: usize = 3;
/// See [`BACK_TO_BACK_PAIRS`].
pub(super) const BACK_TO_BACK_SHARE: f64 = 0.4;
/// Where this many runs of both commits made no pair, none is waited for.
pub(super) const RUNS_WITHOUT_PAIR: usize = 12;
/// Runs of each end before anything is decided. At 6: large changes (d=4) 21 → 26.
pub(super) const FIRST_RUNS: u32 = 3;
/// The same when those of the good end all pass and those of the bad end all fail: only
/// values need one run more, for their scatter.
pub(super) const FIRST_RUNS_IF_CLEAR: u32 = 2;
/// A search without a budget ends after this many runs, with the commits that are left. At 300:
/// pass-fail 0.1->0.3 is found in 2 of 12 searches instead of all.
pub(super) const MOST_RUNS: u64 = 3_000;
/// A gap is left alone after this many of its commits failed to build. At 3: unbuildable is right
/// in 10 of 12 searches instead of all.
pub(super) const MOST_FAILED_BUILDS: usize = 24;

/// Where changes were found, the search for a further one ends after as many runs as it took to
/// find the last of these, or twice as many while one more is likelier than not; but not before
/// this many. See [`NO_FURTHER_CHANGE_AFTER`].
pub(super) const FURTHER_RUNS: u64 = 60;
/// Or this many times as many while there is one like those found, but for a probability of
/// [`NO_CHANGE_TO_GO_ON`]. At 1: `history modes told 1200` of the benchmark `real_noise` is right in
/// 38 % of its searches instead of 77 %. Where a change that was given up and found again counts as
/// a new one: `waves 42 untold` 220 → 1,500, and a third of its searches take 3,000.
pub(super) const FURTHER_LIKE: u64 = 3;
/// See [`FURTHER_LIKE`]. At 0.5, four times as many: `walk untold` 115 → 168.
pub(super) const NO_CHANGE_TO_GO_ON: f64 = 0.1;

/// The size of a change is measured with this many runs on each side, and with all of the commits
/// that these are of.
pub(super) const EFFECT_RUNS: usize = 10;
/// With more where it takes them for an interval that reaches this part of the effect to
/// either side.
pub(super) const EFFECT_PRECISION: f64 = 2.0 / 3.0;

// The choice of the next run.

/// The number of earlier runs for each run of a batch, which has at most [`MOST_BATCHED`]. At 10:
/// two-alike 66 → 91. Larger values cost time: each batch is a decision.
pub(super) const RUNS_PER_BATCHED: u64 = 60;
/// See [`RUNS_PER_BATCHED`].
pub(super) const MOST_BATCHED: u64 = 4;
/// Late in a search a batch has at least one run for this many made before, which bounds
/// the decisions of a search by a constant times the logarithm of its runs.
/// At 20: pass-fail 0.1->0.3 437 → 657.
pub(super) const RUNS_PER_LATE_BATCHED: u64 = 200;
/// The part of a build's cost that its first runs must be worth. Later runs use it, too.
/// At 1: a fifth fewer builds in skewed and flaky.
pub(super) const FIRST_USE: f64 = 0.4;
/// In runs. A build that costs more is treated as one that costs this: without builds a
/// search can't end. At 5: build-cost-20 only, 25 → 23.
pub(super) const HIGHEST_BUILD_COST: f64 = 1_000.0;
/// Numbers of runs over which the cost of a new commit's build may be spread. At 1 alone:
/// a fifth fewer builds in pass-fail 0.1->0.3, which is wrong in 1 of 12 searches.
pub(super) const RUNS_OF_NEW_COMMIT: [f64; 5] = [1.0, 2.0, 4.0, 8.0, 16.0];
/// The most probable gaps, to which a decision is limited. Its cost is cubic in them.
/// At 3: two-alike and skewed are right in 10 of 12 searches; drift 92 → 111.
pub(super) const MOST_GAPS: usize = 8;
/// In nats: a run that is expected to give less information is not made.
pub(super) const LEAST_INFORMATION: f64 = 1e-9;
/// Bounds of the assumed squared distance of the two levels, in standard deviations: an
/// estimate from few runs may be 0, or far too large. At [0.5, 10]: no clear difference.
pub(super) const SEPARATION: [f64; 2] = [0.05, 100.0];

// The size of a change.

/// Sizes of a step, in units of the smallest one looked for, each with its prior
/// probability. Each stands for the sizes about it. Without
/// the largest: no clear difference in these rows, whose changes are smaller.
pub(super) const SIZES: [(f64, f64); 6] = [
    (1.0, 0.35),
    (1.7, 0.25),
    (3.0, 0.15),
    (6.0, 0.1),
    (12.0, 0.1),
    (36.0, 0.05),
];
/// The standard deviation of the sizes about each of [`SIZES`], relative to it. At
/// 0.1: nothing 34 → 19, but skewed, ticks and pass-fail 0->0.2 are wrong in 2 of 12.
pub(super) const SIZE_SPREAD: f64 = 0.35;
/// The standard deviation of changes too small to be worth finding, in units of the
/// smallest one looked for. At 0.5: flaky 123 → 1,810.
pub(super) const SMALL_SIZE: f64 = 0.15;
/// A magnitude is a guess, so half of it is looked for, too; but nothing smaller than so
/// many interquartile ranges of the noise, if the magnitude itself is not. At 0:
/// nothing told=1 67 → 108.
pub(super) const CHEAP_SIZE: f64 = 0.75;
/// In interquartile ranges: nothing smaller is looked for, for any magnitude. It would take
/// thousands of runs. At 1: nothing told=1 67 → 33.
pub(super) const LEAST_SIZE: f64 = 0.25;

/// Where no magnitude is given, the smallest change looked for is as large as the scatter, but at
/// most this fraction of the level. Without it: `git loaded +50%` and `gcc loaded +50%` of the
/// benchmark `real_noise` are right in 93 % of their searches instead of 100 %.
pub(super) const UNTOLD_MOST: f64 = 0.25;
/// But it is at least this many interquartile ranges: smaller ones take too many runs.
pub(super) const UNTOLD_LEAST: f64 = 0.5;

/// A change smaller than this part of the smallest one looked for counts as small, and is never one
/// of those looked for. At 0.6 without [`NEAR_NOISE`]: a change as large as the scatter, whose
/// magnitude is not given, is missed in 8 % of the searches.
pub(super) const LEAST_SOUGHT: f64 = 0.6;
/// That limit is lower by this many interquartile ranges of the noise, but at least this part of
/// the smallest change looked for.
pub(super) const NEAR_NOISE: [f64; 2] = [0.4, 0.2];

// The noise.

/// Degrees of freedom of the Student distribution that models outliers. At 30: skewed 61 → 113,
/// and heavy-tails is wrong in 2 of 12.
pub(super) const FREEDOM: f64 = 4.0;
/// The interquartile range of that distribution, in units of its scale. A property of
/// [`FREEDOM`], checked in `location`.
pub(super) const QUARTILES: f64 = 1.4814;
/// The first estimate of that scale, in units of the median absolute deviation: a property
/// of [`FREEDOM`], too.
pub(super) const SCALE_OF_MEDIAN_DEVIATION: f64 = 1.35;
/// The fit of levels, weights and scale is repeated so often. At 1: heavy-tails and skewed
/// are wrong in 1 of 12.
pub(super) const FIT_ROUNDS: usize = 3;
/// Steps of the fixed-point iteration for the scale, in each round. At 1: nothing skewed
/// 30 → 47.
pub(super) const SCALE_ROUNDS: usize = 4;
/// The standard deviation of the drift over all runs, in standard deviations of the noise:
/// so much for each run, up to [`MOST_DRIFT`]. At 0.0001: no clear difference.
pub(super) const DRIFT_PER_RUN: f64 = 0.004;
/// See [`DRIFT_PER_RUN`]. At 0.1: pass-fail 0.1->0.3 is wrong in 2 of 12.
pub(super) const MOST_DRIFT: f64 = 2.0;
/// The standard deviation of the offsets of bots, in standard deviations of the noise.
/// At 0.1: bots only, 93 → 143.
pub(super) const BOT_OFFSET: f64 = 1.0;

/// The memory of the noise is one of these. Without memory: `gcc quiet +15%` of the
/// benchmark `real_noise` 119 → 518, and right in 58 % of its searches instead of 90 %.
const MEMORIES: [Memory; 5] = [
    Memory {
        prior: 0.4,
        ..Memory::NONE
    },
    Memory {
        prior: 0.2,
        share: 0.6,
        decay: 0.6,
    },
    Memory {
        prior: 0.15,
        share: 1.0,
        decay: 0.7,
    },
    Memory {
        prior: 0.15,
        share: 0.6,
        decay: 0.9,
    },
    Memory {
        prior: 0.1,
        share: 1.0,
        decay: 0.9,
    },
];
/// With fewer values, the prior probabilities of [`MEMORIES`] count for more than these. At
/// 1: `git loaded +50%` of the benchmark `real_noise` 62 → 130.
pub(super) const VALUES_FOR_MEMORY: f64 = 40.0;
/// In nats: a memory that is less likely than another by so much is left out. Its share
/// would be less than 1 in 20,000. Larger values cost time.
pub(super) const IMPOSSIBLE_MEMORY: f64 = 10.0;
/// The assumptions on the noise. With a shape's uncertainty of [0.1, 0]: several-modes 64 →
/// 59 and right in 97 % instead of 98 % of its searches.
pub(super) const ASSUMPTIONS: Assumptions = Assumptions {
    memories: &MEMORIES,
    may_be_proportional: true,
    shape_uncertainty: [0.1, 5.0],
    distinguishes: true,
};
/// Those of jobs whose spec has version 3 or 4.
pub(super) const ASSUMPTIONS_OF_VERSION_4: Assumptions = Assumptions {
    distinguishes: false,
    ..ASSUMPTIONS
};
/// Those of jobs whose spec has version 1 or 2. Without a shape's uncertainty, 22 % of the
/// answers stated with 99 % were wrong in noise of several modes; nothing normal 34 → 58.
pub(super) const OLD_ASSUMPTIONS: Assumptions = Assumptions {
    memories: &[Memory::NONE],
    may_be_proportional: false,
    shape_uncertainty: [0.1, 0.0],
    distinguishes: false,
};
/// The variance of a step, in units of the variance from the weights alone, where a limit for
/// changes that were not found is stated. For Student noise it is 1.4 (freedom + 3 over freedom +
/// 1; Lange, Little and Taylor, section 3), and noise is never quite as modeled. At 1.4: limits
/// stated with 95 % hold in 86 % of the searches in the noise of `python quiet`, and in 90 % in
/// outliers; now in 94 % and 96 %.
pub(super) const LIMIT_VARIANCE: f64 = 2.1;

// The shape of the noise.

/// Widths of the smoothing kernel, in scales of the noise, for 50 values. At 0.5
/// alone: no clear difference.
pub(super) const KERNEL_WIDTHS: [f64; 3] = [0.12, 0.25, 0.5];
/// Values that the Student distribution counts for in a smoothed shape, and its width
/// there, in scales of the noise: a value beyond all others is not impossible. At 0.1 values
/// or a width of 0.5: no clear difference.
pub(super) const PRIOR_VALUES: f64 = 5.0;
/// See [`PRIOR_VALUES`].
pub(super) const PRIOR_SCALE: f64 = 1.5;
/// A smoothed shape must be better by so much in log likelihood. At 0: two-alike is wrong
/// in 1 or 2 of 12.
pub(super) const PREFERENCE: f64 = 3.0;
/// With fewer values no shape is estimated. At 5: no clear difference.
pub(super) const LEAST_SHAPE_VALUES: usize = 25;
/// The narrowest kernel, in ticks: rounded values must not look like separate modes. At 0:
/// ticks only, 81 → 151.
pub(super) const LEAST_KERNEL_TICKS: f64 = 0.7;
/// Grid points per kernel width, the grid's reach in scales of the noise, and the
/// kernel's in grid points. At 2 points: a third of the rows, by less than a tenth.
pub(super) const GRID_PER_WIDTH: f64 = 3.0;
/// See [`GRID_PER_WIDTH`].
pub(super) const GRID_REACH: f64 = 8.0;
/// See [`GRID_PER_WIDTH`].
pub(super) const KERNEL_REACH: usize = 12;

// Failures.

/// Beta distributions of the failure rate where nothing changed, as failures and passes
/// seen before: nearly never or nearly always, as most benchmarks; or now and then.
/// At [1, 1]: pass-fail 0.05->0.95 26 → 69, nothing told=1 67 → 199.
pub(super) const RATE_WITHOUT_CHANGE: [[f64; 2]; 2] = [[0.1, 0.1], [1.0, 2.0]];
/// The same before a change for the worse: nearly never, or now and then. At [1, 1]:
/// pass-fail 0.05->0.95 26 → 37.
pub(super) const RATE_BEFORE: [[f64; 2]; 2] = [[0.1, 1.0], [1.0, 2.0]];
/// The same after it: nearly always, or any rate. "Nearly never" would mean no change, and runs
/// that all pass could never be evidence against it. At [1, 1]: nothing several-modes 56 → 90.
pub(super) const RATE_AFTER: [[f64; 2]; 2] = [[1.0, 0.1], [1.0, 1.0]];
/// Runs of the bad end before values that never vary are said not to have changed: a failure in a
/// fifth of the runs shows in 95 of 100 searches. At 6: in 74.
pub(super) const QUIET_RUNS: u32 = 14;
/// Prior of a broken commit: its own runs fail, and a later commit mends it. At 0.15: of 40 commits
/// with a block of 5 and failures that last, a wrong one is named in 3.5 % of the searches instead
/// of 1.3 %.
pub(super) const BROKEN: f64 = 0.2;
/// The probability at which a commit counts as broken, and is left out. At 0.9: a commit that
/// begins to fail now and then may be left out by its first three runs.
pub(super) const CERTAINLY_BROKEN: f64 = 0.98;
/// A block that holds a commit holds one this many commits later in half of the cases.
pub(super) const BLOCK: f64 = 5.0;
/// Beta distributions of the failure rate of a broken commit: nearly always, or any rate.
pub(super) const RATE_BROKEN: [[f64; 2]; 2] = [[1.0, 0.1], [1.0, 1.0]];
/// The same of the share of runs in which a change would show, where all values are alike so
/// far: nearly always.
pub(super) const RATE_OF_CHANGE: [[f64; 2]; 2] = [[1.0, 0.1], [1.0, 0.3]];
/// Failures, and passes, added to those seen where a rate is estimated. At 2: no clear difference.
pub(super) const RATE_PRIOR: f64 = 0.2;

// Numerical guards: they keep a computation finite.

/// The largest value, in spreads of all values: its square is still exact enough.
pub(super) const LARGEST_VALUE: f64 = 1e6;
/// The smallest difference of two values, in spreads of all values.
pub(super) const LEAST_TICK: f64 = 1e-9;
/// The penalty of a coefficient without a prior.
pub(super) const NO_PENALTY: f64 = 1e-9;
/// A step of which the nuisances explain all but this part can't be distinguished from
/// them.
pub(super) const LEAST_UNEXPLAINED: f64 = 1e-6;
/// The least square of a step of which the level is taken out, in runs.
pub(super) const LEAST_STEP: f64 = 1e-9;
/// The least residual sum of squares, relative to that without a step.
pub(super) const LEAST_REST: f64 = 1e-12;
/// The least variance of the noise where no two runs of one commit differ, in squared ticks. With
/// it, n runs that have one value and n others that have another are as good evidence of a step
/// as they are against values that are rounded up in half of all runs and down in the other
/// half: 1.4 nats for each run.
pub(super) const STEADY_FLOOR: f64 = 1.0 / 60.0;
/// The least variance of the noise, in squared spreads of all values.
pub(super) const LEAST_VARIANCE: f64 = 1e-18;
/// The least standard deviation of normal noise, in scales of the noise.
pub(super) const LEAST_DEVIATION: f64 = 1e-3;
/// The least variance of likelihood ratios.
pub(super) const LEAST_RATIO_VARIANCE: f64 = 1e-9;
