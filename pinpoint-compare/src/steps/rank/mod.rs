//! The rank change-point detector: one value after the other, at a stated rate of false alarms.

mod location;
mod scan;
mod shape;
mod thresholds;
mod window;

use super::error::StepError;
use location::{Located, locate};
use scan::{LEAST, Memory, Scan};
use shape::{came_back, dominance, is_drift, still_drifts};
use thresholds::{check_rate, thresholds};
use window::{CAPACITY, Window, finite, take};

use crate::shift::median;

/// False alarms for each new value, unless the caller says otherwise.
pub const DEFAULT_RATE: f64 = 1e-4;

/// With fewer values since the last change, or in all, a [`Detector`] raises no alarm.
pub const LEAST_VALUES: usize = LEAST;

/// Options of a [`Detector`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DetectorOptions {
    /// False alarms for each new value without a change: 0.00005 to 0.01.
    pub rate: f64,
    /// Orders equal values. Traces that are judged together should have different seeds.
    pub seed: u64,
}

impl Default for DetectorOptions {
    fn default() -> Self {
        Self {
            rate: DEFAULT_RATE,
            seed: 0,
        }
    }
}

/// The shape of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Shape {
    /// The values moved at once and stayed.
    Step,
    /// The values move slowly; a line fits about as well as a step.
    Drift,
    /// The values scatter more or less than before.
    Spread,
}

/// A change that a [`Detector`] reports.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Alarm {
    /// The number of the likeliest first value after the change; the first value pushed has 0.
    pub at: u64,
    /// The number of the value at which the alarm was raised.
    pub raised_at: u64,
    /// The first and the last number that `at` may have; holds the change in at least 95 %.
    pub interval: (u64, u64),
    /// The probability of each place, in order; those below 0.0001 are left out, and the rest adds
    /// up to 1.
    pub posterior: Vec<(u64, f64)>,
    /// The shape.
    pub shape: Shape,
    /// True if the values rose or, of a change of spread, if they scatter more.
    pub rose: bool,
    /// The median of the values before, back to the previous change or the start of the window.
    pub before: f64,
    /// The median of the values since.
    pub after: f64,
    /// The statistic and its threshold, in standard deviations.
    pub statistic: f64,
    /// The threshold that it exceeded.
    pub threshold: f64,
    /// The lag-1 correlation that was taken out.
    pub correlation: f64,
}

/// An event that a [`Detector`] tells.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(tag = "event", rename_all = "snake_case"))]
#[non_exhaustive]
pub enum StepEvent {
    /// A change.
    Alarm(Alarm),
    /// A change that was reported has gone back to where it came from: it was a spike.
    Retraction {
        /// [`Alarm::at`] of the change.
        change: u64,
        /// The number of the first value that is back.
        at: u64,
        /// The number of the value at which this was seen.
        raised_at: u64,
    },
}

/// The values before a change that are kept to recognize them.
const KEPT: usize = 16;

/// A step may come back for this many values.
const SPIKE: u64 = 30;

/// The values that stay when a drift has ended.
const AFTER_DRIFT: usize = 40;

/// The least share by which the values themselves must lie on one side of those before: P(above) − P(below).
/// Ranks of equal values are drawn, which must not raise an alarm by itself.
const LEAST_DOMINANCE: f64 = 0.15;

/// The last step, as long as it may come back.
#[derive(Debug, Clone, PartialEq)]
struct Recent {
    at: u64,
    rose: bool,
    before: Vec<f64>,
}

