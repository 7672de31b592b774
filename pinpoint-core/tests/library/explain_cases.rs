//! Small programs with one change each, of the kinds that are easily taken for another.

use pinpoint_core::profile::{ExplainOptions, Explanation, Profile, Verdict, explain};

use crate::explain::Noise;

fn read(text: &str) -> Profile {
    Profile::read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Twelve pairs of a program, by its stacks with what they cost on each side, and a little more
/// or less in each run.
fn compared(program: &[(&str, u32, u32)]) -> Explanation {
    let mut noise = Noise::of(1);
    let mut run = |side: usize| {
        let mut text = String::new();
        for (stack, before, after) in program {
            let cost = [*before, *after][side];
            if cost > 0 {
                let more = 20.0 * (noise.uniform() - 0.5);
                text += &format!("{stack} {:.0}\n", f64::from(cost) + more);
            }
        }
        read(&text)
    };
    let [base, experiment] =
        [0, 1].map(|side| -> Vec<Profile> { (0..12).map(|_| run(side)).collect() });
    let options = ExplainOptions {
        paired: true,
        ..ExplainOptions::default()
    };
    explain(&base, &experiment, &options).unwrap()
}

#[track_caller]
fn names(program: &[(&str, u32, u32)], expected: &[&str]) -> Explanation {
    let explanation = compared(program);
    let found: Vec<&str> = explanation
        .certain()
        .map(|change| &*change.function.name)
        .collect();
    assert_eq!(found, expected, "{:#?}", explanation.functions);
    explanation
}

fn verdict<'a>(explanation: &'a Explanation, name: &str) -> &'a Verdict {
    let mut functions = explanation.functions.iter();
    &functions
        .find(|change| change.function.name == name)
        .unwrap()
        .verdict
}

#[test]
fn inlined_into_several_callers_is_moved() {
    let explanation = names(
        &[
            ("main;a", 1000, 1400),
            ("main;a;leaf", 400, 0),
            ("main;b", 2000, 2200),
            ("main;b;leaf", 200, 0),
            ("main;c", 3000, 3000),
        ],
        &[],
    );
    for name in ["a", "b"] {
        let Verdict::Moved { with } = verdict(&explanation, name) else {
            panic!("{explanation:#?}");
        };
        assert_eq!(explanation.functions[*with].function.name, "leaf");
    }
    let Verdict::Moved { with } = verdict(&explanation, "leaf") else {
        panic!("{explanation:#?}");
    };
    assert_eq!(explanation.functions[*with].function.name, "a");
}

#[test]
fn several_inlined_into_one_are_moved() {
    names(
        &[
            ("main;a", 1000, 1900),
            ("main;a;b", 600, 0),
            ("main;a;b;c", 300, 0),
            ("main;d", 3000, 3000),
        ],
        &[],
    );
    // No longer inlined.
    names(
        &[
            ("main;a", 1900, 1000),
            ("main;a;b", 0, 600),
            ("main;a;c", 0, 300),
            ("main;d", 3000, 3000),
        ],
        &[],
    );
}

/// Inlined into two callers, and another function is slower.
#[test]
fn inlining_hides_no_other_change() {
    names(
        &[
            ("main;a", 1000, 1400),
            ("main;a;leaf", 400, 0),
            ("main;b", 2000, 2200),
            ("main;b;leaf", 200, 0),
            ("main;c", 3000, 3300),
        ],
        &["c"],
    );
    // The caller is slower by more than it took over.
    names(
        &[
            ("main;a", 1000, 1900),
            ("main;a;leaf", 400, 0),
            ("main;b", 2000, 2000),
        ],
        &["a", "leaf"],
    );
}
