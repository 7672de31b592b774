//! The place of the change, below the picture of the values: a bar between each two
//! neighbours that were measured.

use plotters::prelude::*;

use super::super::answer::percent;
use super::{CULPRIT, LEFT, PictureError, RUN, mesh, small, svg};

/// The commits between two columns of the picture of the values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bar {
    /// The column of the measured commit before them.
    pub(crate) after: usize,
    /// The column of the newest of them.
    pub(crate) last: usize,
    pub(crate) probability: f64,
    /// It was found; or, when nothing was, it is the likeliest.
    pub(crate) is_culprit: bool,
}

/// `columns` are those of the picture above.
pub(crate) fn posterior(bars: &[Bar], columns: usize) -> Result<String, PictureError> {
    use plotters::style::text_anchor::{HPos, Pos, VPos};

    svg(170, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin_top(20)
            .margin_right(12)
            .margin_bottom(8)
            .y_label_area_size(LEFT)
            .build_cartesian_2d(-0.5..columns as f64 - 0.5, 0.0..1.0)?;
        mesh(&mut chart, 3, |value| format!("{:.0} %", 100.0 * value))?;
        for bar in bars {
            let (from, to) = (bar.after as f64 + 0.06, bar.last as f64 - 0.06);
            let colour = if bar.is_culprit { CULPRIT } else { RUN };
            let corners = [(from, 0.0), (to, bar.probability)];
            chart.draw_series([Rectangle::new(corners, colour.filled())])?;
            if bar.probability >= 0.005 {
                let (x, y) = chart.backend_coord(&((from + to) / 2.0, bar.probability));
                let style = small().pos(Pos::new(HPos::Center, VPos::Bottom));
                let text = percent(bar.probability);
                area.draw(&Text::new(text, (x, y - 4), style))?;
            }
        }
        Ok(())
    })
}
