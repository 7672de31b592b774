//! Alerts as they are written, before they are checked.

use pinpoint_compare::steps::{
    ComplexRule, MOST_CLUSTERS, MOST_RADIUS, Operator, Rule, SimpleRule, Statistic, StepError,
};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::alert::{Alert, AlertDirection, Algo, DEFAULT_GROUP_KEY, DEFAULT_INTERESTING};
use super::alert_error::AlertError;
use super::floor::{Floor, FloorOverride};
use super::template::Template;
use crate::query::Query;

/// The fields of an alert, in the order in which they are written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AlertFields {
    #[serde(default = "new_id")]
    id_as_string: String,
    #[serde(default)]
    display_name: String,
    query: String,
    #[serde(default)]
    algo: String,
    #[serde(default)]
    step: String,
    #[serde(default)]
    interesting: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    detection_rule: Option<RuleFields>,
    #[serde(default)]
    radius: usize,
    #[serde(default)]
    k: usize,
    #[serde(default)]
    group_by: String,
    #[serde(default)]
    sparse: bool,
    #[serde(default)]
    minimum_num: usize,
    #[serde(default)]
    direction: String,
    /// The older name of the direction UP. Never written.
    #[serde(default, skip_serializing)]
    step_up_only: bool,
    #[serde(default)]
    state: String,
    #[serde(default)]
    owner: String,
    #[serde(default)]
    category: String,
    #[serde(default)]
    action: String,
    #[serde(default = "default_rate")]
    rate: f64,
    #[serde(default)]
    least_amount: f64,
    #[serde(default)]
    least_share: f64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    floors: Vec<OverrideFields>,
    #[serde(default = "default_group_key")]
    group_key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chart: Option<String>,
    /// Names of Skia Perf that have no meaning here: where it sends mail and files bugs.
    #[serde(default, skip_serializing)]
    #[expect(dead_code, reason = "read and left out")]
    alert: Option<IgnoredAny>,
    #[serde(default, skip_serializing)]
    #[expect(dead_code, reason = "read and left out")]
    bug_uri_template: Option<IgnoredAny>,
    #[serde(default, skip_serializing)]
    #[expect(dead_code, reason = "read and left out")]
    issue_tracker_component: Option<IgnoredAny>,
    #[serde(default, skip_serializing)]
    #[expect(dead_code, reason = "read and left out")]
    sub_name: Option<IgnoredAny>,
    #[serde(default, skip_serializing)]
    #[expect(dead_code, reason = "read and left out")]
    sub_revision: Option<IgnoredAny>,
}

