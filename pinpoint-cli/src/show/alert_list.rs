//! Alerts, for people and as documents.

use std::fmt::Write as _;

use pinpoint_report::quantity::{count, percent_change};
use pinpoint_report::words::expected_alarms;
use pinpoint_traces::watch::{AlarmCount, Alert, Algo, DAYS_COUNTED, WatchState, alarm_count};
use serde_json::{Value, json};

use super::text::{BOLD, DIM, Text, in_list, one_line, text};

/// The version of the document of one alert.
pub(crate) const ALERT_DOCUMENT_VERSION: u32 = 1;

/// The fields that an alert's document has beside those of the alert.
pub(crate) const COUNTED_FIELDS: [&str; 4] = ["days", "alarms", "values", "alarms_by_chance"];

/// An alert with what came of it.
pub(crate) struct AlertRow {
    alert: Alert,
    count: AlarmCount,
}

impl AlertRow {
    pub(crate) fn of(alert: Alert, state: &WatchState, now: i64) -> Self {
        let count = alarm_count(state, &alert, now);
        Self { alert, count }
    }

    /// The alarms of the alert, on a line.
    pub(crate) fn line(&self) -> Text {
        let (alert, counted) = (&self.alert, counted(&self.count));
        text!(
            "{DIM}alert {} ({}): {counted}{DIM:#}\n",
            alert.id,
            title(alert)
        )
    }
}

/// The stored alert, and its alarms of the last days.
pub(crate) fn alert_document(row: &AlertRow) -> Value {
    let mut document = json!(row.alert);
    document["days"] = json!(DAYS_COUNTED);
    document["alarms"] = json!(row.count.alarms);
    document["values"] = json!(row.count.values);
    document["alarms_by_chance"] = json!(row.count.by_chance);
    document
}

/// The name that people see, short enough for a list.
pub(crate) fn title(alert: &Alert) -> String {
    match (&*alert.display_name, &*alert.query.to_string()) {
        ("", "") => "all traces".into(),
        ("", query) => in_list(query),
        (name, _) => in_list(name),
    }
}

/// "3 alarms in 30 days among 12000 values, about 1.2 by chance".
fn counted(count_of: &AlarmCount) -> String {
    let alarms = count(count_of.alarms, "alarm");
    let values = count(count_of.values, "value");
    let chance = match count_of.by_chance {
        Some(expected) => format!("{} by chance", expected_alarms(expected)),
        None => "its detector has no stated rate".into(),
    };
    format!("{alarms} in {DAYS_COUNTED} days among {values}, {chance}")
}

pub(crate) fn listed(rows: &[AlertRow]) -> Text {
    let mut text = Text::default();
    for AlertRow { alert, count } in rows {
        let state = if alert.is_active() { "" } else { "  deleted" };
        // Writing to a string can't fail.
        let _ = writeln!(
            text,
            "{BOLD}{}  {}{BOLD:#}{state}\n   {}, {}, {}\n   {DIM}{}{DIM:#}",
            alert.id,
            title(alert),
            detector(alert),
            changes(alert),
            alert.action,
            counted(count),
        );
    }
    text
}

/// The fields of an alert, a name and a value on each line, without empty texts; and its alarms.
pub(crate) fn described(row: &AlertRow) -> Text {
    let mut text = Text::default();
    let Value::Object(fields) = json!(row.alert) else {
        return text;
    };
    let width = fields.keys().map(String::len).max().unwrap_or_default();
    for (name, value) in fields {
        let value = match value {
            Value::String(value) if value.is_empty() => continue,
            Value::String(value) => one_line(&value),
            value => value.to_string(),
        };
        let _ = writeln!(text, "{DIM}{name:<width$}{DIM:#}  {value}");
    }
    let _ = writeln!(text, "\n{}", counted(&row.count));
    text
}

fn detector(alert: &Alert) -> String {
    match alert.algo {
        Algo::Rank | Algo::Conformal => format!("{} at {}", alert.algo, alert.rate),
        _ if alert.detection_rule.is_some() => format!("{} with a rule", alert.algo),
        _ => format!("{} with {} {}", alert.algo, alert.step, alert.interesting),
    }
}

fn changes(alert: &Alert) -> String {
    let direction = match alert.direction.as_str() {
        "UP" => "rises",
        "DOWN" => "falls",
        _ => "changes",
    };
    let floor = alert.floor;
    let share = (floor.least_share > 0.0).then(|| {
        let percent = percent_change(floor.least_share);
        percent.trim_start_matches('+').to_owned()
    });
    let amount = (floor.least_amount > 0.0).then(|| floor.least_amount.to_string());
    match share.into_iter().chain(amount).collect::<Vec<_>>() {
        least if least.is_empty() => direction.to_owned(),
        least => format!("{direction} of at least {}", least.join(" and ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::screen_tests::without_styles;

    #[test]
    fn alerts_are_listed_with_their_alarms() {
        let alert = |text: &str| Alert::from_json(text).unwrap();
        let rows: Vec<AlertRow> = [
            r#"{"id_as_string": "1", "display_name": "sorting", "query": "test=sort",
                "direction": "UP", "action": "bisect", "least_share": 0.05}"#,
            r#"{"id_as_string": "2", "query": "", "algo": "stepfit", "state": "DELETED"}"#,
        ]
        .into_iter()
        .map(|text| AlertRow::of(alert(text), &WatchState::default(), 0))
        .collect();
        insta::assert_snapshot!(without_styles(&listed(&rows)));
        let long = json!({ "query": "", "display_name": "a\nb\tc".repeat(1000) });
        let long = AlertRow::of(alert(&long.to_string()), &WatchState::default(), 0);
        let shown = without_styles(&described(&long));
        assert_eq!(shown.lines().filter(|it| it.contains("a b c")).count(), 1);
        let shown = without_styles(&listed(&[long]));
        assert_eq!(shown.lines().count(), 3, "{shown}");
        assert!(shown.len() < 400, "{shown}");
        let shown = without_styles(&described(&rows[0]));
        assert!(shown.contains("display_name"), "{shown}");
        assert_eq!(alert_document(&rows[1])["alarms_by_chance"], Value::Null);
    }
}
