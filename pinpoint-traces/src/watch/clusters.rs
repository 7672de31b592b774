//! The clusters of an alert's traces in windows over commits: `kmeans`.

use std::collections::{BTreeMap, BTreeSet};

use pinpoint_compare::steps::{
    ClusterOptions, FLOOR, Found, Rule, Shape, StepError, clusters, filled, is_left_out,
};

use super::alert::{Alert, Algo};
use super::change::Change;
use super::detect::FoundChange;
use super::range::CommitRange;
use super::standing::median;
use super::windows::{Point, peaks, window_length};
use crate::commit::CommitNumber;
use crate::frame::Columns;
use crate::id::TraceId;

/// When the step of a cluster is, and its clusters.
pub(super) type ClustersAt = (CommitNumber, Vec<Found>);

/// The interesting clusters of these rows in each window that ends at one of the commits `ends`, and
/// the changes of the traces that are kept with them.
///
/// A window has no more commits than the rule asks for; of a `sparse` alert, only commits at which
/// one of the rows has a value. Hashes and times of clusters are left empty.
pub(super) fn by_clusters(
    alert: &Alert,
    columns: &Columns,
    rows: &[(&TraceId, &[f64])],
    ends: &BTreeSet<CommitNumber>,
    seed: u64,
) -> Result<(Vec<ClustersAt>, Vec<FoundChange>), StepError> {
    let rule = alert.rule();
    let length = window_length(&rule, alert.radius());
    let has_value = |column: usize| {
        rows.iter()
            .any(|(_, row)| row.get(column).is_some_and(|it| !it.is_nan()))
    };
    let used: Vec<(usize, CommitNumber)> = (columns.iter().enumerate())
        .filter(|(column, _)| !alert.sparse || has_value(*column))
        .collect();
    let mut all = Vec::new();
    let mut moved: BTreeMap<usize, Vec<(Point, Change)>> = BTreeMap::new();
    for (start, window) in used.windows(length.max(1)).enumerate() {
        let is_asked = window
            .last()
            .is_some_and(|(_, commit)| ends.contains(commit));
        let (Some((_, commit)), true) = (window.get(length / 2), is_asked) else {
            continue;
        };
        let seed = seed ^ u64::from(commit.0);
        let found = in_window(alert, &rule, rows, window, seed)?;
        for (row, mut point, change) in found.moved {
            point.at = start + length / 2;
            moved.entry(row).or_default().push((point, change));
        }
        if !found.clusters.is_empty() {
            all.push((*commit, found.clusters));
        }
    }
    let radius = alert.radius();
    let mut changes = Vec::new();
    for points in moved.into_values() {
        let only: Vec<Point> = points.iter().map(|(point, _)| *point).collect();
        for (peak, first, last) in peaks(&only) {
            let of = |at: usize| points.iter().find(|(it, _)| it.at == at).map(|(_, it)| it);
            let (Some(change), Some(first), Some(last)) = (of(peak.at), of(first), of(last)) else {
                continue;
            };
            let commit_at = |at: usize| used.get(at.min(used.len() - 1)).map(|(_, commit)| *commit);
            let nearest =
                commit_at(peak.at.saturating_sub(radius)).zip(commit_at(peak.at + radius));
            let near = nearest.and_then(|(a, b)| CommitRange::new(a, b).ok());
            changes.push(FoundChange {
                change: Change {
                    interval: first.range.hull(last.range),
                    ..change.clone()
                },
                back_at: None,
                near: near.unwrap_or(change.range).hull(change.range),
            });
        }
    }
    Ok((all, changes))
}

/// The clusters of one window, and the rows that moved with them.
#[derive(Default)]
struct InWindow {
    clusters: Vec<Found>,
    moved: Vec<(usize, Point, Change)>,
}

