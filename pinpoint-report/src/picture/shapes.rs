//! Shapes that may number thousands: those of a kind are one element.
//!
//! A browser lays out, styles and paints elements; ten thousand circles take it longer than the
//! rest of a page, and half a megabyte. A path of as many parts is one element of a few bytes each.
//! Its size is bounded by that of the picture and not by the number of points: those in a column of
//! pixels that touch are one stroke, which covers the same pixels.

use std::fmt::Write;

use plotters::prelude::*;

use super::hex;

/// The most shapes of a kind that are separate elements: as many are drawn at once, and where they
/// overlap, they are darker.
pub(super) const MAX_SEPARATE_SHAPES: usize = 150;

/// A path that is stroked or filled in one color.
#[derive(Debug, Default)]
pub(super) struct Path {
    /// The commands of the attribute `d`.
    commands: String,
    /// The place after the last part.
    last: (i32, i32),
}

impl Path {
    /// Begins a part at a place.
    pub(super) fn begin(&mut self, at: (i32, i32)) -> &mut Self {
        let (across, down) = (at.0 - self.last.0, at.1 - self.last.1);
        // A sign is a separator, too.
        let blank = if down < 0 { "" } else { " " };
        // Writing to a string cannot fail.
        let _ = write!(self.commands, "m{across}{blank}{down}");
        self.last = at;
        self
    }

    /// Continues to another place in a line.
    pub(super) fn line(&mut self, to: (i32, i32)) -> &mut Self {
        let (across, down) = (to.0 - self.last.0, to.1 - self.last.1);
        let _ = match (across, down) {
            (across, 0) => write!(self.commands, "h{across}"),
            (0, down) => write!(self.commands, "v{down}"),
            (across, down) if down < 0 => write!(self.commands, "l{across}{down}"),
            (across, down) => write!(self.commands, "l{across} {down}"),
        };
        self.last = to;
        self
    }

    /// A rectangle between two corners, at least a pixel wide.
    pub(super) fn rectangle(&mut self, one: (i32, i32), other: (i32, i32)) {
        let right = other.0.max(one.0 + 1);
        self.begin(one)
            .line((right, one.1))
            .line((right, other.1))
            .line((one.0, other.1))
            .line(one);
    }

    /// The element, filled.
    pub(super) fn filled(&self, color: RGBColor) -> String {
        self.element(&format!("fill=\"{}\" stroke=\"none\"", hex(color)))
    }

    /// The element, stroked in this width.
    pub(super) fn stroked(&self, color: RGBColor, width: u32) -> String {
        let color = hex(color);
        self.element(&format!(
            "fill=\"none\" stroke=\"{color}\" stroke-width=\"{width}\""
        ))
    }

    fn element(&self, attributes: &str) -> String {
        match self.commands.is_empty() {
            true => String::new(),
            false => format!("<path {attributes} d=\"{}\"/>\n", self.commands),
        }
    }
}

/// Dots at these sorted places: in each column of pixels, those that touch are one stroke.
pub(super) fn dots(
    places: impl IntoIterator<Item = (i32, i32)>,
    radius: i32,
    color: RGBAColor,
) -> String {
    let mut path = Path::default();
    let mut stroke: Option<((i32, i32), i32)> = None;
    for (x, y) in places {
        match &mut stroke {
            Some((from, to)) if from.0 == x && y - *to <= radius => *to = y,
            _ => {
                if let Some((from, to)) = stroke.replace(((x, y), y)) {
                    path.begin(from).line((from.0, to));
                }
            }
        }
    }
    if let Some((from, to)) = stroke {
        path.begin(from).line((from.0, to));
    }
    let RGBAColor(red, green, blue, opacity) = color;
    // The end of a stroke is half of a dot, and so a stroke of no length is a dot.
    let color = hex(RGBColor(red, green, blue));
    let width = 2 * radius;
    path.element(&format!(
        "fill=\"none\" stroke=\"{color}\" stroke-width=\"{width}\" stroke-linecap=\"round\" \
         opacity=\"{opacity}\""
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_that_touch_are_one_stroke() {
        let places = [(5, 1), (5, 3), (5, 6), (5, 10), (6, 2)];
        let drawn = dots(places, 3, BLUE.mix(0.5));
        assert!(drawn.contains(r#"d="m5 1v5m0 4h0m1-8h0""#), "{drawn}");
        assert!(drawn.contains("stroke-linecap") && drawn.contains(r#"opacity="0.5""#));
        assert_eq!(dots([], 3, BLUE.mix(0.5)), "");
    }

    #[test]
    fn shapes_come_back_to_where_they_began() {
        let mut path = Path::default();
        path.rectangle((1, 9), (1, 4));
        path.begin((0, 0)).line((4, 4)).line((8, 0));
        assert!(
            path.filled(RED)
                .contains(r#"d="m1 9h1v-5h-1v5m-1-9l4 4l4-4""#),
            "{path:?}"
        );
    }
}
