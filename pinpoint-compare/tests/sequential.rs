//! The error rate of a comparison that is checked after every value.
#![allow(clippy::unwrap_used)]

use pinpoint_compare::{SequentialComparison, Verdict};

type Draw = fn(&mut Random, bool) -> f64;

/// SplitMix64, good enough to simulate with.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        // Twelve uniform numbers: near enough to normal.
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

/// Share of comparisons that are different within `looks` values a side, and the mean number of
/// values a side that they took.
fn rejections(
    replicates: u64,
    looks: usize,
    mut draw: impl FnMut(&mut Random, bool) -> f64,
) -> (f64, f64) {
    let mut random = Random(17);
    let (mut rejected, mut taken) = (0, 0);
    for seed in 0..replicates {
        let mut comparison = SequentialComparison::new(0.05, seed).unwrap();
        for look in 1..=looks {
            comparison.push_control(draw(&mut random, false)).unwrap();
            comparison.push_treatment(draw(&mut random, true)).unwrap();
            if comparison.verdict() == Verdict::Different {
                rejected += 1;
                taken += look;
                break;
            }
        }
    }
    (
        rejected as f64 / replicates as f64,
        taken as f64 / f64::from(rejected),
    )
}

/// Three standard errors above 5 % of `replicates`.
fn limit(replicates: u64) -> f64 {
    0.05 + 3.0 * (0.05 * 0.95 / replicates as f64).sqrt()
}

#[test]
fn false_positives_stay_below_the_error_rate() {
    let shapes: [(&str, Draw); 3] = [
        ("uniform", |r, _| r.next()),
        ("ticks", |r, _| (r.next() * 4.0).floor()),
        ("failures", |r, _| f64::from(u8::from(r.next() < 0.1))),
    ];
    for (name, draw) in shapes {
        let (rate, _) = rejections(1000, 500, draw);
        println!("{name}: {rate}");
        assert!(rate <= limit(1000), "{name}: {rate}");
    }
}

#[test]
fn differences_are_found() {
    // A shift by one interquartile range (1.35 standard deviations).
    let (rate, taken) = rejections(300, 160, |r, treatment| {
        r.normal() + f64::from(u8::from(treatment)) * 1.35
    });
    println!("one interquartile range: {rate} after {taken}");
    assert!(rate > 0.99 && taken < 40.0, "{rate} {taken}");
    let (rate, taken) = rejections(300, 500, |r, treatment| {
        r.normal() + f64::from(u8::from(treatment)) * 0.675
    });
    println!("half: {rate} after {taken}");
    assert!(rate > 0.95, "{rate} {taken}");
}

#[test]
fn result_is_reproducible_and_superiority_is_exact_without_ties() {
    let run = |seed| {
        let mut c = SequentialComparison::new(0.05, seed).unwrap();
        for i in 0..20 {
            c.push_control(f64::from(i)).unwrap();
            c.push_treatment(f64::from(i) + 2.5).unwrap();
        }
        (c.log_e_value().to_bits(), c.superiority())
    };
    assert_eq!(run(1), run(2));
    // Pairs with i < j + 2.5.
    let pairs = (0..20)
        .flat_map(|i| (0..20).map(move |j| (i, j)))
        .filter(|(i, j)| *i < j + 3)
        .count();
    assert_eq!(run(1).1, Some(pairs as f64 / 400.0));
}

#[test]
fn bad_values_change_nothing() {
    assert!(SequentialComparison::new(0.0, 0).is_err());
    assert!(SequentialComparison::new(1.0, 0).is_err());
    assert!(SequentialComparison::new(f64::NAN, 0).is_err());
    let mut c = SequentialComparison::new(0.05, 0).unwrap();
    c.push_control(1.0).unwrap();
    assert!(c.push_treatment(f64::NAN).is_err());
    assert!(c.push_control(f64::INFINITY).is_err());
    assert_eq!((c.control_size(), c.treatment_size()), (1, 0));
    assert_eq!(c.superiority(), None);
    assert_eq!(c.p_value(), 1.0);
}
