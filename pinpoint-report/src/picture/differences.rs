//! Paired differences, in the order in which the pairs were run.

use maud::{Markup, html};
use pinpoint_core::Interval;
use plotters::prelude::*;

use super::{
    CULPRIT, LEFT, MEDIAN, PictureError, RUN, TEXT, framed, mesh, places, small, span, svg,
};

/// The difference of a pair.
#[derive(Debug, Clone, Copy)]
pub struct Difference {
    /// The number of the pair, from 1.
    pub pair: usize,
    /// In percent of the base.
    pub percent: f64,
    /// The order of its two runs.
    pub base_first: bool,
}

/// The differences of pairs, `pairs` of them with those that have none, and the estimated change
/// with its interval, all in percent of the base. A table of these numbers belongs above it.
///
/// # Errors
///
/// When it cannot be drawn.
pub fn differences(
    differences: &[Difference],
    pairs: usize,
    estimate: Option<f64>,
    interval: Option<Interval>,
) -> Result<Markup, PictureError> {
    let drawn = drawn(differences, pairs, estimate, interval)?;
    Ok(html! {
        figure {
            (framed("Differences of all pairs, in percent of the base; the numbers are in the table above", &drawn))
            figcaption {
                "The difference of each pair in percent of the base, in the order in which they were run: "
                span.key.base {} "the base ran first, " span.key.experiment {} "the experiment. "
                "The line is the estimated change, the band its 95 % interval."
            }
        }
    })
}

fn drawn(
    differences: &[Difference],
    pairs: usize,
    estimate: Option<f64>,
    interval: Option<Interval>,
) -> Result<String, PictureError> {
    use plotters::style::text_anchor::{HPos, Pos, VPos};

    let ends = interval.map(|Interval { low, high }| [low, high]);
    let shown = (differences.iter().map(|difference| difference.percent))
        .chain(estimate)
        .chain(ends.into_iter().flatten())
        .chain([0.0]);
    let (low, high) = span(shown);
    svg(300, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin_top(14)
            .margin_right(12)
            .margin_bottom(26)
            .y_label_area_size(LEFT)
            .build_cartesian_2d(0.0..pairs as f64 + 1.0, low..high)?;
        mesh(&mut chart, 6, |value| format!("{value:+.2} %"))?;
        let across = |y: f64| [(0.0, y), (pairs as f64 + 1.0, y)];
        if let Some(Interval {
            low: below,
            high: above,
        }) = interval
        {
            // An end at infinity is one at the frame.
            let corners = [(0.0, below.max(low)), (pairs as f64 + 1.0, above.min(high))];
            chart.draw_series([Rectangle::new(corners, MEDIAN.mix(0.14).filled())])?;
        }
        chart.draw_series([PathElement::new(across(0.0), TEXT.stroke_width(1))])?;
        if let Some(estimate) = estimate {
            chart.draw_series([PathElement::new(across(estimate), MEDIAN.stroke_width(3))])?;
        }
        // Many points hide one another.
        let radius = if differences.len() > 300 { 2 } else { 4 };
        for (base_first, color) in [(true, RUN), (false, CULPRIT)] {
            let points = (differences.iter())
                .filter(|difference| difference.base_first == base_first)
                .map(|difference| (difference.pair as f64, difference.percent));
            for place in places(&chart, points) {
                area.draw(&Circle::new(place, radius, color.mix(0.8).filled()))?;
            }
        }
        let bottom = chart.plotting_area().get_pixel_range().1.end;
        for (pair, side) in [(1, HPos::Center), (pairs, HPos::Center)] {
            let (x, _) = chart.backend_coord(&(pair as f64, low));
            let style = small().pos(Pos::new(side, VPos::Top));
            area.draw(&Text::new(pair.to_string(), (x, bottom + 8), style))?;
        }
        Ok(())
    })
}
