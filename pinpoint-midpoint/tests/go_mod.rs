//! The `go.mod` reader, against the Go Modules Reference.

use std::collections::BTreeMap;

use pinpoint_midpoint::manifest::{Dependency, GoMod, Manifest, ManifestError, Problem, Source};

fn read(file: &str) -> Result<BTreeMap<String, Dependency>, ManifestError> {
    GoMod.read(file, &BTreeMap::new())
}

fn git(url: &str, revision: &str) -> Source {
    Source::Git {
        url: url.into(),
        revision: revision.into(),
    }
}

fn package(name: &str, version: &str) -> Source {
    Source::Package {
        registry: "go".into(),
        name: name.into(),
        version: version.into(),
    }
}

const REALISTIC: &str = r#"
// The module that is built.
module example.org/tool/v2 // its major version is 2

go 1.22.1

toolchain go1.22.3

godebug default=go1.21

require (
	github.com/team/codec v1.4.0
	"github.com/team/fonts/noto/v2" v2.1.0-rc.1
	golang.org/x/text v0.14.0
	gopkg.in/yaml.v3 v3.0.1
	k8s.example/api v0.29.0 // indirect
)

require github.com/team/shaper v0.0.0-20240102030405-64a4b5b3f4e7 // indirect

exclude github.com/team/codec v1.3.0

replace(
	github.com/team/fonts/noto/v2 => ../noto
	golang.org/x/text v0.14.0 => github.com/fork/text v0.14.1-0.20240203040506-0123456789ab
	golang.org/x/text => golang.org/x/text v0.1.0
	example.org/deep v1.0.0 => github.com/team/deep v1.0.1
)

retract [v2.0.0, v2.0.3] // broken
retract (
	v2.1.0
)

tool example.org/tool/v2/cmd/generate
"#;

#[test]
fn a_whole_file_is_read() {
    let dependencies = read(REALISTIC).expect("it is sound");
    let sources: Vec<(&str, Source)> = dependencies
        .iter()
        .map(|(path, dependency)| (path.as_str(), dependency.source.clone()))
        .collect();
    assert_eq!(
        sources,
        [
            (
                "example.org/deep@v1.0.0",
                git("https://github.com/team/deep", "v1.0.1")
            ),
            (
                "github.com/team/codec",
                git("https://github.com/team/codec", "v1.4.0")
            ),
            ("github.com/team/fonts/noto/v2", package("../noto", "local")),
            (
                "github.com/team/shaper",
                git("https://github.com/team/shaper", "64a4b5b3f4e7")
            ),
            (
                "golang.org/x/text",
                git("https://github.com/fork/text", "0123456789ab")
            ),
            (
                "gopkg.in/yaml.v3",
                git("https://github.com/go-yaml/yaml", "v3.0.1")
            ),
            ("k8s.example/api", package("k8s.example/api", "v0.29.0")),
        ]
    );
}

