//! Intervals of pairs have their stated coverage for tied values: by enumeration of all outcomes of
//! a few pairs, and by simulation of more.
#![allow(clippy::unwrap_used)]

use pinpoint_compare::*;

/// Whole numbers whose distribution is symmetric about 0: their probabilities from 0 upwards, equal
/// for the negative ones.
type Symmetric = &'static [f64];

const DISTRIBUTIONS: [Symmetric; 5] = [
    // A clock of whole milliseconds.
    &[0.4, 0.2, 0.1],
    // Mostly equal, with rare blips.
    &[0.9, 0.0, 0.0, 0.05],
    &[0.98, 0.005, 0.005],
    // Never equal.
    &[0.0, 0.5],
    &[0.0, 0.3, 0.2],
];

/// Calls `each` with all samples of `n` values, and the probability of each.
fn enumerate(symmetric: Symmetric, n: usize, each: &mut dyn FnMut(&[f64], f64)) {
    let mut values = Vec::new();
    for (size, probability) in symmetric.iter().enumerate() {
        let size = size as f64;
        values.push((size, *probability));
        if size > 0.0 {
            values.push((-size, *probability));
        }
    }
    values.retain(|(_, probability)| *probability > 0.0);
    let mut chosen = vec![0; n];
    loop {
        let sample: Vec<f64> = chosen.iter().map(|at| values[*at].0).collect();
        each(&sample, chosen.iter().map(|at| values[*at].1).product());
        let Some(place) = chosen.iter().position(|at| at + 1 < values.len()) else {
            return;
        };
        chosen[..place].fill(0);
        chosen[place] += 1;
    }
}

#[test]
fn a_few_whole_numbers_are_covered_exactly_as_often_as_stated() {
    for symmetric in DISTRIBUTIONS {
        for n in 1..=6 {
            for confidence in [0.5, 0.75, 0.9, 0.95, 0.99] {
                for shift in [0.0, 3.0] {
                    let (mut missed, mut allowed, mut rejected) = (0.0, 0.0, 0.0);
                    enumerate(symmetric, n, &mut |sample, probability| {
                        let shifted: Vec<f64> = sample.iter().map(|v| v + shift).collect();
                        let got =
                            wilcoxon(&shifted, None, Alternative::TwoSided, confidence).unwrap();
                        let estimate = got.estimate.unwrap();
                        if let Some(interval) = got.interval {
                            let achieved = got.achieved_confidence.unwrap();
                            assert!(interval.contains(estimate), "{shifted:?} {got:?}");
                            assert!(interval.low < interval.high, "{shifted:?} {got:?}");
                            // The level that six values reach is fixed.
                            assert!(achieved <= 1.0 - libm::exp2(1.0 - n as f64) + 1e-12);
                            allowed += probability * (1.0 - achieved.min(confidence));
                            missed += probability * f64::from(u8::from(!interval.contains(shift)));
                        }
                        let p = got.p_value.unwrap();
                        assert!(p >= libm::exp2(1.0 - got.nonzero as f64).min(1.0));
                        if shift == 0.0 && p <= 1.0 - confidence {
                            rejected += probability;
                        }
                    });
                    assert!(
                        missed <= allowed + 1e-12 && rejected <= 1.0 - confidence + 1e-12,
                        "{symmetric:?} n {n} level {confidence} shift {shift}: \
                         missed {missed}, allowed {allowed}, rejected {rejected}"
                    );
                }
            }
        }
    }
}

struct Random(u64);

