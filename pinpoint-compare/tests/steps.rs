//! The original's detectors: worked numbers, and properties against slow brute force.
#![allow(clippy::unwrap_used)]

use pinpoint_compare::steps::*;
use proptest::prelude::*;

const EIGHT: [f64; 8] = [10.1, 9.9, 10.2, 9.8, 12.1, 11.9, 12.2, 11.8];

#[track_caller]
fn near(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance,
        "{found} instead of {expected}"
    );
}

fn r(window: &[f64], statistic: Statistic) -> f64 {
    fit(window, statistic, 0.5, FLOOR).unwrap().regression
}

#[test]
fn the_original_normalizes_and_divides_by_the_least_squares_error() {
    let found = fit(&[0.0, 0.0, 1.0, 1.0, 1.0], Statistic::Original, 20.0, 0.1).unwrap();
    near(found.step_size, -2.041_241_4, 1e-7);
    near(found.regression, -20.412_415, 1e-5);
    assert_eq!((found.side, found.turning_point), (Side::High, 2));
    let down = fit(&[1.0, 1.0, 0.0, 0.0, 0.0], Statistic::Original, 20.0, 0.1).unwrap();
    assert_eq!((down.side, down.regression), (Side::Low, -found.regression));
    let above = fit(&[0.0, 0.0, 1.0, 1.0, 1.0], Statistic::Original, 20.5, 0.1).unwrap();
    assert_eq!(above.side, Side::Uninteresting);
}

#[test]
fn equal_halves_are_no_step() {
    for statistic in Statistic::ALL {
        if statistic == Statistic::Const || statistic == Statistic::MannWhitneyU {
            continue;
        }
        let found = fit(&[3.0; 6], statistic, 0.1, FLOOR).unwrap();
        assert_eq!(
            (found.regression, found.side),
            (0.0, Side::Uninteresting),
            "{statistic}"
        );
    }
    let found = fit(&[3.0; 6], Statistic::MannWhitneyU, 1.0, FLOOR).unwrap();
    assert_eq!((found.regression, found.side), (1.0, Side::Uninteresting));
}

#[test]
fn eight_values_have_the_worked_statistics() {
    near(r(&EIGHT, Statistic::Absolute), -2.0, 1e-12);
    near(r(&EIGHT, Statistic::Percent), -0.2, 1e-12);
    near(r(&EIGHT, Statistic::PercentMedian), -0.2, 1e-12);
    near(r(&EIGHT, Statistic::Cohen), -10.9545, 1e-4);
    near(r(&EIGHT, Statistic::Stepiness), -0.84383, 1e-5);
    near(r(&EIGHT, Statistic::Const), 12.1, 0.0);
    let p = r(
        &[2.0, 1.0, 3.0, 5.0, 12.0, 11.0, 13.0, 15.0],
        Statistic::MannWhitneyU,
    );
    near(p, 0.028_571_4, 1e-7);
}

#[test]
fn an_odd_window_loses_its_last_value() {
    let nine = [EIGHT.as_slice(), &[1e6]].concat();
    for statistic in Statistic::ALL {
        let (odd, even) = (r(&nine, statistic), r(&EIGHT, statistic));
        assert_eq!(odd == even, statistic != Statistic::Original, "{statistic}");
    }
}

#[test]
fn shares_of_zero_are_the_largest_number_or_zero() {
    assert_eq!(
        r(&[0.0, 0.0, 1.0, 1.0], Statistic::Percent),
        -3.4028234663852886e38
    );
    assert_eq!(
        r(&[0.0, 0.0, -1.0, -1.0], Statistic::Percent),
        3.4028234663852886e38
    );
    assert_eq!(r(&[0.0, 0.0, 0.0, 0.0], Statistic::Percent), 0.0);
    assert_eq!(
        r(&[0.0, 0.0, 1.0, 1.0], Statistic::PercentMedian),
        -3.4028234663852886e38
    );
}

#[test]
fn a_constant_threshold_is_only_ever_low() {
    for middle in [-5.0, 5.0] {
        let found = fit(&[0.0, 0.0, middle, 0.0], Statistic::Const, 5.0, FLOOR).unwrap();
        assert_eq!((found.side, found.regression), (Side::Low, 5.0));
    }
}

#[test]
fn cohen_needs_four_values_and_has_a_floor() {
    assert_eq!(r(&[1.0, 2.0, 5.0], Statistic::Cohen), 0.0);
    near(r(&[1.0, 1.0, 2.0, 2.0], Statistic::Cohen), -1000.0, 1e-9);
}

