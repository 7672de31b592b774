//! A series of values by row, with its levels and the places of its changes.

use std::ops::RangeInclusive;

use maud::{Markup, html};
use plotters::prelude::*;

use super::shapes::{MAX_SEPARATE_SHAPES, Path, dots};
use super::{
    CULPRIT, CULPRIT_MEDIAN, LEFT, MEDIAN, PictureError, RUN, TEXT, framed, label, mesh, places,
    small, span, svg_with,
};
use crate::foreign::clean;

/// The radius of a point, in pixels.
const RADIUS: i32 = 3;

/// The most names of rows below the axis.
const MOST_NAMES: usize = 8;

/// The room for names below the axis, in pixels.
const BELOW: u32 = 30;

/// A level that the values had for some rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// The first and the last row.
    pub rows: RangeInclusive<usize>,
    /// The median of the values there.
    pub value: f64,
}

/// The place of a change.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangePlace {
    /// The likeliest first row.
    pub row: usize,
    /// The first and the last row at which it may begin.
    pub interval: RangeInclusive<usize>,
}

/// The values of `rows` of a series, its levels there, and its changes. `name` gives the short name
/// of a row. A table of the changes belongs below it.
///
/// # Errors
///
/// When it cannot be drawn.
pub fn history(
    values: &[Option<f64>],
    rows: RangeInclusive<usize>,
    levels: &[Level],
    changes: &[ChangePlace],
    name: impl Fn(usize) -> String,
) -> Result<Markup, PictureError> {
    let drawn = drawn(values, &rows, levels, changes, name)?;
    Ok(html! {
        figure {
            (framed("Values by row, oldest first; the changes are in the table below", &drawn))
            figcaption {
                "Each point is a value, older ones to the left. Lines are medians between changes. "
                span.key.culprit {} "likeliest first row of a change; its band holds the first row in at least 95 %."
            }
        }
    })
}

fn drawn(
    values: &[Option<f64>],
    rows: &RangeInclusive<usize>,
    levels: &[Level],
    changes: &[ChangePlace],
    name: impl Fn(usize) -> String,
) -> Result<String, PictureError> {
    use plotters::style::text_anchor::{HPos, Pos, VPos};

    let (first, last) = (*rows.start(), *rows.end());
    let shown = || {
        (values.iter().enumerate())
            .filter(|(row, _)| rows.contains(row))
            .filter_map(|(row, value)| Some((row, (*value)?)))
    };
    let (low, high) = span(shown().map(|(_, value)| value));
    let (left, right) = (first as f64 - 0.5, last as f64 + 0.5);
    svg_with(240 + BELOW, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin_top(14)
            .margin_right(12)
            .margin_bottom(BELOW)
            .y_label_area_size(LEFT)
            .build_cartesian_2d(left..right, low..high)?;
        mesh(&mut chart, 6, |value| label(value, None))?;
        let inside = |row: f64| row.clamp(left, right);
        for change in changes.iter().filter(|change| rows.contains(&change.row)) {
            let from = inside(*change.interval.start() as f64 - 0.5);
            let to = inside(*change.interval.end() as f64 + 0.5);
            let band = Rectangle::new([(from, low), (to, high)], CULPRIT.mix(0.16).filled());
            chart.draw_series([band])?;
            let at = inside(change.row as f64 - 0.5);
            let line = [(at, low), (at, high)];
            chart.draw_series([PathElement::new(line, CULPRIT.stroke_width(2))])?;
        }
        let mut above = String::new();
        let points = shown().map(|(row, value)| (row as f64, value));
        let (places, color) = (places(&chart, points), RUN.mix(0.7));
        if places.len() > MAX_SEPARATE_SHAPES {
            above.push_str(&dots(places, RADIUS, color));
        } else {
            for place in places {
                area.draw(&Circle::new(place, RADIUS, color.filled()))?;
            }
        }
        let mut medians = Path::default();
        for level in levels {
            let from = inside(*level.rows.start() as f64 - 0.5);
            let to = inside(*level.rows.end() as f64 + 0.5);
            if from < to {
                let [from, to] = [from, to].map(|row| chart.backend_coord(&(row, level.value)));
                medians.begin(from).line(to);
            }
        }
        above.push_str(&medians.stroked(MEDIAN, 3));
        let bottom = chart.plotting_area().get_pixel_range().1.end;
        let every = (last - first).div_ceil(MOST_NAMES).max(1);
        let is_change = |row: usize| changes.iter().any(|change| change.row == row);
        for row in (first..=last).step_by(every) {
            let (x, _) = chart.backend_coord(&(row as f64, low));
            let color = if is_change(row) { CULPRIT_MEDIAN } else { TEXT };
            let style = small().color(&color).pos(Pos::new(HPos::Center, VPos::Top));
            let name = clean(&name(row)).chars().take(12).collect::<String>();
            area.draw(&Text::new(name, (x, bottom + 8), style))?;
        }
        Ok(above)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(count: usize) -> String {
        let values: Vec<Option<f64>> = (0..count)
            .map(|row| (row % 7 != 3).then_some(if row < count / 2 { 10.0 } else { 12.0 }))
            .collect();
        let half = count / 2;
        let levels = [
            Level {
                rows: 0..=half - 1,
                value: 10.0,
            },
            Level {
                rows: half..=count - 1,
                value: 12.0,
            },
        ];
        let change = ChangePlace {
            row: half,
            interval: half - 2..=half + 1,
        };
        let name = |row| format!("c{row}<script>");
        let drawn = history(&values, 0..=count - 1, &levels, &[change], name);
        drawn.unwrap().into_string()
    }

    #[test]
    fn values_levels_and_changes_are_drawn() {
        let drawn = figure(80);
        // Eleven or twelve of 80 rows have no value.
        let points = drawn.matches("<circle").count();
        assert!((60..80).contains(&points), "{points}");
        assert!(
            drawn.contains("c0") && !drawn.contains("<script>"),
            "{drawn}"
        );
        assert!(drawn.contains("stroke-width=\"3\""));
    }

    #[test]
    fn a_long_series_stays_small() {
        assert!(figure(20_000).len() < 40_000);
    }

    #[test]
    fn a_part_of_a_series_may_hold_no_change() {
        let values = vec![Some(1.0); 40];
        let drawn = history(&values, 10..=10, &[], &[], |row| row.to_string());
        assert!(drawn.unwrap().into_string().contains("<svg"));
    }
}
