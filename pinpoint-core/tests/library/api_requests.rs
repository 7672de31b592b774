//! The allowed contents of requests, which are not changed on the way.

// Clippy's exception for tests knows functions marked as tests only, not their helpers.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use pinpoint_compare::Direction;
use pinpoint_core::api::*;
use pinpoint_core::bots::{Bots, ConfigFile};
use pinpoint_core::{Aggregate, Method};
use pinpoint_core::{BisectionSpec, Commit, Magnitude, ModifiedDependency, Patch, Range};
use proptest::prelude::*;
use prost::Message;

const FIRST: &str = "1111111111111111111111111111111111111111";
const LAST: &str = "abcdefabcdefabcdefabcdefabcdefabcdefabcd";
const DIGEST: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const REPOSITORY: &str = "https://example.org/tool.git";

fn bots() -> Bots {
    let text = r#"
        out_of_resources = ["tired"]
        no_culprit_finder = ["few"]
        [bots.lab]
        machines = ["a", "b"]
        repository = "https://example.org/tool.git"
        [bots.old]
        alias = "lab"
        [bots.desk]
        local = true
        [bots.few]
        machines = ["d"]
        repository = "https://example.org/tool.git"
        [bots.tired]
        machines = ["c"]
        repository = "https://example.org/tool.git"
    "#;
    let name = "bots.toml";
    Bots::read(&[ConfigFile { name, text }]).unwrap()
}

fn bisect() -> ScheduleBisectRequest {
    ScheduleBisectRequest {
        start_git_hash: FIRST.into(),
        end_git_hash: LAST.into(),
        configuration: "lab".into(),
        benchmark: "parsing".into(),
        story: "large".into(),
        chart: "time".into(),
        ..ScheduleBisectRequest::default()
    }
}

fn culprit_finder() -> ScheduleCulpritFinderRequest {
    ScheduleCulpritFinderRequest {
        start_git_hash: FIRST.into(),
        end_git_hash: LAST.into(),
        configuration: "lab".into(),
        benchmark: "parsing".into(),
        story: "large".into(),
        chart: "time".into(),
        ..ScheduleCulpritFinderRequest::default()
    }
}

fn state(hash: &str) -> CombinedCommit {
    CombinedCommit {
        main: Some(commit(hash, "")),
        ..CombinedCommit::default()
    }
}

fn commit(hash: &str, repository: &str) -> pinpoint_core::api::Commit {
    pinpoint_core::api::Commit {
        git_hash: hash.into(),
        repository: repository.into(),
        ..Default::default()
    }
}

fn build() -> CasReference {
    CasReference {
        cas_instance: "projects/p/instances/i".into(),
        digest: Some(cas_reference::Digest {
            hash: DIGEST.into(),
            size_bytes: 5,
        }),
    }
}

fn pairwise() -> SchedulePairwiseRequest {
    SchedulePairwiseRequest {
        start_commit: Some(state(FIRST)),
        end_commit: Some(state(LAST)),
        configuration: "lab".into(),
        benchmark: "parsing".into(),
        story: "large".into(),
        ..SchedulePairwiseRequest::default()
    }
}

/// These violations and no others, in this order.
#[track_caller]
fn refused<T: std::fmt::Debug>(read: Result<T, Violations>, expected: &[(&str, &str)]) {
    let violations = read.unwrap_err();
    let found: Vec<_> = violations
        .iter()
        .map(|violation| (violation.field.clone(), violation.problem.to_string()))
        .collect();
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for ((field, problem), (expected_field, words)) in found.iter().zip(expected) {
        assert_eq!(field, expected_field, "{found:#?}");
        assert!(problem.contains(words), "{field}: {problem}");
    }
}

#[test]
fn a_bisection_with_what_is_needed() {
    let valid = ValidBisection::read(&bisect(), &bots()).unwrap();
    let [good, bad] = [FIRST, LAST].map(|hash| Commit::new(REPOSITORY, hash).into());
    let spec = BisectionSpec {
        chart: Some("time".into()),
        magnitude: Some(Magnitude::Absolute(1.0)),
        ..BisectionSpec::new(Range::Between { good, bad })
    };
    assert_eq!(valid.spec, spec);
    assert_eq!((spec.attempts, spec.direction), (None, Direction::Unknown));
    assert_eq!(
        valid.workload,
        Workload {
            bot: "lab".into(),
            benchmark: "parsing".into(),
            story: Some("large".into()),
            story_tags: vec![],
            aggregate: None,
        }
    );
    assert!(valid.extra_args.is_empty() && valid.tags.is_empty());
}

