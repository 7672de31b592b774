//! The `.gitmodules` reader, by itself and against `git config`.

#![allow(clippy::disallowed_methods, reason = "tests wait on their own threads")]

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use pinpoint_midpoint::manifest::{
    Dependency, Manifest, ManifestError, Problem, Source, Submodules, resolve_url,
};
use proptest::prelude::*;

fn gitlinks(links: &[(&str, &str)]) -> BTreeMap<String, String> {
    links
        .iter()
        .map(|(path, hash)| ((*path).into(), (*hash).into()))
        .collect()
}

fn read(file: &str, links: &[(&str, &str)]) -> Result<BTreeMap<String, Dependency>, ManifestError> {
    Submodules.read(file, &gitlinks(links))
}

fn git(url: &str, revision: &str) -> Source {
    Source::Git {
        url: url.into(),
        revision: revision.into(),
    }
}

const REALISTIC: &str = r#"
# Kept in the order of their paths.
[submodule "codec"]
	path = third_party/codec
	url = https://git.example/codec.git
	branch = stable ; what `update --remote` follows
[submodule "Shaper \"text\""]
	path = "third_party/text shaper"
	url = ../shaper.git
	shallow
[core] editor = vi
[submodule.fonts]
	PATH = third_party/fonts
	Url = git@git.example:team/fo\
nts.git
	ignore = dirty
[submodule "left over"]
	path = third_party/gone
	url = https://git.example/gone.git
"#;

#[test]
fn urls_are_of_the_file_and_revisions_of_the_tree() {
    let dependencies = read(
        REALISTIC,
        &[
            ("third_party/codec", "1f2e"),
            ("third_party/fonts", "3d4c"),
            ("third_party/text shaper", "5b6a"),
            ("unknown", "7988"),
        ],
    )
    .expect("it is sound");
    let sources: Vec<(&str, Source)> = dependencies
        .iter()
        .map(|(path, dependency)| (path.as_str(), dependency.source.clone()))
        .collect();
    assert_eq!(
        sources,
        [
            (
                "third_party/codec",
                git("https://git.example/codec.git", "1f2e")
            ),
            (
                "third_party/fonts",
                git("git@git.example:team/fonts.git", "3d4c")
            ),
            ("third_party/text shaper", git("../shaper.git", "5b6a")),
            (
                "unknown",
                Source::Package {
                    registry: "git".into(),
                    name: "unknown".into(),
                    version: "7988".into(),
                }
            ),
        ]
    );
    assert_eq!(
        dependencies["third_party/codec"].nested,
        [".gitmodules", "Cargo.lock", "DEPS", "go.mod"]
    );
}

#[test]
fn gclient_says_when_a_submodule_is_taken_and_what_counts_in_it() {
    let file = "[submodule \"a\"]\npath = a\nurl = /a\ngclient-condition = checkout_linux\n\
                [submodule \"b\"]\npath = b\nurl = /b\ngclient-recursedeps = true\n";
    let dependencies = read(file, &[("a", "1"), ("b", "2")]).expect("it is sound");
    assert_eq!(
        dependencies["a"],
        Dependency {
            condition: Some("checkout_linux".into()),
            ..git("/a", "1").into()
        }
    );
    assert_eq!(
        dependencies["b"],
        Dependency {
            nested: vec!["DEPS".into()],
            ..git("/b", "2").into()
        }
    );
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let cases = [
        ("path = a", 1, 1, "no section"),
        ("[submodule \"a\"\npath = a", 1, 1, "does not end"),
        ("[submodule \"a", 1, 1, "does not end"),
        ("[submodule a]", 1, 1, "not a section header"),
        ("[]", 1, 1, "not a section header"),
        ("[a]\n?", 2, 1, "`?`"),
        ("[a]\npath a", 2, 6, "`=`"),
        ("[a]\npath = \"a", 2, 7, "quotes"),
        ("[a]\npath = a\\q", 2, 9, "escape"),
        ("[submodule \"a\"]\nurl = a\nurl = b", 3, 1, "two values"),
        (
            "[submodule \"a\"]\npath = p\n[submodule \"b\"]\npath = p",
            4,
            1,
            "two submodules",
        ),
    ];
    for (file, line, column, part) in cases {
        let error = read(file, &[]).expect_err(file);
        assert_eq!(
            (error.line, error.column),
            (line, column),
            "{file:?}: {error}"
        );
        assert!(error.to_string().contains(part), "{file:?}: {error}");
    }
    // A repeated entry is not a contradiction.
    read("[submodule \"a\"]\nurl = a\nurl = a", &[]).expect("it is sound");
}

