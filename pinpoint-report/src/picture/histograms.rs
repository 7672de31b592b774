//! The distribution of both sides' values: the base above the line, the
//! experiment below it.

use maud::{Markup, html};
use pinpoint_compare::median;
use plotters::prelude::*;

use super::{
    CULPRIT, CULPRIT_MEDIAN, LEFT, MEDIAN, PictureError, RUN, TEXT, framed, label, mesh, small,
    span, svg,
};
use crate::foreign::Foreign;
use crate::quantity::{count, quantity};

/// The values of both sides of pairs, those of the base first. A table of the medians belongs
/// above it.
///
/// # Errors
///
/// When it cannot be drawn.
pub fn histograms(sides: [&[f64]; 2], unit: Option<&str>) -> Result<Markup, PictureError> {
    let medians = sides.map(median);
    let show = |median: Option<f64>| median.map_or_else(String::new, |it| quantity(it, unit));
    let [base, experiment] = medians.map(show);
    Ok(html! {
        figure {
            (framed("Distributions of both sides; their medians are in the table above", &drawn(sides, medians, unit)?))
            figcaption {
                "How often each value occurred"
                @if let Some(unit) = unit { " (" (Foreign(unit)) ")" }
                " in " (count(sides[0].len() as u64, "pair")) ": "
                span.key.base {} "the base above, median " (Foreign(&base)) "; "
                span.key.experiment {} "the experiment below, median " (Foreign(&experiment)) "."
            }
        }
    })
}

fn drawn(
    sides: [&[f64]; 2],
    medians: [Option<f64>; 2],
    unit: Option<&str>,
) -> Result<String, PictureError> {
    use plotters::style::text_anchor::{HPos, Pos, VPos};

    let (low, high) = span(sides.iter().flat_map(|side| side.iter().copied()));
    let bins = bins(sides.iter().map(|side| side.len()).max());
    let width = (high - low) / bins as f64;
    let counts = sides.map(|side| {
        let mut counts = vec![0_u32; bins];
        for value in side {
            let bin = ((value - low) / width) as usize;
            counts[bin.min(bins - 1)] += 1;
        }
        counts
    });
    let most = counts.iter().flatten().copied().max().unwrap_or(0).max(1);
    let most = f64::from(most) * 1.1;
    svg(260, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin_top(10)
            .margin_right(12)
            .margin_bottom(26)
            .y_label_area_size(LEFT)
            .build_cartesian_2d(low..high, -most..most)?;
        mesh(&mut chart, 5, |count| {
            let is_whole = (count - count.round()).abs() < 1e-9;
            if is_whole {
                format!("{:.0}", count.abs())
            } else {
                String::new()
            }
        })?;
        let inks = [(1.0, RUN, MEDIAN), (-1.0, CULPRIT, CULPRIT_MEDIAN)];
        for ((counts, median), (up, fill, line)) in counts.iter().zip(medians).zip(inks) {
            for (bin, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                let from = low + bin as f64 * width;
                let corners = [
                    (from + 0.06 * width, 0.0),
                    (from + 0.94 * width, up * f64::from(*count)),
                ];
                chart.draw_series([Rectangle::new(corners, fill.filled())])?;
            }
            if let Some(median) = median {
                let ends = [(median, 0.0), (median, up * most)];
                chart.draw_series([PathElement::new(ends, line.stroke_width(3))])?;
            }
        }
        let zero = [(low, 0.0), (high, 0.0)];
        chart.draw_series([PathElement::new(zero, TEXT.stroke_width(1))])?;
        let bottom = chart.plotting_area().get_pixel_range().1.end;
        for place in 0..=4 {
            let value = low + (high - low) * f64::from(place) / 4.0;
            let (x, _) = chart.backend_coord(&(value, 0.0));
            let side = match place {
                0 => HPos::Left,
                4 => HPos::Right,
                _ => HPos::Center,
            };
            let style = small().pos(Pos::new(side, VPos::Top));
            area.draw(&Text::new(label(value, unit), (x, bottom + 8), style))?;
        }
        Ok(())
    })
}

/// The number of bins: twice the root of the number of values, within reason.
fn bins(values: Option<usize>) -> usize {
    let root = (values.unwrap_or_default() as f64).sqrt().ceil() as usize;
    (2 * root).clamp(8, 60)
}
