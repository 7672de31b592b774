//! What holds for every reader: whatever it is given, it ends without a panic, and
//! an error lies inside of the file.

use std::collections::BTreeMap;

use pinpoint_midpoint::manifest::{Problem, all, changes};
use proptest::prelude::*;

const FILES: [&str; 4] = [
    "[submodule \"a\"]\n\tpath = \"p\" # c\n\turl = ../a.git\\\n/b\n[core]\n\tshallow\n",
    "version = 4\n[[package]]\nname = \"a\"\nversion = \"0.1.0\"\nsource = \"git+https://h/a?rev=1#1\"\n",
    "vars = {'a': Str('x'), 'c': True}\ndeps = {\n  'p': {'url': '{a}' + '''b''' % () + Var('a'), \
     'condition': 'c and not (d == \"e\")'},\n  'q': {'dep_type': 'cipd', 'packages': [{'package': \
     r'n', 'version': 'v\\n'}]},\n}\nrecursedeps = [('p', 'DEPS')]\n",
    "module m\nrequire (\n\tgithub.com/a/b v1.2.4-0.20191109021931-daa7c04131f5 // indirect\n)\n\
     replace golang.org/x/c/d => gopkg.in/e.v2 v2.0.0\n",
];

/// Noise, or one of the files with up to three pieces cut out, moved or replaced.
fn file() -> impl Strategy<Value = String> {
    let damage = (
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        prop_oneof![
            Just(String::new()),
            "[\\[\\](){}'\"\\\\%+=@#:,./\n\r\t -]{1,3}",
            "\\PC{1,4}",
            prop::sample::select(FILES.to_vec()).prop_map(str::to_owned),
        ],
    );
    let damaged = (
        prop::sample::select(FILES.to_vec()),
        proptest::collection::vec(damage, 0..4),
    )
        .prop_map(|(file, damages)| {
            damages
                .into_iter()
                .fold(file.to_owned(), |file, (from, to, piece)| {
                    let characters: Vec<char> = file.chars().collect();
                    let mut cut = [
                        from.index(characters.len() + 1),
                        to.index(characters.len() + 1),
                    ];
                    cut.sort_unstable();
                    // Mostly short cuts: long ones leave little to be wrong.
                    let end = cut[1].min(cut[0] + 7);
                    let (before, after) = (&characters[..cut[0]], &characters[end..]);
                    before
                        .iter()
                        .chain(piece.chars().collect::<Vec<_>>().iter())
                        .chain(after)
                        .collect()
                })
        });
    let noise = proptest::collection::vec(any::<u8>(), 0..200)
        .prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    prop_oneof![4 => damaged, 1 => noise, 1 => any::<String>()]
}

proptest! {
    #[test]
    fn whatever_is_read_there_is_an_answer(file in file()) {
        let gitlinks = BTreeMap::from([("p".to_owned(), "1f2e".to_owned())]);
        for manifest in all() {
            match manifest.read(&file, &gitlinks) {
                Ok(read) => prop_assert_eq!(changes(&read, &read), []),
                Err(error) => {
                    prop_assert_eq!(error.file, manifest.file());
                    let lines: Vec<&str> = file.split('\n').collect();
                    prop_assert!((1..=lines.len()).contains(&error.line), "{}", error);
                    let width = lines[error.line - 1].chars().count();
                    prop_assert!((1..=width + 1).contains(&error.column), "{}", error);
                }
            }
        }
    }
}

#[test]
fn the_files_that_are_damaged_are_sound() {
    for (manifest, file) in all().into_iter().zip(FILES) {
        let read = manifest.read(file, &BTreeMap::from([("p".into(), "1f2e".into())]));
        let read = read.unwrap_or_else(|error| panic!("{error}"));
        assert!(!read.is_empty(), "{}", manifest.file());
    }
}

#[test]
fn a_file_that_is_too_large_is_refused() {
    let large = "\n".repeat((4 << 20) + 1);
    for manifest in all() {
        let error = manifest
            .read(&large, &BTreeMap::new())
            .expect_err("it is too large");
        assert!(matches!(
            error.problem,
            Problem::TooLarge { what: "bytes", .. }
        ));
    }
}
