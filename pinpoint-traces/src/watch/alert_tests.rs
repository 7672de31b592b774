//! Tests of alerts as they are written: names, defaults, errors.

use pinpoint_compare::steps::{Statistic, StepError};

use super::alert::{
    Alert, AlertAction, AlertDirection, AlertId, AlertState, Algo, DEFAULT_INTERESTING,
};
use super::alert_error::AlertError;

fn error(fields: &str) -> AlertError {
    Alert::from_json(&format!(r#"{{"query": "bot=a"{fields}}}"#)).unwrap_err()
}

#[test]
fn the_defaults_are_written_down() {
    let alert = Alert::from_json(r#"{"query": "bot=a"}"#).unwrap();
    let json = serde_json::to_string(&alert).unwrap();
    assert_eq!(
        json,
        concat!(
            r#"{"id_as_string":"-1","display_name":"","query":"bot=a","algo":"rank","#,
            r#""step":"original","interesting":50.0,"radius":0,"k":0,"group_by":"","#,
            r#""sparse":false,"minimum_num":0,"direction":"BOTH","state":"ACTIVE","owner":"","#,
            r#""category":"","action":"noaction","rate":0.0001,"least_amount":0.0,"#,
            r#""least_share":0.0,"group_key":"benchmark"}"#
        )
    );
    assert_eq!(Alert::from_json(&json).unwrap(), alert);
    assert_eq!((alert.id, alert.radius()), (AlertId::NEW, 7));
    assert_eq!(alert.check(), Ok(()));
    let wrong = Alert { rate: 1.0, ..alert };
    assert!(matches!(
        wrong.check(),
        Err(AlertError::OutOfRange { field: "rate", .. })
    ));
}

#[test]
fn a_number_out_of_its_range_says_which_ones_can_be() {
    let told = |fields: &str| error(fields).to_string();
    assert!(told(r#", "interesting": -1"#).ends_with("it must be 0 or more"));
    assert!(told(r#", "least_share": -0.5"#).ends_with("it must be 0 or more"));
    assert!(told(r#", "rate": 1"#).ends_with("it must lie between 0.00005 and 0.01"));
    let alert = Alert::from_json(r#"{"query": "bot=a"}"#).unwrap();
    let interesting = f64::NAN;
    let wrong = Alert {
        interesting,
        ..alert
    };
    let error = wrong.check().unwrap_err().to_string();
    assert!(error.ends_with("it must be a finite number"), "{error}");
}

#[test]
fn an_array_is_not_an_alert() {
    let fields = r#" ["-1", "a name", "test=sort"]"#;
    assert_eq!(Alert::from_json(fields), Err(AlertError::NotAnObject));
}

#[test]
fn an_alert_of_toml_has_the_same_names() {
    let text = r#"
        id_as_string = "7"
        query = "bot=a"
        algo = "stepfit"
        group_by = "config, arch"
        direction = "DOWN"
        state = "DELETED"
        action = "bisect"
        command = "./bench --only {test}"
        chart = "{test}"
        least_share = 0.01
        [[floors]]
        query = "config=8888"
        least_share = 0.05
        [detection_rule.complex_rule]
        op = "AND"
        rules = [
            { simple_rule = { step = "cohen", threshold = 2.0 } },
            { simple_rule = { step = "mannwhitneyu", threshold = 0.05 } },
        ]
    "#;
    let alert = Alert::from_toml(text).unwrap();
    assert_eq!(alert.group_by, ["config", "arch"]);
    assert_eq!(alert.direction, AlertDirection::Down);
    assert_eq!(
        (alert.state, alert.action),
        (AlertState::Deleted, AlertAction::Bisect)
    );
    assert_eq!(
        alert.rule().statistics(),
        [Statistic::Cohen, Statistic::MannWhitneyU]
    );
    assert_eq!(
        alert
            .floor_of(&",config=8888,".parse().unwrap())
            .least_share,
        0.05
    );
    let json = serde_json::to_string(&alert).unwrap();
    assert_eq!(Alert::from_json(&json).unwrap(), alert);
}

#[test]
fn names_of_the_original_are_read() {
    let text = r#"{"id_as_string": "3", "query": "a=b", "step_up_only": true, "alert": "me@x",
        "bug_uri_template": "", "issue_tracker_component": "12", "algo": "", "step": "",
        "interesting": 0, "direction": ""}"#;
    let alert = Alert::from_json(text).unwrap();
    assert_eq!(
        (alert.direction, alert.algo),
        (AlertDirection::Up, Algo::Rank)
    );
    assert_eq!(alert.interesting, DEFAULT_INTERESTING);
}

#[test]
fn each_wrong_value_has_its_error() {
    let is_step = |field: &str| match error(field) {
        AlertError::Step { field, reason } => (field, reason),
        other => panic!("{other}"),
    };
    assert!(matches!(
        is_step(r#", "step": "median""#),
        ("step", StepError::UnknownStatistic { .. })
    ));
    assert!(matches!(
        is_step(r#", "algo": "stepfit", "step": "mannwhitneyu", "interesting": 1.5"#),
        ("interesting", StepError::BadThreshold { .. })
    ));
    for (both, rule) in [
        (false, "{}"),
        (
            true,
            r#"{"simple_rule": {"step": "cohen", "threshold": 2}, "complex_rule": {"op": "OR", "rules": []}}"#,
        ),
    ] {
        let (field, reason) = is_step(&format!(r#", "detection_rule": {rule}"#));
        assert_eq!(field, "detection_rule");
        let path = String::new();
        assert_eq!(reason, StepError::AmbiguousRule { path, both });
    }
    assert!(matches!(
        is_step(r#", "detection_rule": {"simple_rule": {"step": "x", "threshold": 2}}"#),
        ("detection_rule", StepError::UnknownStatistic { .. })
    ));
    assert_eq!(
        error(r#", "group_by": "config,bot""#),
        AlertError::GroupedKeyInQuery("bot".into())
    );
    assert_eq!(
        error(r#", "group_by": "x,x""#),
        AlertError::SameKey("x".into())
    );
    for key in ["x,", "a b", ",x"] {
        let found = error(&format!(r#", "group_by": "{key}""#));
        assert!(
            matches!(
                found,
                AlertError::Key {
                    field: "group_by",
                    ..
                }
            ),
            "{found}"
        );
    }
    assert!(matches!(
        error(r#", "algo": "median""#),
        AlertError::UnknownName { field: "algo", .. }
    ));
    assert!(matches!(
        error(r#", "direction": "up""#),
        AlertError::UnknownName { .. }
    ));
    assert!(matches!(
        error(r#", "id_as_string": "x""#),
        AlertError::Id(_)
    ));
    assert!(matches!(
        error(r#", "k": 201"#),
        AlertError::OutOfRange { field: "k", .. }
    ));
    assert!(matches!(
        error(r#", "rate": 0.5"#),
        AlertError::OutOfRange { .. }
    ));
    assert!(matches!(
        error(r#", "least_share": -1"#),
        AlertError::OutOfRange { .. }
    ));
    assert!(matches!(
        error(r#", "command": "{""#),
        AlertError::Template { .. }
    ));
    assert!(matches!(
        error(r#", "algo": "stepfit", "step": "cohen""#),
        AlertError::NoThreshold { step: "cohen" }
    ));
    assert!(matches!(
        error(r#", "floors": [{"query": "x"}]"#),
        AlertError::Query {
            field: "floors",
            ..
        }
    ));
    let found = error(r#", "ownr": "x""#).to_string();
    assert!(found.contains("ownr"), "{found}");
    assert!(matches!(Alert::from_json("{} x"), Err(AlertError::Json(_))));
    assert!(matches!(
        Alert::from_toml("query = 3"),
        Err(AlertError::Toml(_))
    ));
    assert!(matches!(
        Alert::from_toml("query = \"\"\nleast_amount = nan"),
        Err(AlertError::OutOfRange { .. })
    ));
}