#[test]
fn a_small_p_is_on_the_side_of_the_means() {
    let window = [2.0, 1.0, 3.0, 5.0, 12.0, 11.0, 13.0, 15.0];
    let side = |window: &[f64], t| fit(window, Statistic::MannWhitneyU, t, FLOOR).unwrap().side;
    assert_eq!(side(&window, 0.05), Side::High);
    assert_eq!(side(&window, 0.02), Side::Uninteresting);
    let down: Vec<f64> = window.iter().map(|v| -v).collect();
    assert_eq!(side(&down, 0.05), Side::Low);
}

#[test]
fn names_are_those_of_alerts() {
    for (statistic, name) in Statistic::ALL.into_iter().zip(Statistic::NAMES) {
        assert_eq!(name.parse::<Statistic>().unwrap(), statistic);
        assert_eq!(statistic.to_string(), name);
    }
    assert_eq!("".parse::<Statistic>().unwrap(), Statistic::Original);
    let error = "cusum".parse::<Statistic>().unwrap_err().to_string();
    assert!(error.starts_with("`cusum` is not a statistic") && error.contains("mannwhitneyu"));
}

#[test]
fn bad_input_is_named() {
    let of = |window: &[f64], statistic, threshold| {
        fit(window, statistic, threshold, FLOOR)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        of(&[1.0, 2.0], Statistic::Absolute, 1.0),
        "`window` has 2 values: at least 3 are needed"
    );
    assert_eq!(
        of(&[1.0, f64::NAN, 2.0], Statistic::Absolute, 1.0),
        "`window[1]` is NaN: values must be finite numbers"
    );
    assert_eq!(
        of(&EIGHT, Statistic::MannWhitneyU, 1.5),
        "the threshold 1.5 of `mannwhitneyu` must lie between 0 and 1"
    );
    assert!(fit(&EIGHT, Statistic::Cohen, 1.0, 0.0).is_err());
    assert_eq!(
        filled(&[None, None]).unwrap_err().to_string(),
        "`series` has no values: all 2 are missing"
    );
    let short = fit_every_point(&[Some(1.0); 14], 7, Statistic::Original, 1.0, FLOOR);
    assert_eq!(
        short.unwrap_err().to_string(),
        "`series` has 14 values: at least 15 are needed"
    );
    assert!(fit_every_point(&[Some(1.0); 14], 7, Statistic::Cohen, 1.0, FLOOR).is_ok());
    assert!(fit_every_point(&[Some(1.0); 14], 0, Statistic::Cohen, 1.0, FLOOR).is_err());
}

#[test]
fn windows_over_commits_need_their_middle_and_half_of_each_side() {
    let (o, n) = (Some(1.0), None);
    assert!(!is_left_out(&[o, o, n, n, o, n, n, o, o]));
    assert!(is_left_out(&[o, n, n, n, o, o, o, o, o]));
    assert!(is_left_out(&[o, o, o, o, o, n, n, n, o]));
    assert!(is_left_out(&[o, o, o, o, n, o, o, o, o]));
    assert!(is_left_out(&[]));
}

#[test]
fn missing_values_are_those_that_follow() {
    let (one, two) = (Some(1.0), Some(2.0));
    assert_eq!(
        filled(&[None, one, None, None, two, None]).unwrap(),
        [1.0, 1.0, 2.0, 2.0, 2.0, 2.0]
    );
}

#[test]
fn windows_of_a_trace_pass_over_missing_values() {
    let mut series = Vec::new();
    for i in 0..40 {
        series.push(Some(if i < 20 { 1.0 } else { 2.0 }));
        series.extend([None, None]);
    }
    let found = fit_every_point(&series, 7, Statistic::Absolute, 1.0, FLOOR).unwrap();
    assert_eq!(found.len(), 40 - 14 + 1);
    let steps: Vec<usize> = found
        .iter()
        .filter(|it| it.fit.side == Side::High)
        .map(|it| it.at)
        .collect();
    assert_eq!(steps, [60]);
}

#[test]
fn values_near_a_billion_keep_six_digits_after_the_point() {
    let mut state = 7_u64;
    let mut uniform = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as f64 / f64::from(1_u32 << 31) - 0.5
    };
    for step in [0.0, 3.0, 1e9] {
        let values: Vec<f64> = (0..128)
            .map(|i| 1e9 + 3.46 * uniform() + if i < 64 { 0.0 } else { step })
            .collect();
        let (mut sums, mut out) = (Sums::default(), Vec::new());
        original_every_point(&values, 7, FLOOR, &mut sums, &mut out).unwrap();
        assert_eq!(out.len(), 114);
        for (window, found) in values.windows(15).zip(&out) {
            // The values minus 1e9 are exact.
            let small: Vec<f64> = window.iter().map(|v| v - 1e9).collect();
            let expected = r(&small, Statistic::Original);
            near(*found, expected, 1e-6 * expected.abs().max(1.0));
            near(
                r(window, Statistic::Original),
                expected,
                1e-6 * expected.abs().max(1.0),
            );
        }
    }
}

