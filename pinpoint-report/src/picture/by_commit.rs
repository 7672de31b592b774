//! Values by commit: every run a point, in the order in which they were made.

use maud::{Markup, html};
use pinpoint_core::Interval;
use plotters::prelude::*;

use super::{
    CULPRIT, CULPRIT_MEDIAN, FAILURE, LEFT, MEDIAN, PictureError, RUN, TEXT, are_flat, framed,
    label, mesh, names_below, places, span, svg,
};
use crate::foreign::{Foreign, clean};
use crate::median_interval::median_interval;

/// One commit.
#[derive(Debug, Clone, Default)]
pub struct Column {
    /// Its short name.
    pub name: String,
    /// In the order in which the runs were made; absent for those that failed.
    pub values: Vec<Option<f64>>,
    /// The median of the values.
    pub median: Option<f64>,
    /// The interval that holds the true median with at least 95 %; absent below six values.
    pub interval: Option<Interval>,
    /// It is a culprit.
    pub is_culprit: bool,
}

impl Column {
    /// A commit with these values, their median and its interval.
    pub fn new(name: String, values: Vec<Option<f64>>, is_culprit: bool) -> Self {
        let known: Vec<f64> = values.iter().copied().flatten().collect();
        Self {
            name,
            values,
            median: pinpoint_compare::median(&known),
            interval: median_interval(&known),
            is_culprit,
        }
    }
}

/// The values of a chart by commit, oldest first. A table of the medians belongs below it.
///
/// # Errors
///
/// When it can't be drawn.
pub fn by_commit(
    columns: &[Column],
    chart: Option<&str>,
    unit: Option<&str>,
) -> Result<Markup, PictureError> {
    let failures = columns.iter().any(|column| column.values.contains(&None));
    Ok(html! {
        figure {
            (framed("Values of all runs by commit; the numbers are in the table below", &drawn(columns, unit)?))
            figcaption {
                @if let Some(chart) = chart {
                    strong { (Foreign(chart)) }
                    @if let Some(unit) = unit { " in " (Foreign(unit)) }
                    ": each"
                } @else { "Each" }
                " point is a run, from left to right as time went on, older commits to the left. "
                "Lines are medians, bars their 95 % intervals. "
                @if columns.iter().any(|column| column.is_culprit) {
                    span.key.culprit {} "culprit "
                }
                @if failures { span.key.failure {} "failed runs" }
            }
        }
    })
}

fn drawn(columns: &[Column], unit: Option<&str>) -> Result<String, PictureError> {
    let values = || {
        (columns.iter().enumerate()).flat_map(|(number, column)| {
            let count = column.values.len();
            (column.values.iter().enumerate()).map(move |(place, value)| {
                // Within its column, from left to right as time went on.
                let step = (place as f64 + 0.5) / count as f64 - 0.5;
                (number, number as f64 + 0.64 * step, *value)
            })
        })
    };
    let (low, high) = span(values().filter_map(|(.., value)| value));
    let names: Vec<_> = columns.iter().map(|column| clean(&column.name)).collect();
    let names: Vec<&str> = names.iter().map(|name| &**name).collect();
    let below = if are_flat(&names) { 30 } else { 96 };
    svg(310 + below, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin_top(14)
            .margin_right(12)
            .margin_bottom(below)
            .y_label_area_size(LEFT)
            .build_cartesian_2d(-0.5..columns.len() as f64 - 0.5, low..high)?;
        mesh(&mut chart, 7, |value| label(value, unit))?;
        for (is_culprit, colour) in [(false, RUN), (true, CULPRIT)] {
            let points = values().filter_map(|(number, x, value)| {
                (columns[number].is_culprit == is_culprit).then_some((x, value?))
            });
            for place in places(&chart, points) {
                area.draw(&Circle::new(place, 3, colour.mix(0.55).filled()))?;
            }
        }
        let failures = (values()).filter_map(|(_, x, value)| value.is_none().then_some((x, low)));
        for (x, y) in places(&chart, failures) {
            area.draw(&Cross::new((x, y - 5), 4, FAILURE.stroke_width(2)))?;
        }
        for (number, column) in columns.iter().enumerate() {
            let colour = if column.is_culprit {
                CULPRIT_MEDIAN
            } else {
                MEDIAN
            };
            let x = number as f64;
            if let Some(Interval { low, high }) = column.interval {
                let ends = [(x, low), (x, high)].map(|end| chart.backend_coord(&end));
                area.draw(&PathElement::new(ends, colour.stroke_width(2)))?;
                for (x, y) in ends {
                    let cap = [(x - 4, y), (x + 4, y)];
                    area.draw(&PathElement::new(cap, colour.stroke_width(2)))?;
                }
            }
            if let Some(median) = column.median {
                let ends = [(x - 0.34, median), (x + 0.34, median)];
                let ends = ends.map(|end| chart.backend_coord(&end));
                area.draw(&PathElement::new(ends, colour.stroke_width(3)))?;
            }
        }
        names_below(area, &chart, &names, |number| {
            if columns[number].is_culprit {
                CULPRIT_MEDIAN
            } else {
                TEXT
            }
        })
    })
}
