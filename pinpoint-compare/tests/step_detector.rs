//! The detectors that take values one by one.
#![allow(clippy::unwrap_used)]

use pinpoint_compare::steps::*;
use proptest::prelude::*;

struct Noise(u64);

impl Noise {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ (z >> 31)) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let (u, v) = (self.uniform(), self.uniform());
        (-2.0 * libm::log(u)).sqrt() * libm::cos(std::f64::consts::TAU * v)
    }
}

/// Normal noise with a level and a deviation for each value.
fn noisy(
    n: usize,
    seed: u64,
    level: impl Fn(usize) -> f64,
    deviation: impl Fn(usize) -> f64,
) -> Vec<f64> {
    let mut noise = Noise(seed);
    (0..n)
        .map(|i| level(i) + deviation(i) * noise.normal())
        .collect()
}

fn of(values: &[f64]) -> Vec<StepEvent> {
    detect(values, DetectorOptions::default()).unwrap()
}

fn alarms(events: &[StepEvent]) -> Vec<&Alarm> {
    let alarms = events.iter().filter_map(|event| match event {
        StepEvent::Alarm(alarm) => Some(alarm),
        _ => None,
    });
    alarms.collect()
}

#[test]
fn a_step_is_found_where_it_is() {
    let mut inside = 0;
    for seed in 0..50 {
        let values = noisy(130, seed, |i| if i < 100 { 10.0 } else { 13.0 }, |_| 1.0);
        let events = of(&values);
        let alarms = alarms(&events);
        let alarm = alarms.iter().find(|it| it.raised_at >= 100).unwrap();
        assert_eq!((alarm.shape, alarm.rose), (Shape::Step, true));
        assert!(alarm.raised_at <= 112, "{}", alarm.raised_at);
        assert!(alarm.interval.0 <= alarm.at && alarm.at <= alarm.interval.1);
        assert!((alarm.after - alarm.before - 3.0).abs() < 1.5);
        let sum: f64 = alarm.posterior.iter().map(|it| it.1).sum();
        assert!((sum - 1.0).abs() < 1e-9);
        assert!(alarm.posterior.is_sorted_by(|a, b| a.0 < b.0));
        inside += u32::from((alarm.interval.0..=alarm.interval.1).contains(&100));
    }
    assert!(inside >= 46, "{inside} of 50");
}

#[test]
fn constant_values_raise_no_alarm() {
    for seed in 0..20 {
        let options = DetectorOptions { rate: 0.01, seed };
        assert_eq!(detect(&[7.0; 2_000], options).unwrap(), []);
    }
}

#[test]
fn a_constant_trace_with_blips_alarms_on_a_lasting_change_of_one_unit() {
    let blips = |i: usize| match i {
        20 | 47 | 48 | 71 => 108.0,
        33 => 90.0,
        _ => 100.0,
    };
    let quiet: Vec<f64> = (0..100).map(blips).collect();
    assert_eq!(of(&quiet), []);
    let moved: Vec<f64> = quiet.iter().copied().chain([101.0; 12]).collect();
    let events = of(&moved);
    let [StepEvent::Alarm(alarm)] = events.as_slice() else {
        panic!("{events:?}")
    };
    assert_eq!((alarm.at, alarm.before, alarm.after), (100, 100.0, 101.0));
    assert!(alarm.raised_at < 110);
}

#[test]
fn a_spike_is_retracted() {
    let mut retracted = 0;
    for seed in 0..20 {
        let level = |i: usize| if (100..112).contains(&i) { 15.0 } else { 10.0 };
        let events = of(&noisy(160, seed, level, |_| 1.0));
        let change = alarms(&events)
            .iter()
            .find(|it| it.raised_at >= 100)
            .unwrap()
            .at;
        retracted += events
            .iter()
            .filter(|event| matches!(event, StepEvent::Retraction { change: it, at, .. } if *it == change && (110..120).contains(at)))
            .count();
    }
    assert!(retracted >= 18, "{retracted} of 20");
}

#[test]
fn a_step_that_stays_is_rarely_retracted() {
    let mut retracted = 0;
    for seed in 0..100 {
        let events = of(&noisy(
            200,
            seed,
            |i| if i < 100 { 0.0 } else { 2.0 },
            |_| 1.0,
        ));
        retracted += events.len() - alarms(&events).len();
    }
    assert!(retracted <= 5, "{retracted} of 100");
}

#[test]
fn a_drift_is_reported_as_one() {
    let (mut drifts, mut steps) = (0, 0);
    for seed in 0..20 {
        let events = of(&noisy(400, seed, |i| 0.02 * i as f64, |_| 1.0));
        for alarm in alarms(&events) {
            match alarm.shape {
                Shape::Drift => drifts += 1,
                Shape::Step => steps += 1,
                _ => {}
            }
        }
    }
    assert!(
        (18..=60).contains(&drifts) && steps < drifts,
        "{drifts} {steps}"
    );
}

