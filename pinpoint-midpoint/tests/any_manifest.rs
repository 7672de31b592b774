//! Properties of every reader: on any input it ends without a panic, an error is inside the file,
//! and an answer is no larger than the limit for a file of that length.

use std::collections::BTreeMap;

use pinpoint_midpoint::manifest::{
    CargoLock, Dependency, Deps, GoMod, MAX_FILE, Manifest, Problem, Source, Submodules, all,
};
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

/// The amount of text in an answer, in bytes.
fn size(read: &BTreeMap<String, Dependency>) -> usize {
    let size = |(path, named): (&String, &Dependency)| {
        let source = match &named.source {
            Source::Git { url, revision } => url.len() + revision.len(),
            Source::Package {
                registry,
                name,
                version,
            } => registry.len() + name.len() + version.len(),
            other => panic!("a new source: {other:?}"),
        };
        path.len() + source + named.condition.as_ref().map_or(0, String::len)
    };
    read.iter().map(size).sum()
}

/// The most text that a reader may make of a file: some bytes for each of its own, and the
/// expressions of `DEPS`.
fn most(file: &str) -> usize {
    64 * file.len() + (32 << 20)
}

/// One of the files, with a piece of it repeated up to ten thousand times: this finds growth that
/// is not counted in time, and quadratic searches.
fn pumped() -> impl Strategy<Value = String> {
    let cut = (any::<prop::sample::Index>(), 1..80_usize);
    (prop::sample::select(FILES.to_vec()), cut, 1..10_000_usize).prop_map(
        |(file, (from, length), times)| {
            let from = from.index(file.len());
            let to = (from + length).min(file.len());
            let times = times.min(200_000 / (to - from));
            [&file[..from], &file[from..to].repeat(times), &file[to..]].concat()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_piece_that_comes_very_often_costs_no_more_than_its_length(file in pumped()) {
        let gitlinks = BTreeMap::from([("p".to_owned(), "1f2e".to_owned())]);
        for manifest in all() {
            match manifest.read(&file, &gitlinks) {
                Ok(read) => prop_assert!(size(&read) <= most(&file), "{}", size(&read)),
                Err(error) => prop_assert!(error.to_string().len() < 1_000, "{}", error),
            }
        }
    }
}

fn read(manifest: &dyn Manifest, file: &str) -> BTreeMap<String, Dependency> {
    assert!(file.len() <= MAX_FILE);
    let gitlinks = BTreeMap::from([("p".to_owned(), "1f2e".to_owned())]);
    let read = manifest.read(file, &gitlinks);
    let read = read.unwrap_or_else(|error| panic!("{error}"));
    assert!(size(&read) <= most(file), "{}", size(&read));
    read
}

/// Files that once took minutes or gigabytes, each a few seconds away from the length limit: no
/// part may be read once for each of its parts.
#[test]
fn files_that_grow_where_they_are_read_twice() {
    let repeat =
        |times: usize, line: &dyn Fn(usize) -> String| (0..times).map(line).collect::<String>();

    let systems = repeat(40_000, &|at| format!("'s{at}':{{'p':'https://h/a@1'}},"));
    let deps = read(&Deps, &format!("deps_os={{{systems}}}"));
    let condition = deps["p"].condition.as_deref().expect("a condition");
    assert_eq!(condition.matches(" or ").count(), 39_999);

    let queries = repeat(20_000, &|at| {
        format!("[[package]]\nname='a'\nversion='1.0.0'\nsource='git+https://h/a?rev={at}#1'\n")
    });
    assert_eq!(read(&CargoLock, &queries).len(), 20_000);

    let name = "n".repeat(200_000);
    let settings = repeat(100_000, &|_| "a\n".to_owned());
    let file = format!("[submodule \"{name}\"]\npath=p\nurl=/u\n{settings}");
    assert_eq!(read(&Submodules, &file).len(), 1);

    let modules = repeat(20_000, &|at| format!("github.com/a/b{at} v1.0.0\n"));
    assert_eq!(
        read(&GoMod, &format!("require (\n{modules})\n")).len(),
        20_000
    );
}

#[test]
fn what_deps_repeats_is_counted_while_it_grows() {
    let packages = "{'package':'a','version':'1'},".repeat(1_000);
    let long = "x".repeat(100_000);
    let cipd = |path: &str, condition: &str| {
        format!(
            "deps={{'{path}':{{'dep_type':'cipd','condition':'{condition}','packages':[{packages}]}}}}"
        )
    };
    let systems: String = (0..1_000)
        .map(|at| format!("'p{at}':'https://h/a@1',"))
        .collect();
    for file in [
        cipd(&long, "a"),
        cipd("p", &long),
        format!("deps_os={{'{long}':{{{systems}}}}}"),
    ] {
        let error = Deps
            .read(&file, &BTreeMap::new())
            .expect_err("it is too much");
        assert!(matches!(error.problem, Problem::TooLarge { .. }), "{error}");
    }
}

#[test]
fn a_long_name_is_not_repeated_whole_in_an_error() {
    let long = "9".repeat(1_000_000);
    for (manifest, file) in [
        (&Deps as &dyn Manifest, format!("deps = 0{long}")),
        (&Deps, format!("deps = {{'{long}': Var('{long}')}}")),
        (&GoMod, format!("x{long} a")),
        (
            &CargoLock,
            format!("[[package]]\nname = \"{long}\"\nversion = {long}"),
        ),
        (&Submodules, format!("[submodule \"{long}\"]\na=1\na=2\n")),
    ] {
        let error = manifest
            .read(&file, &BTreeMap::new())
            .expect_err("it is wrong");
        assert!(
            error.to_string().len() < 1_000,
            "{} bytes",
            error.to_string().len()
        );
    }
}

proptest! {
    #[test]
    fn whatever_is_read_there_is_an_answer(file in file()) {
        let gitlinks = BTreeMap::from([("p".to_owned(), "1f2e".to_owned())]);
        for manifest in all() {
            match manifest.read(&file, &gitlinks) {
                Ok(read) => prop_assert!(size(&read) <= most(&file), "{}", size(&read)),
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