#[test]
fn a_relative_url_is_seen_from_the_repository_that_names_it() {
    let cases = [
        ("https://h/a/b.git", "../c.git", Some("https://h/a/c.git")),
        ("https://h/a/b.git/", "../c.git/", Some("https://h/a/c.git")),
        ("https://h/a/b", "../../c/d", Some("https://h/c/d")),
        ("https://h/a", "./b", Some("https://h/a/b")),
        ("https://h/a", ".././b", Some("https://h/b")),
        ("https://h/a", "../../b", None),
        ("https://h", "../b", None),
        ("ssh://u@h:22/a/b", "../c", Some("ssh://u@h:22/a/c")),
        ("git@h:a/b.git", "../c.git", Some("git@h:a/c.git")),
        ("git@h:a", "../c", Some("git@h:c")),
        ("git@h:a", "../../c", None),
        ("/srv/git/a", "../b", Some("/srv/git/b")),
        ("/a", "../b", Some("/b")),
        ("/a", "../../b", None),
        ("file:///srv/a", "../b", Some("file:///srv/b")),
        ("https://h/a", "https://i/b", Some("https://i/b")),
        ("https://h/a", "/srv/b", Some("/srv/b")),
        ("a", "../b", None),
    ];
    for (base, url, expected) in cases {
        assert_eq!(resolve_url(base, url).as_deref(), expected, "{base} {url}");
    }
}

/// The keys and values that `git config` lists of a file, or `None` if it rejects the file.
fn listed_by_git(file: &str) -> Option<Vec<(String, Option<String>)>> {
    let mut git = Command::new("git")
        .args(["config", "--file", "-", "--null", "--list"])
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("git is needed for this test");
    let mut input = git.stdin.take().expect("it is piped");
    // Git may end before it has read everything.
    let _ = input.write_all(file.as_bytes());
    drop(input);
    let output = git.wait_with_output().expect("it ends");
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| {
        text.split_terminator('\0')
            .map(|entry| match entry.split_once('\n') {
                Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
                None => (entry.to_owned(), None),
            })
            .collect()
    })
}

fn config() -> impl Strategy<Value = String> {
    let pieces = [
        "[submodule \"a\"]\npath = p\n",
        "[submodule \"a\"]\npath = p\n",
        "[submodule \"b\"]",
        "url = x",
        "url = x",
        "url = ",
        "url = ",
        "\n",
        "\n",
        "\n",
        "url",
        "path=p\n",
        "=",
        "\"",
        "\\",
        "\\\n",
        "\\t",
        "\\\"",
        " ",
        "\t",
        "\r\n",
        "\r",
        "# c",
        ";",
        "[A]",
        "[submodule.C]\n",
        "[",
        "]",
        "é",
        "x y",
        "[core \"s\"]",
        "9",
        "-",
    ];
    let piece = proptest::sample::select(pieces.to_vec());
    proptest::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

#[test]
fn blanks_before_a_line_that_goes_on_are_inside_of_the_value() {
    for end in ["\\", "\\\n", "\\\n  \n", "\\\n\\\n"] {
        let file = format!("[submodule \"a\"]\npath = p\nurl = x  {end}");
        let key = "submodule.a.url".to_owned();
        let listed = listed_by_git(&file).unwrap();
        assert_eq!(listed[1], (key, Some("x  ".to_owned())), "{end:?}");
        assert_eq!(
            read(&file, &[("p", "1")]).unwrap()["p"].source,
            git("x  ", "1")
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 2))]

    #[test]
    fn the_syntax_is_gits(file in config()) {
        let read = read(&file, &[("p", "1")]);
        let listed = listed_by_git(&file);
        match (&read, &listed) {
            (Ok(read), Some(listed)) => {
                let values = |key: &str| listed.iter().find(|(found, _)| found == key);
                let mut urls = ["a", "b", "c"].into_iter().filter_map(|name| {
                    let path = values(&format!("submodule.{name}.path"))?;
                    (path.1.as_deref() == Some("p")).then_some(())?;
                    values(&format!("submodule.{name}.url"))?.1.clone()
                });
                let expected = urls.next();
                let found = match &read["p"].source {
                    Source::Git { url, .. } => Some(url.clone()),
                    _ => None,
                };
                // Before git 2.45 every blank inside of a value was read as a space.
                let spaced = |url: Option<String>| url.map(|url| url.replace(['\t', '\r'], " "));
                prop_assert_eq!(spaced(found), spaced(expected), "{:?}", listed);
            }
            (Ok(read), None) => prop_assert!(false, "git refuses it: {:?}", read),
            (Err(error), Some(listed)) if matches!(error.problem, Problem::Syntax(_)) => {
                let outside = error.to_string().contains("no section");
                prop_assert!(outside, "{}, but git lists {:?}", error, listed);
            }
            (Err(_), _) => {}
        }
    }
}