#[test]
fn a_change_of_spread_is_reported_as_one() {
    let mut found = 0;
    for seed in 0..20 {
        let events = of(&noisy(
            180,
            seed,
            |_| 0.0,
            |i| if i < 100 { 1.0 } else { 4.0 },
        ));
        let spread = |it: &&&Alarm| it.shape == Shape::Spread && it.rose && it.raised_at >= 100;
        found += usize::from(alarms(&events).iter().any(|it| spread(&it)));
    }
    assert!(found >= 15, "{found} of 20");
}

#[test]
fn only_the_order_of_the_values_counts() {
    let values = noisy(300, 3, |i| if i < 150 { 0.0 } else { 1.5 }, |_| 1.0);
    let curved: Vec<f64> = values.iter().map(|v| libm::exp(*v)).collect();
    let places = |values: &[f64]| {
        let events = of(values);
        let alarms = alarms(&events);
        alarms
            .iter()
            .map(|it| (it.at, it.raised_at, it.interval))
            .collect::<Vec<_>>()
    };
    assert!(!places(&values).is_empty());
    assert_eq!(places(&values), places(&curved));
}

#[test]
fn bad_input_is_named() {
    let error = detect(&[1.0, f64::NAN], DetectorOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`values[1]` is NaN: values must be finite numbers"
    );
    for rate in [0.0, 1e-6, 0.5, f64::NAN] {
        assert!(Detector::new(DetectorOptions { rate, seed: 0 }).is_err());
    }
    let mut detector = Detector::new(DetectorOptions::default()).unwrap();
    assert!(detector.push(f64::INFINITY).is_err());
    assert_eq!(detector.count(), 0);
}

#[test]
fn damaged_states_are_refused() {
    let mut detector = Detector::new(DetectorOptions::default()).unwrap();
    for value in noisy(112, 1, |i| if i < 100 { 0.0 } else { 5.0 }, |_| 1.0) {
        detector.push(value).unwrap();
    }
    let bytes = detector.pack();
    let again = |bytes: &[u8]| Detector::unpack(bytes, DetectorOptions::default());
    assert_eq!(again(&bytes).unwrap(), detector);
    for end in 0..bytes.len() {
        // A state may end after its window, where no step is remembered.
        if let Ok(mut it) = again(&bytes[..end]) {
            it.push(1.0).unwrap();
        }
    }
    for at in 0..bytes.len() {
        let mut other = bytes.clone();
        other[at] ^= 0xff;
        if let Ok(mut it) = again(&other) {
            for _ in 0..40 {
                it.push(1.0).unwrap();
            }
        }
    }
}

#[test]
fn conformal_finds_a_step() {
    let mut found = 0;
    for seed in 0..20 {
        let mut detector = Conformal::new(ConformalOptions::default()).unwrap();
        let values = noisy(140, seed, |i| if i < 100 { 0.0 } else { 3.0 }, |_| 1.0);
        let alarms = values.iter().filter_map(|v| detector.push(*v).unwrap());
        found += alarms.filter(|it| it.raised_at >= 100 && it.rose).count();
    }
    assert!((19..=21).contains(&found), "{found}");
    let few = ConformalOptions {
        values_per_alarm: 1.0,
        seed: 0,
    };
    assert!(Conformal::new(few).is_err());
    assert!(
        Conformal::new(ConformalOptions::default())
            .unwrap()
            .push(f64::NAN)
            .is_err()
    );
}

#[test]
fn p_values_of_the_newest_values_are_uniform_without_a_change() {
    let mut small = 0;
    for seed in 0..2_000 {
        let mut detector = Detector::new(DetectorOptions { rate: 5e-5, seed }).unwrap();
        for value in noisy(100, seed, |_| 0.0, |_| 1.0) {
            detector.push(value).unwrap();
        }
        // Absent shortly after a false alarm.
        small += u32::from(detector.p_value(5).is_some_and(|p| p < 0.05));
        assert_eq!(detector.p_value(3), None);
    }
    assert!((60..=140).contains(&small), "{small} of 2000");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn one_by_one_is_the_same_as_all_at_once(
        seed in 0_u64..1_000_000,
        levels in prop::collection::vec(-4.0..4.0_f64, 1..6),
        coarse in any::<bool>(),
        rate in 5e-5..1e-2_f64,
    ) {
        let level = |i: usize| levels[(i / 70).min(levels.len() - 1)];
        let mut values = noisy(70 * levels.len(), seed, level, |_| 1.0);
        if coarse {
            values.iter_mut().for_each(|v| *v = v.round());
        }
        let options = DetectorOptions { rate, seed };
        let all = detect(&values, options).unwrap();
        let mut one_by_one = Vec::new();
        let mut state = Detector::new(options).unwrap().pack();
        for value in &values {
            let mut detector = Detector::unpack(&state, options).unwrap();
            one_by_one.extend(detector.push(*value).unwrap());
            state = detector.pack();
            prop_assert!(state.len() <= 1536, "{}", state.len());
        }
        prop_assert_eq!(all, one_by_one);
    }
}
