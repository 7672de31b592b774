//! Serialization and batches.
#![cfg(all(feature = "serde", feature = "rayon"))]
#![allow(clippy::unwrap_used)]

use pinpoint_compare::*;

fn round_trip<T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(
    value: &T,
) -> String {
    let text = serde_json::to_string(value).unwrap();
    assert_eq!(&serde_json::from_str::<T>(&text).unwrap(), value);
    text
}

#[test]
fn results_come_back_as_they_were() {
    let (x, y) = ([1.0, 2.0, 3.5, 0.1], [7.0, 8.0, 9.0, 10.5]);
    let performance = compare_performance(&x, &y, None, Direction::Unknown).unwrap();
    assert!(round_trip(&performance).starts_with(r#"{"verdict":"different""#));
    round_trip(&compare_performance(&x, &[], None, Direction::Unknown).unwrap());
    round_trip(&compare_functional(&[0.0], &[1.0], 1.0).unwrap());
    round_trip(&compare_pairwise(&x, &y, Direction::Unknown).unwrap());
    round_trip(&mann_whitney_u(&x, &y, Alternative::TwoSided, Method::Auto).unwrap());
    round_trip(&ks_2samp(&x, &y, Method::Auto).unwrap());
    // An end without bound is null.
    let less = wilcoxon(&x, Some(&y), Alternative::Less, 0.95).unwrap();
    assert!(round_trip(&less).contains(r#""low":null"#));
    assert_eq!(
        round_trip(&[Verdict::Nil, Verdict::Same]),
        r#"["nil","same"]"#
    );
    assert_eq!(
        round_trip(&[Direction::Up, Direction::Unknown]),
        r#"["up","unknown"]"#
    );
    assert_eq!(
        round_trip(&[Alternative::TwoSided, Alternative::Less]),
        r#"["two-sided","less"]"#
    );
}

#[test]
fn a_batch_is_its_pairs() {
    let pairs: Vec<(Vec<f64>, Vec<f64>)> = (0..300_u32)
        .map(|i| {
            let sample = |n: u32| {
                (0..n)
                    .map(|j| f64::from((i * 7919 + j * 104_729 + n) % 1009))
                    .collect()
            };
            (sample(i % 40), sample(20 + i % 7))
        })
        .chain([(vec![f64::NAN], vec![1.0])])
        .collect();
    let batch = compare_many(&pairs, Some(3.0), Direction::Down);
    assert_eq!(batch.len(), pairs.len());
    for ((x, y), got) in pairs.iter().zip(&batch) {
        let alone = compare_performance(x, y, Some(3.0), Direction::Down);
        assert_eq!(format!("{got:?}"), format!("{alone:?}"));
    }
    assert!(batch[300].is_err());
}
