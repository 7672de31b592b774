//! The paired comparison that may be checked after every pair: it keeps its error rate under drift
//! and order effects, and finds real changes.

use pinpoint_compare::{SequentialPairs, Verdict};

/// SplitMix64, by Steele, Lea and Flood.
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
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

/// Control and treatment of the pair with a number.
type Draw = fn(&mut Random, u32) -> (f64, f64);

/// The share of 1000 comparisons of this many pairs that are ever different, and the mean number of
/// pairs until then.
fn rejections(pairs: u32, draw: Draw) -> (f64, f64) {
    const REPLICATES: u64 = 1000;
    let (mut rejected, mut taken) = (0_u32, 0);
    for seed in 0..REPLICATES {
        let mut random = Random(seed);
        let mut comparison = SequentialPairs::new(0.05).expect("a level");
        for pair in 0..pairs {
            let (control, treatment) = draw(&mut random, pair);
            comparison.push(control, treatment).expect("finite values");
            if comparison.verdict() == Verdict::Different {
                rejected += 1;
                taken += pair + 1;
                break;
            }
        }
    }
    (
        f64::from(rejected) / REPLICATES as f64,
        f64::from(taken) / f64::from(rejected),
    )
}

#[test]
fn false_positives_stay_below_the_error_rate() {
    let shapes: [(&str, Draw); 4] = [
        ("normal", |r, _| (r.normal(), r.normal())),
        ("failures", |r, _| {
            let fails = |r: &mut Random| f64::from(u8::from(r.next() < 0.2));
            (fails(r), fails(r))
        }),
        // A machine that gets slower and slower.
        ("drift", |r, pair| {
            let drift = f64::from(pair);
            (drift + r.normal(), drift + r.normal())
        }),
        // The second of two runs is slower, and the order is random.
        ("order", |r, _| {
            let late = [0.0, 3.0];
            let second = usize::from(r.next() < 0.5);
            (r.normal() + late[1 - second], r.normal() + late[second])
        }),
    ];
    for (name, draw) in shapes {
        let (rate, _) = rejections(200, draw);
        // Three standard errors above 5 %.
        assert!(
            rate <= 0.05 + 3.0 * (0.05_f64 * 0.95 / 1000.0).sqrt(),
            "{name}: {rate}"
        );
    }
}

#[test]
fn differences_are_found_where_the_machine_drifts_more_than_they_are() {
    // A shift by two standard deviations, a fifth of the drift over 30 pairs.
    let (rate, taken) = rejections(30, |r, pair| {
        let drift = f64::from(pair) / 3.0;
        (drift + r.normal(), drift + r.normal() + 2.0)
    });
    assert!(rate > 0.9 && taken < 16.0, "{rate} after {taken}");
}

#[test]
fn bad_values_change_nothing_and_equal_values_tell_nothing() {
    for level in [0.0, 1.0, f64::NAN] {
        assert!(SequentialPairs::new(level).is_err());
    }
    let mut comparison = SequentialPairs::new(0.05).unwrap();
    assert!(comparison.push(f64::NAN, 1.0).is_err());
    assert!(comparison.push(1.0, f64::INFINITY).is_err());
    comparison.push(1.0, 1.0).unwrap();
    assert_eq!((comparison.p_value(), comparison.log_e_value()), (1.0, 0.0));
    // The largest possible difference, on either side.
    for _ in 0..1000 {
        comparison.push(-f64::MAX, f64::MAX).unwrap();
    }
    assert!(comparison.log_e_value().is_finite() && comparison.p_value() < 1e-100);
}