#[test]
fn a_bisection_with_everything() {
    let request = ScheduleBisectRequest {
        comparison_mode: "Functional".into(),
        start_git_hash: format!(" {} ", FIRST),
        end_git_hash: LAST.to_uppercase(),
        configuration: "old".into(),
        story: String::new(),
        chart: String::new(),
        statistic: "avg".into(),
        comparison_magnitude: " -2.5e1 ".into(),
        pin: "a pin".into(),
        project: "tool".into(),
        bug_id: "17".into(),
        user: "ada@example.org".into(),
        aggregation_method: "what the statistic replaces".into(),
        story_tags: " a, b ,,c".into(),
        initial_attempt_count: "40".into(),
        tags: r#"{ "test": "x" }"#.into(),
        improvement_direction: "UP".into(),
        extra_args: r#"--filter "a b" 'c'"#.into(),
        ..bisect()
    };
    let valid = ValidBisection::read(&request, &bots()).unwrap();
    let Range::Between { good, bad } = &valid.spec.range else {
        panic!("{valid:?}");
    };
    assert_eq!((&*good.main.git_hash, &*bad.main.git_hash), (FIRST, LAST));
    assert_eq!(good.main.repository, REPOSITORY, "of the alias's bot");
    assert_eq!(valid.spec.chart, None);
    assert_eq!(valid.spec.magnitude, Some(Magnitude::Absolute(-25.0)));
    assert_eq!(valid.spec.direction, Direction::Up);
    assert_eq!(valid.spec.attempts, Some(40));
    assert_eq!(valid.workload.bot, "old");
    assert_eq!(valid.workload.story, None);
    assert_eq!(valid.workload.story_tags, ["a", "b", "c"]);
    assert_eq!(valid.workload.aggregate, Some(Method::Mean.into()));
    assert_eq!(valid.extra_args, ["--filter", "a b", "c"]);
    assert_eq!(valid.tags, BTreeMap::from([("test".into(), "x".into())]));
    assert_eq!(valid.bug_id.as_deref(), Some("17"));
}

#[test]
fn all_that_is_wrong_with_a_bisection_is_told_at_once() {
    refused(
        ValidBisection::read(&ScheduleBisectRequest::default(), &bots()),
        &[
            ("start_git_hash", "required"),
            ("end_git_hash", "required"),
            ("configuration", "required"),
            ("benchmark", "required"),
            ("story", "or `story_tags` is required"),
            ("chart", "required"),
        ],
    );
    let request = ScheduleBisectRequest {
        start_git_hash: "main".into(),
        end_git_hash: FIRST[1..].into(),
        configuration: "labs".into(),
        statistic: "mode".into(),
        comparison_magnitude: "inf".into(),
        initial_attempt_count: "0".into(),
        tags: "[]".into(),
        improvement_direction: "left".into(),
        extra_args: "'".into(),
        ..bisect()
    };
    refused(
        ValidBisection::read(&request, &bots()),
        &[
            ("start_git_hash", "`main` is not a full git hash"),
            ("end_git_hash", "not a full git hash"),
            ("configuration", "did you mean `lab`"),
            ("statistic", "there is no aggregate `mode`"),
            ("comparison_magnitude", "`inf` is not a finite"),
            ("improvement_direction", "`left` is not a direction"),
            (
                "initial_attempt_count",
                "`0` is not a whole number from 1 to 100000",
            ),
            ("tags", "JSON object of strings"),
            ("extra_args", "`'` ends inside"),
        ],
    );
}

