//! Comparisons in pairs of runs: the job itself, or the verifications of a
//! culprit finder.

use maud::{Markup, html};
use pinpoint_compare::{Transform, median};
use pinpoint_core::{ChartComparison, CombinedCommit, CommonFailure, PairwiseOutcome, Position};

use super::foreign::Foreign;
use super::measurements::{Measurements, Pair};
use super::model::Report;
use super::picture::{Difference, PictureError, differences, histograms};
use super::search::commit_name;
use crate::ReportError;
use crate::quantity::count;
use crate::words::{described, failures, row};
use pinpoint_core::job::CulpritFinderResult;
use pinpoint_core::job::JobResult;
use pinpoint_core::job::NamedCulprit;
use pinpoint_core::job::{NamedChart, PairwiseResult};

/// At most this many charts have pictures; all are in the table.
const MOST_PICTURES: usize = 20;
/// At most this many bytes are spent on pictures, except for the first of each part.
const MOST_PICTURE_BYTES: usize = 1_500_000;

/// The comparison of two commits.
struct Part<'a> {
    title: Markup,
    pairs: Vec<Pair>,
    charts: Vec<NamedChart>,
    functional: Option<&'a pinpoint_core::FunctionalComparison>,
    reasons: [Option<&'a CommonFailure>; 2],
    only: [&'a [String]; 2],
}

pub(super) fn sections(report: &Report) -> Result<Markup, ReportError> {
    let parts = match &report.result {
        Some(JobResult::Pairwise(document)) => vec![of_job(report, document)],
        Some(JobResult::CulpritFinder(document)) => of_finder(report, document),
        _ => Vec::new(),
    };
    let mut room = MOST_PICTURE_BYTES;
    let sections: Vec<Markup> = (parts.iter())
        .map(|part| section(report, part, &mut room))
        .collect::<Result<_, _>>()?;
    Ok(html! { @for section in sections { (section) } })
}

fn of_job<'a>(report: &Report, document: &'a PairwiseResult) -> Part<'a> {
    Part {
        title: html! {
            h2 { "Base and experiment" }
            div.wide { table.facts {
                tr { th scope="row" { span.key.base {} "base" } td { (Foreign(&described(&document.base))) } }
                tr { th scope="row" { span.key.experiment {} "experiment" } td { (Foreign(&described(&document.experiment))) } }
            } }
        },
        pairs: report.measured.pairs.clone(),
        charts: document.charts.clone(),
        functional: document.functional.as_ref(),
        reasons: [&document.base_failure, &document.experiment_failure].map(Option::as_ref),
        only: [&document.only_base, &document.only_experiment],
    }
}

fn of_finder<'a>(report: &Report, document: &'a CulpritFinderResult) -> Vec<Part<'a>> {
    let unit = document.search.unit.as_deref();
    let ends = (Position::Lower, Position::Higher);
    let title = html! {
        h2 { "Verification of the regression" }
        p { span.key.base {} "the good end and " span.key.experiment {} "the bad end, in pairs of runs." }
    };
    let verified = part(
        title,
        between(report, ends.0, ends.1),
        &document.verification,
        unit,
    );
    let culprits = document.search.culprits.iter().chain(&document.unconfirmed);
    let checked = culprits.filter_map(|culprit| {
        let confirmation = culprit.confirmation.as_ref()?;
        let comparison = confirmation.comparison.as_ref()?;
        let (prior, commit) = positions(report, culprit)?;
        if confirmation.reused {
            return None;
        }
        let title = html! {
            h2 { "Check of " (commit_name(&culprit.blamed)) }
            p { span.key.base {} "its parent and " span.key.experiment {} "the commit, in pairs of runs." }
        };
        Some(part(title, between(report, prior, commit), comparison, unit))
    });
    std::iter::once(verified).chain(checked).collect()
}

fn part<'a>(
    title: Markup,
    pairs: Vec<Pair>,
    outcome: &'a PairwiseOutcome,
    unit: Option<&str>,
) -> Part<'a> {
    let named = |comparison: &ChartComparison| NamedChart {
        unit: unit.map(str::to_owned),
        comparison: comparison.clone(),
    };
    Part {
        title,
        pairs,
        charts: outcome.charts.iter().map(named).collect(),
        functional: outcome.functional.as_ref(),
        reasons: [&outcome.base_failure, &outcome.experiment_failure].map(Option::as_ref),
        only: [&outcome.only_base, &outcome.only_experiment],
    }
}

fn positions(report: &Report, culprit: &NamedCulprit) -> Option<(Position, Position)> {
    let position = |commit: &CombinedCommit| {
        let place = report
            .measured
            .places
            .iter()
            .find(|place| place.commit == *commit)?;
        Some(place.position)
    };
    Some((position(&culprit.prior)?, position(&culprit.commit)?))
}

/// The pairs of two commits.
fn between(report: &Report, base: Position, experiment: Position) -> Vec<Pair> {
    let position = |run: usize| report.measured.runs[run].position;
    let pairs = report.measured.pairs.iter().copied();
    pairs
        .filter(|pair| (position(pair.base), position(pair.experiment)) == (base, experiment))
        .collect()
}

