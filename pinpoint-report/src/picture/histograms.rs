//! The distribution of both sides' values: the base above the line, the
//! experiment below it.

use plotters::prelude::*;

use super::{
    CULPRIT, CULPRIT_MEDIAN, LEFT, MEDIAN, PictureError, RUN, TEXT, label, mesh, small, span, svg,
};

/// One side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side<'a> {
    pub(crate) values: &'a [f64],
    pub(crate) median: Option<f64>,
}

pub(crate) fn histograms(sides: [Side<'_>; 2], unit: Option<&str>) -> Result<String, PictureError> {
    use plotters::style::text_anchor::{HPos, Pos, VPos};

    let (low, high) = span(sides.iter().flat_map(|side| side.values.iter().copied()));
    let bins = bins(sides.iter().map(|side| side.values.len()).max());
    let width = (high - low) / bins as f64;
    let counts = sides.map(|side| {
        let mut counts = vec![0_u32; bins];
        for value in side.values {
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
        for ((counts, side), (up, fill, line)) in counts.iter().zip(sides).zip(inks) {
            for (bin, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                let from = low + bin as f64 * width;
                let corners = [
                    (from + 0.06 * width, 0.0),
                    (from + 0.94 * width, up * f64::from(*count)),
                ];
                chart.draw_series([Rectangle::new(corners, fill.filled())])?;
            }
            if let Some(median) = side.median {
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

/// As many bins as the root of the number of values, within reason.
fn bins(values: Option<usize>) -> usize {
    let root = (values.unwrap_or_default() as f64).sqrt().ceil() as usize;
    (2 * root).clamp(8, 60)
}
