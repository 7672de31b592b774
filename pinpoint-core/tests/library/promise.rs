//! The promise behind a stated probability, in worlds that are not those of the model: commits that
//! fail on their own, tools that change their unit, and values that tie.
//!
//! `cargo bench -p pinpoint-benches --bench efficiency -- --scenario promise` makes more searches
//! of each.

use pinpoint_core::simulation::{Scenario, promise};
use pinpoint_core::{BisectionSpec, Status};

#[test]
fn of_the_answers_stated_with_95_percent_95_in_100_are_right() {
    const SEARCHES: u64 = 6;
    let worlds: Vec<(String, Scenario)> = promise::worlds();
    let (mut stated, mut right) = (0, 0);
    let mut wrong = Vec::new();
    for (name, scenario) in &worlds {
        let spec = BisectionSpec::new(scenario.range());
        for seed in 0..SEARCHES {
            let trial = scenario.search(&spec, seed).unwrap();
            let is_answered = matches!(trial.status, Status::CulpritFound | Status::NoRegression);
            stated += u32::from(is_answered);
            if is_answered && trial.is_exactly_right() {
                right += 1;
            } else if is_answered {
                wrong.push((name, seed));
            }
        }
    }
    assert!(stated > 170, "{stated}");
    assert!(100 * right >= 95 * stated, "{right} of {stated}: {wrong:?}");
}
