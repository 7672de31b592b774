//! The rules of configurations, one by one.

use super::*;

fn read(files: &[(&str, &str)]) -> Result<Bots, ConfigErrors> {
    let files: Vec<_> = files
        .iter()
        .map(|(name, text)| ConfigFile { name, text })
        .collect();
    Bots::read(&files)
}

/// The errors are these, each with its place.
#[track_caller]
fn refused(files: &[(&str, &str)], expected: &[&str]) {
    let errors = read(files).unwrap_err();
    let errors: Vec<_> = errors.iter().map(ConfigError::to_string).collect();
    assert_eq!(errors.len(), expected.len(), "{errors:#?}");
    for (error, expected) in errors.iter().zip(expected) {
        assert!(error.starts_with(expected), "{error}\nis not {expected}");
    }
}

const SWARMING: &str = r#"
    browser = "release"
    bucket = "luci.chrome.try"
    builder = "Linux Builder Perf"
    repository = "https://example.org/tool.git"
    swarming_server = "https://swarming.example.org"
    dimensions = [{ key = "os", value = "Ubuntu" }, { key = "os", value = "Linux" }]
"#;

#[test]
fn the_builtin_files_follow_the_rules() {
    let bots = Bots::builtin();
    assert!(std::ptr::eq(bots, Bots::builtin()));
    // Those that were published, and this machine.
    assert_eq!(bots.iter().count(), 53 + 1);
    let internal = bots.iter().filter(|bot| bot.set == BotSet::Internal);
    assert_eq!(internal.count(), 12);

    let linux = bots.get("linux-perf").unwrap();
    let Workers::Swarming(swarming) = linux.workers else {
        panic!("{linux:?}");
    };
    assert_eq!(swarming.builder, "Linux Builder Perf");
    assert_eq!(swarming.dimensions[0].key, "pool");
    assert_eq!(bots.get("local").unwrap().workers, &Workers::Local);

    let alias = bots.get("Win 10 Perf").unwrap();
    assert_eq!(alias.configured_as, "win-10-perf");
    assert_eq!(alias.set, BotSet::External);
    assert_eq!(
        alias.workers,
        bots.get("win-10-perf").unwrap().workers,
        "{alias:?}"
    );
    assert!(!linux.out_of_resources && !linux.no_culprit_finder);
}

#[test]
fn bots_with_few_machines_and_arguments_of_their_own_are_as_published() {
    let bots = Bots::builtin();
    assert!(
        bots.get("android-pixel-fold-perf")
            .unwrap()
            .out_of_resources
    );
    let mac = bots.get("mac-m1-pro-perf").unwrap();
    assert!(mac.no_culprit_finder && !mac.out_of_resources);
    let arguments = |bot: &str| match bots.get(bot).unwrap().workers {
        Workers::Swarming(swarming) => swarming.extra_test_args.clone(),
        other => panic!("{other:?}"),
    };
    let own = ["--extra-browser-args=--disable-gpu-shader-disk-cache"];
    assert_eq!(arguments("linux-perf-cq"), own);
    assert!(arguments("linux-perf").is_empty());
    for benchmark in bots.benchmarks().values() {
        assert!(benchmark.bots.contains(&"linux-perf-pgo".to_owned()));
        assert!(!benchmark.bots.contains(&"linux-perf".to_owned()));
    }
}

#[test]
fn targets_as_published() {
    let bots = Bots::builtin();
    for (bot, benchmark, target) in [
        ("linux-perf", "speedometer", "performance_test_suite"),
        ("linux-perf", "webrtc_perf_tests", "webrtc_perf_tests"),
        (
            "android-go-wembley-perf",
            "speedometer",
            "performance_test_suite_android_trichrome_chrome_google_bundle",
        ),
        (
            "android-pixel4_webview-perf",
            "b",
            "performance_webview_test_suite",
        ),
        ("Win 10 Perf", "b", "performance_test_suite"),
    ] {
        assert_eq!(bots.target(bot, benchmark), Ok(target));
    }
    let unknown = bots.target("linux-pref", "b").unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "there is no bot `linux-pref`; did you mean `linux-perf`, `linux-perf-cq` or `linux-perf-pgo`?"
    );
}

