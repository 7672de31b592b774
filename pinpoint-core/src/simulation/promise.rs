//! Worlds besides those of the model, in which a stated probability must hold as well.

use super::{Broken, Noise, Scenario};

/// Worlds of 40 commits with commits that fail on their own, alone and next to failures that last,
/// tools that change their unit, and values that tie; each with a name.
///
/// A unit that can be converted leaves values that are rounded more coarsely from a commit on;
/// one that can't be makes runs fail.
pub fn worlds() -> Vec<(String, Scenario)> {
    let block = |blocks, length, rate, beside_change| Broken {
        blocks,
        length,
        rate,
        beside_change,
    };
    let broken = [
        ("one broken", block(1, 1, 1.0, false)),
        ("broken block", block(1, 5, 1.0, false)),
        ("four broken", block(4, 1, 1.0, false)),
        ("broken beside", block(1, 3, 1.0, true)),
        ("flaky block", block(1, 5, 0.5, false)),
    ];
    let mut worlds = Vec::new();
    let mut add =
        |name: String, scenario: Scenario| worlds.push((format!("promise {name}"), scenario));
    for (name, broken) in broken {
        for (change, changes) in [("nothing", vec![]), ("d=2", vec![2.0]), ("d=4", vec![4.0])] {
            let scenario = Scenario {
                changes,
                broken: Some(broken),
                ..Scenario::new(40)
            };
            add(format!("{name} {change}"), scenario);
        }
    }
    for (name, failure_rates) in [("unit lost", [0.0, 1.0]), ("flaky", [0.0, 0.5])] {
        let scenario = Scenario {
            changes: vec![0.0],
            failure_rates,
            ..Scenario::new(40)
        };
        add(name.to_owned(), scenario);
    }
    for unbuildable in [0.3, 0.9] {
        let scenario = Scenario {
            changes: vec![0.0],
            failure_rates: [0.0, 1.0],
            unbuildable,
            ..Scenario::new(40)
        };
        add(format!("unit lost, unbuildable {unbuildable}"), scenario);
    }
    let beside_lasting = [
        ("broken block, lasting", 40, block(1, 5, 1.0, false), 1.0),
        ("four broken, lasting", 40, block(4, 1, 1.0, false), 1.0),
        ("long blocks, lasting", 128, block(2, 12, 1.0, false), 1.0),
        ("broken block, flaky", 40, block(1, 5, 1.0, false), 0.5),
        ("broken beside, flaky", 40, block(1, 3, 1.0, true), 0.5),
    ];
    for (name, commits, broken, rate) in beside_lasting {
        let scenario = Scenario {
            changes: vec![0.0],
            failure_rates: [0.0, rate],
            broken: Some(broken),
            ..Scenario::new(commits)
        };
        add(name.to_owned(), scenario);
    }
    let seldom = Scenario {
        noise: Noise::Measured(Vec::new()),
        changes: vec![0.0],
        failure_rates: [0.0, 0.2],
        ..Scenario::new(40)
    };
    add("steady, seldom fails".to_owned(), seldom);
    for (name, ticks) in [
        ("coarse unit", [0.0, 1.0]),
        ("coarser unit", [0.1, 2.0]),
        ("ties", [1.0; 2]),
        ("coarse ties", [2.0; 2]),
    ] {
        for (change, changes) in [("nothing", vec![]), ("d=2", vec![2.0]), ("d=4", vec![4.0])] {
            let scenario = Scenario {
                changes,
                ticks,
                ..Scenario::new(40)
            };
            add(format!("{name} {change}"), scenario);
        }
    }
    for (change, changes) in [("nothing", vec![]), ("d=5", vec![5.0])] {
        let scenario = Scenario {
            noise: Noise::Measured(Vec::new()),
            changes,
            ..Scenario::new(40)
        };
        add(format!("steady {change}"), scenario);
    }
    worlds
}