fn in_window(
    alert: &Alert,
    rule: &Rule,
    rows: &[(&TraceId, &[f64])],
    window: &[(usize, CommitNumber)],
    seed: u64,
) -> Result<InWindow, StepError> {
    let mut in_window = InWindow::default();
    let (mut kept, mut traces) = (Vec::new(), Vec::new());
    for (index, (_, row)) in rows.iter().enumerate() {
        let value = |(column, _): &(usize, CommitNumber)| row.get(*column).copied();
        let values: Vec<Option<f64>> = window
            .iter()
            .map(|it| value(it).filter(|it| !it.is_nan()))
            .collect();
        if !is_left_out(&values) {
            kept.push(index);
            traces.push(filled(&values)?);
        }
    }
    if traces.is_empty() {
        return Ok(in_window);
    }
    let options = ClusterOptions {
        k: (alert.k > 0).then_some(alert.k),
        seed,
        statistic: alert.step,
        threshold: alert.interesting,
        floor: FLOOR,
    };
    for cluster in clusters(&traces, &options)?.clusters {
        let judgement = rule.judge(&cluster.centroid, FLOOR)?;
        let Some(point) = Point::of(0, &judgement) else {
            continue;
        };
        if cluster.members.len() < alert.minimum_num || !alert.direction.admits(point.rose) {
            continue;
        }
        let members = cluster.nearest().iter().filter_map(|it| kept.get(*it));
        let members: Vec<usize> = members.copied().collect();
        let keys = members.iter().filter_map(|it| rows.get(*it));
        in_window.clusters.push(Found {
            keys: keys.map(|(trace, _)| trace.to_string()).collect(),
            regression: judgement.reported.regression,
            values: cluster.centroid.clone(),
            time: 0,
            hash: String::new(),
            commit: window
                .get(window.len() / 2)
                .map_or(0, |(_, commit)| u64::from(commit.0)),
        });
        for index in members {
            let change = rows
                .get(index)
                .and_then(|(trace, row)| moved(trace, row, window, point));
            in_window
                .moved
                .extend(change.map(|change| (index, point, change)));
        }
    }
    Ok(in_window)
}

/// The change of a member in the middle of its window, unless it did not move with its cluster.
fn moved(
    trace: &TraceId,
    row: &[f64],
    window: &[(usize, CommitNumber)],
    point: Point,
) -> Option<Change> {
    let present = |half: &[(usize, CommitNumber)]| -> Vec<(CommitNumber, f64)> {
        let values = half
            .iter()
            .map(|(column, commit)| (*commit, row.get(*column).copied()));
        let values = values.filter_map(|(commit, value)| Some((commit, value?)));
        values.filter(|(_, value)| !value.is_nan()).collect()
    };
    let (left, right) = window.split_at_checked(window.len() / 2)?;
    let (left, right) = (present(left), present(right));
    let level = |half: &[(CommitNumber, f64)]| {
        median(&half.iter().map(|(_, value)| *value).collect::<Vec<_>>())
    };
    let (before, after) = (level(&left)?, level(&right)?);
    let range = CommitRange::new(left.last()?.0, right.first()?.0).ok()?;
    let is_same = if point.rose {
        after > before
    } else {
        after < before
    };
    is_same.then(|| Change {
        trace: trace.clone(),
        range,
        interval: range,
        places: Vec::new(),
        shape: Shape::Step,
        rose: point.rose,
        before,
        after,
        p: point.p,
        shown_at: window.last().map_or(range.commit(), |(_, commit)| *commit),
        algo: Some(Algo::Kmeans),
        is_firm: false,
        machine: None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::range::range;
    use super::*;

    #[test]
    fn traces_that_move_together_are_a_cluster() {
        let alert = r#"{"query": "", "algo": "kmeans", "radius": 3, "k": 3, "interesting": 30, "minimum_num": 2}"#;
        let alert = Alert::from_json(alert).unwrap();
        let ids: Vec<TraceId> = (0..8)
            .map(|i| format!(",t={i},").parse().unwrap())
            .collect();
        let values: Vec<Vec<f64>> = (0..8_u32)
            .map(|trace| {
                let noise =
                    |i: u32| f64::from((i * i * 37 + i * 11 + trace * trace * 7) % 101) / 101.0;
                let level = |i: u32| if i >= 12 && trace < 5 { 40.0 } else { 0.0 };
                (0..20).map(|i| 100.0 + noise(i) + level(i)).collect()
            })
            .collect();
        let rows: Vec<(&TraceId, &[f64])> =
            ids.iter().zip(values.iter().map(Vec::as_slice)).collect();
        let columns = Columns::range(CommitNumber(0)..=CommitNumber(19));
        let ends = (10..20).map(CommitNumber).collect();
        let (found, changes) = by_clusters(&alert, &columns, &rows, &ends, 1).unwrap();
        let at_step = found
            .iter()
            .find(|(commit, _)| *commit == CommitNumber(12))
            .unwrap();
        let most = at_step.1.iter().map(|it| it.keys.len()).max().unwrap();
        assert!(
            most >= 2 && at_step.1.iter().all(|it| it.regression < 0.0),
            "{found:?}"
        );
        assert!(!changes.is_empty());
        for found in &changes {
            assert_eq!(found.change.range, range(11, 12), "{changes:?}");
            assert!(found.change.rose && found.near.contains(CommitNumber(10)));
        }
        // The same input gives the same output.
        let again = by_clusters(&alert, &columns, &rows, &ends, 1).unwrap();
        assert_eq!(again.1, changes);
        let (none, _) = by_clusters(&alert, &columns, &rows, &BTreeSet::new(), 1).unwrap();
        assert!(none.is_empty());
    }
}