#[test]
fn names_that_are_nearly_right() {
    let bots = Bots::builtin();
    let near = |name: &str| bots.get(name).unwrap_err().near;
    assert_eq!(near("LINUX PERF")[0], "linux-perf");
    assert_eq!(near("pixel6-perf")[0], "android-pixel6-perf");
    assert!(near("zzz").is_empty());
    assert!(near(&"linux-perf".repeat(10_000)).is_empty());
    let message = bots.get("zzz").unwrap_err().to_string();
    assert_eq!(message, "there is no bot `zzz`");
}

#[test]
fn external_bots_stand_alone() {
    let bots = Bots::builtin();
    let external = bots.external();
    assert!(bots.get("win-victus-perf-cbb").is_ok());
    assert!(external.get("win-victus-perf-cbb").is_err());
    assert_eq!(external.get("win-perf-cq"), bots.get("win-perf-cq"));
    assert!(external.iter().all(|bot| bot.set == BotSet::External));

    let internal = format!(
        "set = 'internal'\nout_of_resources = ['hidden', 'seen']\n\
         [bots.hidden]\n{SWARMING}\n[benchmarks.b]\nbots = ['hidden', 'seen']\n\
         [benchmarks.c]\nbots = ['hidden']"
    );
    let files = [("a", "[bots.seen]\nlocal = true"), ("b", &*internal)];
    let external = read(&files).unwrap().external();
    assert_eq!(external.benchmarks()["b"].bots, ["seen"]);
    assert!(!external.benchmarks().contains_key("c"));
    assert!(external.get("seen").unwrap().out_of_resources);
}

#[test]
fn an_alias_is_out_of_resources_when_its_bot_is() {
    let text =
        "out_of_resources = ['lab']\n[bots.lab]\nmachines = ['a']\n[bots.old]\nalias = 'lab'";
    let bots = read(&[("f", text)]).unwrap();
    assert!(bots.get("old").unwrap().out_of_resources);
}

#[test]
fn toml_and_json_say_the_same() {
    let toml = format!("out_of_resources = ['a']\n[bots.a]\n{SWARMING}\n[bots.b]\nalias = 'a'");
    let json = r#"{
        "out_of_resources": ["a"],
        "bots": {
            "a": {
                "browser": "release",
                "bucket": "luci.chrome.try",
                "builder": "Linux Builder Perf",
                "repository": "https://example.org/tool.git",
                "swarming_server": "https://swarming.example.org",
                "dimensions": [
                    { "key": "os", "value": "Ubuntu" },
                    { "key": "os", "value": "Linux" }
                ]
            },
            "b": { "alias": "a" }
        }
    }"#;
    let read = |file| read(&[file]).unwrap();
    assert_eq!(read(("bots.toml", &toml)), read(("bots.JSON", json)));
}

#[test]
fn a_bot_is_an_alias_or_complete() {
    refused(
        &[("f", "[bots.a]\n\n[bots.'b c']\nbrowser = 'x'")],
        &[
            "f:1: bots.a: missing: `browser`, `bucket`, `builder`, `dimensions`, `repository`, \
             `swarming_server`; a bot is complete, or has only an `alias`",
            "f:3: bots.b c: missing: `bucket`, `builder`, `dimensions`, `repository`, \
             `swarming_server`; a bot is complete",
        ],
    );
    refused(
        &[(
            "f",
            "[bots.a]\nalias = 'c'\nrepository = 'r'\n\
             [bots.b]\nlocal = true\nmachines = ['m']\n\
             [bots.c]\nmachines = ['m']\nbrowser = 'x'\n[bots.d]\nlocal = false",
        )],
        &[
            "f:1: bots.a: `repository` does not go with `alias`",
            "f:4: bots.b: `machines` does not go with `local`",
            "f:7: bots.c: `browser` does not go with `machines`",
            "f:10: bots.d: `local` is true or left out",
        ],
    );
}

