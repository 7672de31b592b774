//! Values by commit: every run a point, in the order in which they were made.

use maud::{Markup, html};
use pinpoint_core::Interval;
use plotters::prelude::*;

use super::shapes::{MAX_SEPARATE_SHAPES, Path, dots};
use super::{
    CULPRIT, CULPRIT_MEDIAN, FAILURE, LEFT, MEDIAN, PictureError, RUN, TEXT, are_flat, fitted,
    framed, label, mesh, names_below, places, room_below, span, svg_with,
};
use crate::foreign::{Foreign, clean};
use crate::median_interval::median_interval;

/// The radius of a point, in pixels.
const RADIUS: i32 = 3;

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
/// When it cannot be drawn.
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
                " point is a run, in chronological order from left to right, older commits to the left. "
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
                // From left to right within its column, in the order of time.
                let step = (place as f64 + 0.5) / count as f64 - 0.5;
                (number, number as f64 + 0.64 * step, *value)
            })
        })
    };
    let (low, high) = span(values().filter_map(|(.., value)| value));
    let names: Vec<_> = columns.iter().map(|column| clean(&column.name)).collect();
    let is_flat = are_flat(&names.iter().map(|name| &**name).collect::<Vec<_>>());
    let names: Vec<_> = (names.iter())
        .map(|name| if is_flat { name.clone() } else { fitted(name) })
        .collect();
    let names: Vec<&str> = names.iter().map(|name| &**name).collect();
    let below = room_below(&names);
    svg_with(310 + below, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin_top(14)
            .margin_right(12)
            .margin_bottom(below)
            .y_label_area_size(LEFT)
            .build_cartesian_2d(-0.5..columns.len() as f64 - 0.5, low..high)?;
        mesh(&mut chart, 7, |value| label(value, unit))?;
        let mut above = String::new();
        for (is_culprit, color) in [(false, RUN), (true, CULPRIT)] {
            let points = values().filter_map(|(number, x, value)| {
                (columns[number].is_culprit == is_culprit).then_some((x, value?))
            });
            let (places, color) = (places(&chart, points), color.mix(0.55));
            if places.len() > MAX_SEPARATE_SHAPES {
                above.push_str(&dots(places, RADIUS, color));
                continue;
            }
            for place in places {
                area.draw(&Circle::new(place, RADIUS, color.filled()))?;
            }
        }
        let mut crosses = Path::default();
        let failures = (values()).filter_map(|(_, x, value)| value.is_none().then_some((x, low)));
        for (x, y) in places(&chart, failures) {
            let (left, top, right, bottom) = (x - 4, y - 9, x + 4, y - 1);
            crosses.begin((left, top)).line((right, bottom));
            crosses.begin((left, bottom)).line((right, top));
        }
        above.push_str(&crosses.stroked(FAILURE, 2));
        let (left, _) = chart.backend_coord(&(0.0, low));
        let (right, _) = chart.backend_coord(&(1.0, low));
        let has_caps = right - left > 10;
        for (is_culprit, color) in [(false, MEDIAN), (true, CULPRIT_MEDIAN)] {
            let (mut intervals, mut medians) = (Path::default(), Path::default());
            let of_kind = columns.iter().enumerate();
            for (number, column) in of_kind.filter(|(_, it)| it.is_culprit == is_culprit) {
                let x = number as f64;
                if let Some(Interval { low, high }) = column.interval {
                    let ends = [low, high].map(|end| chart.backend_coord(&(x, end)));
                    intervals.begin(ends[0]).line(ends[1]);
                    for (x, y) in ends.into_iter().filter(|_| has_caps) {
                        intervals.begin((x - 4, y)).line((x + 4, y));
                    }
                }
                if let Some(median) = column.median {
                    let [from, to] =
                        [x - 0.34, x + 0.34].map(|x| chart.backend_coord(&(x, median)));
                    medians.begin(from).line((to.0.max(from.0 + 1), to.1));
                }
            }
            above.push_str(&intervals.stroked(color, 2));
            above.push_str(&medians.stroked(color, 3));
        }
        names_below(area, &chart, &names, |number| {
            if columns[number].is_culprit {
                CULPRIT_MEDIAN
            } else {
                TEXT
            }
        })?;
        Ok(above)
    })
}
