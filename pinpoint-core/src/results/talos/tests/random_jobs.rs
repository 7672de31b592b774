//! Random jobs, written and read again.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use super::*;

fn name() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9 /\"\\\\é:_.-]{0,8}"
}

fn measured() -> impl Strategy<Value = Measured> {
    prop_oneof![
        8 => (-1e12..=1e12_f64).prop_map(Measured::new),
        2 => (-1000..1000_i32).prop_map(|value| Measured::new(value.into())),
        1 => Just(Measured::FAILED),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        name().prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            btree_map(name(), inner, 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Members that have no other meaning: all known ones begin with another letter.
fn details() -> impl Strategy<Value = Details> {
    btree_map("z[a-zA-Z_]{0,4}", value(), 0..3).prop_map(Details)
}

fn settings() -> impl Strategy<Value = Settings> {
    let change = prop_oneof![
        Just(AlertChangeType::Percentage),
        Just(AlertChangeType::Absolute)
    ];
    let window = || option::of(1..=255_i64);
    (
        option::of(any::<bool>()),
        option::of(0.0..=1000.0_f64),
        option::of(change),
        window(),
        window(),
        window(),
    )
        .prop_map(
            |(should_alert, alert_threshold, alert_change_type, min, max, fore)| Settings {
                should_alert,
                alert_threshold,
                alert_change_type,
                min_back_window: min,
                max_back_window: max,
                fore_window: fore,
            },
        )
}

fn statistics() -> impl Strategy<Value = Statistics> {
    let one = || option::of(measured());
    (one(), one(), one(), one(), one()).prop_map(|(std, min, max, median, mean)| Statistics {
        std,
        min,
        max,
        median,
        mean,
    })
}

/// A subtest; as Perfherder has it, with a value.
fn subtest() -> impl Strategy<Value = Subtest> {
    (
        (name(), option::of(name()), measured()),
        option::of(vec(measured(), 0..5)),
        (option::of(name()), option::of(any::<bool>())),
        settings(),
        statistics(),
        details(),
    )
        .prop_map(
            |(
                (name, public_name, value),
                replicates,
                (unit, lower),
                settings,
                statistics,
                other,
            )| {
                Subtest {
                    name,
                    public_name,
                    value: Some(value),
                    replicates,
                    unit,
                    lower_is_better: lower,
                    settings,
                    statistics,
                    other,
                }
            },
        )
}

fn counter() -> impl Strategy<Value = Counter> {
    let value = || {
        option::of(prop_oneof![
            measured().prop_map(CounterValue::Number),
            "[0-9]{1,4}\\.[0-9]{2}".prop_map(CounterValue::Text),
        ])
    };
    (value(), value(), details()).prop_map(|(mean, max, other)| Counter { mean, max, other })
}

fn suite() -> impl Strategy<Value = Suite> {
    (
        (name(), option::of(name()), vec(name(), 0..=8)),
        vec("[a-zA-Z0-9-]{1,24}", 0..=14),
        (
            option::of(measured()),
            option::of(name()),
            option::of(any::<bool>()),
        ),
        settings(),
        vec(subtest(), 0..4),
        (details(), details(), details(), details(), details()),
        btree_map(name(), counter(), 0..3),
    )
        .prop_map(
            |(
                (name, public_name, extra_options),
                tags,
                (value, unit, lower_is_better),
                settings,
                subtests,
                (machine, run, build, summary, other),
                counters,
            )| Suite {
                name,
                public_name,
                extra_options,
                tags,
                value,
                unit,
                lower_is_better,
                settings,
                subtests,
                machine,
                run,
                build,
                counters,
                summary,
                other,
            },
        )
}

fn job() -> impl Strategy<Value = Job> {
    (details(), details(), vec(suite(), 1..4), details()).prop_map(
        |(framework, application, suites, other)| Job {
            framework,
            application,
            suites,
            other,
        },
    )
}

/// The job with what `TALOSDATA` can hold: each name of a subtest once, and first those with
/// replicates, since the others stand in the summary alone.
fn for_talosdata(mut job: Job, has_values: bool) -> Job {
    for suite in &mut job.suites {
        let mut names = std::collections::BTreeSet::new();
        suite
            .subtests
            .retain(|subtest| names.insert(subtest.name.clone()));
        suite
            .subtests
            .sort_by_key(|subtest| subtest.replicates.is_none());
        for subtest in suite.subtests.iter_mut().filter(|_| !has_values) {
            subtest.value = None;
        }
    }
    job
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn jobs_are_read_as_they_are_written(job in job(), has_values: bool) {
        let line = job.to_perfherder().unwrap();
        prop_assert_eq!(&one(&line), &job);
        let job = for_talosdata(job, has_values);
        let line = job.to_talosdata().unwrap();
        prop_assert_eq!(&one(&line), &job);
        // The reader of charts takes the same lines.
        let _ = read(&line);
    }

    #[test]
    fn no_text_is_a_panic(text in "(PERFHERDER_DATA: |TALOSDATA: )?[\\[{\"a-z:,0-9\\]}\n ]{0,40}") {
        let _ = Job::read_all(&text);
    }
}
