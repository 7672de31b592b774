//! The `DEPS` reader, against gclient's schema and code.

use std::collections::{BTreeMap, BTreeSet};

use pinpoint_midpoint::manifest::{Dependency, Deps, Manifest, ManifestError, Problem, Source};

fn read(file: &str) -> Result<BTreeMap<String, Dependency>, ManifestError> {
    Deps.read(file, &BTreeMap::new())
}

fn sound(file: &str) -> BTreeMap<String, Dependency> {
    read(file).unwrap_or_else(|error| panic!("{error}\n{file}"))
}

fn git(url: &str, revision: &str) -> Source {
    Source::Git {
        url: url.into(),
        revision: revision.into(),
    }
}

fn package(registry: &str, name: &str, version: &str) -> Source {
    Source::Package {
        registry: registry.into(),
        name: name.into(),
        version: version.into(),
    }
}

/// The text that an expression evaluates to, read as a URL at revision `r`.
fn text(vars: &str, expression: &str) -> String {
    let file = format!("vars = {{{vars}}}\ndeps = {{'p': 'https://h/' + {expression} + '@r'}}\n");
    match &sound(&file)["p"].source {
        Source::Git { url, .. } => url.trim_start_matches("https://h/").to_owned(),
        other => panic!("{other:?} is no repository"),
    }
}

const REALISTIC: &str = r#"
# What the browser is built from.
use_relative_paths = False

git_dependencies = "SYNC"

gclient_gn_args_file = 'src/build/config/gclient_args.gni'
gclient_gn_args = [
  'build_with_browser',
  'checkout_plugins',
]

vars = {
  'build_with_browser': True,
  # Off, but for who asks for it.
  'checkout_plugins': False,
  'checkout_models' : 'checkout_plugins and not checkout_android',
  'board': Str(''),
  'git': 'https://git.example',
  "font_git": Var("git") + '/fonts',
  'engine_revision': '64a4b5b3f4e7c1a2d9e8f70615243342516071f8',
  # Three lines so that
  # two rolls
  # do not conflict.
  'codec_version': 'version:2@1.4.0',
}

allowed_hosts = ['git.example', 'fonts.example']

deps = {
  'src/engine': Var('git') + '/engine.git' + '@' + Var('engine_revision'),
  'src/third_party/{board}shaper':
    '{git}/shaper.git@' + 'cf8c9d1e2f30415263748596a7b8c9dae0f10213',
  'src/third_party/fonts': {
      'url': Var('font_git') + '/noto.git@v2.1',
      'condition': 'checkout_linux and checkout_models',
  },
  'src/third_party/codec': {
      'packages': [
          {
              'package': 'tools/codec/${{platform}}',
              'version': Var('codec_version'),
          },
          {'package': 'tools/codec/headers', 'version': 'latest'},
      ],
      'condition': '(host_os == "linux" or host_os in ("mac", "win")) and build_with_browser',
      'dep_type': 'cipd',
  },
  'src/third_party/node': {
      'dep_type': 'gcs',
      'bucket': 'browser-node',
      'objects': [
          {
              'object_name': '0a1b/node-linux.tar.gz',
              'sha256sum': '8c1f',
              'size_bytes': 1_048_576,
              'generation': 1737999137081655,
              'output_file': 'node.tar.gz',
              'condition': 'host_os == "linux"',
          },
          {'object_name': '0a1b/node-mac.tar.gz', 'generation': 0x10},
      ],
  },
  'src/removed': None,
  'src/also_removed': {'url': None},
}

deps_os = {
  'unix': {
    'src/third_party/cups': Var('git') + '/cups.git@0123456789',
  },
  'win': {
    'src/third_party/gdi': Var('git') + '/gdi.git@89ab',
    'src/third_party/cups': Var('git') + '/cups.git@0123456789',
    'src/engine': '{git}/engine.git@{engine_revision}',
    'src/ignored': None,
  },
}

recursedeps = [
  'src/engine',
  # Its own file, under another name.
  ('src/third_party/fonts', 'DEPS.browser'),
  ['src/third_party/gdi', 'DEPS'],
  'src/nowhere',
]

include_rules = ["+base", "-src/third_party", '!{not formatted}']

hooks = [
  {
    'name': 'landmines',
    'pattern': '.',
    'condition': 'host_os != "win"',
    'action': ['python3', 'src/build/landmines.py', '--limit=' + '%d' % 10],
  },
]
"#;

