//! Clusters of traces that moved alike, for people.

use std::fmt::Write as _;

use pinpoint_report::quantity::{count, digits};
use pinpoint_traces::watch::{AlertId, Fingerprint, Triage};

use super::ingested::short;
use super::text::{BOLD, DIM, FOUND, Text};

/// The most traces that are named.
const MOST_TRACES: usize = 3;

/// A stored cluster, its alert and the query that was run.
pub(crate) struct ClusterRow<'a> {
    pub(crate) alert: AlertId,
    pub(crate) query: &'a str,
    pub(crate) fingerprint: &'a Fingerprint,
}

pub(crate) fn listed(rows: &[ClusterRow<'_>]) -> Text {
    let mut text = Text::default();
    for row in rows {
        let Fingerprint {
            id,
            triage,
            message,
            cluster,
        } = row.fingerprint;
        let hash = match cluster.hash.as_str() {
            "" => String::new(),
            hash => format!(" ({})", short(hash)),
        };
        let triage = match triage {
            Triage::Bug => "a bug",
            Triage::Ignore => "to be ignored",
            _ => "not triaged",
        };
        let rises = if cluster.regression < 0.0 {
            "rise"
        } else {
            "fall"
        };
        // Writing to a string can't fail.
        let _ = writeln!(
            text,
            "{BOLD}cluster {id}{BOLD:#} of alert {}, {}: {} {rises} at commit {}{hash}, R {}; {triage}",
            row.alert,
            match row.query {
                "" => "all traces",
                query => query,
            },
            count(cluster.keys.len() as u64, "trace"),
            cluster.commit,
            digits(cluster.regression),
        );
        for key in cluster.keys.iter().take(MOST_TRACES) {
            let _ = writeln!(text, "  {DIM}{key}{DIM:#}");
        }
        if cluster.keys.len() > MOST_TRACES {
            let _ = writeln!(
                text,
                "  {DIM}… and {} more{DIM:#}",
                cluster.keys.len() - MOST_TRACES
            );
        }
        if !message.is_empty() {
            let _ = writeln!(text, "  {FOUND}{message}{FOUND:#}");
        }
    }
    text
}