/// Finds changes in values that come one by one.
///
/// After each value, all splits of the last 140 values since the last change are compared:
///
/// 1. Values become normal scores of their ranks; equal values are ordered by the seed. So for
///    independent values the rate does not depend on their distribution.
/// 2. The lag-1 correlation, estimated from all values so far without their steps and raised a
///    little, is taken out: e(i) = s(i) − φ·s(i−1).
/// 3. The statistic is the largest standardized difference of means over all splits with 4 values
///    or more on each side, minus a small charge for short sides; and the same for the sizes of e.
/// 4. Its threshold depends on the number of values since the last change, so that the hazard is
///    constant (Hawkins, Qiu, Kang 2003); a tenth of the rate belongs to changes of spread.
///
/// Normal scores take the place of the ranks of Mann-Whitney: four new values can then reach the
/// default threshold, and in the middle they see the same.
///
/// An alarm starts a new window at the change. A drift starts none: while it lasts, its line is
/// taken out, and it is not reported again. A step that comes back within 30 values is retracted.
///
/// Values one by one give the same events as [`detect`] of all of them, bit for bit.
///
/// # Cost
///
/// About 2 µs for each value; [`pack`](Self::pack) gives at most 1.5 KiB.
///
/// ```
/// use pinpoint_compare::steps::{Detector, DetectorOptions, StepEvent};
///
/// let mut detector = Detector::new(DetectorOptions::default())?;
/// let mut events = Vec::new();
/// for i in 0..80_u32 {
///     let noise = f64::from((i * i * 37 + i * 11) % 101) / 101.0;
///     let value = if i < 60 { noise } else { noise + 3.0 };
///     events.extend(detector.push(value)?);
/// }
/// let [StepEvent::Alarm(alarm)] = events.as_slice() else { panic!() };
/// assert_eq!((alarm.at, alarm.rose), (60, true));
/// assert!(alarm.raised_at < 70);
/// # Ok::<(), pinpoint_compare::steps::StepError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Detector {
    options: DetectorOptions,
    window: Window,
    memory: Memory,
    /// The number of the first value since the last change.
    since: u64,
    drifts: bool,
    recent: Option<Recent>,
}

/// All events of a series, as a [`Detector`] gives them.
///
/// # Errors
///
/// [`StepError::NotFinite`] with the index of the value, [`StepError::OutOfRange`] for a rate.
pub fn detect(values: &[f64], options: DetectorOptions) -> Result<Vec<StepEvent>, StepError> {
    super::error::check_finite("values", values)?;
    let mut detector = Detector::new(options)?;
    let mut events = Vec::new();
    for value in values {
        events.extend(detector.push(*value)?);
    }
    Ok(events)
}

/// The place of a change, as [`locate_change`] finds it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Location {
    /// The index of the likeliest first value after the change.
    pub at: usize,
    /// The first and the last index that `at` may have.
    pub interval: (usize, usize),
    /// The probability of each index, in order; those below 0.0001 are left out, and the rest adds
    /// up to 1.
    pub posterior: Vec<(usize, f64)>,
}

/// The place of a change of the level in values that are known to hold one, as a [`Detector`] finds
/// it: by the profile likelihood of whitened normal scores. Of more than 140 values, the newest count.
///
/// # Errors
///
/// [`StepError::NotFinite`], [`StepError::TooShort`] with fewer than [`LEAST_VALUES`].
///
/// # Cost
///
/// About 2 µs for each of the values.
///
/// ```
/// use pinpoint_compare::steps::locate_change;
///
/// let noise = |i: u32| f64::from((i * i * 37 + i * 11) % 101) / 101.0;
/// let values: Vec<f64> = (0..40).map(|i| noise(i) + if i < 25 { 0.0 } else { 2.0 }).collect();
/// let found = locate_change(&values)?;
/// assert!(found.at == 25 && found.interval.0 <= 25 && 25 <= found.interval.1);
/// # Ok::<(), pinpoint_compare::steps::StepError>(())
/// ```
pub fn locate_change(values: &[f64]) -> Result<Location, StepError> {
    super::error::check_finite("values", values)?;
    if values.len() < LEAST {
        return Err(StepError::TooShort {
            argument: "values",
            found: values.len(),
            needed: LEAST,
        });
    }
    let mut window = Window::new();
    let newest = values.len().saturating_sub(CAPACITY);
    for value in &values[newest..] {
        window.push(*value, 0);
    }
    let located = locate(&Scan::with_ties(&window, &Memory::default(), false), false);
    let index = |after: usize| values.len() - after;
    let posterior = located.posterior.iter();
    Ok(Location {
        at: index(located.after),
        interval: (index(located.most), index(located.least)),
        posterior: posterior.map(|&(after, p)| (index(after), p)).collect(),
    })
}

impl Detector {
    /// A detector that has seen nothing.
    ///
    /// # Errors
    ///
    /// [`StepError::OutOfRange`] for a rate.
    pub fn new(options: DetectorOptions) -> Result<Self, StepError> {
        check_rate(options.rate)?;
        Ok(Self {
            options,
            window: Window::new(),
            memory: Memory::default(),
            since: 0,
            drifts: false,
            recent: None,
        })
    }