fn section(report: &Report, part: &Part<'_>, room: &mut usize) -> Result<Markup, ReportError> {
    let mut charts: Vec<&NamedChart> = part.charts.iter().collect();
    charts.sort_by_key(|chart| (!chart.comparison.moved(), !chart.comparison.improved()));
    // Those that moved come first, so that they have pictures if any have.
    let mut drawn = Vec::new();
    for chart in charts.iter().take(MOST_PICTURES) {
        if !drawn.is_empty() && *room == 0 {
            break;
        }
        let picture = chart_pictures(&report.measured, &part.pairs, chart)?;
        *room = room.saturating_sub(picture.0.len());
        drawn.push((chart, picture));
    }
    let left_out = charts.len() - drawn.len();
    Ok(html! {
        section {
            (part.title)
            @if let Some(functional) = part.functional {
                @if functional.control_rate + functional.treatment_rate > 0.0 {
                    p { (Foreign(&failures(functional, part.reasons))) }
                }
            }
            @if !charts.is_empty() { (table(&charts)) }
            @for (charts, side) in part.only.iter().zip(["base", "experiment"]) {
                @if !charts.is_empty() { p { "Only the " (side) " has " (Foreign(&charts.join(", "))) "." } }
            }
            @for (number, (chart, picture)) in drawn.iter().enumerate() {
                details open[number == 0 || chart.comparison.moved()] {
                    summary { strong { (Foreign(&chart.comparison.chart)) } " in pictures" }
                    (picture)
                }
            }
            @if left_out > 0 {
                p.note { (count(left_out as u64, "more metric")) " in the table above only, without pictures." }
            }
        }
    })
}

fn table(charts: &[&NamedChart]) -> Markup {
    html! {
        div.wide { table {
            thead { tr {
                th scope="col" { "Metric" }
                @for name in ["Median of base", "Median of experiment", "Change in pairs", "95 % interval", "p", "Adjusted p"] {
                    th.number scope="col" { (name) }
                }
                th scope="col" { "Verdict" }
            } }
            tbody { @for chart in charts {
                @let [name, cells @ .., verdict] = row(chart);
                tr.culprit[chart.comparison.moved()].better[chart.comparison.improved()] {
                    td { (Foreign(&name)) }
                    @for cell in cells { td.number { (Foreign(&cell)) } }
                    td { (Foreign(&verdict)) }
                }
            } }
        } }
    }
}

/// The pictures of a chart that was compared in these pairs of runs: the difference of each
/// pair where percentages mean something, and the distributions of both sides.
///
/// # Errors
///
/// When one cannot be drawn.
pub fn chart_pictures(
    measured: &Measurements,
    pairs: &[Pair],
    chart: &NamedChart,
) -> Result<Markup, PictureError> {
    let name = chart.comparison.chart.as_str();
    let values: Vec<(usize, bool, f64, f64)> = (pairs.iter().enumerate())
        .filter_map(|(number, pair)| {
            let base = measured.runs.get(pair.base)?.value(name)?;
            let experiment = measured.runs.get(pair.experiment)?.value(name)?;
            Some((number + 1, pair.base_first, base, experiment))
        })
        .collect();
    if values.is_empty() {
        return Ok(html! { p.note { "No pair has values on both sides." } });
    }
    let base: Vec<f64> = values.iter().map(|(.., base, _)| *base).collect();
    let experiment: Vec<f64> = values.iter().map(|(.., experiment)| *experiment).collect();
    let compared = chart.comparison.comparison.as_ref();
    let in_percent = differences_of(&values, compared.map(|compared| compared.transform));
    let estimate = compared.and_then(|compared| compared.estimate);
    let interval = compared.and_then(|compared| compared.interval);
    Ok(html! {
        @if let Some(in_percent) = in_percent {
            (differences(&in_percent, pairs.len(), estimate, interval)?)
        }
        (histograms([&base, &experiment], chart.unit.as_deref())?)
    })
}

/// The differences on the scale of the estimate; absent where percentages mean
/// nothing.
fn differences_of(
    values: &[(usize, bool, f64, f64)],
    transform: Option<Transform>,
) -> Option<Vec<Difference>> {
    let base: Vec<f64> = values.iter().map(|(.., base, _)| *base).collect();
    let middle = median(&base)?;
    let percent = |base: f64, experiment: f64| match transform? {
        Transform::Log => Some(100.0 * (experiment / base - 1.0)),
        Transform::Normalized => Some(100.0 * (experiment - base) / middle.abs()),
        // The others are not in percent.
        _ => None,
    };
    (values.iter())
        .map(|(pair, base_first, base, experiment)| {
            let percent = percent(*base, *experiment)?;
            percent.is_finite().then_some(Difference {
                pair: *pair,
                percent,
                base_first: *base_first,
            })
        })
        .collect()
}
