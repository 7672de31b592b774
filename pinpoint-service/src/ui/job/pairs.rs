//! A comparison in pairs of runs: a square for each run, and a row for each metric.

use std::cmp::Ordering;

use maud::{Markup, html};
use pinpoint_core::job::{JobResult, NamedChart};
use pinpoint_core::{ChartComparison, Direction, JobSpec, Machine, Search, Verdict};
use pinpoint_report::picture::PictureError;
use pinpoint_report::quantity::count;
use pinpoint_report::words::{described, failures, line_of, row, short};
use pinpoint_report::{Foreign, chart_pictures, clean, commit_name};

use super::commits::linked;
use super::job_snapshot::JobSnapshot;
use super::job_view_query::{Column, JobViewQuery};
use super::squares;

/// The rows of a page of the table.
pub(in crate::ui) const ROWS: usize = 100;

/// The comparison of a try job.
pub(super) fn section(moment: &JobSnapshot, asked: &JobViewQuery) -> Result<Markup, PictureError> {
    let JobSpec::Pairwise(spec) = moment.engine.machine().spec() else {
        return Ok(html! {});
    };
    Ok(html! {
        section #sides aria-labelledby="sides-title" {
            h2 #sides-title { "Base and experiment" }
            @if let Some(sides) = &spec.sides {
                table.facts { tbody {
                    @for (name, side) in [("Base", &sides.base), ("Experiment", &sides.experiment)] {
                        tr {
                            th scope="row" { (name) }
                            td {
                                (linked(&side.commit))
                                @let more = described(side);
                                @if more != short(&side.commit) { " " span.soft { (Foreign(&more)) } }
                            }
                        }
                    }
                } }
            }
            (squares::of_pairs(moment, asked))
        }
        (metrics(moment, asked)?)
    })
}

/// The comparison of the ends of a culprit finder, and its other stages.
pub(super) fn stages(moment: &JobSnapshot, asked: &JobViewQuery) -> Markup {
    let Search::CulpritFinder(search) = moment.engine.machine().search() else {
        return html! {};
    };
    let unit = moment.chart().1;
    let names = moment.engine.names();
    let is_over = moment.engine.machine().outcome().is_some();
    let verified = moment.comparison().filter(|outcome| outcome.pairs > 0);
    let done = search.verification().pairs_done();
    let (verifies, searches) = (search.bisection().is_none(), search.bisection().is_some());
    let confirmations: Vec<_> = search.confirmations().collect();
    let stage = |is_done: bool, is_begun: bool| match (is_done, is_begun) {
        (true, true) => ("done", "good"),
        (_, true) => ("in progress", "open"),
        (true, false) => ("not needed", "open"),
        (false, false) => ("not started", "open"),
    };
    let tone = |(word, tone): (&'static str, &'static str)| html! { span.tone.(tone) { (word) } };
    html! {
        section #stages aria-labelledby="stages-title" {
            h2 #stages-title { "Three stages" }
            ol.stages {
                li {
                    strong { "Verification" } " " (tone(stage(searches || is_over, true)))
                    p { "Do the ends differ? " (done) " of " (count(search.spec().pairs.into(), "pair")) "." }
                    @if let Some(outcome) = verified { p { (Foreign(&line_of(outcome, unit))) } }
                }
                li {
                    strong { "Search" } " " (tone(stage(is_over || !confirmations.is_empty(), searches)))
                    p {
                        "Which commit? "
                        @if verifies { "It starts once the ends are known to differ." }
                        @else if let Some(search) = search.bisection() { (count(search.progress().runs, "run")) "." }
                    }
                }
                li {
                    strong { "Confirmation" } " " (tone(stage(is_over, !confirmations.is_empty())))
                    p { "Does each culprit differ from its parent?" }
                    @if !confirmations.is_empty() && moment.result.is_none() {
                        ul {
                            @for (culprit, comparison) in &confirmations {
                                li {
                                    (super::commits::at(names, culprit.commit)) ": "
                                    @match comparison {
                                        Some(pairs) => { (pairs.pairs_done()) " of " (count(pairs.spec().pairs.into(), "pair")) }
                                        None => { "compared with the ends" }
                                    }
                                }
                            }
                        }
                    }
                    @if let Some(JobResult::CulpritFinder(result)) = &moment.result {
                        ul {
                            @for culprit in result.search.culprits.iter().chain(&result.unconfirmed) {
                                @if let Some(comparison) = culprit.confirmation.as_ref().and_then(|it| it.comparison.as_ref()) {
                                    li { (commit_name(&culprit.blamed)) ": " (Foreign(&line_of(comparison, unit))) }
                                }
                            }
                        }
                    }
                }
            }
            (squares::of_pairs(moment, asked))
        }
    }
}

