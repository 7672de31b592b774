//! The scenarios of the table.

use pinpoint_core::simulation::{Noise, Scenario, promise};
use pinpoint_core::{BisectionSpec, Magnitude};

/// One scenario and the question asked of it.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) scenario: Scenario,
    pub(crate) spec: BisectionSpec,
    /// The magnitude given to the strategy.
    pub(crate) told: EffectHint,
    /// It is part of the quick table.
    pub(crate) is_quick: bool,
}

/// The targets that hold for a scenario.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// One commit changes the values by this many interquartile ranges.
    OneChange(f64),
    /// Two commits do, the second by twice as much back or by as much again.
    TwoChanges(f64),
    Nothing,
    /// One commit changes something, in a world outside the model, where only the right answers
    /// count.
    BesideTheModel,
    /// One commit changes how often runs fail; git-bayesect 1.2 is right in this
    /// share of its searches and needs this many runs (at 1,024 commits).
    PassFail {
        right: f64,
        runs: f64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum EffectHint {
    Right,
    Half,
    Double,
    None,
}

impl EffectHint {
    const ALL: [Self; 4] = [Self::Right, Self::Half, Self::Double, Self::None];

    fn name(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Half => "half",
            Self::Double => "double",
            Self::None => "none",
        }
    }

    fn magnitude(self, effect: f64) -> Option<Magnitude> {
        match self {
            Self::Right => Some(effect),
            Self::Half => Some(effect / 2.0),
            Self::Double => Some(effect * 2.0),
            Self::None => None,
        }
        .map(Magnitude::Absolute)
    }
}

const EFFECTS: [f64; 4] = [0.5, 1.0, 2.0, 4.0];
const SIZES: [u64; 3] = [16, 128, 1_024];
const LARGER_SIZES: [u64; 2] = [128, 1_024];
/// The size of the second change, in units of the first.
const TWO_CHANGES: [(&str, f64); 2] = [("two-alike", 1.0), ("two-opposite", -2.0)];

impl Cell {
    /// Scenarios with the same name are the same for the ideal searcher, which
    /// knows everything.
    pub(crate) fn ideal_name(&self) -> String {
        let Scenario {
            commits,
            noise,
            changes,
            failure_rates,
            ..
        } = &self.scenario;
        format!("{commits} {noise:?} {changes:?} {failure_rates:?}")
    }

    fn one_change(title: &str, scenario: Scenario, effect: f64, told: EffectHint) -> Self {
        let scenario = Scenario {
            changes: vec![effect],
            ..scenario
        };
        Self {
            name: format!(
                "{title} {} d={effect} told={}",
                scenario.commits,
                told.name()
            ),
            kind: Kind::OneChange(effect),
            spec: BisectionSpec {
                magnitude: told.magnitude(effect),
                ..BisectionSpec::new(scenario.range())
            },
            scenario,
            told,
            is_quick: false,
        }
    }

    /// The same with a second change.
    fn with_second(self, change: f64) -> Self {
        let [effect] = self.scenario.changes[..] else {
            return self;
        };
        Self {
            kind: Kind::TwoChanges(effect),
            scenario: Scenario {
                changes: vec![effect, change],
                ..self.scenario
            },
            ..self
        }
    }
}

/// All of them, in the order of the table.
pub(crate) fn all() -> Vec<Cell> {
    let mut cells = Vec::new();
    for noise in Noise::FAMILIES {
        for commits in SIZES {
            for effect in EFFECTS {
                for told in EffectHint::ALL {
                    let scenario = Scenario {
                        noise: noise.clone(),
                        ..Scenario::new(commits)
                    };
                    let is_quick = match noise {
                        Noise::Normal => {
                            commits == 1_024 && (told == EffectHint::Right || effect == 1.0)
                        }
                        _ => {
                            commits == 128
                                && effect == 1.0
                                && matches!(told, EffectHint::Right | EffectHint::None)
                        }
                    };
                    cells.push(Cell {
                        is_quick,
                        ..Cell::one_change(noise.name(), scenario, effect, told)
                    });
                }
            }
        }
    }
    disturbed(&mut cells);
    nothing(&mut cells);
    two_changes(&mut cells);
    pass_fail(&mut cells);
    beside_the_model(&mut cells);
    cells
}