impl Random {
    /// Evenly spread over [0, 1).
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// About normal.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

/// Makes up one pair.
type Pair = fn(&mut Random) -> (f64, f64);

/// The scenario, its true change, and a function that draws a pair.
const WORLDS: [(&str, f64, Pair); 7] = [
    ("whole ms", 0.0, |r| {
        (
            (20.0 + 2.0 * r.normal()).round(),
            (20.0 + 2.0 * r.normal()).round(),
        )
    }),
    ("whole ms, +3", 3.0, |r| {
        ((20.0 + r.normal()).round(), (23.0 + r.normal()).round())
    }),
    ("whole ms, +0.3, noise below the clock's tick", 0.3, |r| {
        let phase = r.next();
        let of = |level: f64, r: &mut Random| (level + phase + 0.1 * r.normal()).round();
        (of(20.0, r), of(20.3, r))
    }),
    ("tenths of ms, +0.2", 0.2, |r| {
        let of = |level: f64, r: &mut Random| ((level + 0.1 * r.normal()) * 10.0).round() / 10.0;
        (of(20.1, r), of(20.3, r))
    }),
    ("mostly 100, rare blips", 0.0, |r| {
        let mut of = || {
            if r.next() < 0.1 {
                100.0 + (r.next() * 20.0).round()
            } else {
                100.0
            }
        };
        (of(), of())
    }),
    ("mostly 100, rare blips, +1", 1.0, |r| {
        let mut of = || {
            if r.next() < 0.1 {
                100.0 + (r.next() * 20.0).round()
            } else {
                100.0
            }
        };
        (of(), of() + 1.0)
    }),
    ("always 100", 0.0, |_| (100.0, 100.0)),
];

#[test]
fn simulated_pairs_are_covered_as_often_as_stated() {
    const SAMPLES: usize = 500;
    let mut random = Random(1);
    let mut report = Vec::new();
    for (name, change, pair) in WORLDS {
        for n in [1, 2, 3, 5, 6, 7, 10, 15, 20, 30] {
            for confidence in [0.9, 0.95, 0.99] {
                let (mut missed, mut allowed, mut stated) = (0.0, 0.0, 0);
                for _ in 0..SAMPLES {
                    let (control, treatment): (Vec<f64>, Vec<f64>) =
                        (0..n).map(|_| pair(&mut random)).unzip();
                    let test = wilcoxon(
                        &treatment,
                        Some(&control),
                        Alternative::TwoSided,
                        confidence,
                    );
                    let test = test.unwrap();
                    let Some(interval) = test.interval else {
                        continue;
                    };
                    stated += 1;
                    assert!(interval.contains(test.estimate.unwrap()), "{test:?}");
                    assert!(interval.high - interval.low > 1e-9, "{test:?}");
                    allowed += 1.0 - test.achieved_confidence.unwrap().min(confidence);
                    let covered = interval.low <= change + 1e-9 && change <= interval.high + 1e-9;
                    missed += f64::from(u8::from(!covered));
                }
                // Five standard errors.
                let slack = 5.0 * f64::sqrt(allowed) + 2.0;
                if missed > allowed + slack {
                    report.push(format!(
                        "{name}, {n} pairs, {confidence}: {missed} of {stated}, allowed {allowed:.1}"
                    ));
                }
            }
        }
    }
    assert!(report.is_empty(), "{}", report.join("\n"));
}

/// The interval's 95 % in percent, and the verdicts on equal sides.
#[test]
fn comparisons_of_equal_sides_are_right_as_often_as_stated() {
    const SAMPLES: usize = 1_000;
    let mut random = Random(2);
    for (name, _, pair) in WORLDS.iter().filter(|(_, change, _)| *change == 0.0) {
        for n in [4, 6, 8, 12, 30] {
            let (mut different, mut missed) = (0, 0);
            for _ in 0..SAMPLES {
                let (control, treatment): (Vec<f64>, Vec<f64>) =
                    (0..n).map(|_| pair(&mut random)).unzip();
                let got = compare_pairwise(&control, &treatment, Direction::Unknown).unwrap();
                different += u32::from(got.verdict == Verdict::Different);
                missed += u32::from(got.interval.is_some_and(|it| !it.contains(0.0)));
                assert_eq!(got.interval.is_some(), n >= 6);
            }
            let most = (0.05 * SAMPLES as f64 + 5.0 * (0.05 * SAMPLES as f64).sqrt()) as u32;
            assert!(
                different <= most && missed <= most,
                "{name}, {n} pairs: {different} different, {missed} missed"
            );
        }
    }
}

/// The shift of two samples, which has no pairs, where values tie.
#[test]
fn shifts_of_samples_that_tie_are_covered() {
    const SAMPLES: usize = 500;
    let mut random = Random(3);
    for (name, change, pair) in WORLDS {
        // A change hidden by the clock does not shift the distributions.
        if name.contains("below") {
            continue;
        }
        for (n, m) in [(1, 1), (3, 3), (4, 9), (10, 10), (30, 25)] {
            for confidence in [0.9, 0.95] {
                let mut missed = 0;
                for _ in 0..SAMPLES {
                    let control: Vec<f64> = (0..n).map(|_| pair(&mut random).0).collect();
                    let treatment: Vec<f64> = (0..m).map(|_| pair(&mut random).1).collect();
                    let shift = hodges_lehmann(&control, &treatment, confidence).unwrap();
                    missed += u32::from(
                        shift
                            .interval
                            .is_some_and(|it| it.low > change + 1e-9 || change > it.high + 1e-9),
                    );
                }
                let allowed = (1.0 - confidence) * SAMPLES as f64;
                assert!(
                    f64::from(missed) <= allowed + 5.0 * allowed.sqrt(),
                    "{name}, {n} and {m}, {confidence}: {missed}"
                );
            }
        }
    }
}
