//! The output of `pinpoint explain`, and the schema of its document.

use std::borrow::Cow;
use std::path::PathBuf;

use pinpoint_core::profile::{
    ExplainOptions, Explanation, LongerWait, Profile, SourceDiff, explain, shows_difference,
};
use serde_json::Value;

use super::{styles_shown, without_styles};
use crate::job::explanation::about::{About, BuildName};
use crate::job::explanation::explanation_report::{Document, Status};
use crate::show::explanation_text;

/// Runs of a program whose functions take these milliseconds, a little more in each run.
fn runs(count: u32, functions: &[(&str, f64)]) -> Vec<Profile> {
    let run = |number: u32| {
        let (mut frames, mut samples, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for (index, (stack, time)) in functions.iter().enumerate() {
            let mut stack_frames = Vec::new();
            for name in stack.split(';') {
                stack_frames.push(frames.len().to_string());
                let file = if name == "memchr::fallback" {
                    "/registry/src/index-1/memchr-2.7.4/src/lib.rs"
                } else {
                    "/app/src/lexer.rs"
                };
                frames.push(format!("{{\"name\": \"{name}\", \"file\": \"{file}\"}}"));
            }
            samples.push(format!("[{}]", stack_frames.join(",")));
            // Different for each function, so that they do not move together.
            let noise = f64::from((number * 7 + index as u32 * 5) % 11) / 11.0 - 0.5;
            weights.push((time * (1.0 + 0.02 * noise)).to_string());
        }
        format!(
            "{{\"shared\": {{\"frames\": [{}]}}, \"profiles\": [{{\"type\": \"sampled\", \"unit\": \"milliseconds\", \"samples\": [{}], \"weights\": [{}]}}]}}",
            frames.join(","),
            samples.join(","),
            weights.join(",")
        )
    };
    (0..count)
        .map(|number| Profile::read(run(number).as_bytes()).unwrap())
        .collect()
}

const BEFORE: [(&str, f64); 4] = [
    ("main", 10.0),
    ("main;parse", 20.0),
    ("main;parse;Lexer::next_token", 70.0),
    ("main;print", 30.0),
];

const AFTER: [(&str, f64); 5] = [
    ("main", 10.0),
    ("main;parse", 20.0),
    ("main;parse;Lexer::next_token", 82.0),
    ("main;parse;Lexer::next_token;memchr::fallback", 2.0),
    ("main;print", 30.3),
];

fn between(base: &[Profile], experiment: &[Profile], paired: bool) -> Explanation {
    let options = ExplainOptions {
        paired,
        ..ExplainOptions::default()
    };
    explain(base, experiment, &options).unwrap()
}

fn counted(own: u32, calls: u32) -> Vec<Profile> {
    let inside = own * calls;
    let text = format!(
        "events: Ir\nfl=words.c\nfn=main\n1 1000\ncfn=hash\ncalls={calls} 5\n1 {inside}\nfn=hash\n5 {inside}\ntotals: {}\n",
        1000 + inside
    );
    vec![Profile::read(text.as_bytes()).unwrap()]
}

fn explanations() -> Vec<(&'static str, Explanation)> {
    let inlined = [("main", 10.0), ("main;parse", 90.0), ("main;print", 30.0)];
    let renamed = [
        ("main", 10.0),
        ("main;parse", 20.0),
        ("main;parse;Lexer::next", 70.4),
        ("main;print", 30.0),
    ];
    let called_by_two = [
        ("main;parse", 20.0),
        ("main;parse;next", 40.0),
        ("main;print", 30.0),
        ("main;print;next", 20.0),
    ];
    let inlined_in_two = [("main;parse", 60.0), ("main;print", 50.0)];
    let equal = vec![runs(1, &BEFORE).remove(0); 6];
    vec![
        (
            "certain",
            between(&runs(10, &BEFORE), &runs(10, &AFTER), true),
        ),
        (
            "certain_in_groups",
            between(&runs(8, &BEFORE), &runs(10, &AFTER), false),
        ),
        (
            "faster",
            between(&runs(8, &AFTER), &runs(8, &BEFORE), false),
        ),
        (
            "uncertain",
            between(&runs(10, &BEFORE), &runs(10, &BEFORE), false),
        ),
        (
            "too_few_runs",
            between(&runs(3, &BEFORE), &runs(3, &AFTER), true),
        ),
        (
            "moved",
            between(&runs(10, &BEFORE), &runs(10, &inlined), false),
        ),
        (
            "moved_to_several",
            between(&runs(10, &called_by_two), &runs(10, &inlined_in_two), true),
        ),
        (
            "renamed",
            between(&runs(10, &BEFORE), &runs(10, &renamed), false),
        ),
        (
            "called_more_often",
            between(&counted(10, 100), &counted(10, 150), false),
        ),
        (
            "counts_overlap",
            between(
                &[counted(10, 100), counted(12, 100)].concat(),
                &[counted(11, 100), counted(20, 100)].concat(),
                false,
            ),
        ),
        ("equal", between(&equal, &equal, false)),
        (
            "equal_pairs",
            between(&runs(8, &BEFORE), &runs(8, &BEFORE), true),
        ),
        (
            "one_run_of_one_function",
            between(&runs(1, &BEFORE[..1]), &runs(1, &AFTER[..1]), false),
        ),
        (
            "nothing_counted",
            between(&counted(10, 100), &counted(10, 100), false),
        ),
    ]
}

#[test]
fn explanations_in_words() {
    for (name, explanation) in explanations() {
        let text = explanation_text::render(&explanation, None);
        insta::assert_snapshot!(format!("explain_{name}"), without_styles(&text));
    }
    let (_, certain) = &explanations()[0];
    insta::assert_snapshot!(
        "explain_in_color",
        styles_shown(&explanation_text::render(certain, None))
    );
}

/// An explanation of a job that measured 11 %.
fn about(explanation: &Explanation) -> About {
    let measured = 0.11;
    About {
        job_id: "01a1".into(),
        explains: "01a0".into(),
        profiler: "perf".into(),
        measured: Some(measured),
        shown: Some(shows_difference(measured, &explanation.whole)),
        waiting: None,
        waits: None,
        base: None,
        experiment: None,
        command: Vec::new(),
        alternative: "callgrind".into(),
        pairs_without_profiles: 0,
        missing: None,
    }
}

/// The changes of a commit that made a function slower.
const DIFF: &str = "\
--- a/src/lexer.rs
+++ b/src/lexer.rs
@@ -88 +88,2 @@ fn next_token(&mut self) -> Token {
-    self.skip();
+    self.skip_all();
";

#[test]
fn a_culprits_diff_and_its_difference_are_in_the_answer() {
    for (name, mut explanation) in explanations() {
        if !matches!(name, "certain" | "uncertain") {
            continue;
        }
        SourceDiff::parse(DIFF).mark(&mut explanation);
        let about = About {
            pairs_without_profiles: 1,
            missing: Some("timed out after 5s".into()),
            ..about(&explanation)
        };
        let text = explanation_text::render(&explanation, Some(&about));
        insta::assert_snapshot!(format!("explain_job_{name}"), without_styles(&text));
    }
}

#[test]
fn a_run_that_waits_is_called_so() {
    let mut all = explanations().into_iter();
    let (_, explanation) = all.find(|(name, _)| *name == "uncertain").unwrap();
    let said = |waiting| {
        let about = About {
            waiting: Some(waiting),
            ..about(&explanation)
        };
        without_styles(&explanation_text::render(&explanation, Some(&about)))
    };
    assert!(
        said(0.05).contains("a run waits 50.00 ms longer"),
        "{}",
        said(0.05)
    );
    assert!(said(-0.05).contains("a run waits 50.00 ms less"));
    assert!(!said(0.05).contains("--profiler"));
}

/// An explanation whose runs certainly wait longer, of two commits.
fn about_builds(explanation: &Explanation) -> About {
    let build = |commit: &str, subject: &str| {
        Some(BuildName {
            commit: commit.repeat(8),
            repository: "/work/words".into(),
            subject: Some(subject.into()),
        })
    };
    About {
        shown: Some(true),
        waits: Some(LongerWait {
            base: 0.39,
            experiment: 1.08,
            is_certain: true,
        }),
        base: build("12345", "Add a cache"),
        experiment: build("abcde", "Wait for the disk"),
        command: vec!["./bench".into(), "all words".into()],
        ..about(explanation)
    }
}

#[test]
fn the_builds_and_their_waiting_are_in_the_answer() {
    let mut all = explanations().into_iter();
    let (_, explanation) = all.find(|(name, _)| *name == "uncertain").unwrap();
    let about = about_builds(&explanation);
    let text = without_styles(&explanation_text::render(&explanation, Some(&about)));
    for expected in [
        "a run waits 690.0 ms longer (390.0 ms before, 1.080 s after), by the clock",
        "before: 1234512345 Add a cache\nafter:  abcdeabcde Wait for the disk\nin /work/words\n",
        "benchmark: ./bench 'all words'\n",
        "counted: what processors spend on the program, without its waiting\n",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let notes = explanation_text::notes(&explanation, &about);
    assert_eq!(notes.len(), 1, "{notes:?}");
}

#[test]
fn what_is_long_or_says_nothing_is_left_out() {
    let explanation = |wanted: &str| {
        let mut all = explanations().into_iter();
        all.find(|(name, _)| *name == wanted).unwrap().1
    };
    let said =
        |explanation: &Explanation| without_styles(&explanation_text::render(explanation, None));

    let mut renamed = explanation("renamed");
    let guess = renamed.renamed[0].clone();
    renamed.renamed = vec![guess.clone(); 7];
    renamed.renamed[0].experiment = guess.base;
    let text = said(&renamed);
    assert_eq!(text.matches("probably renamed: ").count(), 5, "{text}");
    assert!(
        text.contains("… 1 more that are probably renamed"),
        "{text}"
    );

    let mut unnamed = explanation("certain");
    unnamed.functions[0].function.name = "[no symbols]".into();
    unnamed.functions[0].function.module = Some("bench".into());
    let text = said(&unnamed);
    let advice = "[no symbols]: the functions of bench have no names; build with symbols (-g";
    assert!(text.contains(advice), "{text}");

    let uncertain = explanation("uncertain");
    let about = About {
        profiler: "command:record {command} | convert >{profile}".into(),
        ..about(&uncertain)
    };
    let text = without_styles(&explanation_text::render(&uncertain, Some(&about)));
    assert_eq!(text.matches("the profiler's command").count(), 2, "{text}");
    assert!(!text.contains("convert"), "{text}");
    assert!(text.ends_with("\njob 01a1\n"), "{text}");

    let mut made = explanation("certain");
    made.functions[0].function.name = "[no symbols]".into();
    made.functions[0].function.module = Some("[jit]".into());
    assert!(said(&made).contains("[jit]: code that is made while the program runs"));
}

#[test]
fn documents_fit_their_schema() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/explain.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let files = [PathBuf::from("a.json")];
    let warnings = ["the formats of the two sides differ".to_owned()];
    for (name, explanation) in explanations() {
        let of_job = about_builds(&explanation);
        let document = Document {
            version: 1,
            status: Status::from_explanation(&explanation),
            job: Some(Cow::Borrowed(&of_job)).filter(|_| name == "certain"),
            warnings: Cow::Borrowed(&warnings),
            base: Cow::Borrowed(&files),
            experiment: Cow::Borrowed(&files),
            explanation: Cow::Borrowed(&explanation),
        };
        let mut document = serde_json::to_value(&document).unwrap();
        let wrong = |document: &Value| faults(document, &schema, &schema, name);
        assert!(wrong(&document).is_empty(), "{:#?}", wrong(&document));
        // It is read as it was written.
        let again: Document = serde_json::from_value(document.clone()).unwrap();
        assert_eq!(serde_json::to_value(&again).unwrap(), document);
        // The check itself detects errors.
        document["whole"]["base"] = Value::Null;
        document["surplus"] = Value::Null;
        assert_eq!(wrong(&document).len(), 2);
    }
}

/// The violations of a schema, for the words of JSON Schema that it uses.
fn faults(value: &Value, schema: &Value, root: &Value, place: &str) -> Vec<String> {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let target = root.pointer(reference.trim_start_matches('#')).unwrap();
        return faults(value, target, root, place);
    }
    if let Some(choices) = schema.get("anyOf").and_then(Value::as_array) {
        let fits = |choice: &Value| faults(value, choice, root, place).is_empty();
        return if choices.iter().any(fits) {
            Vec::new()
        } else {
            vec![format!("{place} fits none of its schemas: {value}")]
        };
    }
    let mut found = Vec::new();
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        found.push(format!("{place} is {value}"));
    }
    let is = |kind: &Value| match kind.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("the schema has the type {other}"),
    };
    let fits = match schema.get("type") {
        None => true,
        Some(Value::Array(kinds)) => kinds.iter().any(is),
        Some(kind) => is(kind),
    };
    if !fits {
        found.push(format!("{place} is {value}, not {}", schema["type"]));
    }
    if let (Some(members), Some(properties)) = (value.as_object(), schema.get("properties")) {
        for required in schema["required"].as_array().into_iter().flatten() {
            if !members.contains_key(required.as_str().unwrap()) {
                found.push(format!("{place} lacks {required}"));
            }
        }
        for (name, member) in members {
            let place = format!("{place}/{name}");
            match properties.get(name) {
                Some(property) => found.extend(faults(member, property, root, &place)),
                None => found.push(format!("{place} is not in the schema")),
            }
        }
    }
    if let (Some(elements), Some(items)) = (value.as_array(), schema.get("items")) {
        for (index, element) in elements.iter().enumerate() {
            found.extend(faults(element, items, root, &format!("{place}/{index}")));
        }
    }
    found
}