/// A node of a rule tree whose statistics are not read yet.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFields {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    simple_rule: Option<SimpleFields>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    complex_rule: Option<ComplexFields>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SimpleFields {
    step: String,
    threshold: f64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ComplexFields {
    op: String,
    rules: Vec<RuleFields>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OverrideFields {
    query: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    least_amount: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    least_share: Option<f64>,
}

fn new_id() -> String {
    "-1".to_owned()
}

fn default_rate() -> f64 {
    pinpoint_compare::steps::DEFAULT_RATE
}

fn default_group_key() -> String {
    DEFAULT_GROUP_KEY.to_owned()
}

impl TryFrom<AlertFields> for Alert {
    type Error = AlertError;

    fn try_from(fields: AlertFields) -> Result<Self, AlertError> {
        let query = query("query", &fields.query)?;
        let algo: Algo = fields.algo.parse()?;
        let step: Statistic = (fields.step.parse()).map_err(step_error("step"))?;
        let detection_rule = fields.detection_rule.as_ref().map(rule).transpose()?;
        let uses_windows = matches!(algo, Algo::Kmeans | Algo::Stepfit);
        let mut interesting = fields.interesting;
        if interesting == 0.0 && step == Statistic::Original {
            interesting = DEFAULT_INTERESTING;
        }
        if interesting == 0.0 && uses_windows && detection_rule.is_none() {
            return Err(AlertError::NoThreshold {
                step: step.as_str(),
            });
        }
        let in_range = |field, value: f64, least: f64, most: f64| {
            if (least..=most).contains(&value) {
                Ok(value)
            } else {
                Err(AlertError::OutOfRange {
                    field,
                    value,
                    least,
                    most,
                })
            }
        };
        in_range("interesting", interesting, 0.0, f64::MAX)?;
        (Rule::simple(step, interesting).check()).map_err(step_error("interesting"))?;
        if let Some(rule) = &detection_rule {
            rule.check().map_err(step_error("detection_rule"))?;
        }
        in_range("radius", fields.radius as f64, 0.0, MOST_RADIUS as f64)?;
        in_range("k", fields.k as f64, 0.0, MOST_CLUSTERS as f64)?;
        in_range("rate", fields.rate, 5e-5, 1e-2)?;
        let amount = |value| in_range("least_amount", value, 0.0, f64::MAX);
        let share = |value| in_range("least_share", value, 0.0, f64::MAX);
        let floors = (fields.floors.into_iter()).map(|it| {
            Ok(FloorOverride {
                query: self::query("floors", &it.query)?,
                least_amount: it.least_amount.map(amount).transpose()?,
                least_share: it.least_share.map(share).transpose()?,
            })
        });
        let floors = floors.collect::<Result<_, AlertError>>()?;
        check_key("group_key", &fields.group_key)?;
        Ok(Self {
            id: fields.id_as_string.parse()?,
            display_name: fields.display_name,
            group_by: group_by(&fields.group_by, &query)?,
            query,
            algo,
            step,
            interesting,
            detection_rule,
            radius: fields.radius,
            k: fields.k,
            sparse: fields.sparse,
            minimum_num: fields.minimum_num,
            direction: match fields.step_up_only {
                true => AlertDirection::Up,
                false => fields.direction.parse()?,
            },
            state: fields.state.parse()?,
            owner: fields.owner,
            category: fields.category,
            action: fields.action.parse()?,
            rate: fields.rate,
            floor: Floor {
                least_amount: amount(fields.least_amount)?,
                least_share: share(fields.least_share)?,
            },
            floors,
            group_key: fields.group_key,
            command: template("command", fields.command)?,
            chart: template("chart", fields.chart)?,
        })
    }
}

impl From<Alert> for AlertFields {
    fn from(alert: Alert) -> Self {
        Self {
            id_as_string: alert.id.to_string(),
            display_name: alert.display_name,
            query: alert.query.to_string(),
            algo: alert.algo.to_string(),
            step: alert.step.to_string(),
            interesting: alert.interesting,
            detection_rule: alert.detection_rule.as_ref().map(rule_fields),
            radius: alert.radius,
            k: alert.k,
            group_by: alert.group_by.join(","),
            sparse: alert.sparse,
            minimum_num: alert.minimum_num,
            direction: alert.direction.to_string(),
            step_up_only: false,
            state: alert.state.to_string(),
            owner: alert.owner,
            category: alert.category,
            action: alert.action.to_string(),
            rate: alert.rate,
            least_amount: alert.floor.least_amount,
            least_share: alert.floor.least_share,
            floors: (alert.floors.into_iter())
                .map(|it| OverrideFields {
                    query: it.query.to_string(),
                    least_amount: it.least_amount,
                    least_share: it.least_share,
                })
                .collect(),
            group_key: alert.group_key,
            command: alert.command.map(String::from),
            chart: alert.chart.map(String::from),
            alert: None,
            bug_uri_template: None,
            issue_tracker_component: None,
            sub_name: None,
            sub_revision: None,
        }
    }
}

fn step_error(field: &'static str) -> impl Fn(StepError) -> AlertError {
    move |reason| AlertError::Step { field, reason }
}

fn query(field: &'static str, text: &str) -> Result<Query, AlertError> {
    (text.parse()).map_err(|reason| AlertError::Query { field, reason })
}

fn template(field: &'static str, text: Option<String>) -> Result<Option<Template>, AlertError> {
    (text.map(|text| text.parse()).transpose())
        .map_err(|reason| AlertError::Template { field, reason })
}

fn check_key(field: &'static str, key: &str) -> Result<(), AlertError> {
    if key.is_empty() || !key.chars().all(crate::id::is_kept) {
        return Err(AlertError::Key {
            field,
            key: key.to_owned(),
        });
    }
    Ok(())
}

fn group_by(text: &str, query: &Query) -> Result<Vec<String>, AlertError> {
    let mut keys: Vec<String> = Vec::new();
    for key in text.split(',').map(str::trim) {
        if text.trim().is_empty() {
            break;
        }
        check_key("group_by", key)?;
        if query.keys().iter().any(|it| it.key() == key) {
            return Err(AlertError::GroupedKeyInQuery(key.to_owned()));
        }
        if keys.iter().any(|it| it == key) {
            return Err(AlertError::SameKey(key.to_owned()));
        }
        keys.push(key.to_owned());
    }
    Ok(keys)
}

fn rule(fields: &RuleFields) -> Result<Rule, AlertError> {
    let simple = |it: &SimpleFields| {
        Ok::<_, AlertError>(SimpleRule {
            step: (it.step.parse()).map_err(step_error("detection_rule"))?,
            threshold: it.threshold,
        })
    };
    let complex = |it: &ComplexFields| {
        Ok::<_, AlertError>(ComplexRule {
            op: operator(&it.op)?,
            rules: it.rules.iter().map(rule).collect::<Result<_, _>>()?,
        })
    };
    Ok(Rule {
        simple_rule: fields.simple_rule.as_ref().map(simple).transpose()?,
        complex_rule: fields.complex_rule.as_ref().map(complex).transpose()?,
    })
}

fn operator(name: &str) -> Result<Operator, AlertError> {
    match name {
        "AND" => Ok(Operator::And),
        "OR" => Ok(Operator::Or),
        _ => Err(AlertError::UnknownName {
            field: "op",
            name: name.to_owned(),
            names: &["AND", "OR"],
        }),
    }
}

fn rule_fields(rule: &Rule) -> RuleFields {
    RuleFields {
        simple_rule: rule.simple_rule.map(|it| SimpleFields {
            step: it.step.to_string(),
            threshold: it.threshold,
        }),
        complex_rule: rule.complex_rule.as_ref().map(|it| ComplexFields {
            op: match it.op {
                Operator::And => "AND".to_owned(),
                Operator::Or => "OR".to_owned(),
            },
            rules: it.rules.iter().map(rule_fields).collect(),
        }),
    }
}
