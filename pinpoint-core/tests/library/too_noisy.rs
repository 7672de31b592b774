//! Runs that scatter by as much as their value.

use pinpoint_core::simulation::{Scenario, Trial};
use pinpoint_core::{BisectionSpec, Magnitude, Status};

/// The searches of 30 commits whose runs scatter by this fraction of their value.
fn trials(scatter: f64, changes: &[f64], magnitude: Option<Magnitude>) -> Vec<Trial> {
    let scenario = Scenario {
        proportional: Some(scatter),
        changes: changes.to_vec(),
        ..Scenario::new(30)
    };
    let spec = BisectionSpec {
        magnitude,
        ..BisectionSpec::new(scenario.range())
    };
    let search = |seed| scenario.search(&spec, seed).expect("a valid spec");
    (0..20).map(search).collect()
}

fn count(trials: &[Trial], status: Status) -> usize {
    (trials.iter())
        .filter(|trial| trial.status == status)
        .count()
}

#[test]
fn no_regression_excludes_a_change_of_half_the_value() {
    let noisy = trials(2.0, &[], None);
    assert!(count(&noisy, Status::NoRegression) <= 2, "{noisy:?}");
    // With a magnitude, the answer says if there is such a change.
    let told = trials(1.2, &[], Some(Magnitude::Percent(100.0)));
    assert!(count(&told, Status::NoRegression) >= 18, "{told:?}");
    let quiet = trials(0.1, &[], None);
    assert_eq!(count(&quiet, Status::NoRegression), 20, "{quiet:?}");
}

#[test]
fn a_change_below_a_large_scatter_is_found() {
    let found = trials(0.6, &[0.5], None);
    assert!(count(&found, Status::NoRegression) <= 1, "{found:?}");
    let exact = found.iter().filter(|trial| trial.is_exactly_right());
    assert!(exact.count() >= 17, "{found:?}");
}
