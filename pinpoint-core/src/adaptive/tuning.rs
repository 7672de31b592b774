//! The constants of the strategy, with the measurements that depend on each.
//!
//! "Moves" names rows of `cargo bench -p pinpoint-benches --bench efficiency` and their
//! columns, or a test in `pinpoint-core/tests`. A stored job names its strategy, so a
//! change of any value here changes the decisions of stored jobs: see `CONTRIBUTING.md`.

// Prior probabilities.

/// The probability that no commit changed anything.
pub(super) const NO_CHANGE: f64 = 0.45;
/// The probability at which there is no further change beside those found.
pub(super) const NO_FURTHER_CHANGE: f64 = 0.9;
/// The probability of a change too small to be worth finding, where there is no larger
/// one.
pub(super) const SMALL_CHANGE: f64 = 0.05;
/// The probabilities that a change is one of values alone, of failures alone, or of both,
/// once a run has failed.
pub(super) const KINDS: [f64; 3] = [0.5, 0.4, 0.1];
/// The same as long as no run failed.
pub(super) const KINDS_WITHOUT_FAILURE: [f64; 3] = [0.95, 0.05, 0.0];

// The probability at which something counts as known.

/// The part of the allowed error that the model may use. Noise is never quite as modelled.
pub(super) const MODEL_ERROR: f64 = 0.9;
/// The least runs of a culprit and of the commit before it.
pub(super) const PAIR_RUNS: u32 = 2;
/// Runs of each end before anything is decided.
pub(super) const FIRST_RUNS: u32 = 3;
/// The same when those of the good end all pass and those of the bad end all fail: rates
/// have no scatter of their own to be estimated.
pub(super) const FIRST_RUNS_IF_CLEAR: u32 = 2;
/// A search without a budget ends after this many runs, with the remaining commits.
pub(super) const MOST_RUNS: u64 = 3_000;
/// A gap is left alone after this many of its commits failed to build.
pub(super) const MOST_FAILED_BUILDS: usize = 24;

// The choice of the next run.

/// A batch has one run for this many made before, up to [`MOST_BATCHED`].
pub(super) const RUNS_PER_BATCHED: u64 = 60;
/// See [`RUNS_PER_BATCHED`].
pub(super) const MOST_BATCHED: u64 = 4;
/// Late in a search a batch has at least one run for this many made before, which bounds
/// the decisions of a search by a constant times the logarithm of its runs.
pub(super) const RUNS_PER_LATE_BATCHED: u64 = 200;
/// The part of a build's cost that its first runs must be worth. Later runs use it, too.
pub(super) const FIRST_USE: f64 = 0.4;
/// In runs. A build that costs more is treated as one that costs this: without builds a
/// search can't end.
pub(super) const HIGHEST_BUILD_COST: f64 = 1_000.0;
/// Numbers of runs over which the cost of a new commit's build may be spread.
pub(super) const RUNS_OF_NEW_COMMIT: [f64; 5] = [1.0, 2.0, 4.0, 8.0, 16.0];
/// The most probable gaps, to which a decision is limited. Its cost is cubic in them.
pub(super) const MOST_GAPS: usize = 8;
/// In nats: a run that is expected to give less information is not made.
pub(super) const LEAST_INFORMATION: f64 = 1e-9;
/// Bounds of the assumed squared distance of the two levels, in standard deviations: an
/// estimate from few runs may be 0, or far too large.
pub(super) const SEPARATION: [f64; 2] = [0.05, 100.0];

// The size of a change.

/// Sizes of a step, in units of the smallest one looked for, each with its prior
/// probability. Each represents the sizes around it.
pub(super) const SIZES: [(f64, f64); 6] = [
    (1.0, 0.35),
    (1.7, 0.25),
    (3.0, 0.15),
    (6.0, 0.1),
    (12.0, 0.1),
    (36.0, 0.05),
];
/// The standard deviation of the sizes about each of [`SIZES`], relative to it.
pub(super) const SIZE_SPREAD: f64 = 0.35;
/// The standard deviation of changes too small to be worth finding, in units of the
/// smallest one looked for.
pub(super) const SMALL_SIZE: f64 = 0.15;
/// A magnitude is a guess, so half of it is looked for, too; but nothing smaller than
/// this many interquartile ranges of the noise, if the magnitude itself is not.
pub(super) const CHEAP_SIZE: f64 = 0.75;
/// In interquartile ranges: nothing smaller is looked for, whatever the magnitude. It
/// would take thousands of runs.
pub(super) const LEAST_SIZE: f64 = 0.25;

// The noise.

