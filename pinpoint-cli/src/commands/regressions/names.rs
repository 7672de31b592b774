//! Regressions and groups by the names that people give them.

use std::collections::BTreeSet;

use pinpoint_traces::watch::{AlertId, Group, Regression, RegressionId, WatchState};

use crate::error::CliError;

/// A regression or a group.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Named<'a> {
    Regression(&'a Regression),
    Group(Box<Group>),
}

/// The regression or group of this name, or the only one whose name begins with it.
///
/// # Errors
///
/// A name that is unknown or that several begin with, and a group whose members have left it.
pub(super) fn find<'a>(state: &'a WatchState, name: &str) -> Result<Named<'a>, CliError> {
    let found = named(state, name)?;
    match &found {
        Named::Group(group) if group.members.is_empty() => Err(CliError::Input(format!(
            "the group {} has no members any more{}",
            group.name,
            whereabouts(state, group)
        ))),
        _ => Ok(found),
    }
}

/// Where the former members of a group are now.
fn whereabouts(state: &WatchState, group: &Group) -> String {
    let mut text = String::new();
    let groups = state.groups();
    for id in &group.left {
        let is_there = |it: &&Group| it.alert == group.alert && it.members.contains(id);
        let place = match groups.iter().find(is_there) {
            Some(group) => format!("in group {}", group.name),
            None => "in no group".to_owned(),
        };
        text += &format!(
            "{} {id} is {place}",
            if text.is_empty() { ":" } else { "," }
        );
    }
    text
}

fn named<'a>(state: &'a WatchState, name: &str) -> Result<Named<'a>, CliError> {
    let groups = state.groups();
    if let Some(regression) = state.regressions.get(&RegressionId::from(name)) {
        return Ok(Named::Regression(regression));
    }
    if let Some(group) = groups.iter().find(|it| it.name.as_str() == name) {
        return Ok(Named::Group(Box::new(group.clone())));
    }
    let begins = |text: &str| !name.is_empty() && text.starts_with(name);
    let regressions = state.regressions.values();
    let regressions = regressions
        .filter(|it| begins(it.id.as_str()))
        .map(Named::Regression);
    let groups = groups.into_iter().filter(|it| begins(it.name.as_str()));
    let groups = groups.map(|it| Named::Group(Box::new(it)));
    let mut found: Vec<Named<'_>> = regressions.chain(groups).collect();
    match (found.pop(), found.len()) {
        (Some(one), 0) => Ok(one),
        (Some(_), more) => Err(CliError::Input(format!(
            "{} names begin with `{name}`; write more of it",
            more + 1
        ))),
        (None, _) => Err(CliError::Input(format!(
            "there is no regression and no group `{name}`; `pinpoint regressions list --all` has them"
        ))),
    }
}

/// The regressions of these names; of a group, all of its members.
pub(super) fn regressions(
    state: &WatchState,
    names: &[String],
) -> Result<Vec<RegressionId>, CliError> {
    let mut found = BTreeSet::new();
    for name in names {
        match find(state, name)? {
            Named::Regression(regression) => {
                found.insert(regression.id.clone());
            }
            Named::Group(group) => found.extend(group.members),
        }
    }
    Ok(found.into_iter().collect())
}

/// The regression of this name.
pub(super) fn regression<'a>(
    state: &'a WatchState,
    name: &str,
) -> Result<&'a Regression, CliError> {
    match find(state, name)? {
        Named::Regression(regression) => Ok(regression),
        Named::Group(group) => Err(CliError::Input(format!(
            "{} is a group; name one of its regressions",
            group.name
        ))),
    }
}

/// The alert that is meant: the one that was named, or the only one that sees all of these.
pub(super) fn common_alert(
    state: &WatchState,
    named: Option<AlertId>,
    members: &[RegressionId],
) -> Result<AlertId, CliError> {
    if let Some(alert) = named {
        return Ok(alert);
    }
    let mut common: Option<BTreeSet<AlertId>> = None;
    for regression in members.iter().filter_map(|it| state.regressions.get(it)) {
        let alerts: BTreeSet<AlertId> = regression.alerts.keys().copied().collect();
        common = Some(common.map_or(alerts.clone(), |common| &common & &alerts));
    }
    let common: Vec<AlertId> = common.unwrap_or_default().into_iter().collect();
    match common[..] {
        [alert] => Ok(alert),
        [] => Err(CliError::Input(
            "no alert sees all of these regressions, so that they are in no common list of groups"
                .into(),
        )),
        _ => {
            let alerts: Vec<String> = common.iter().map(ToString::to_string).collect();
            Err(CliError::Input(format!(
                "several alerts see these regressions ({}); say with --alert whose groups are meant",
                alerts.join(", ")
            )))
        }
    }
}