    /// The number of values pushed.
    pub fn count(&self) -> u64 {
        self.window.next
    }

    /// Returns true while the values drift, which has been reported.
    pub fn is_drifting(&self) -> bool {
        self.drifts
    }

    /// The two-sided p-value of the newest `after` values against those before them since the last
    /// change, with the correlation taken out: the input of [`higher_criticism`](super::higher_criticism).
    ///
    /// Absent with fewer than 20 values in the window, or fewer than 4 on a side.
    pub fn p_value(&self, after: usize) -> Option<f64> {
        let n = self.window.len();
        if n < LEAST || after < 4 || after + 4 > n {
            return None;
        }
        let scan = Scan::of(&self.window.ranks, &self.memory, self.drifts);
        Some(crate::normal::two_sided(scan.standardized(after)))
    }

    /// Adds a value.
    ///
    /// # Errors
    ///
    /// [`StepError::NotFinite`]; the value is then not counted.
    pub fn push(&mut self, value: f64) -> Result<Option<StepEvent>, StepError> {
        super::error::check_finite("value", &[value])?;
        if self.window.len() == CAPACITY {
            self.memory.leave(&self.window.ranks);
        }
        self.window.push(value, self.options.seed);
        if let Some(retraction) = self.retract() {
            return Ok(Some(retraction));
        }
        if self.window.len() < LEAST {
            return Ok(None);
        }
        let scan = Scan::of(&self.window.ranks, &self.memory, self.drifts);
        let length = self.window.next - self.since;
        let (for_location, for_spread) = thresholds(length, self.options.rate);
        let event = if scan.location > for_location {
            self.moved(&scan, for_location)
        } else if scan.spread > for_spread {
            self.spread(&scan, for_spread)
        } else {
            None
        };
        if self.drifts && event.is_none() && !still_drifts(&self.window.ranks) {
            self.drifts = false;
            let most = self.window.len().saturating_sub(AFTER_DRIFT);
            self.window.drop_first(most);
            self.since = self.window.first();
        }
        Ok(event.map(StepEvent::Alarm))
    }

    /// A change of the location, unless it is in the ranks of equal values alone.
    fn moved(&mut self, scan: &Scan, threshold: f64) -> Option<Alarm> {
        let is_step = !is_drift(scan);
        if self.drifts && !is_step {
            return None;
        }
        let with_ties = Scan::with_ties(&self.window, &self.memory, self.drifts);
        let located = locate(&with_ties, false);
        let (before, after) = self.sides(located.after);
        let dominance = dominance(before, after);
        let whitened = scan.whitened();
        let (left, right) = whitened.split_at(whitened.len() - located.after);
        let mean = |side: &[f64]| side.iter().sum::<f64>() / side.len().max(1) as f64;
        let rose = mean(right) > mean(left);
        if (if rose { dominance } else { -dominance }) < LEAST_DOMINANCE {
            return None;
        }
        let shape = if is_step { Shape::Step } else { Shape::Drift };
        let alarm = self.alarm(scan, &located, shape, rose, scan.location, threshold);
        if is_step {
            let kept = before.len().saturating_sub(KEPT);
            let before = before[kept..].to_vec();
            self.recent = Some(Recent {
                at: alarm.at,
                rose,
                before,
            });
            self.restart(scan, located.after);
        } else {
            self.drifts = true;
            self.recent = None;
        }
        Some(alarm)
    }

    /// A change of the spread, unless it is in the ranks of equal values alone.
    fn spread(&mut self, scan: &Scan, threshold: f64) -> Option<Alarm> {
        let located = locate(scan, true);
        let middle = median(&self.window.values).unwrap_or_default();
        let (before, after) = self.sides(located.after);
        let size = |side: &[f64]| side.iter().map(|v| (v - middle).abs()).collect::<Vec<_>>();
        let dominance = dominance(&size(before), &size(after));
        if dominance.abs() < LEAST_DOMINANCE {
            return None;
        }
        let rose = dominance > 0.0;
        let alarm = self.alarm(scan, &located, Shape::Spread, rose, scan.spread, threshold);
        self.recent = None;
        self.restart(scan, located.after);
        Some(alarm)
    }