/// Degrees of freedom of the Student distribution that models outliers.
pub(super) const FREEDOM: f64 = 4.0;
/// The interquartile range of that distribution, in units of its scale.
pub(super) const QUARTILES: f64 = 1.4814;
/// The first estimate of that scale, in units of the median absolute deviation: 1 / 0.7407.
pub(super) const SCALE_OF_MEDIAN_DEVIATION: f64 = 1.35;
/// The repetitions of the fit of levels, weights and scale; more change nothing.
pub(super) const FIT_ROUNDS: usize = 3;
/// Steps of the fixed-point iteration for the scale, in each round.
pub(super) const SCALE_ROUNDS: usize = 4;
/// The standard deviation of the drift over all runs, in standard deviations of the noise:
/// this much for each run, up to [`MOST_DRIFT`].
pub(super) const DRIFT_PER_RUN: f64 = 0.004;
/// See [`DRIFT_PER_RUN`].
pub(super) const MOST_DRIFT: f64 = 2.0;
/// The standard deviation of the offsets of bots, in standard deviations of the noise.
pub(super) const BOT_OFFSET: f64 = 1.0;

// The shape of the noise.

/// Widths of the smoothing kernel, in scales of the noise, for 50 values.
pub(super) const KERNEL_WIDTHS: [f64; 3] = [0.12, 0.25, 0.5];
/// Values that the Student distribution counts for in a smoothed shape, and its width
/// there, in scales of the noise: a value beyond all others is not impossible.
pub(super) const PRIOR_VALUES: f64 = 5.0;
/// See [`PRIOR_VALUES`].
pub(super) const PRIOR_SCALE: f64 = 1.5;
/// The least log likelihood by which a smoothed shape must be better.
pub(super) const PREFERENCE: f64 = 3.0;
/// With fewer values no shape is estimated.
pub(super) const LEAST_SHAPE_VALUES: usize = 25;
/// The narrowest kernel, in ticks: rounded values must not look like separate modes.
pub(super) const LEAST_KERNEL_TICKS: f64 = 0.7;
/// The additional variance of likelihood ratios, relative to their mean square: the shape
/// is an estimate. Without it, 22 % of the answers stated with 99 % were wrong in noise
/// of several modes.
pub(super) const SHAPE_UNCERTAINTY: f64 = 0.1;
/// Grid points per kernel width, the grid's reach in scales of the noise, and the
/// kernel's in grid points. Finer grids give the same decisions.
pub(super) const GRID_PER_WIDTH: f64 = 3.0;
/// See [`GRID_PER_WIDTH`].
pub(super) const GRID_REACH: f64 = 8.0;
/// See [`GRID_PER_WIDTH`].
pub(super) const KERNEL_REACH: u32 = 12;

// Failures.

/// Beta distributions of the failure rate where nothing changed, as failures and passes
/// seen before: nearly never or nearly always, as most benchmarks; or now and then.
pub(super) const RATE_WITHOUT_CHANGE: [[f64; 2]; 2] = [[0.1, 0.1], [1.0, 2.0]];
/// The same before a change for the worse: nearly never, or now and then.
pub(super) const RATE_BEFORE: [[f64; 2]; 2] = [[0.1, 1.0], [1.0, 2.0]];
/// The same after it: nearly always, or any rate. "Nearly never" would be no change, and
/// runs that all pass could never be evidence against it.
pub(super) const RATE_AFTER: [[f64; 2]; 2] = [[1.0, 0.1], [1.0, 1.0]];
/// Failures, and passes, added to those seen where a rate is estimated.
pub(super) const RATE_PRIOR: f64 = 0.2;

// Numerical guards. They keep a computation finite and decide nothing.

/// The largest value, in spreads of all values: its square is still exact enough.
pub(super) const LARGEST_VALUE: f64 = 1e6;
/// The smallest difference of two values, in spreads of all values.
pub(super) const LEAST_TICK: f64 = 1e-9;
/// The penalty of a coefficient without a prior.
pub(super) const NO_PENALTY: f64 = 1e-9;
/// A step of which the nuisances explain all but this part can't be distinguished from
/// them.
pub(super) const LEAST_UNEXPLAINED: f64 = 1e-6;
/// The least residual sum of squares, relative to that without a step.
pub(super) const LEAST_REST: f64 = 1e-12;
/// The least variance of the noise, in squared spreads of all values.
pub(super) const LEAST_VARIANCE: f64 = 1e-18;
/// The least standard deviation of normal noise, in scales of the noise.
pub(super) const LEAST_DEVIATION: f64 = 1e-3;
/// The least variance of likelihood ratios.
pub(super) const LEAST_RATIO_VARIANCE: f64 = 1e-9;
