//! An alert as files and options describe it.

use std::io::Read;
use std::path::Path;

use pinpoint_core::Magnitude;
use pinpoint_traces::watch::Alert;
use serde_json::{Value, json};

use crate::arguments::AlertOptions;
use crate::error::CliError;
use crate::show::alert_list::{ALERT_DOCUMENT_VERSION, COUNTED_FIELDS};

/// Reads the alert of a file: JSON, or TOML if it ends in `.toml`.
pub(super) fn read(file: &Path) -> Result<Alert, CliError> {
    let mut text = String::new();
    let read = if file == Path::new("-") {
        std::io::stdin().lock().read_to_string(&mut text)
    } else {
        std::fs::File::open(file).and_then(|mut it| it.read_to_string(&mut text))
    };
    read.map_err(|error| CliError::Input(format!("can't read {}: {error}", file.display())))?;
    let is_toml = file.extension().is_some_and(|it| it == "toml");
    let alert = match is_toml {
        true => Alert::from_toml(&text).map_err(|error| error.to_string()),
        false => printed(&text).and_then(|it| {
            let alert = Alert::from_json(it.as_deref().unwrap_or(&text));
            alert.map_err(|error| error.to_string())
        }),
    };
    alert.map_err(|error| CliError::Input(format!("{}: {error}", file.display())))
}

/// The alert in the text of a document of `alerts show`, without what was counted of it; of another
/// text, nothing.
fn printed(text: &str) -> Result<Option<String>, String> {
    let Ok(Value::Object(mut document)) = serde_json::from_str(text) else {
        return Ok(None);
    };
    let (Some(version), Some(Value::Object(alert))) =
        (document.remove("version"), document.get_mut("alert"))
    else {
        return Ok(None);
    };
    if version != json!(ALERT_DOCUMENT_VERSION) {
        return Err(format!(
            "it is a document of version {version}, and this Pinpoint reads version {ALERT_DOCUMENT_VERSION}"
        ));
    }
    for name in COUNTED_FIELDS {
        alert.remove(name);
    }
    Ok(Some(json!(alert).to_string()))
}

/// The alert with what the options say in place of its own; without one, a new alert.
///
/// # Errors
///
/// Values that can't be, as in a file.
pub(super) fn changed(
    alert: Option<&Alert>,
    options: &AlertOptions,
    more: &[(&str, Value)],
) -> Result<Alert, CliError> {
    // JSON has no such numbers.
    for (field, value) in [("interesting", options.interesting), ("rate", options.rate)] {
        if let Some(value) = value.filter(|it| !it.is_finite()) {
            return Err(CliError::Input(format!(
                "`{field}` of the alert is {value}: it must be a finite number"
            )));
        }
    }
    // Every key is a string: this can't fail.
    let mut fields = alert.map_or_else(|| json!({}), |it| json!(it));
    let given = [
        ("query", options.query.as_ref().map(|it| json!(it))),
        (
            "display_name",
            options.display_name.as_ref().map(|it| json!(it)),
        ),
        ("algo", options.algo.map(|it| json!(it))),
        ("rate", options.rate.map(|it| json!(it))),
        ("step", options.step.as_ref().map(|it| json!(it))),
        ("interesting", options.interesting.map(|it| json!(it))),
        ("direction", options.direction.map(|it| json!(it))),
        ("group_by", options.group_by.as_ref().map(|it| json!(it))),
        ("group_key", options.group_key.as_ref().map(|it| json!(it))),
        ("minimum_num", options.minimum_num.map(|it| json!(it))),
        ("action", options.action.map(|it| json!(it))),
        (
            "command",
            options.command.as_ref().map(|it| json!(it.as_str())),
        ),
        ("chart", options.chart.as_ref().map(|it| json!(it.as_str()))),
        ("owner", options.owner.as_ref().map(|it| json!(it))),
        ("category", options.category.as_ref().map(|it| json!(it))),
    ];
    let given = given
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    for (name, value) in given.chain(more.iter().cloned()) {
        fields[name] = value;
    }
    // A statistic has a threshold of its own.
    if options.step.is_some() && options.interesting.is_none() {
        fields["interesting"] = json!(0.0);
    }
    if options.step.is_some() || options.interesting.is_some() {
        fields["detection_rule"] = Value::Null;
    }
    match options.smallest_change {
        Some(Magnitude::Percent(percent)) => fields["least_share"] = json!(percent / 100.0),
        Some(Magnitude::Absolute(amount)) => fields["least_amount"] = json!(amount),
        _ => {}
    }
    Alert::from_json(&fields.to_string()).map_err(|error| CliError::Input(error.to_string()))
}