#[test]
fn one_thing_wrong_at_a_time() {
    type Change = fn(&mut ScheduleBisectRequest);
    let cases: &[(Change, &str, &str)] = &[
        (
            |r| r.start_git_hash = "g".repeat(40),
            "start_git_hash",
            "not a full git hash",
        ),
        (
            |r| r.end_git_hash = FIRST.into(),
            "end_git_hash",
            "`start_git_hash` again",
        ),
        (
            |r| r.configuration = "desk".into(),
            "configuration",
            "has no repository",
        ),
        (
            |r| r.configuration = "tired".into(),
            "configuration",
            "out of resources",
        ),
        (|r| r.benchmark = " ".into(), "benchmark", "required"),
        (|r| r.story = "\t".into(), "story", "required"),
        (|r| r.chart = " ".into(), "chart", "required"),
        (
            |r| r.aggregation_method = "p99".into(),
            "aggregation_method",
            "p99",
        ),
        (
            |r| r.comparison_magnitude = "5%".into(),
            "comparison_magnitude",
            "5%",
        ),
        (
            |r| r.comparison_magnitude = "NaN".into(),
            "comparison_magnitude",
            "NaN",
        ),
        (
            |r| r.initial_attempt_count = "ten".into(),
            "initial_attempt_count",
            "ten",
        ),
        (
            |r| r.initial_attempt_count = "-1".into(),
            "initial_attempt_count",
            "-1",
        ),
        (
            |r| r.initial_attempt_count = "1.5".into(),
            "initial_attempt_count",
            "1.5",
        ),
        (
            |r| r.initial_attempt_count = "100001".into(),
            "initial_attempt_count",
            "100000",
        ),
        (
            |r| r.initial_attempt_count = "9".repeat(99),
            "initial_attempt_count",
            "100000",
        ),
        (|r| r.tags = r#"{"a": 1}"#.into(), "tags", "strings"),
        (|r| r.extra_args = "a \"b".into(), "extra_args", "close it"),
        (|r| r.extra_args = "a\\".into(), "extra_args", "close it"),
    ];
    for (change, field, words) in cases {
        let mut request = bisect();
        change(&mut request);
        refused(ValidBisection::read(&request, &bots()), &[(field, words)]);
    }
    let longer = ScheduleBisectRequest {
        start_git_hash: DIGEST.into(),
        ..bisect()
    };
    assert!(ValidBisection::read(&longer, &bots()).is_ok(), "SHA-256");
}

#[test]
fn a_pairwise_comparison_and_its_defaults() {
    let valid = ValidPairwise::read(&pairwise(), &bots()).unwrap();
    let flat = |hash: &str| FlatCommit {
        main: Commit::new(REPOSITORY, hash),
        dependencies: vec![],
        patch: None,
    };
    assert_eq!(valid.base, Source::Commit(flat(FIRST)));
    assert_eq!(valid.experiment, Source::Commit(flat(LAST)));
    assert_eq!((valid.attempts, valid.direction), (30, Direction::Unknown));
    assert_eq!(valid.workload.aggregate, Some(Method::Mean.into()));
    assert_eq!(valid.chart, None);

    for (asked, pairs) in [("1", 2), ("7", 8), ("8", 8), ("99999", 100_000)] {
        let request = SchedulePairwiseRequest {
            initial_attempt_count: asked.into(),
            configuration: "desk".into(),
            start_commit: Some(CombinedCommit {
                main: Some(commit(FIRST, "elsewhere")),
                ..state(FIRST)
            }),
            end_commit: None,
            end_build: Some(build()),
            aggregation_method: "max".into(),
            base_extra_args: "a b".into(),
            experiment_extra_args: "'c d'".into(),
            ..pairwise()
        };
        let valid = ValidPairwise::read(&request, &bots()).unwrap();
        assert_eq!(valid.attempts, pairs);
        assert_eq!(valid.experiment, Source::Build(build()));
        assert_eq!(valid.workload.aggregate, Some(Method::Max.into()));
        assert_eq!(valid.base_extra_args, ["a", "b"]);
        assert_eq!(valid.experiment_extra_args, ["c d"]);
    }
}

#[test]
fn all_that_is_wrong_with_a_pairwise_comparison_is_told_at_once() {
    refused(
        ValidPairwise::read(&SchedulePairwiseRequest::default(), &bots()),
        &[
            ("configuration", "required"),
            ("start_commit", "or `start_build` is required"),
            ("end_commit", "or `end_build` is required"),
            ("benchmark", "required"),
            ("story", "required"),
        ],
    );
    let request = SchedulePairwiseRequest {
        start_commit: Some(CombinedCommit {
            main: None,
            modified_deps: vec![commit(FIRST, "dep"), commit("x", "")],
            patch: Some(GerritChange {
                change: -1,
                ..GerritChange::default()
            }),
        }),
        end_commit: Some(CombinedCommit {
            main: Some(pinpoint_core::api::Commit {
                created: Some(Timestamp {
                    seconds: i64::MAX,
                    nanos: 0,
                }),
                ..commit("", "r")
            }),
            ..CombinedCommit::default()
        }),
        end_build: Some(CasReference::default()),
        initial_attempt_count: "many".into(),
        base_extra_args: "'".into(),
        experiment_extra_args: "\"".into(),
        ..pairwise()
    };
    refused(
        ValidPairwise::read(&request, &bots()),
        &[
            ("start_commit.main", "required"),
            ("start_commit.modified_deps[1].repository", "required"),
            (
                "start_commit.modified_deps[1].git_hash",
                "`x` is not a full",
            ),
            ("start_commit.patch.change", "-1 is not positive"),
            ("start_commit.patch.patchset", "0 is not positive"),
            ("start_commit.patch.host", "required"),
            ("start_commit.patch.project", "required"),
            ("end_commit", "does not go with `end_build`"),
            ("end_commit.main.created", "not a time"),
            ("end_commit.main.git_hash", "required"),
            ("initial_attempt_count", "many"),
            ("base_extra_args", "`'`"),
            ("experiment_extra_args", "`\"`"),
        ],
    );
    let request = SchedulePairwiseRequest {
        start_commit: None,
        start_build: Some(CasReference::default()),
        end_commit: None,
        end_build: Some(CasReference {
            digest: Some(cas_reference::Digest {
                hash: FIRST.into(),
                size_bytes: -3,
            }),
            ..build()
        }),
        ..pairwise()
    };
    refused(
        ValidPairwise::read(&request, &bots()),
        &[
            ("start_build.cas_instance", "required"),
            ("start_build.digest", "required"),
            ("end_build.digest.hash", "not a SHA-256 digest"),
            ("end_build.digest.size_bytes", "-3 is not positive"),
        ],
    );
}

#[test]
fn a_commit_without_a_repository_is_the_bots_or_none() {
    let request = SchedulePairwiseRequest {
        configuration: "desk".into(),
        ..pairwise()
    };
    refused(
        ValidPairwise::read(&request, &bots()),
        &[
            ("start_commit.main.repository", "required"),
            ("end_commit.main.repository", "required"),
        ],
    );
}

#[test]
fn a_culprit_finder() {
    let request = ScheduleCulpritFinderRequest {
        aggregation_method: "avg".into(),
        improvement_direction: "Down".into(),
        ..culprit_finder()
    };
    let valid = ValidCulpritFinder::read(&request, &bots()).unwrap();
    assert_eq!(valid.good, Commit::new(REPOSITORY, FIRST));
    assert_eq!(valid.bad, Commit::new(REPOSITORY, LAST));
    assert_eq!((valid.magnitude, valid.direction), (1.0, Direction::Down));
    assert_eq!(valid.workload.aggregate, Some(Method::Mean.into()));

    refused(
        ValidCulpritFinder::read(&ScheduleCulpritFinderRequest::default(), &bots()),
        &[
            ("start_git_hash", "required"),
            ("end_git_hash", "required"),
            ("configuration", "required"),
            ("benchmark", "required"),
            ("story", "required"),
            ("chart", "required"),
        ],
    );
    let request = ScheduleCulpritFinderRequest {
        end_git_hash: FIRST.into(),
        configuration: "tired".into(),
        statistic: "x".into(),
        comparison_magnitude: "y".into(),
        improvement_direction: "z".into(),
        ..culprit_finder()
    };
    refused(
        ValidCulpritFinder::read(&request, &bots()),
        &[
            ("end_git_hash", "again"),
            ("configuration", "out of resources"),
            ("statistic", "`x`"),
            ("comparison_magnitude", "`y`"),
            ("improvement_direction", "`z`"),
        ],
    );
}

#[test]
fn jobs_are_named_by_uuids() {
    let hyphenated = "0191e0a3-5b5c-7def-8123-456789abcdef";
    let simple = hyphenated.replace('-', "");
    assert_eq!(job_id(hyphenated).unwrap(), job_id(&simple).unwrap());
    assert_eq!(job_id(&simple).unwrap().to_string(), hyphenated);
    refused(job_id(" "), &[("job_id", "required")]);
    for wrong in ["102beaa5ee0000", "../etc", &hyphenated[1..]] {
        refused(job_id(wrong), &[("job_id", "not a job id")]);
    }
}

#[test]
fn what_a_message_can_not_carry_is_an_error() {
    let bots = bots();
    let valid = ValidBisection::read(&bisect(), &bots).unwrap();
    type Change = fn(&mut ValidBisection);
    let cases: &[(Change, &str)] = &[
        (|v| v.spec.seed = 1, "a seed"),
        (|v| v.spec.confidence = 0.5, "a confidence"),
        (|v| v.spec.max_runs = Some(1), "a budget of runs"),
        (|v| v.spec.max_builds = Some(1), "a budget of builds"),
        (|v| v.spec.max_time = Some(1), "a budget of time"),
        (|v| v.spec.retry.tries = 9, "a retry policy"),
        (|v| v.spec.version = 9, "the version of a spec"),
        (
            |v| v.spec.magnitude = None,
            "a magnitude in percent, or none",
        ),
        (
            |v| v.spec.magnitude = Some(Magnitude::Percent(5.0)),
            "a magnitude in percent, or none",
        ),
        (
            |v| v.spec.range = Range::Counted { between: 5 },
            "a range that only the caller knows",
        ),
        (
            |v| v.workload.bot = "nobody".into(),
            "a bot that is not configured",
        ),
        (
            |v| v.workload.story_tags = vec!["a,b".into()],
            "a story tag with a comma or blanks around it",
        ),
        (
            |v| v.extra_args = vec!["\0".into()],
            "an argument with a NUL byte",
        ),
    ];
    for (change, what) in cases {
        let mut changed = valid.clone();
        change(&mut changed);
        let error = changed.write(&bots).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
    }
    let Range::Between { good, bad } = &valid.spec.range else {
        panic!("{valid:?}");
    };
    let finder = ValidCulpritFinder::read(&culprit_finder(), &bots).unwrap();
    let changes: [fn(&mut ValidCulpritFinder); 3] = [
        |finder| finder.good.repository = "other".into(),
        |finder| finder.bad.merged = vec![FIRST.into()],
        |finder| finder.workload.story_tags = vec!["a".into()],
    ];
    for change in changes {
        let mut changed = finder.clone();
        change(&mut changed);
        assert!(changed.write(&bots).is_err(), "{changed:?}");
    }
    let changes: [fn(&mut pinpoint_core::CombinedCommit); 3] = [
        |state| state.main.repository = "other".into(),
        |state| state.main.merged = vec![FIRST.into()],
        |state| {
            state.patch = Some(Patch::File {
                name: "n".into(),
                sha256: DIGEST.into(),
            });
        },
    ];
    for change in changes {
        let mut end = bad.clone();
        change(&mut end);
        let mut changed = valid.clone();
        let good = good.clone();
        changed.spec.range = Range::Between {
            good,
            bad: end.clone(),
        };
        let error = changed.write(&bots).unwrap_err();
        assert!(error.to_string().contains("an end "), "{error}");
    }
    let patched = pinpoint_core::CombinedCommit {
        patch: Some(Patch::File {
            name: "n".into(),
            sha256: DIGEST.into(),
        }),
        ..bad.clone()
    };
    let error = CombinedCommit::try_from(&patched).unwrap_err();
    assert_eq!(error, NotCarried("a patch that is a file"));
    let mut dated = bad.main.clone();
    dated.created = Some("yesterday".into());
    assert!(pinpoint_core::api::Commit::try_from(&dated).is_err());
}

#[test]
fn dependencies_have_to_be_looked_up() {
    let mut message = CombinedCommit {
        main: Some(commit(FIRST, "main")),
        modified_deps: vec![commit(LAST, "dep")],
        patch: None,
    };
    let flat = FlatCommit::read(&message).unwrap();
    assert_eq!(flat.without_dependencies(), None);
    message.modified_deps.clear();
    let flat = FlatCommit::read(&message).unwrap();
    let plain = pinpoint_core::CombinedCommit::from(Commit::new("main", FIRST));
    assert_eq!(flat.without_dependencies(), Some(plain));
}

fn hash() -> impl Strategy<Value = String> {
    prop_oneof!["[0-9a-f]{40}", "[0-9a-f]{64}"]
}

/// Text that does not begin or end with a blank, and is not empty.
fn word() -> impl Strategy<Value = String> {
    "[a-zé\"'\\\\{]([ -~]{0,6}[!-+.-~])?"
}

fn option() -> impl Strategy<Value = Option<String>> {
    proptest::option::of(word())
}

fn commits() -> impl Strategy<Value = Commit> {
    let created = proptest::option::of((-62_135_596_800..=253_402_300_799_i64, 0..1_000_000_000));
    (word(), hash(), option(), created, option()).prop_map(
        |(repository, git_hash, author, created, subject)| Commit {
            author,
            created: created.map(|(seconds, nanos)| Timestamp { seconds, nanos }.to_string()),
            subject,
            ..Commit::new(repository, git_hash)
        },
    )
}

fn states() -> impl Strategy<Value = pinpoint_core::CombinedCommit> {
    let patch = (word(), word(), 1..u64::MAX / 2, 1..100_u64, option()).prop_map(
        |(host, project, change, patchset, hash)| Patch::Gerrit {
            host,
            project,
            change,
            patchset,
            hash,
        },
    );
    let dependency =
        (commits(), word()).prop_map(|(commit, named_by)| ModifiedDependency { commit, named_by });
    let dependencies = proptest::collection::vec(dependency, 0..3);
    (commits(), dependencies, proptest::option::of(patch)).prop_map(
        |(main, modified_deps, patch)| pinpoint_core::CombinedCommit {
            main,
            modified_deps,
            patch,
        },
    )
}

fn directions() -> impl Strategy<Value = Direction> {
    prop_oneof![
        Just(Direction::Up),
        Just(Direction::Down),
        Just(Direction::Unknown)
    ]
}

fn workloads() -> impl Strategy<Value = Workload> {
    let bot = prop_oneof![Just("lab".to_owned()), Just("old".to_owned())];
    let tags = proptest::collection::vec("[a-z]( ?[0-9]){0,3}", 0..3);
    let aggregate =
        proptest::option::of(proptest::sample::select(&Method::ALL[..]).prop_map(Aggregate::from));
    (bot, word(), word(), tags, aggregate, any::<bool>()).prop_map(
        |(bot, benchmark, story, story_tags, aggregate, by_tags)| Workload {
            bot,
            benchmark,
            story: (story_tags.is_empty() || !by_tags).then_some(story),
            story_tags,
            aggregate,
        },
    )
}

fn bisections() -> impl Strategy<Value = ValidBisection> {
    let numbers = (-1e300..1e300_f64, 1..=100_000_u32, directions());
    let words = proptest::array::uniform5(option());
    let arguments = proptest::collection::vec(any::<String>(), 0..4);
    let tags = proptest::collection::btree_map(any::<String>(), any::<String>(), 0..3);
    (
        hash(),
        hash(),
        workloads(),
        numbers,
        words,
        arguments,
        tags,
        word(),
    )
        .prop_filter("two commits", |(start, end, ..)| start != end)
        .prop_map(
            |(
                start,
                end,
                workload,
                (magnitude, attempts, direction),
                words,
                arguments,
                tags,
                chart,
            )| {
                let [comparison_mode, pin, project, bug_id, user] = words;
                let [good, bad] = [start, end].map(|hash| Commit::new(REPOSITORY, hash).into());
                ValidBisection {
                    spec: BisectionSpec {
                        chart: Some(chart),
                        magnitude: Some(Magnitude::Absolute(magnitude)),
                        direction,
                        attempts: Some(attempts),
                        aggregate: workload.aggregate,
                        ..BisectionSpec::new(Range::Between { good, bad })
                    },
                    workload,
                    extra_args: arguments
                        .iter()
                        .map(|word| word.replace('\0', ""))
                        .collect(),
                    comparison_mode,
                    pin,
                    project,
                    bug_id,
                    user,
                    tags,
                }
            },
        )
}

fn sources() -> impl Strategy<Value = Source> {
    prop_oneof![
        states().prop_map(|state| Source::Commit((&state).into())),
        (word(), "[0-9a-f]{64}", 1..=i64::MAX).prop_map(|(cas_instance, hash, size_bytes)| {
            let digest = Some(cas_reference::Digest { hash, size_bytes });
            Source::Build(CasReference {
                cas_instance,
                digest,
            })
        }),
    ]
}

/// As it comes out at the other end of a wire and of a JSON text.
fn sent<M: Message + Default + serde::Serialize + serde::de::DeserializeOwned>(message: &M) -> M {
    let message = M::decode(&*message.encode_to_vec()).unwrap();
    from_json(&serde_json::to_string(&message).unwrap()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_state_is_carried_without_loss(state in states()) {
        let message = CombinedCommit::try_from(&state).unwrap();
        let read = FlatCommit::read(&sent(&message)).unwrap();
        prop_assert_eq!(&read, &FlatCommit::from(&state));
        // The known facts of a commit do not count for its equality.
        let known = |commit: &Commit| (commit.author.clone(), commit.created.clone(), commit.subject.clone());
        prop_assert_eq!(known(&read.main), known(&state.main));
        prop_assert_eq!(CombinedCommit::try_from(&read).unwrap(), message);
    }

    #[test]
    fn a_bisection_is_carried_without_loss(valid in bisections()) {
        let request = valid.write(&bots()).unwrap();
        prop_assert_eq!(ValidBisection::read(&sent(&request), &bots()), Ok(valid));
    }

    #[test]
    fn a_culprit_finder_is_carried_without_loss(valid in bisections(), story in word()) {
        let Range::Between { good, bad } = valid.spec.range else {
            unreachable!("a request names its ends");
        };
        let Some(Magnitude::Absolute(magnitude)) = valid.spec.magnitude else {
            unreachable!("a request has a magnitude");
        };
        let valid = ValidCulpritFinder {
            good: good.main,
            bad: bad.main,
            workload: Workload { story: Some(story), story_tags: vec![], ..valid.workload },
            chart: valid.spec.chart.unwrap_or_default(),
            magnitude,
            direction: valid.spec.direction,
            bug_id: valid.bug_id,
        };
        let request = valid.write(&bots()).unwrap();
        prop_assert_eq!(ValidCulpritFinder::read(&sent(&request), &bots()), Ok(valid));
    }

    #[test]
    fn a_pairwise_comparison_is_carried_without_loss(
        base in sources(),
        experiment in sources(),
        workload in workloads(),
        words in proptest::array::uniform6(option()),
        attempts in 1..=50_000_u32,
        direction in directions(),
    ) {
        let [chart, target, project, bug_id, user, name] = words;
        let aggregate = workload.aggregate.or(Some(Method::Mean.into()));
        let valid = ValidPairwise {
            base,
            experiment,
            workload: Workload { aggregate, ..workload },
            chart,
            target,
            attempts: attempts * 2,
            direction,
            base_extra_args: vec!["it's".into()],
            experiment_extra_args: vec![String::new()],
            project,
            bug_id,
            user,
            name,
        };
        let request = valid.write().unwrap();
        prop_assert_eq!(ValidPairwise::read(&sent(&request), &bots()), Ok(valid));
    }

    #[test]
    fn any_text_has_an_answer(texts in proptest::array::uniform8(any::<String>())) {
        let [a, b, c, d, e, f, g, h] = texts;
        let bisect = ScheduleBisectRequest {
            start_git_hash: a.clone(),
            end_git_hash: b,
            configuration: c.clone(),
            story_tags: d.clone(),
            statistic: e.clone(),
            comparison_magnitude: f.clone(),
            initial_attempt_count: g,
            extra_args: h.clone(),
            tags: d,
            ..ScheduleBisectRequest::default()
        };
        prop_assert!(ValidBisection::read(&bisect, &bots()).is_err());
        prop_assert!(job_id(&a).is_err());
        let _ = from_json::<ScheduleBisectRequest>(&f);
        let file = |name, text| ConfigFile { name, text };
        let read = Bots::read(&[file("a.toml", &h), file("b.json", &c)]);
        if let Err(errors) = read {
            prop_assert!(errors.iter().all(|error| error.line > 0));
        }
        let _: Result<Timestamp, _> = e.parse();
        let _ = ScheduleBisectRequest::decode(h.as_bytes());
    }
}

#[test]
fn a_bot_with_few_machines_takes_all_but_culprit_finders() {
    let request = ScheduleCulpritFinderRequest {
        configuration: "few".into(),
        ..culprit_finder()
    };
    let refused = ValidCulpritFinder::read(&request, &bots()).unwrap_err();
    let refused: Vec<_> = refused.iter().map(ToString::to_string).collect();
    let [refused] = &refused[..] else {
        panic!("one violation: {refused:?}");
    };
    assert!(refused.starts_with("configuration: "), "{refused}");
    assert!(refused.contains("too few machines"), "{refused}");
    let request = ScheduleBisectRequest {
        configuration: "few".into(),
        ..bisect()
    };
    assert!(ValidBisection::read(&request, &bots()).is_ok());
}