/// A verdict by the metric's own direction: a word, the class of its color, and a mark.
pub(in crate::ui) fn verdict(
    comparison: &ChartComparison,
) -> (&'static str, &'static str, &'static str) {
    match comparison.direction {
        Direction::Unknown if comparison.moved() => ("changed", "found", "◆"),
        _ if comparison.moved() => ("worse", "bad", "▼"),
        _ if comparison.improved() => ("better", "good", "▲"),
        _ if comparison.verdict() == Verdict::Nil => ("not compared", "open", "?"),
        _ if comparison.is_undecided() => ("not decided", "open", "?"),
        _ => ("same", "", "="),
    }
}

/// The rank of a verdict among others: those that need attention come first.
fn urgency(comparison: &ChartComparison) -> u8 {
    match () {
        () if comparison.moved() => 0,
        () if comparison.improved() => 1,
        () if comparison.verdict() == Verdict::Nil => 2,
        () => 3,
    }
}

/// The order of two metrics in a column; missing values come last.
fn order(column: Option<Column>, one: &ChartComparison, other: &ChartComparison) -> Ordering {
    let by_name = || one.chart.cmp(&other.chart);
    let number = |of: fn(&ChartComparison) -> Option<f64>| match (of(one), of(other)) {
        (Some(one), Some(other)) => one.total_cmp(&other),
        (one, other) => one.is_none().cmp(&other.is_none()),
    };
    let ordering = match column {
        None | Some(Column::Verdict) => urgency(one).cmp(&urgency(other)),
        Some(Column::Metric) => by_name(),
        Some(Column::Base) => number(|it| Some(it.comparison.as_ref()?.control_median)),
        Some(Column::Experiment) => number(|it| Some(it.comparison.as_ref()?.treatment_median)),
        Some(Column::Change) => number(|it| it.comparison.as_ref()?.estimate),
        Some(Column::Interval) => number(|it| Some(it.comparison.as_ref()?.interval?.low)),
        Some(Column::P) => number(|it| Some(it.comparison.as_ref()?.p_value)),
        Some(Column::AdjustedP) => number(|it| it.adjusted_p_value),
    };
    ordering.then_with(by_name)
}

/// The requested metrics, in order.
fn chosen<'a>(charts: &'a [ChartComparison], asked: &JobViewQuery) -> Vec<&'a ChartComparison> {
    let find = asked.find.as_deref().map(str::to_lowercase);
    let mut chosen: Vec<_> = charts
        .iter()
        .filter(|chart| match &find {
            Some(find) => chart.chart.to_lowercase().contains(find),
            None => true,
        })
        .collect();
    let has_none = |chart: &ChartComparison| chart.comparison.is_none();
    chosen.sort_by(|one, other| {
        let ordering = order(asked.sort, one, other);
        match asked.is_descending && asked.sort.is_some() {
            // Missing numbers come last in both orders.
            true => has_none(one).cmp(&has_none(other)).then(ordering.reverse()),
            false => ordering,
        }
    });
    chosen
}