#[test]
fn a_rule_tree_reports_what_triggers_in_a_fixed_order() {
    let and = Rule::complex(
        Operator::And,
        vec![
            Rule::simple(Statistic::Original, 5.0),
            Rule::simple(Statistic::Percent, 0.1),
        ],
    );
    let found = and.judge(&EIGHT, FLOOR).unwrap();
    assert!(found.triggers);
    assert_eq!(found.reported.statistic, Statistic::Percent);
    let strict = Rule::complex(
        Operator::And,
        vec![and.clone(), Rule::simple(Statistic::Stepiness, 0.9)],
    );
    let found = strict.judge(&EIGHT, FLOOR).unwrap();
    assert!(!found.triggers);
    // Stepiness comes first, but does not trigger.
    assert_eq!(found.reported.statistic, Statistic::Percent);
    let or = Rule::complex(
        Operator::Or,
        vec![
            Rule::simple(Statistic::MannWhitneyU, 0.05),
            Rule::simple(Statistic::Stepiness, 0.9),
            Rule::simple(Statistic::Original, 1e6),
        ],
    );
    let found = or.judge(&EIGHT, FLOOR).unwrap();
    assert!(found.triggers);
    assert_eq!(found.reported.statistic, Statistic::MannWhitneyU);
    assert_eq!(or.statistics().len(), 3);
}

#[test]
fn a_rule_with_both_kinds_or_with_neither_is_named_by_its_path() {
    let mut both = Rule::simple(Statistic::Cohen, 2.0);
    both.complex_rule = Some(ComplexRule {
        op: Operator::Or,
        rules: vec![Rule::simple(Statistic::Cohen, 2.0)],
    });
    let tree = Rule::complex(
        Operator::And,
        vec![Rule::simple(Statistic::Cohen, 2.0), both],
    );
    assert_eq!(
        tree.check().unwrap_err().to_string(),
        "the rule at `complex_rule.rules[1]` has both `simple_rule` and `complex_rule`: exactly one of them is needed"
    );
    assert!(matches!(
        Rule::default().check(),
        Err(StepError::AmbiguousRule { both: false, .. })
    ));
    assert!(Rule::complex(Operator::Or, Vec::new()).check().is_err());
    let mut deep = Rule::simple(Statistic::Cohen, 2.0);
    for _ in 0..100 {
        deep = Rule::complex(Operator::Or, vec![deep]);
    }
    assert!(matches!(deep.check(), Err(StepError::RuleTooDeep { .. })));
    assert!(Rule::simple(Statistic::MannWhitneyU, 2.0).check().is_err());
}

#[test]
fn a_tile_is_split_where_it_fits_best() {
    let values: Vec<f64> = (0..50)
        .map(|i| f64::from(i % 3) * 0.1 + if i < 31 { 0.0 } else { 1.0 })
        .collect();
    let found = fit_tile(&values, 50.0, FLOOR).unwrap();
    assert_eq!((found.turning_point, found.side), (31, Side::High));
    assert!(fit_tile(&values[..9], 50.0, FLOOR).is_err());
    // Within five of the ends, there is no split.
    let late: Vec<f64> = (0..20).map(|i| if i < 18 { 0.0 } else { 1.0 }).collect();
    assert_eq!(fit_tile(&late, 50.0, FLOOR).unwrap().turning_point, 15);
}

fn options(k: Option<usize>) -> ClusterOptions {
    ClusterOptions {
        k,
        seed: 1,
        statistic: Statistic::Original,
        threshold: 50.0,
        floor: FLOOR,
    }
}

/// Three shapes: a rise, a fall, and a middle that is high.
fn shapes(n: usize) -> Vec<Vec<f64>> {
    let mut state = 3_u64;
    let mut noise = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as f64 / f64::from(1_u32 << 31) * 0.2
    };
    let value = |shape: usize, i: usize| match shape {
        0 => f64::from(i >= 7),
        1 => f64::from(i < 7),
        _ => f64::from((5..10).contains(&i)),
    };
    (0..n)
        .map(|t| {
            (0..15)
                .map(|i| 50.0 * (1.0 + t as f64) * (value(t % 3, i) + noise()))
                .collect()
        })
        .collect()
}