#[test]
fn values_are_of_their_types_and_not_empty() {
    let dimensions = SWARMING.replace(r#"{ key = "os", value = "Ubuntu" }"#, "{ key = 'os' }");
    for (text, expected) in [
        (
            "[bots.a]\nmachines = 'm'",
            "f:2: invalid type: string \"m\", expected a sequence in `bots.a.machines`",
        ),
        ("[bots.a]\nalias = 5", "f:2: invalid type: integer `5`"),
        (
            "[bots.a]\nmachines = ['m', true]",
            "f:2: invalid type: boolean `true`, expected a string",
        ),
        (
            "[bots.a]\nrepository = ' '",
            "f:2: this is empty; fill it in or leave it out in `bots.a.repository`",
        ),
        ("[bots.a]\nmachines = []", "f:2: this is empty"),
        (
            &format!("[bots.a]{dimensions}"),
            "f:7: missing field `value` in `bots.a.dimensions`",
        ),
    ] {
        refused(&[("f", text)], &[expected]);
    }
}

#[test]
fn no_list_takes_the_place_of_a_table() {
    let dimensions = SWARMING.replace(r#"{ key = "os", value = "Ubuntu" }"#, "['os', 'Ubuntu']");
    for (text, line, field) in [
        ("bots.a = ['b']", 1, "bots.a"),
        ("benchmarks.b = [['s'], ['a']]", 1, "benchmarks.b"),
        ("targets = [{}, {}, []]", 1, "targets"),
        ("targets.patterns = [['x', 'y']]", 1, "targets.patterns"),
        (&*format!("[bots.a]{dimensions}"), 7, "bots.a.dimensions"),
    ] {
        let problem = "invalid type: sequence, expected a table";
        refused(
            &[("f", text)],
            &[&format!("f:{line}: {problem} in `{field}`")],
        );
    }
}

#[test]
fn aliases_exist_and_are_not_nested() {
    let bots = "[bots.lab]\nlocal = true\n[bots.a]\nalias = 'lba'\n[bots.b]\nalias = 'c'\n\
                [bots.c]\nalias = 'lab'\n[bots.d]\nalias = 'd'";
    refused(
        &[("f", bots)],
        &[
            "f:4: bots.a.alias: there is no bot `lba`; did you mean `lab`?",
            "f:6: bots.b.alias: `c` is an alias itself; name the bot",
            "f:10: bots.d.alias: `d` is an alias itself",
        ],
    );
    // The error of a bot is not repeated for those that refer to it.
    refused(
        &[("f", "[bots.a]\nlocal = false\n[bots.b]\nalias = 'a'\n")],
        &["f:1: bots.a: `local`"],
    );
}

#[test]
fn no_name_is_in_two_sets_and_external_ones_refer_to_external_ones() {
    let external = "[bots.a]\nlocal = true\n[bots.b]\nalias = 'secret'\n[targets.bots]\na = 't'";
    let internal = "set = 'internal'\n[bots.secret]\nlocal = true\n[bots.a]\nlocal = true\n\
                    [targets.bots]\na = 't'";
    refused(
        &[("e.toml", external), ("i.toml", internal)],
        &[
            "e.toml:4: bots.b.alias: `secret` is an internal bot",
            "i.toml:4: bots.a: this was defined before, in e.toml:1",
            "i.toml:7: targets.bots.a: this was defined before, in e.toml:6",
        ],
    );
    let swapped = [
        ("i.toml", "set = 'internal'\n[bots.b]\nalias = 'a'"),
        ("e.toml", "[bots.a]\nlocal = true"),
    ];
    assert!(read(&swapped).is_ok());
}

#[test]
fn names_of_bots_elsewhere_exist() {
    refused(
        &[(
            "f",
            "out_of_resources = ['lab']\n[benchmarks.b]\nbots = [\n'x',\n'local']\n[bots.local]\nlocal = true",
        )],
        &[
            "f:1: out_of_resources[0]: there is no bot `lab`",
            "f:4: benchmarks.b.bots[0]: there is no bot `x`",
        ],
    );
}

#[test]
fn what_is_not_known_and_what_can_not_be_read() {
    refused(
        &[
            ("a.toml", "bot = 1"),
            ("b.toml", "\nset = 'other'"),
            ("c.toml", "[bots.a]\nlocal = true\nos = 'x'"),
            ("d.toml", "[targets]\npatterns = [\n{ contains = 'x' }]"),
            // Bots of a file that can't be read may exist.
            ("e.toml", "[bots.z]\nalias = 'y'\n[bots.x]\nlocal = false"),
            ("g.toml", "[bots\n"),
            ("h.json", "{\n  \"bots\": []\n}"),
            ("i.json", "[]"),
            ("j.json", "{\n\"set\": \"internal\",\n}"),
            ("k.json", ""),
        ],
        &[
            "a.toml:1: unknown field `bot`, expected one of `set`, `bots`,",
            "b.toml:2: unknown variant `other`, expected `external` or `internal` in `set`",
            "c.toml:3: unknown field `os`, expected one of `alias`, `browser`,",
            "d.toml:3: missing field `target` in `targets.patterns`",
            "e.toml:3: bots.x: `local` is true",
            "g.toml:1: ",
            "h.json:2: invalid type: sequence, expected a map in `bots`",
            "i.json:1: invalid type: sequence, expected a table",
            "j.json:3: key must be a string",
            "k.json:1: EOF",
        ],
    );
}

#[test]
fn a_benchmark_is_run_as_the_operator_says() {
    let text = r#"
        [bots.lab]
        local = true

        [benchmarks.parsing]
        stories = ["small", "large"]
        bots = ["lab"]
        build = "make"
        command = ["./bench", "{story}"]
        format = "json:/a"
        results = "out.json"
        aggregate = "median"
        timeout = "1h 30m"
        env = { THREADS = "4" }
        repositories = ["https://example.org/dependency.git"]
        allow_extra_args = ["--repeat=*"]

        [benchmarks.start]
        command = ["./start"]

        [benchmarks.known]
        stories = ["a", "b"]
    "#;
    let bots = read(&[("f", text)]).unwrap();
    let of = |name: &str| bots.benchmarks()[name].invocation.clone();
    let parsing = of("parsing").unwrap();
    assert_eq!(parsing.command, ["./bench", "{story}"]);
    assert_eq!(parsing.format.to_string(), "json:/a");
    assert_eq!(parsing.timeout.unwrap().as_secs(), 5_400);
    assert_eq!(parsing.env["THREADS"], "4");
    assert_eq!(parsing.repositories.len(), 1);
    assert_eq!(parsing.allow_extra_args, ["--repeat=*"]);
    let start = of("start").unwrap();
    assert_eq!(
        (start.build, start.format),
        (None, crate::results::Format::Auto)
    );
    assert_eq!(of("known"), None);
}

#[test]
fn a_benchmark_that_can_not_be_run_is_refused() {
    refused(
        &[
            ("a", "[benchmarks.b]\nbuild = 'make'"),
            ("b", "[benchmarks.b2]\nallow_extra_args = ['-x']"),
            (
                "c",
                "[benchmarks.c]\nstories = ['x', 'y']\ncommand = ['./c']",
            ),
            ("d", "[benchmarks.d]\ncommand = []"),
            ("e", "[benchmarks.e]\ncommand = ['e']\ntimeout = 'soon'"),
            ("f", "[benchmarks.f]\ncommand = ['f']\nformat = 'xml'"),
            ("g", "[benchmarks.g]\ncommand = ['g']\nshell = true"),
            ("h", "[benchmarks.h]\ncommand = 'h {story}'"),
            ("i", "[benchmarks.i]\ncommand = ['i']\nenv = ['A=1']"),
        ],
        &[
            "a:1: benchmarks.b: `build` is for running the benchmark, and there is no `command`",
            "b:1: benchmarks.b2: `allow_extra_args` is for running the benchmark",
            "c:1: benchmarks.c: the command has no `{story}`, and there are several stories",
            "d:2: this is empty",
            "e:3: \"soon\" is not a duration",
            "f:3: ",
            "g:3: unknown field `shell`, expected one of `stories`, `bots`, `build`,",
            "h:2: invalid type: string",
            "i:3: invalid type: sequence",
        ],
    );
}