#[test]
fn a_whole_file_is_read() {
    let dependencies = sound(REALISTIC);
    let of = |path: &str| dependencies[path].clone();
    let paths: Vec<&str> = dependencies.keys().map(String::as_str).collect();
    assert_eq!(
        paths,
        [
            "src/engine",
            "src/third_party/codec:tools/codec/${platform}",
            "src/third_party/codec:tools/codec/headers",
            "src/third_party/cups",
            "src/third_party/fonts",
            "src/third_party/gdi",
            "src/third_party/node",
            "src/third_party/shaper",
        ]
    );
    assert_eq!(
        of("src/engine"),
        Dependency {
            nested: vec!["DEPS".into()],
            ..git(
                "https://git.example/engine.git",
                "64a4b5b3f4e7c1a2d9e8f70615243342516071f8"
            )
            .into()
        }
    );
    assert_eq!(
        of("src/third_party/shaper").source,
        git(
            "https://git.example/shaper.git",
            "cf8c9d1e2f30415263748596a7b8c9dae0f10213"
        )
    );
    assert_eq!(
        of("src/third_party/fonts"),
        Dependency {
            condition: Some(
                "checkout_linux and checkout_models where \
                 checkout_models = checkout_plugins and not checkout_android, \
                 checkout_plugins = False"
                    .into()
            ),
            nested: vec!["DEPS.browser".into()],
            source: git("https://git.example/fonts/noto.git", "v2.1"),
        }
    );
    let codec = of("src/third_party/codec:tools/codec/${platform}");
    assert_eq!(
        codec.source,
        package("cipd", "tools/codec/${platform}", "version:2@1.4.0")
    );
    assert_eq!(
        codec.condition.as_deref(),
        Some(
            "(host_os == \"linux\" or host_os in (\"mac\", \"win\")) and build_with_browser \
             where build_with_browser = True"
        )
    );
    assert_eq!(
        of("src/third_party/node").source,
        package(
            "gcs",
            "browser-node",
            "0a1b/node-linux.tar.gz#1737999137081655, 0a1b/node-mac.tar.gz#16"
        )
    );
    assert_eq!(
        of("src/third_party/cups").condition.as_deref(),
        Some("(checkout_win) or (checkout_linux)")
    );
    let gdi = of("src/third_party/gdi");
    assert_eq!(gdi.condition.as_deref(), Some("checkout_win"));
    assert_eq!(gdi.nested, ["DEPS"]);
}

/// The paths at which two versions differ.
fn differing<'a>(
    before: &'a BTreeMap<String, Dependency>,
    after: &'a BTreeMap<String, Dependency>,
) -> Vec<&'a str> {
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let differing = paths
        .into_iter()
        .filter(|path| before.get(*path) != after.get(*path));
    differing.map(String::as_str).collect()
}

#[test]
fn a_roll_is_one_change_and_a_flipped_variable_another() {
    let before = sound(REALISTIC);
    let rolled = sound(&REALISTIC.replace("64a4b5b3", "75a4b5b3"));
    assert_eq!(differing(&before, &rolled), ["src/engine"]);

    let flipped =
        sound(&REALISTIC.replace("'checkout_plugins': False", "'checkout_plugins': True"));
    let path = "src/third_party/fonts";
    assert_eq!(differing(&before, &flipped), [path]);
    let (before, after) = (&before[path], &flipped[path]);
    assert_eq!(before.source, after.source);
}

#[test]
fn an_empty_file_names_nothing() {
    for file in [
        "",
        "\n",
        "# only a comment",
        "\u{feff}\r\n",
        "deps = {}",
        "vars = {}\n",
    ] {
        assert_eq!(sound(file), BTreeMap::new(), "{file:?}");
    }
}

