//! Explanations and exports of random stacks, compared with their samples.

use std::collections::{BTreeMap, BTreeSet};

use pinpoint_core::profile::{ExplainOptions, ExportFormat, Exported, Profile, explain, export};
use proptest::prelude::*;

use crate::explain::read;

type Stacks = Vec<(Vec<u8>, u32)>;

fn stacks() -> impl Strategy<Value = Vec<Stacks>> {
    let stack = (proptest::collection::vec(0..5_u8, 1..7), 1..1000_u32);
    proptest::collection::vec(proptest::collection::vec(stack, 1..15), 1..5)
}

fn profiles(runs: &[Stacks]) -> Vec<Profile> {
    let line = |(stack, weight): &(Vec<u8>, u32)| {
        let names: Vec<_> = stack.iter().map(|name| format!("f{name}")).collect();
        format!("{} {weight}\n", names.join(";"))
    };
    runs.iter()
        .map(|run| read(&run.iter().map(line).collect::<String>()))
        .collect()
}

/// The mean over runs of the costs of samples for which `count` is true.
fn mean(runs: &[Stacks], count: impl Fn(&[u8]) -> bool) -> f64 {
    let of = |run: &Stacks| -> f64 {
        let counted = run.iter().filter(|(stack, _)| count(stack));
        counted.map(|(_, weight)| f64::from(*weight)).sum()
    };
    runs.iter().map(of).sum::<f64>() / runs.len() as f64
}

proptest! {
    /// Each function's own and total difference, straight from the samples; and that
    /// they, the shares and the path add up.
    #[test]
    fn differences_are_what_samples_say(base in stacks(), experiment in stacks()) {
        let explanation = explain(&profiles(&base), &profiles(&experiment), &ExplainOptions::default()).unwrap();
        let scale = explanation.whole.base + explanation.whole.experiment;
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * scale;
        let difference = |count: &dyn Fn(&[u8]) -> bool| mean(&experiment, count) - mean(&base, count);
        prop_assert!(close(explanation.whole.difference, difference(&|_| true)));
        for change in &explanation.functions {
            let id: u8 = change.function.name[1..].parse().unwrap();
            prop_assert!(close(change.own.difference, difference(&|s| s.last() == Some(&id))));
            prop_assert!(close(change.total.difference, difference(&|s| s.contains(&id))));
        }
        let own: f64 = explanation.functions.iter().map(|change| change.own.difference).sum();
        prop_assert!(close(own + explanation.rest.difference, explanation.whole.difference));
        let shares: Option<f64> = explanation.functions.iter().map(|change| change.share).sum();
        if let Some(shares) = shares {
            let rest = explanation.rest.difference / explanation.whole.difference;
            prop_assert!((shares + rest - 1.0).abs() <= 1e-9 * scale / explanation.whole.difference.abs());
        }
        let mut prefix = Vec::new();
        for step in &explanation.path {
            prefix.push(step.name[1..].parse::<u8>().unwrap());
            prop_assert!(close(step.difference, difference(&|s| s.starts_with(&prefix))));
            prop_assert!(step.difference / explanation.whole.difference >= 0.6 - 1e-9);
        }
    }

    /// An exported side reads as the same profile.
    #[test]
    fn exports_are_read_again(base in stacks(), experiment in stacks()) {
        let base: Vec<Stacks> = base.into_iter().take(1).collect();
        let (before, after) = (profiles(&base), profiles(&experiment));
        for format in [ExportFormat::Folded, ExportFormat::Pprof, ExportFormat::Speedscope] {
            let written = export(&before, &after, Exported::Base, format).unwrap();
            let again = Profile::read(&written).unwrap();
            let names: BTreeSet<u8> = base[0].iter().flat_map(|(stack, _)| stack.clone()).collect();
            let costs = again.costs();
            let found: BTreeMap<String, f64> = again
                .frame_ids()
                .map(|frame| (again.name(frame).to_owned(), costs.total_of(frame)))
                .collect();
            for name in names {
                let expected = mean(&base, |stack| stack.contains(&name));
                prop_assert_eq!(found.get(&format!("f{name}")).copied(), Some(expected));
            }
        }
    }
}