    fn sides(&self, after: usize) -> (&[f64], &[f64]) {
        let split = self.window.len().saturating_sub(after);
        self.window.values.split_at(split)
    }

    fn alarm(
        &self,
        scan: &Scan,
        located: &Located,
        shape: Shape,
        rose: bool,
        statistic: f64,
        threshold: f64,
    ) -> Alarm {
        let next = self.window.next;
        let number = |after: usize| next - after as u64;
        let (before, after) = self.sides(located.after);
        let posterior = located.posterior.iter();
        Alarm {
            at: number(located.after),
            raised_at: next - 1,
            interval: (number(located.most), number(located.least)),
            posterior: posterior.map(|&(after, p)| (number(after), p)).collect(),
            shape,
            rose,
            before: median(before).unwrap_or_default(),
            after: median(after).unwrap_or_default(),
            statistic,
            threshold,
            correlation: scan.correlation,
        }
    }

    /// Starts a new window with the newest values.
    fn restart(&mut self, scan: &Scan, after: usize) {
        let ending = scan.ending;
        self.memory
            .add(ending.products, ending.squares, ending.count);
        self.window.drop_first(self.window.len() - after);
        self.since = self.window.first();
        self.drifts = false;
    }

    fn retract(&mut self) -> Option<StepEvent> {
        let recent = self.recent.as_ref()?;
        let newest = self.window.next - recent.at;
        if newest > SPIKE || self.window.first() > recent.at {
            self.recent = None;
            return None;
        }
        let offset = (recent.at - self.window.first()) as usize;
        let since = self.window.values.get(offset..)?;
        let back = came_back(&recent.before, since, recent.rose)?;
        let recent = self.recent.take()?;
        // The values before the spike go on with those that are back.
        let newest = self.window.values[self.window.len() - back..].to_vec();
        let next = self.window.next;
        let mut window = Window::new();
        window.next = next.saturating_sub((recent.before.len() + newest.len()) as u64);
        self.since = window.next;
        for value in recent.before.iter().chain(&newest) {
            window.push(*value, self.options.seed);
        }
        self.window = window;
        Some(StepEvent::Retraction {
            change: recent.at,
            at: next - back as u64,
            raised_at: next - 1,
        })
    }

    /// The whole state in at most 1.5 KiB, without the options.
    pub fn pack(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION, u8::from(self.drifts)];
        bytes.extend(self.since.to_le_bytes());
        let memory = self.memory;
        for number in [memory.products, memory.squares, memory.count] {
            bytes.extend(number.to_le_bytes());
        }
        self.window.pack(&mut bytes);
        if let Some(recent) = &self.recent {
            bytes.extend(recent.at.to_le_bytes());
            bytes.push(u8::from(recent.rose));
            bytes.extend(recent.before.iter().flat_map(|v| v.to_le_bytes()));
        }
        bytes
    }

    /// A detector from its packed state, with the options that it had.
    ///
    /// # Errors
    ///
    /// [`StepError::BadState`] for bytes that [`pack`](Self::pack) did not write.
    pub fn unpack(mut bytes: &[u8], options: DetectorOptions) -> Result<Self, StepError> {
        let mut detector = Self::new(options)?;
        let bytes = &mut bytes;
        let [version, drifts] = take(bytes)?;
        if version != VERSION {
            return Err(StepError::BadState {
                reason: "its version is unknown",
            });
        }
        detector.drifts = drifts != 0;
        detector.since = u64::from_le_bytes(take(bytes)?);
        detector
            .memory
            .add(finite(bytes)?, finite(bytes)?, finite(bytes)?);
        detector.window = Window::unpack(bytes)?;
        if detector.since > detector.window.next {
            return Err(StepError::BadState {
                reason: "its last change is after its last value",
            });
        }
        if !bytes.is_empty() {
            let at = u64::from_le_bytes(take(bytes)?);
            let [rose] = take(bytes)?;
            let mut before = Vec::new();
            while !bytes.is_empty() && before.len() < KEPT {
                before.push(finite(bytes)?);
            }
            if !bytes.is_empty() || at > detector.window.next {
                return Err(StepError::BadState {
                    reason: "its last step is damaged",
                });
            }
            detector.recent = Some(Recent {
                at,
                rose: rose != 0,
                before,
            });
        }
        Ok(detector)
    }
}

/// The version of the packed state.
const VERSION: u8 = 1;