/// Checks that a bisection can take the command of an alert apart into words.
///
/// # Errors
///
/// A quote that is not closed, and a command without a word.
pub(super) fn check_command(alert: &Alert) -> Result<(), CliError> {
    let Some(command) = &alert.command else {
        return Ok(());
    };
    match shlex::split(command.as_str()) {
        Some(words) if !words.is_empty() => Ok(()),
        _ => Err(CliError::Input(format!(
            "the command `{command}` has a quote that is not closed, or is empty; write it as a shell would read it"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use pinpoint_traces::watch::{AlertAction, AlertDirection, Algo};

    use super::*;

    fn options(query: &str) -> AlertOptions {
        AlertOptions {
            query: Some(query.parse().unwrap()),
            ..AlertOptions::default()
        }
    }

    #[test]
    fn options_replace_what_an_alert_says() {
        let all = AlertOptions {
            display_name: Some("sorting".into()),
            algo: Some(Algo::Conformal),
            rate: Some(0.001),
            direction: Some(AlertDirection::Up),
            smallest_change: Some(Magnitude::Percent(5.0)),
            group_by: Some("os,bot".into()),
            minimum_num: Some(2),
            action: Some(AlertAction::Bisect),
            command: Some("./b {test}".parse().unwrap()),
            chart: Some("{test}".parse().unwrap()),
            owner: Some("ada".into()),
            ..options("test=sort")
        };
        let alert = changed(None, &all, &[]).unwrap();
        assert_eq!(alert.query.to_string(), "test=sort");
        assert_eq!(
            (alert.algo, alert.direction),
            (Algo::Conformal, AlertDirection::Up)
        );
        assert_eq!((alert.floor.least_share, alert.rate), (0.05, 0.001));
        assert_eq!(alert.group_by, ["os", "bot"]);
        assert_eq!(alert.command.as_ref().unwrap().as_str(), "./b {test}");
        let stepwise = AlertOptions {
            algo: Some(Algo::Stepfit),
            step: Some("cohen".into()),
            interesting: Some(2.0),
            ..AlertOptions::default()
        };
        let alert = changed(Some(&alert), &stepwise, &[("state", json!("DELETED"))]).unwrap();
        assert_eq!((alert.algo, alert.interesting), (Algo::Stepfit, 2.0));
        assert_eq!((alert.owner.as_str(), alert.minimum_num), ("ada", 2));
        assert!(!alert.is_active());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let wrong = |options: AlertOptions| changed(None, &options, &[]).unwrap_err().to_string();
        let grouped = AlertOptions {
            group_by: Some("test".into()),
            ..options("test=sort")
        };
        assert!(wrong(grouped).contains("group_by"));
        let step = AlertOptions {
            algo: Some(Algo::Stepfit),
            step: Some("cohen".into()),
            ..options("")
        };
        assert!(wrong(step).contains("interesting"));
        for infinite in [f64::NAN, f64::INFINITY] {
            let interesting = AlertOptions {
                interesting: Some(infinite),
                ..options("")
            };
            assert!(wrong(interesting).contains("a finite number"));
        }
        let p = AlertOptions {
            step: Some("mannwhitneyu".into()),
            interesting: Some(1.5),
            ..options("")
        };
        assert!(wrong(p).contains("interesting"));
        let rate = AlertOptions {
            rate: Some(0.5),
            ..options("")
        };
        assert!(wrong(rate).contains("rate"));
    }
}
