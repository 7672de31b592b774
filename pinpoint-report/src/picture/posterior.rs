//! The place of the change, below the picture of the values: a bar between each two measured
//! neighbors.

use maud::{Markup, html};
use pinpoint_core::Posterior;
use plotters::prelude::*;

use super::shapes::Path;
use super::{CULPRIT, LEFT, PictureError, RUN, framed, mesh, small, svg_with};
use crate::quantity::probability;

/// The commits between two columns of the picture of the values.
#[derive(Debug, Clone, Copy)]
pub struct Bar {
    /// The column of the measured commit before them.
    pub after: usize,
    /// The column of the newest of them; the number of columns where it has none yet.
    pub last: usize,
    /// The probability that the change is there.
    pub probability: f64,
    /// It was found; or, if none was, it is the likeliest.
    pub is_culprit: bool,
}

/// The bars of a posterior over the commits of these columns; together they show the probability
/// of all spans. A span that ends at a commit without a column (its first run is under way) shares
/// a bar with those after it, up to the next commit that has one. Where no culprit was found yet,
/// the likeliest bar is marked, unless no change is likelier.
pub fn bars<C: PartialEq>(posterior: &Posterior<C>, columns: &[C], is_found: bool) -> Vec<Bar> {
    let column = |commit: &C| columns.iter().position(|it| it == commit);
    let mut bars = Vec::new();
    // The start and the probability of spans that wait for the end of their bar.
    let (mut start, mut waiting) = (None, 0.0);
    for span in &posterior.spans {
        start = start.or_else(|| column(&span.after));
        waiting += span.probability;
        if let (Some(after), Some(last)) = (start, column(&span.last)) {
            bars.push((after, last, waiting));
            (start, waiting) = (None, 0.0);
        }
    }
    // The bad end has no column yet: the last bar reaches to the edge of the picture.
    if let Some(after) = start {
        bars.push((after, columns.len(), waiting));
    }
    let likeliest = bars.iter().map(|bar| bar.2).fold(0.0, f64::max);
    let is_likely = !is_found && likeliest > posterior.no_change;
    let bars = bars.into_iter().map(|(after, last, probability)| Bar {
        after,
        last,
        probability,
        is_culprit: is_likely && probability == likeliest,
    });
    bars.collect()
}

/// The probability of the change between neighbors, with that of no change. `columns` are those of
/// the picture of the values, which belongs above it, and a table of the numbers below. Where
/// culprits were found, the other bars stand for a further one.
///
/// # Errors
///
/// When it cannot be drawn.
pub fn posterior(
    bars: &[Bar],
    columns: usize,
    no_change: f64,
    is_found: bool,
) -> Result<Markup, PictureError> {
    Ok(html! {
        figure {
            (framed("Probability of the change between neighbors; the numbers are in the table below", &drawn(bars, columns)?))
            figcaption {
                @if is_found {
                    span.key.culprit {} "Probability of each culprit, and " span.key {}
                    "of a further change between the neighbors above; probability of no further change: "
                } @else {
                    "Probability of the change between the neighbors above; probability of no change: "
                }
                strong { (probability(no_change)) } "."
            }
        }
    })
}

fn drawn(bars: &[Bar], columns: usize) -> Result<String, PictureError> {
    use plotters::style::text_anchor::{HPos, Pos, VPos};

    svg_with(170, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin_top(20)
            .margin_right(12)
            .margin_bottom(8)
            .y_label_area_size(LEFT)
            .build_cartesian_2d(-0.5..columns as f64 - 0.5, 0.0..1.0)?;
        mesh(&mut chart, 3, |value| format!("{:.0} %", 100.0 * value))?;
        let (mut others, mut culprits) = (Path::default(), Path::default());
        for bar in bars {
            let edge = columns as f64 - 0.5;
            let (from, to) = (bar.after as f64 + 0.06, (bar.last as f64 - 0.06).min(edge));
            let corners = [(from, 0.0), (to, bar.probability)];
            let [one, other] = corners.map(|corner| chart.backend_coord(&corner));
            // Most of many are too low to be seen.
            if one.1 != other.1 {
                let path = if bar.is_culprit {
                    &mut culprits
                } else {
                    &mut others
                };
                path.rectangle(one, other);
            }
            if bar.probability >= 0.005 {
                let (x, y) = chart.backend_coord(&((from + to) / 2.0, bar.probability));
                let style = small().pos(Pos::new(HPos::Center, VPos::Bottom));
                let text = probability(bar.probability);
                area.draw(&Text::new(text, (x, y - 4), style))?;
            }
        }
        Ok(others.filled(RUN) + &culprits.filled(CULPRIT))
    })
}
