//! The queries that an alert is run with: one for each combination of its grouped keys.

use std::collections::BTreeMap;

use super::alert::Alert;
use crate::id::TraceId;
use crate::query::{Query, QueryError};

/// The queries of an alert that any of these traces matches, ascending: its own or, with
/// [`Alert::group_by`], that and `key=value` for each combination of values that exists among the
/// traces. A trace without one of the keys is left out.
///
/// With the traces that were just ingested, these are the queries to run; with all of them, all
/// that the alert has.
///
/// ```
/// use pinpoint_traces::watch::{Alert, sub_queries};
///
/// let alert = Alert::from_json(r#"{"query": "bot=a", "group_by": "config"}"#)?;
/// let traces = [",bot=a,config=8888,test=t,", ",bot=a,config=gpu,", ",bot=b,config=x,", ",bot=a,"];
/// let traces = traces.iter().map(|it| it.parse()).collect::<Result<Vec<_>, _>>()?;
/// let found: Vec<String> = sub_queries(&alert, &traces)?.iter().map(ToString::to_string).collect();
/// assert_eq!(found, ["bot=a&config=8888", "bot=a&config=gpu"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`QueryError::TooManyConditions`] if the query has no room for the keys.
///
/// # Cost
///
/// O(traces · keys).
pub fn sub_queries<'a>(
    alert: &Alert,
    traces: impl IntoIterator<Item = &'a TraceId>,
) -> Result<Vec<Query>, QueryError> {
    let mut found: BTreeMap<Vec<&str>, ()> = BTreeMap::new();
    for trace in traces {
        if !alert.query.matches_id(trace) {
            continue;
        }
        let values = alert.group_by.iter().map(|key| trace.get(key));
        if let Some(values) = values.collect::<Option<Vec<_>>>() {
            found.insert(values, ());
        }
    }
    let query = |values: Vec<&str>| {
        let mut text = alert.query.to_string();
        for (key, value) in alert.group_by.iter().zip(values) {
            // Keys and values have no character that is written in another way.
            text.extend(["&", key, "=", value]);
        }
        text.parse()
    };
    found.into_keys().map(query).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_combinations_that_exist_are_run() {
        let alert = Alert::from_json(r#"{"query": "", "group_by": "b,a"}"#).unwrap();
        let traces: Vec<TraceId> = [",a=1,b=1,", ",a=2,b=2,", ",a=1,b=1,c=3,", ",a=1,", ",c=1,"]
            .iter()
            .map(|it| it.parse().unwrap())
            .collect();
        let found = sub_queries(&alert, &traces).unwrap();
        let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["a=1&b=1", "a=2&b=2"]);
        let alert = Alert::from_json(r#"{"query": "c=3"}"#).unwrap();
        assert_eq!(
            sub_queries(&alert, &traces).unwrap(),
            std::slice::from_ref(&alert.query)
        );
        assert!(sub_queries(&alert, &traces[..1]).unwrap().is_empty());
    }
}
