//! Pairs of runs that a comparison leaves out.

use std::collections::BTreeMap;

use crate::ChartComparison;

/// A sentence about each way in which charts lack some of so many pairs.
pub(super) fn remarks(pairs: u32, charts: &[ChartComparison]) -> Vec<String> {
    let mut by_loss: BTreeMap<[u32; 2], Vec<&str>> = BTreeMap::new();
    for chart in charts {
        let loss = [chart.failed_pairs, chart.surplus_pairs];
        if loss != [0, 0] {
            by_loss.entry(loss).or_default().push(&chart.chart);
        }
    }
    let remark = |(loss, of): ([u32; 2], Vec<&str>)| {
        let count = pairs.saturating_sub(loss.iter().sum());
        let charts = match of[..] {
            _ if of.len() == charts.len() => String::new(),
            [chart] => format!(" for {chart}"),
            _ => format!(" for {} charts, such as {}", of.len(), of[0]),
        };
        let reasons = [
            "where a run failed or gave no value",
            "so that each build was first in half of the others",
        ];
        let left_out: Vec<String> = (loss.into_iter().zip(reasons))
            .filter(|(pairs, _)| *pairs > 0)
            .map(|(pairs, reason)| format!("{pairs} {reason}"))
            .collect();
        let left_out = left_out.join(", and ");
        format!("{count} of {pairs} pairs count{charts}: left out are {left_out}")
    };
    by_loss.into_iter().map(remark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_and_surplus_pairs_are_told() {
        let chart = |name: &str, failed_pairs, surplus_pairs| ChartComparison {
            chart: name.into(),
            direction: crate::Direction::Unknown,
            comparison: None,
            adjusted_p_value: None,
            anytime_p_value: None,
            failed_pairs,
            surplus_pairs,
            error: None,
        };
        let told = |charts: &[ChartComparison]| remarks(20, charts);
        assert_eq!(told(&[chart("time", 0, 0)]), [""; 0]);
        assert_eq!(
            told(&[chart("time", 12, 2), chart("size", 12, 2)]),
            [
                "6 of 20 pairs count: left out are 12 where a run failed or gave no value, and 2 \
                 so that each build was first in half of the others"
            ]
        );
        assert_eq!(
            told(&[
                chart("a", 1, 0),
                chart("b", 0, 0),
                chart("c", 0, 3),
                chart("d", 0, 3)
            ]),
            [
                "17 of 20 pairs count for 2 charts, such as c: left out are 3 so that each build \
                 was first in half of the others",
                "19 of 20 pairs count for a: left out are 1 where a run failed or gave no value"
            ]
        );
    }
}