/// Normal noise, and something goes wrong or builds are expensive.
fn disturbed(cells: &mut Vec<Cell>) {
    for commits in LARGER_SIZES {
        let scenario = Scenario::new(commits);
        let disturbances = [
            (
                "drift",
                Scenario {
                    drift: 0.002,
                    ..scenario.clone()
                },
            ),
            (
                "bots",
                Scenario {
                    bots: 5,
                    ..scenario.clone()
                },
            ),
            (
                "unbuildable",
                Scenario {
                    unbuildable: 0.2,
                    ..scenario.clone()
                },
            ),
            (
                "flaky",
                Scenario {
                    failure_rates: [0.1; 2],
                    ..scenario.clone()
                },
            ),
        ];
        for (title, scenario) in disturbances {
            for effect in EFFECTS {
                for told in [EffectHint::Right, EffectHint::None] {
                    cells.push(Cell {
                        is_quick: commits == 1_024 && effect == 1.0,
                        ..Cell::one_change(title, scenario.clone(), effect, told)
                    });
                }
            }
        }
        for effect in EFFECTS {
            let cell =
                Cell::one_change("build-cost-20", scenario.clone(), effect, EffectHint::Right);
            cells.push(Cell {
                is_quick: commits == 1_024 && matches!(effect, 1.0 | 4.0),
                spec: BisectionSpec {
                    build_cost: 20.0,
                    ..cell.spec
                },
                ..cell
            });
        }
    }
}

fn nothing(cells: &mut Vec<Cell>) {
    for noise in Noise::FAMILIES {
        for magnitude in [None, Some(1.0), Some(0.5)] {
            let scenario = Scenario {
                noise: noise.clone(),
                ..Scenario::new(1_024)
            };
            let told = magnitude.map_or_else(|| "none".to_owned(), |told| told.to_string());
            cells.push(Cell {
                name: format!("nothing {} 1024 told={told}", noise.name()),
                kind: Kind::Nothing,
                spec: BisectionSpec {
                    magnitude: magnitude.map(Magnitude::Absolute),
                    ..BisectionSpec::new(scenario.range())
                },
                scenario,
                told: if magnitude.is_none() {
                    EffectHint::None
                } else {
                    EffectHint::Right
                },
                is_quick: noise == Noise::Normal || magnitude.is_none(),
            });
        }
    }
}

fn two_changes(cells: &mut Vec<Cell>) {
    for commits in LARGER_SIZES {
        for (title, second) in TWO_CHANGES {
            for effect in [1.0, 2.0, 4.0] {
                for told in [EffectHint::Right, EffectHint::None] {
                    let one = Cell::one_change(title, Scenario::new(commits), effect, told);
                    cells.push(Cell {
                        is_quick: commits == 1_024 && effect == 2.0,
                        ..one.with_second(second * effect)
                    });
                }
            }
        }
    }
    for noise in Noise::FAMILIES {
        let is_above = |commits: &u64| noise != Noise::Normal || !LARGER_SIZES.contains(commits);
        for commits in SIZES.into_iter().filter(is_above) {
            for (title, second) in TWO_CHANGES {
                for told in [EffectHint::Right, EffectHint::None] {
                    let scenario = Scenario {
                        noise: noise.clone(),
                        ..Scenario::new(commits)
                    };
                    let title = format!("{title} {}", noise.name());
                    let one = Cell::one_change(&title, scenario, 2.0, told);
                    cells.push(one.with_second(second * 2.0));
                }
            }
        }
    }
}

/// Commits that fail for themselves, units that change, and values that tie.
fn beside_the_model(cells: &mut Vec<Cell>) {
    for (name, scenario) in promise::worlds() {
        cells.push(Cell {
            name,
            kind: match scenario.changes[..] {
                [] => Kind::Nothing,
                _ => Kind::BesideTheModel,
            },
            spec: BisectionSpec::new(scenario.range()),
            scenario,
            told: EffectHint::None,
            is_quick: false,
        });
    }
}

/// The rate of failing runs changes. The values of passing runs do not; they
/// scatter, or are always the same.
fn pass_fail(cells: &mut Vec<Cell>) {
    let rates = [
        (0.0, 1.0, 1.0, 18.0),
        (0.05, 0.95, 1.0, 24.0),
        (0.05, 0.5, 0.99, 99.0),
        (0.1, 0.3, 0.94, 461.0),
        (0.0, 0.2, 0.99, 187.0),
    ];
    let values = [
        ("pass-fail", Noise::Normal),
        ("pass-fail-steady", Noise::Measured(Vec::new())),
    ];
    for (title, noise) in values {
        for (before, after, right, runs) in rates {
            let scenario = Scenario {
                noise: noise.clone(),
                changes: vec![0.0],
                failure_rates: [before, after],
                ..Scenario::new(1_024)
            };
            cells.push(Cell {
                name: format!("{title} 1024 {before}->{after}"),
                kind: Kind::PassFail { right, runs },
                spec: BisectionSpec {
                    magnitude: Some(Magnitude::Absolute(1.0)),
                    ..BisectionSpec::new(scenario.range())
                },
                scenario,
                told: EffectHint::Right,
                is_quick: noise == Noise::Normal,
            });
        }
    }
}