#[test]
fn clusters_are_the_shapes() {
    let traces = shapes(300);
    let found = clusters(&traces, &options(Some(12))).unwrap();
    assert_eq!(found, clusters(&traces, &options(Some(12))).unwrap());
    assert!(found.rounds <= 100);
    let mut seen = vec![0; 300];
    for cluster in &found.clusters {
        assert!(!cluster.members.is_empty());
        assert!(cluster.nearest().len() <= 50);
        let shape = cluster.members[0] % 3;
        for &member in &cluster.members {
            assert_eq!(member % 3, shape);
            seen[member] += 1;
        }
        let side = [Side::High, Side::Low][shape.min(1)];
        assert!(shape == 2 || cluster.fit.side == side || cluster.fit.regression.abs() > 20.0);
        assert_eq!(
            cluster.fit.regression < 0.0,
            shape != 1 && cluster.fit.regression < 0.0
        );
    }
    assert_eq!(seen, vec![1; 300]);
}

#[test]
fn the_number_of_clusters_follows_the_traces() {
    assert_eq!(
        (cluster_count(0), cluster_count(749), cluster_count(750)),
        (10, 10, 11)
    );
    assert_eq!(cluster_count(30_000), 50);
    for k in [0, 201] {
        assert!(clusters(&shapes(3), &options(Some(k))).is_err());
    }
    // There are never more than traces, and equal ones leave clusters empty, which vanish.
    assert_eq!(
        clusters(&shapes(3), &options(None)).unwrap().clusters.len(),
        3
    );
    let same = vec![vec![1.0, 2.0, 3.0]; 30];
    assert_eq!(
        clusters(&same, &options(Some(5))).unwrap().clusters.len(),
        1
    );
    assert!(clusters::<Vec<f64>>(&[], &options(None)).is_err());
    let uneven = [vec![1.0, 2.0, 3.0], vec![1.0, 2.0]];
    assert!(matches!(
        clusters(&uneven, &options(None)),
        Err(StepError::LengthsDiffer { index: 1, .. })
    ));
}

#[test]
fn parameters_of_members_are_whole_percents() {
    let parameters = [
        vec![("os", "linux"), ("test", "a")],
        vec![("os", "linux"), ("test", "b")],
        vec![("os", "mac"), ("test", "a")],
        vec![("os", "win"), ("test", "a")],
    ];
    assert_eq!(
        percents(&parameters, &[0, 1, 2]),
        [
            ("os", "linux", 66),
            ("test", "a", 66),
            ("os", "mac", 33),
            ("test", "b", 33)
        ]
    );
    assert_eq!(percents(&parameters, &[]), []);
}

fn values() -> impl Strategy<Value = Vec<f64>> {
    let one = prop_oneof![
        3 => -100.0..100.0_f64,
        1 => (-3_i32..3).prop_map(f64::from),
        1 => -1e9..1e9_f64,
    ];
    prop::collection::vec(one, 3..60)
}

proptest! {
    #[test]
    fn a_mirrored_window_has_the_mirrored_step(window in values()) {
        let mirrored: Vec<f64> = window.iter().map(|v| -v).collect();
        for statistic in [Statistic::Original, Statistic::Absolute, Statistic::Cohen, Statistic::Stepiness] {
            let (a, b) = (r(&window, statistic), r(&mirrored, statistic));
            prop_assert!((a + b).abs() <= 1e-9 * a.abs(), "{statistic}: {a} {b}");
        }
    }

    #[test]
    fn sums_agree_with_windows_one_by_one(values in values(), radius in 1_usize..9) {
        let (mut sums, mut out) = (Sums::default(), Vec::new());
        let length = 2 * radius + 1;
        let done = original_every_point(&values, radius, FLOOR, &mut sums, &mut out);
        prop_assert_eq!(done.is_ok(), values.len() >= length);
        if done.is_ok() {
            prop_assert_eq!(out.len(), values.len() + 1 - length);
            for (window, found) in values.windows(length).zip(&out) {
                let expected = r(window, Statistic::Original);
                prop_assert!((found - expected).abs() <= 1e-6 * expected.abs().max(1.0), "{found} {expected}");
            }
        }
    }

    #[test]
    fn a_tile_has_the_least_error_of_all_splits(values in values()) {
        if values.len() >= 10 {
            let found = fit_tile(&values, 1.0, FLOOR).unwrap();
            let error = |split: usize| {
                let squares = |part: &[f64]| {
                    let mean = part.iter().sum::<f64>() / part.len() as f64;
                    part.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>()
                };
                squares(&values[..split]) + squares(&values[split..])
            };
            let least = (5..=values.len() - 5).map(error).fold(f64::INFINITY, f64::min);
            prop_assert!(error(found.turning_point) <= least * (1.0 + 1e-6) + 1e-9);
        }
    }
}
