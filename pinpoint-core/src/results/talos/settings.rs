//! The settings by which Perfherder alerts, and their bounds.
//!
//! Source: `performance-artifact-schema.json` of mozilla-central.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// The settings of a suite or subtest by which Perfherder alerts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// False if there are never alerts, true if there are even of a subtest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub should_alert: Option<bool>,
    /// The least change that alerts: percent, or an amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alert_threshold: Option<f64>,
    /// The meaning of the threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alert_change_type: Option<AlertChangeType>,
    /// The least number of revisions before a change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_back_window: Option<i64>,
    /// The most revisions before a change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_back_window: Option<i64>,
    /// The number of revisions from a change on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fore_window: Option<i64>,
}

/// The meaning of a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AlertChangeType {
    /// Percent of the value before.
    Percentage,
    /// An amount.
    Absolute,
}

/// A member is out of its bounds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path} {problem}")]
pub struct OutOfBounds {
    /// The member, as a JSON pointer.
    pub path: String,
    /// The problem, as the rest of a sentence.
    pub problem: String,
}

const THRESHOLDS: RangeInclusive<f64> = 0.0..=1000.0;
const WINDOWS: RangeInclusive<i64> = 1..=255;
const VALUES: RangeInclusive<f64> = -1e12..=1e12;
const MOST_TAGS: usize = 14;
const LONGEST_TAG: usize = 24;
const MOST_OPTIONS: usize = 8;

impl Settings {
    /// Checks the settings of what stands at this path.
    fn check(&self, path: impl Fn() -> String) -> Result<(), OutOfBounds> {
        let out = |member: &str, problem: String| OutOfBounds {
            path: format!("{}/{member}", path()),
            problem,
        };
        match self.alert_threshold {
            Some(threshold) if !THRESHOLDS.contains(&threshold) => {
                let problem = format!("is {threshold}, and not from 0 to 1000");
                return Err(out("alertThreshold", problem));
            }
            _ => {}
        }
        for (member, window) in [
            ("minBackWindow", self.min_back_window),
            ("maxBackWindow", self.max_back_window),
            ("foreWindow", self.fore_window),
        ] {
            if let Some(window) = window.filter(|window| !WINDOWS.contains(window)) {
                return Err(out(member, format!("is {window}, and not from 1 to 255")));
            }
        }
        Ok(())
    }
}

/// The members of a suite that have bounds.
pub(super) struct BoundedSuite<'a> {
    pub(super) settings: Settings,
    pub(super) tags: &'a [String],
    pub(super) extra_options: &'a [String],
    pub(super) value: Option<f64>,
}

/// The members of a subtest that have bounds.
pub(super) struct BoundedSubtest<R> {
    pub(super) settings: Settings,
    pub(super) value: Option<f64>,
    /// `None` for a measurement that failed.
    pub(super) replicates: R,
}

/// Checks the suite at this index of the job, and its subtests.
pub(super) fn check_suite<R: Iterator<Item = Option<f64>>>(
    index: usize,
    suite: &BoundedSuite<'_>,
    subtests: impl Iterator<Item = BoundedSubtest<R>>,
) -> Result<(), OutOfBounds> {
    let path = || format!("/suites/{index}");
    suite.settings.check(path)?;
    check_labels(suite.tags, suite.extra_options, path)?;
    check_value(suite.value, || format!("{}/value", path()))?;
    for (index, subtest) in subtests.enumerate() {
        let path = || format!("{}/subtests/{index}", path());
        subtest.settings.check(path)?;
        check_value(subtest.value, || format!("{}/value", path()))?;
        for (index, value) in subtest.replicates.enumerate() {
            check_value(value, || format!("{}/replicates/{index}", path()))?;
        }
    }
    Ok(())
}

/// Checks the tags and options of a suite.
fn check_labels(
    tags: &[String],
    extra_options: &[String],
    path: impl Fn() -> String,
) -> Result<(), OutOfBounds> {
    let many = |member: &str, count: usize, most: usize| OutOfBounds {
        path: format!("{}/{member}", path()),
        problem: format!("has {count} entries, and may have {most}"),
    };
    if tags.len() > MOST_TAGS {
        return Err(many("tags", tags.len(), MOST_TAGS));
    }
    if extra_options.len() > MOST_OPTIONS {
        return Err(many("extraOptions", extra_options.len(), MOST_OPTIONS));
    }
    let is_tag = |tag: &str| {
        (1..=LONGEST_TAG).contains(&tag.len())
            && (tag.bytes()).all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    match tags.iter().position(|tag| !is_tag(tag)) {
        None => Ok(()),
        Some(index) => Err(OutOfBounds {
            path: format!("{}/tags/{index}", path()),
            problem: format!(
                "is {:?}, and not 1 to {LONGEST_TAG} of the letters A to Z and a to z, digits and `-`",
                tags[index]
            ),
        }),
    }
}

/// Checks a value, if the measurement did not fail; Perfherder refuses those beyond 10¹².
fn check_value(value: Option<f64>, path: impl Fn() -> String) -> Result<(), OutOfBounds> {
    match value {
        Some(value) if !VALUES.contains(&value) => Err(OutOfBounds {
            path: path(),
            problem: format!("is {value}, and not within 10¹² of 0"),
        }),
        _ => Ok(()),
    }
}
