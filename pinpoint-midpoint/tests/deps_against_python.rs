//! The `DEPS` reader against Python's own parser and operators.
//!
//! Files are generated, and some of them damaged; `deps_against_python.py` evaluates them with
//! `ast.parse`, `+`, `%` and `str.format`. Results must equal Python's; an error of grammar or
//! meaning must be one for Python, too. Only unsupported or too large files may mean something
//! there.

#![allow(clippy::disallowed_methods, reason = "tests wait on their own threads")]

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use pinpoint_midpoint::manifest::{Deps, Manifest, Problem, Source};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::Value;

fn python(files: &[String]) -> Vec<Value> {
    let mut python = Command::new("python3")
        .arg("-I")
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/deps_against_python.py"
        ))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 is needed for this test");
    let mut input = python.stdin.take().expect("it is piped");
    let request = serde_json::to_vec(files).expect("strings can be written");
    let writer = std::thread::spawn(move || input.write_all(&request));
    let output = python.wait_with_output().expect("it ends");
    writer.join().expect("no panic").expect("it reads all");
    serde_json::from_slice(&output.stdout).expect("it answers in JSON")
}

fn literal() -> impl Strategy<Value = String> {
    let plain = "[a-z/:@.%{} -]{0,4}";
    prop_oneof![
        20 => "[a-z/.@-]{0,8}".prop_map(|text| format!("'{text}'")),
        1 => plain.prop_map(|text| format!("\"{text}\"")),
        1 => plain.prop_map(|text| format!("'''{text}\n{text}'''")),
        1 => "[a-z\\\\nx41 ]{0,5}".prop_map(|text| format!("r'{text}z'")),
        1 => r"(\\[nrtabfv'\x22\\0-7xuUz]|[0-9a-f]){0,5}".prop_map(|text| format!("'{text}'")),
        1 => Just("'{a}'".to_owned()),
        1 => Just("'x{b}{{}}'".to_owned()),
        1 => Just("u'µ' '''\r\n'''".to_owned()),
    ]
}

fn variable() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("Var('a')".to_owned()),
        Just("Var('b')".to_owned()),
        Just("Var( \"s\" , )".to_owned()),
        Just("Var('t')".to_owned()),
        Just("Str('{a}')".to_owned()),
    ]
}

fn expression() -> impl Strategy<Value = String> {
    prop_oneof![3 => literal(), 2 => variable()].prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} + {b}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}+ ({b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} # comment\n {b})")),
            inner.clone().prop_map(|a| format!("(({a}))")),
            inner.clone().prop_map(|a| format!("'<%s>' % {a}")),
            inner.clone().prop_map(|a| format!("'<%s>' % ({a},)")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("'%s%%%s' % ({a}, {b})")),
            (inner.clone(), 0..99_u8).prop_map(|(a, n)| format!("'%s:%d' % ({a}, {n} + 0x1_f)")),
            inner.prop_map(|a| format!("{a} \\\n + 'end'")),
        ]
    })
}

fn file() -> impl Strategy<Value = String> {
    let entry = (expression(), 0..6_u8);
    (
        expression(),
        expression(),
        proptest::collection::vec(entry, 1..6),
        prop_oneof![Just("\n"), Just("\r\n"), Just(";"), Just("\n\n# comment\n")],
    )
        .prop_map(|(b, t, entries, separator)| {
            let vars = format!("'a': 'A', 'b': {b}, 's': Str('S'), 't': {t}, 'flag': True");
            let entries = entries.into_iter().enumerate();
            let entries = entries.map(|(path, (url, shape))| match shape {
                0 => format!("'p{path}': None"),
                1 => format!("'{{a}}{path}': {url}"),
                2 => format!("'p{path}': {{'url': {url}, 'condition': 'checkout_linux',}}"),
                _ => format!("'p{path}': {url}"),
            });
            let deps = entries.collect::<Vec<_>>().join(",\n  ");
            format!("vars = {{{vars}}}{separator}deps = {{\n  {deps}\n}}")
        })
}

/// A file, and sometimes one with a piece cut out, doubled or inserted.
fn damaged() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just(""),
        Just("'"),
        Just("\""),
        Just("'''"),
        Just("("),
        Just(")"),
        Just("["),
        Just("]"),
        Just("{"),
        Just("}"),
        Just(","),
        Just(":"),
        Just("+"),
        Just("%"),
        Just("="),
        Just("\\"),
        Just("\n"),
        Just("\r"),
        Just(" "),
        Just("#"),
        Just("0"),
        Just("1.5"),
        Just("-"),
        Just("{a}"),
        Just("%s"),
        Just("if"),
        Just("r'"),
        Just(";"),
        Just("None"),
        Just("Var"),
        Just("\u{c}"),
        Just("\t"),
        Just("é"),
    ];
    (
        file(),
        proptest::option::of((any::<prop::sample::Index>(), 0..3_usize, pieces)),
    )
        .prop_map(|(mut file, damage)| {
            let Some((place, length, piece)) = damage else {
                return file;
            };
            let starts: Vec<usize> = file.char_indices().map(|(at, _)| at).collect();
            let first = place.index(starts.len());
            let end = starts.get(first + length).copied().unwrap_or(file.len());
            file.replace_range(starts[first]..end, piece);
            file
        })
}

/// The error in the reader's answer, given Python's.
fn difference(file: &str, python: &Value) -> Option<String> {
    match (Deps.read(file, &BTreeMap::new()), &python["urls"]) {
        (Ok(read), Value::Object(urls)) => {
            if !read
                .keys()
                .eq(urls.keys().collect::<std::collections::BTreeSet<_>>())
            {
                return Some(format!("{read:?} instead of {urls:?}"));
            }
            read.iter().find_map(|(path, dependency)| {
                let url = urls[path].as_str().unwrap_or_default();
                let same = match &dependency.source {
                    Source::Git {
                        url: read,
                        revision,
                    } => format!("{read}@{revision}") == url,
                    Source::Package { name, version, .. } => {
                        url == format!("{name}@{version}")
                            || version == "HEAD" && (url == name || url == format!("{name}@"))
                    }
                    _ => false,
                };
                (!same).then(|| format!("{dependency:?} instead of {url:?}"))
            })
        }
        (Ok(read), _) => Some(format!("{read:?}, but Python says {python}")),
        (Err(error), Value::Object(urls)) => match error.problem {
            Problem::Syntax(_) | Problem::Meaning(_) => {
                Some(format!("{error}, but Python reads {urls:?}"))
            }
            _ => None,
        },
        (Err(_), _) => None,
    }
}

#[test]
fn what_is_read_is_what_python_says() {
    // The same files every time, since one process evaluates them all: five for each case that
    // proptest would run.
    let count = 5 * ProptestConfig::default().cases as usize;
    let mut runner = TestRunner::deterministic();
    let files: Vec<String> = (0..count)
        .map(|_| {
            let tree = damaged().new_tree(&mut runner);
            tree.expect("nothing is filtered out").current()
        })
        .collect();
    let answers = python(&files);
    assert_eq!(answers.len(), count);
    let read = answers.iter().filter(|answer| answer["urls"].is_object());
    let read = read.count();
    assert!(read > count / 5, "only {read} of {count} files can be read");
    let shortest = files
        .iter()
        .zip(&answers)
        .filter_map(|(file, answer)| Some((file, difference(file, answer)?)))
        .min_by_key(|(file, _)| file.len());
    if let Some((file, difference)) = shortest {
        panic!("{difference}\n{file}");
    }
}