#[test]
fn strings_are_pythons() {
    let cases = [
        (r#""double""#, "double"),
        ("'side' \"by\"\n  'side'", "sidebyside"),
        ("'''tri'ple'''", "tri'ple"),
        ("\"\"\"two\r\nlines\"\"\"", "two\nlines"),
        (r"r'raw\n'", r"raw\n"),
        (r"R'quo\'te'", r"quo\'te"),
        (r"u'prefix'", "prefix"),
        (r"'\x41\u00b5\U0001F600\101\60z\\\''", "Aµ😀A0z\\'"),
        (r"'un\known'", r"un\known"),
        ("'con\\\ntinued'", "continued"),
        ("('paren'\n # comment\n 'theses')", "parentheses"),
        ("'a' \\\n + 'b'", "ab"),
        ("''", ""),
    ];
    for (expression, expected) in cases {
        assert_eq!(text("", expression), expected, "{expression}");
    }
}

#[test]
fn expressions_mean_what_gclient_makes_of_them() {
    let vars =
        "'a': 'A', 'inner': '{a}i', 'outer': Var('inner') + 'o', 'yes': True, 'raw': Str('s')";
    let cases = [
        ("Var('a')", "A"),
        ("Var('a',)", "A"),
        ("'{a}/{yes}/{raw}'", "A/True/s"),
        ("Var('raw')", "s"),
        ("Var('outer')", "Aio"),
        ("'{inner}'", "Ai"),
        ("'%s-%s%%' % ('x', Var('a'))", "x-A%"),
        ("'%s' % 'one'", "one"),
        ("'%d%s' % (7, 8)", "78"),
        ("'a' + 'b' % () + 'c'", "abc"),
        ("'%s%%s' % 'x' % 'y'", "xy"),
        ("'{{a}}'", "A"),
        ("Str('b')", "b"),
    ];
    for (expression, expected) in cases {
        assert_eq!(text(vars, expression), expected, "{expression}");
    }
}

#[test]
fn a_revision_is_what_follows_the_last_at_sign_of_the_path() {
    let cases = [
        ("https://h/a@r", Some(("https://h/a", "r"))),
        (
            "https://u@h/a@refs/heads/x",
            Some(("https://u@h/a", "refs/heads/x")),
        ),
        ("ssh://u@h:22/~/a@x@y", Some(("ssh://u@h:22/~/a", "x@y"))),
        ("git@h:a/b.git@r", Some(("git@h:a/b.git", "r"))),
        ("file:///srv/a@r", Some(("file:///srv/a", "r"))),
        ("https://h/a", None),
        ("https://h/a@", None),
        ("https://u@h/a", None),
        ("git@h:a/b.git", None),
        ("/sibling.git@r", None),
    ];
    for (written, expected) in cases {
        let source = sound(&format!("deps = {{'p': '{written}'}}"))["p"]
            .source
            .clone();
        match expected {
            Some((url, revision)) => assert_eq!(source, git(url, revision)),
            None => assert!(
                matches!(&source, Source::Package { registry, .. } if registry == "git"),
                "{written}: {source:?}"
            ),
        }
    }
}

#[test]
fn what_depends_on_the_machine_stays_unexpanded_or_is_refused() {
    let dependencies = sound(
        "deps = {'p/{host_os}': {'dep_type': 'cipd', 'packages': \
         [{'package': 'tool/{host_cpu}', 'version': 'v'}]}}",
    );
    assert_eq!(
        dependencies["p/{host_os}:tool/{host_cpu}"].source,
        package("cipd", "tool/{host_cpu}", "v")
    );
    assert!(matches!(
        read("deps = {'p': 'https://h/{host_os}@r'}")
            .expect_err("the URL is not known")
            .problem,
        Problem::Unsupported(_)
    ));
}

/// Checks the place and the kind of a file's error, and that its message names `part`.
fn assert_refused(file: &str, line: usize, column: usize, kind: &str, part: &str) {
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
    assert!(error.to_string().contains(part), "{file:?}: {error}");
}

#[test]
fn what_breaks_the_grammar_is_refused_with_its_place() {
    let cases = [
        ("deps = {\n  'a': 'b'\n  'c': 'd',\n}", 3, 6, "`,` or `}`"),
        ("deps = {'a': 'b'", 1, 17, "the end"),
        ("deps = {'a': 'b'))", 1, 17, "`,` or `}`"),
        ("deps = {'a' 'b'}", 1, 9, "set"),
        ("deps = [1 2]", 1, 11, "a number"),
        ("deps =\n{}", 1, 7, "the end of the line"),
        ("deps = {} {}", 1, 11, "the end of the line"),
        ("  deps = {}", 1, 3, "indented"),
        ("x = 'a\n'", 1, 5, "does not end on its line"),
        ("x = '''a\n", 1, 5, "does not end"),
        ("x = 'a", 1, 5, "does not end"),
        ("µ = 1", 1, 1, "ASCII"),
        ("x = '\\x4'", 1, 6, "too few digits"),
        ("x = '\\U00110000'", 1, 6, "no character"),
        ("x = 012", 1, 5, "is not a number"),
        ("x = 1__0", 1, 5, "is not a number"),
        ("x = 1a", 1, 5, "is not a number"),
        ("x = $", 1, 5, "`$`"),
        ("x = 'a' \\ 'b'", 1, 9, "backslash"),
        ("None = 1", 1, 1, "cannot be assigned to"),
        ("x = Var('a' 'b', 'c')", 1, 18, "one argument"),
        ("x = ,", 1, 5, "a value"),
        ("x = (1, , 2)", 1, 9, "a value"),
    ];
    for (file, line, column, part) in cases {
        let error = read(file).expect_err(file);
        let kind = match &error.problem {
            Problem::Unsupported(_) => "unsupported",
            _ => "syntax",
        };
        assert_refused(file, line, column, kind, part);
    }
}

#[test]
fn what_is_python_but_not_of_the_subset_is_refused_with_its_place() {
    let cases = [
        ("import os", 1, 1, "statement"),
        ("'a docstring'", 1, 1, "statement"),
        ("if True:\n  x = 1", 1, 1, "statement"),
        ("deps['a'] = 'b'", 1, 1, "statement"),
        ("deps = {}\ndeps.update({})", 2, 1, "statement"),
        ("x += 1", 1, 1, "statement"),
        ("a = b = 1", 1, 5, "the variable `b`"),
        ("a = 1, 2", 1, 6, "tuple without parentheses"),
        ("x = other", 1, 5, "the variable `other`"),
        ("x = open('f')", 1, 5, "a call of `open`"),
        ("x = [a for a in b]", 1, 6, "the variable `a`"),
        ("x = ['a' for a in b]", 1, 10, "`for`"),
        ("x = 'a' if True else 'b'", 1, 9, "`if`"),
        ("x = 'a'.format()", 1, 8, "operator `.`"),
        ("x = 1 - 1", 1, 7, "operator `-`"),
        ("x = -1", 1, 5, "operator `-`"),
        ("x = 1.5", 1, 5, "not an integer"),
        ("x = 1e5", 1, 5, "not an integer"),
        ("x = 9999999999999999999", 1, 5, "63 bits"),
        ("x = f'{a}'", 1, 5, "prefix `f`"),
        ("x = b'a'", 1, 5, "prefix `b`"),
        ("x = '\\N{BULLET}'", 1, 6, "by its name"),
        ("x = '\\ud800'", 1, 6, "surrogate"),
        ("x = {'a', 'b'}", 1, 6, "a set"),
        ("x = {**a}", 1, 6, "operator `**`"),
        ("deps = {'p': '%5s' % 'x'}", 1, 22, "conversion `%5`"),
        ("deps = {'p': '{a!r}'}", 1, 14, "more than the name"),
        ("deps = {'p': '{a.b}'}", 1, 14, "more than the name"),
        (
            "deps = {'p': {'url': 'u', 'dep_type': 'svn'}}",
            1,
            14,
            "`svn`",
        ),
        (
            "deps = {'p': {'url': 'u', 'depth': 1}}",
            1,
            36,
            "the key `depth`",
        ),
    ];
    for (file, line, column, part) in cases {
        assert_refused(file, line, column, "unsupported", part);
    }
}

#[test]
fn what_means_nothing_is_refused_with_its_place() {
    let cases = [
        ("x = 1\nx = 2", 2, 1, "assigned twice"),
        ("deps = {'p': 'a',\n 'p': 'b'}", 2, 2, "a key twice"),
        (
            "deps = {1: 'a'}",
            1,
            9,
            "a string is needed here, not a number",
        ),
        ("deps = []", 1, 8, "a dictionary is needed here, not a list"),
        ("deps = {'p': 1}", 1, 14, "a URL or a dictionary"),
        ("deps = {'p': Var('nothing')}", 1, 18, "`nothing`"),
        ("deps = {'p': '{nothing}'}", 1, 14, "`nothing`"),
        ("deps = {'p': '{}'}", 1, 14, "used as a variable"),
        ("deps = {'p': 'a}'}", 1, 14, "single `}`"),
        ("deps = {'p': 'a{'}", 1, 14, "single `{`"),
        (
            "deps = {'p': 'a' + 1}",
            1,
            20,
            "a number cannot be added to a string",
        ),
        ("deps = {'p': '%s' % ()}", 1, 21, "fewer values"),
        ("deps = {'p': '%s' % ('a', 'b')}", 1, 21, "more values"),
        ("deps = {'p': 'a%' % ()}", 1, 21, "single `%`"),
        ("x = Str(1)", 1, 9, "string literal"),
        ("deps = {'p': Var(1)}", 1, 18, "a string is needed"),
        ("vars = {'a': []}", 1, 14, "a string, True or False"),
        (
            "vars = {'b': True}\ndeps = {'p': 'x' + Var('b')}",
            2,
            20,
            "cannot be added",
        ),
        ("deps = {'p': {}}", 1, 14, "`p` has no `url`"),
        ("deps = {'p': {'dep_type': 'cipd'}}", 1, 14, "no `packages`"),
        (
            "deps = {'p': {'dep_type': 'gcs', 'bucket': 'b', 'objects': [{}]}}",
            1,
            61,
            "object_name",
        ),
        (
            "deps = {'p': 'https://h/a@1'}\ndeps_os = {'win': {'p': 'https://h/a@2'}}",
            2,
            25,
            "named twice",
        ),
        (
            "recursedeps = [('a', 'b', 'c')]",
            1,
            16,
            "the name of a file",
        ),
        (
            "deps = {'a': 'b', '{p}': 'c'}\nvars = {'p': 'a'}",
            1,
            19,
            "a key twice",
        ),
    ];
    for (file, line, column, part) in cases {
        assert_refused(file, line, column, "meaning", part);
    }
}

#[test]
fn a_condition_must_be_one() {
    let file = |condition: &str| {
        format!("deps = {{'p': {{'url': 'https://h/a@r', 'condition': '{condition}'}}}}")
    };
    for condition in [
        "checkout_linux",
        "not a and (b or not (c))",
        "a == \"x\" \"y\"",
        "a in (\"x\", \"y\",) or b != c",
        "True",
        "",
    ] {
        sound(&file(condition));
    }
    for condition in [
        "a and",
        "and a",
        "a b",
        "(a",
        "a)",
        "a == b == c",
        "a = b",
        "1",
        "a not in b",
        "f(a)",
        "a is b",
        "a.b",
    ] {
        let error = read(&file(condition)).expect_err(condition);
        assert_eq!((error.line, error.column), (1, 14), "{condition}");
    }
}

#[test]
fn depth_size_and_growth_are_bounded() {
    let nested = |depth: usize| format!("x = {}{}", "[".repeat(depth), "]".repeat(depth));
    sound(&nested(100));
    assert_refused(&nested(101), 1, 106, "too large", "100 levels of brackets");
    assert_refused(
        &format!("x = {}", "(".repeat(1_000_000)),
        1,
        106,
        "too large",
        "levels",
    );
    assert_refused(
        &format!("x = {}", "Var(".repeat(100_000)),
        1,
        409,
        "too large",
        "levels",
    );
    let condition = format!(
        "deps = {{'p': {{'url': 'https://h/a@r', 'condition': '{}'}}}}",
        "(".repeat(1000)
    );
    assert_refused(&condition, 1, 14, "too large", "levels");
    // Long chains are not deep.
    sound(&format!("x = 1{}", " + 1".repeat(20_000)));
    sound(&format!("x = 'a'{}", " % ()".repeat(20_000)));
    assert_refused(
        &"#".repeat((4 << 20) + 1),
        1,
        1,
        "too large",
        "4194304 bytes",
    );
    // Each holds the one before ten times: 10^8 bytes.
    let mut vars = String::from("'v0': '0123456789'");
    for level in 1..8 {
        let held = format!("{{v{}}}", level - 1).repeat(10);
        vars.push_str(&format!(", 'v{level}': '{held}'"));
    }
    let grown = "{v7}".repeat(1000);
    let grown = format!(
        "vars = {{{vars}}}\ndeps = {{'p': '{}'}}",
        grown + &"x".repeat(1_000_000)
    );
    let error = read(&grown.replace("{v7}", &"{v7}".repeat(100))).expect_err("it grows");
    assert!(matches!(error.problem, Problem::TooLarge { .. }), "{error}");
}
