//! The form of a job in `TALOSDATA`: a list of tests.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::counters::Counter;
use super::details::Details;
use super::job::{Job, Statistics, Subtest, Suite, WriteJobError, check_free};
use super::lines::TALOS;
use super::measured::{Measured, Replicates, present};
use super::pairs::Pairs;
use super::settings::Settings;
use crate::results::{ReadError, document};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test {
    #[serde(
        default,
        rename = "test_machine",
        skip_serializing_if = "Details::is_empty"
    )]
    machine: Details,
    testrun: TestRun,
    results: Pairs<Replicates>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary: Option<Summary>,
    #[serde(
        default,
        rename = "talos_counters",
        skip_serializing_if = "Option::is_none"
    )]
    counters: Option<Pairs<Counter>>,
    #[serde(
        default,
        rename = "test_build",
        skip_serializing_if = "Details::is_empty"
    )]
    build: Details,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    public_name: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    extra_options: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lower_is_better: Option<bool>,
    #[serde(flatten)]
    settings: Settings,
    /// The members of the whole job, in its first test.
    #[serde(
        default,
        rename = "perfherder_job",
        skip_serializing_if = "Option::is_none"
    )]
    job: Option<JobMembers>,
    #[serde(flatten)]
    other: Details,
}

#[derive(Serialize, Deserialize)]
struct TestRun {
    suite: String,
    #[serde(flatten)]
    other: Details,
}

#[derive(Serialize, Deserialize)]
struct JobMembers {
    #[serde(default)]
    framework: Details,
    #[serde(default)]
    application: Details,
    #[serde(flatten)]
    other: Details,
}

#[derive(Serialize, Deserialize)]
struct Summary {
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    suite: Option<Measured>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subtests: Option<Pairs<SubtestSummary>>,
    #[serde(flatten)]
    other: Details,
}

#[derive(Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct SubtestSummary {
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    filtered: Option<Measured>,
    #[serde(flatten)]
    statistics: Statistics,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    public_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lower_is_better: Option<bool>,
    #[serde(flatten)]
    settings: Settings,
    #[serde(flatten)]
    other: Details,
}

pub(super) fn read(text: &str) -> Result<Job, ReadError> {
    let seed = std::marker::PhantomData::<Vec<Test>>;
    let mut job = Job::default();
    for mut test in document::read(text, "Talos", seed)? {
        if let Some(members) = test.job.take() {
            job.framework = members.framework;
            job.application = members.application;
            job.other = members.other;
        }
        job.suites.push(suite_of(test));
    }
    Ok(job)
}

fn suite_of(test: Test) -> Suite {
    let summary = test.summary.unwrap_or(Summary {
        suite: None,
        subtests: None,
        other: Details::default(),
    });
    let mut places = BTreeMap::new();
    let mut subtests = Vec::new();
    for (name, Replicates(replicates)) in test.results.0 {
        places.insert(name.clone(), subtests.len());
        subtests.push(Subtest {
            name,
            replicates: Some(replicates),
            ..Subtest::default()
        });
    }
    for (name, stated) in summary.subtests.into_iter().flat_map(|pairs| pairs.0) {
        let place = *places.entry(name.clone()).or_insert_with(|| {
            subtests.push(Subtest {
                name,
                ..Subtest::default()
            });
            subtests.len() - 1
        });
        let subtest = &mut subtests[place];
        subtest.value = stated.filtered;
        subtest.statistics = stated.statistics;
        subtest.public_name = stated.public_name;
        subtest.unit = stated.unit;
        subtest.lower_is_better = stated.lower_is_better;
        subtest.settings = stated.settings;
        subtest.other = stated.other;
    }
    Suite {
        name: test.testrun.suite,
        public_name: test.public_name,
        extra_options: test.extra_options,
        tags: test.tags,
        value: summary.suite,
        unit: test.unit,
        lower_is_better: test.lower_is_better,
        settings: test.settings,
        subtests,
        machine: test.machine,
        run: test.testrun.other,
        build: test.build,
        counters: (test.counters.into_iter())
            .flat_map(|pairs| pairs.0)
            .collect(),
        summary: summary.other,
        other: test.other,
    }
}

pub(super) fn write(job: &Job) -> Result<String, WriteJobError> {
    let members = JobMembers {
        framework: job.framework.clone(),
        application: job.application.clone(),
        other: job.other.clone(),
    };
    let has_members = [&job.framework, &job.application, &job.other]
        .into_iter()
        .any(|details| !details.is_empty());
    if has_members && job.suites.is_empty() {
        return Err(WriteJobError::NoSuite);
    }
    let mut tests = Vec::new();
    for suite in &job.suites {
        tests.push(test_of(suite)?);
    }
    if has_members && let Some(first) = tests.first_mut() {
        first.job = Some(members);
    }
    Ok(format!("{TALOS}{}", serde_json::to_string(&tests)?))
}

fn test_of(suite: &Suite) -> Result<Test, WriteJobError> {
    // Those that PERFHERDER_DATA does not know; of the others none is left over.
    check_free(&suite.other, &["results", "summary", "perfherder_job"])?;
    check_free(&suite.run, &["suite"])?;
    check_free(&suite.summary, &["suite", "subtests"])?;
    for subtest in &suite.subtests {
        let taken = ["filtered", "std", "min", "max", "median", "mean"];
        check_free(&subtest.other, &taken)?;
    }
    let mut names = BTreeSet::new();
    let mut results = Vec::new();
    let mut summaries = Vec::new();
    for subtest in &suite.subtests {
        if !names.insert(&subtest.name) {
            return Err(WriteJobError::Twice {
                suite: suite.name.clone(),
                subtest: subtest.name.clone(),
            });
        }
        if let Some(replicates) = &subtest.replicates {
            results.push((subtest.name.clone(), Replicates(replicates.clone())));
        }
        let without_replicates = Subtest {
            name: String::new(),
            replicates: None,
            ..subtest.clone()
        };
        // Without results, a subtest is found by its summary alone.
        if subtest.replicates.is_none() || without_replicates != Subtest::default() {
            summaries.push((
                subtest.name.clone(),
                SubtestSummary {
                    filtered: subtest.value,
                    statistics: subtest.statistics,
                    public_name: subtest.public_name.clone(),
                    unit: subtest.unit.clone(),
                    lower_is_better: subtest.lower_is_better,
                    settings: subtest.settings,
                    other: subtest.other.clone(),
                },
            ));
        }
    }
    let has_summary = suite.value.is_some() || !summaries.is_empty() || !suite.summary.is_empty();
    Ok(Test {
        machine: suite.machine.clone(),
        testrun: TestRun {
            suite: suite.name.clone(),
            other: suite.run.clone(),
        },
        results: Pairs(results),
        summary: has_summary.then(|| Summary {
            suite: suite.value,
            subtests: (!summaries.is_empty()).then_some(Pairs(summaries)),
            other: suite.summary.clone(),
        }),
        counters: (!suite.counters.is_empty())
            .then(|| Pairs(suite.counters.clone().into_iter().collect())),
        build: suite.build.clone(),
        public_name: suite.public_name.clone(),
        extra_options: suite.extra_options.clone(),
        tags: suite.tags.clone(),
        unit: suite.unit.clone(),
        lower_is_better: suite.lower_is_better,
        settings: suite.settings,
        job: None,
        other: suite.other.clone(),
    })
}