#[test]
fn a_module_path_and_version_lead_to_a_repository_and_revision() {
    let cases = [
        (
            "github.com/a/b",
            "v1.2.3",
            Some(("https://github.com/a/b", "v1.2.3")),
        ),
        (
            "github.com/a/b/v2",
            "v2.0.0",
            Some(("https://github.com/a/b", "v2.0.0")),
        ),
        (
            "github.com/a/b/c/d",
            "v0.1.0",
            Some(("https://github.com/a/b", "c/d/v0.1.0")),
        ),
        (
            "github.com/a/b/c/v3",
            "v3.1.0",
            Some(("https://github.com/a/b", "c/v3.1.0")),
        ),
        (
            "github.com/a/b",
            "v2.0.0+incompatible",
            Some(("https://github.com/a/b", "v2.0.0")),
        ),
        (
            "bitbucket.org/a/b/c",
            "v1.0.0",
            Some(("https://bitbucket.org/a/b", "c/v1.0.0")),
        ),
        (
            "gitlab.com/a/b",
            "v1.0.0",
            Some(("https://gitlab.com/a/b", "v1.0.0")),
        ),
        (
            "golang.org/x/tools/gopls",
            "v0.15.0",
            Some(("https://go.googlesource.com/tools", "gopls/v0.15.0")),
        ),
        (
            "gopkg.in/a/b.v2",
            "v2.1.0",
            Some(("https://github.com/a/b", "v2.1.0")),
        ),
        (
            "h.example/a/b.git/c",
            "v1.0.0",
            Some(("https://h.example/a/b.git", "c/v1.0.0")),
        ),
        (
            "h.example/b.git",
            "v1.0.0",
            Some(("https://h.example/b.git", "v1.0.0")),
        ),
        // The three forms of a pseudo-version.
        (
            "github.com/a/b/c",
            "v0.0.0-20191109021931-daa7c04131f5",
            Some(("https://github.com/a/b", "daa7c04131f5")),
        ),
        (
            "github.com/a/b",
            "v1.2.3-pre.0.20191109021931-daa7c04131f5",
            Some(("https://github.com/a/b", "daa7c04131f5")),
        ),
        (
            "github.com/a/b",
            "v1.2.4-0.20191109021931-daa7c04131f5",
            Some(("https://github.com/a/b", "daa7c04131f5")),
        ),
        (
            "github.com/a/b",
            "v4.0.0-20191109021931-daa7c04131f5+incompatible",
            Some(("https://github.com/a/b", "daa7c04131f5")),
        ),
        // A version that only looks like one is a pre-release, and has a tag.
        (
            "github.com/a/b",
            "v1.2.3-20191109021931-daa7c04131f5",
            Some((
                "https://github.com/a/b",
                "v1.2.3-20191109021931-daa7c04131f5",
            )),
        ),
        (
            "github.com/a/b",
            "v1.2.3-0.2019-daa7c04131f5",
            Some(("https://github.com/a/b", "v1.2.3-0.2019-daa7c04131f5")),
        ),
        // Only the host knows.
        ("gitlab.com/a/b/c", "v1.0.0", None),
        ("go.example/a/b", "v1.0.0", None),
        ("github.com/a", "v1.0.0", None),
        ("github.com/a/", "v1.0.0", None),
        ("gopkg.in/a", "v1.0.0", None),
        // A branch floats.
        ("github.com/a/b", "main", None),
        ("github.com/a/b", "v1", None),
    ];
    for (path, version, expected) in cases {
        let dependencies = read(&format!("require {path} {version}\n")).expect("it is sound");
        let expected = match expected {
            Some((url, revision)) => git(url, revision),
            None => package(path, version),
        };
        assert_eq!(dependencies[path].source, expected, "{path} {version}");
        assert_eq!(dependencies[path].nested, [""; 0]);
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let cases = [
        ("require a", 1, 1, "syntax"),
        ("require a v1 v2", 1, 1, "syntax"),
        ("require (\n\ta\n)", 1, 1, "syntax"),
        ("\nrequire (\n a v1.0.0", 2, 1, "syntax"),
        ("replace a v1.0.0 b", 1, 1, "syntax"),
        ("replace a => b", 1, 1, "syntax"),
        ("replace a => ./b v1.0.0", 1, 1, "syntax"),
        ("require \"a v1.0.0", 1, 9, "syntax"),
        ("require a v1.0.0 /* why */", 1, 18, "syntax"),
        ("  depend a v1.0.0", 1, 3, "unsupported"),
        (")", 1, 1, "unsupported"),
        ("require \"a\\n\" v1.0.0", 1, 9, "unsupported"),
        ("require a v1.0.0\nrequire a v1.1.0", 2, 11, "meaning"),
        (
            "replace a => b v1.0.0\nreplace a => c v1.1.0",
            2,
            1,
            "meaning",
        ),
    ];
    for (file, line, column, kind) in cases {
        let error = read(file).expect_err(file);
        let found = match error.problem {
            Problem::Syntax(_) => "syntax",
            Problem::Meaning(_) => "meaning",
            Problem::Unsupported(_) => "unsupported",
            Problem::TooLarge { .. } => "too large",
            other => panic!("{other}"),
        };
        assert_eq!(
            (error.line, error.column, found),
            (line, column, kind),
            "{file:?}: {error}"
        );
    }
}