fn metrics(moment: &JobSnapshot, asked: &JobViewQuery) -> Result<Markup, PictureError> {
    let outcome = moment.comparison();
    let charts = outcome.map_or(&[][..], |outcome| &outcome.charts);
    let chosen = chosen(charts, asked);
    let pages = chosen.len().div_ceil(ROWS).max(1);
    let page = asked.page.min(pages);
    let shown = chosen.iter().skip((page - 1) * ROWS).take(ROWS);
    let picture = match charts
        .iter()
        .find(|it| asked.chart.as_ref() == Some(&it.chart))
    {
        Some(chart) => html! {
            section #picture aria-labelledby="picture-title" {
                h3 #picture-title { (Foreign(&chart.chart)) }
                (chart_pictures(&moment.measured, &moment.measured.pairs, &moment.named(chart))?)
            }
        },
        None => html! {},
    };
    let is_preliminary = moment.engine.machine().outcome().is_none();
    Ok(html! {
        section #metrics aria-labelledby="metrics-title" {
            h2 #metrics-title { "Metrics" }
            @if let Some(functional) = outcome.and_then(|outcome| outcome.functional.as_ref()) {
                @if functional.control_rate + functional.treatment_rate > 0.0 {
                    @let reasons = outcome.map_or([None; 2], |outcome| {
                        [&outcome.base_failure, &outcome.experiment_failure].map(Option::as_ref)
                    });
                    p { (Foreign(&failures(functional, reasons))) }
                }
            }
            @if charts.is_empty() {
                p.empty { "No metrics have been compared yet." }
            } @else {
                (search(asked))
                p {
                    @if asked.find.is_some() { (chosen.len()) " of " }
                    (count(charts.len() as u64, "metric")) ". "
                    "Changes are of the experiment relative to the base. "
                    "p is adjusted for the number of metrics. Each verdict depends on which direction is better for its metric."
                    @if is_preliminary { " More pairs will be run." }
                }
                (picture)
                div.wide tabindex="0" role="region" aria-label="Table of metrics" { table.metrics {
                    thead { tr {
                        @for column in Column::ALL { (head(asked, column)) }
                    } }
                    tbody { @for chart in shown { (metric(asked, &moment.named(chart))) } }
                } }
                @if pages > 1 { (other_pages(asked, page, pages)) }
            }
            @if let Some(outcome) = outcome {
                @for (side, charts) in [("base", &outcome.only_base), ("experiment", &outcome.only_experiment)] {
                    @if !charts.is_empty() {
                        details {
                            summary { (count(charts.len() as u64, "metric")) " of the " (side) " alone" }
                            p { @for chart in charts.iter().take(ROWS) { (Foreign(chart)) " " } }
                        }
                    }
                }
            }
        }
    })
}

/// The form that searches metrics.
fn search(asked: &JobViewQuery) -> Markup {
    let others = JobViewQuery {
        find: None,
        page: 1,
        ..asked.clone()
    };
    let all = format!("{}#metrics", others.address());
    html! {
        form.bar method="get" action=(format!("{}#metrics", asked.path)) role="search" aria-label="Metrics" {
            (others.hidden())
            label { "Search " input type="search" name="find" value=[asked.find.as_deref().map(clean)]; }
            button { "Show" }
            @if asked.find.is_some() { a href=(all) { "All" } }
        }
    }
}

pub(in crate::ui) fn head(asked: &JobViewQuery, column: Column) -> Markup {
    let order = match (asked.sort == Some(column), asked.is_descending) {
        (false, _) => None,
        (true, false) => Some("ascending"),
        (true, true) => Some("descending"),
    };
    let is_number = !matches!(column, Column::Metric | Column::Verdict);
    html! {
        th.number[is_number] scope="col" aria-sort=[order] {
            a href=(asked.sorted(column)) { (column.name()) }
            @match order { Some("ascending") => " ↑", Some(_) => " ↓", None => "" }
        }
    }
}

fn metric(asked: &JobViewQuery, chart: &NamedChart) -> Markup {
    let [name, cells @ .., said] = row(chart);
    let (word, tone, mark) = verdict(&chart.comparison);
    let other = JobViewQuery {
        chart: Some(chart.comparison.chart.clone()),
        ..asked.clone()
    };
    html! {
        tr {
            th scope="row" { a href=(format!("{}#picture", other.address())) { (Foreign(&name)) } }
            @for cell in cells { td.number { (Foreign(&cell)) } }
            td {
                span.verdict.(tone) { span aria-hidden="true" { (mark) " " } (word) }
                @if chart.comparison.error.is_some() { ": " (Foreign(&said)) }
            }
        }
    }
}

pub(in crate::ui) fn other_pages(asked: &JobViewQuery, page: usize, pages: usize) -> Markup {
    let link = |page: usize| {
        let other = JobViewQuery {
            page,
            ..asked.clone()
        };
        format!("{}#metrics", other.address())
    };
    ways("Pages of metrics", link, page, pages)
}

/// The ways to the pages of a table before and after this one.
pub(super) fn ways(
    label: &str,
    link: impl Fn(usize) -> String,
    page: usize,
    pages: usize,
) -> Markup {
    html! {
        nav.bar aria-label=(label) {
            @if page > 1 { a.button rel="prev" href=(link(page - 1)) { "Earlier" } }
            span { "Page " (page) " of " (pages) }
            @if page < pages { a.button rel="next" href=(link(page + 1)) { "Later" } }
        }
    }
}
