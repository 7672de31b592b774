//! The pictures: SVG, drawn by `plotters`, each in a figure with its caption.
//!
//! The library writes colors as attributes, which any style sheet outranks. So each color here
//! serves one purpose only, and the page's style sheet ([`style()`]) gives each its meaning in light
//! and in dark. A picture taken out of the page has the colors of the light one. No element has a style
//! attribute, so that a content security policy need not allow that.
//!
//! A function gives the same figure for the same data. No foreign text gets into a figure, except
//! names of commits and of charts and their units, which may hold anything.
//!
//! ```
//! use pinpoint_report::picture::{Bar, Column, by_commit, posterior};
//!
//! # fn main() -> Result<(), pinpoint_report::picture::PictureError> {
//! let older = vec![Some(1.02), Some(0.99), None];
//! let newer = vec![Some(1.31), Some(1.28), Some(1.3)];
//! let columns = [
//!     Column::new("1f2e3d4c5b".into(), older, false),
//!     Column::new("6a7b8c9d0e".into(), newer, true),
//! ];
//! let values = by_commit(&columns, Some("latency"), Some("s"))?;
//! // The probability between the two, below it.
//! let bar = Bar { after: 0, last: 1, probability: 0.97, is_culprit: true };
//! let places = posterior(&[bar], columns.len(), 0.03, false)?;
//! let page = maud::html! { (values) (places) }.into_string();
//! assert_eq!(page.matches("<svg").count(), 2);
//! assert!(page.contains("97.0 %") && page.contains("failed runs"));
//! # Ok(())
//! # }
//! ```

mod by_commit;
mod differences;
mod histograms;
mod history;
mod posterior;
mod shapes;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write;

use maud::{Markup, PreEscaped, html};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use crate::quantity::quantity;

pub use by_commit::{Column, by_commit};
pub use differences::{Difference, differences};
pub use histograms::histograms;
pub use history::{ChangePlace, Level, history};
pub use posterior::{Bar, bars, posterior};

/// A color of a picture: in light, and in dark.
struct Ink {
    name: &'static str,
    light: RGBColor,
    dark: &'static str,
}

const fn ink(name: &'static str, light: (u8, u8, u8), dark: &'static str) -> Ink {
    Ink {
        name,
        light: RGBColor(light.0, light.1, light.2),
        dark,
    }
}

const TEXT: RGBColor = INKS[0].light;
const GRID: RGBColor = INKS[1].light;
const RUN: RGBColor = INKS[2].light;
const MEDIAN: RGBColor = INKS[3].light;
const CULPRIT: RGBColor = INKS[4].light;
const CULPRIT_MEDIAN: RGBColor = INKS[5].light;
const FAILURE: RGBColor = INKS[6].light;

const INKS: [Ink; 7] = [
    ink("text", (0x52, 0x5b, 0x66), "#a7b0bb"),
    ink("grid", (0xdd, 0xe1, 0xe6), "#323a44"),
    ink("run", (0x4a, 0x8f, 0xcf), "#5b9fdc"),
    ink("median", (0x0f, 0x3d, 0x68), "#d3e6f8"),
    ink("culprit", (0xe0, 0x7b, 0x2f), "#f0924a"),
    ink("culprit-median", (0x8f, 0x3c, 0x04), "#ffe0c7"),
    ink("failure", (0xc6, 0x28, 0x28), "#ff7b72"),
];

/// The light or dark theme of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// Dark on light, as on paper.
    Light,
    /// Light on dark.
    Dark,
}

/// The colors of the pictures as declarations of custom properties. [`style()`] has those that the
/// reader's system asks for; this is for pages whose readers choose.
pub fn colors(theme: Theme) -> String {
    let declarations = INKS.iter().map(|ink| match theme {
        Theme::Light => format!("--{}:{};", ink.name, hex(ink.light)),
        Theme::Dark => format!("--{}:{};", ink.name, ink.dark),
    });
    declarations.collect()
}

fn hex(RGBColor(red, green, blue): RGBColor) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

/// The style sheet of the figures. The color of their captions is that of the page.
pub fn style() -> String {
    let mut text = format!(
        ":root{{{}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{}}}}}\n",
        colors(Theme::Light),
        colors(Theme::Dark)
    );
    for ink in &INKS {
        let (name, light) = (ink.name, hex(ink.light));
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "svg [fill=\"{light}\"]{{fill:var(--{name})}}svg [stroke=\"{light}\"]{{stroke:var(--{name})}}"
        );
    }
    text + include_str!("style.css")
}

/// A picture could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("a picture of the report could not be drawn: {0}")]
pub struct PictureError(String);

impl<E: std::error::Error + Send + Sync> From<DrawingAreaErrorKind<E>> for PictureError {
    fn from(error: DrawingAreaErrorKind<E>) -> Self {
        Self(error.to_string())
    }
}

/// Room for the labels on the left, the same in all pictures so that those with
/// the same axis are right above each other.
const LEFT: u32 = 92;
const WIDTH: u32 = 960;
const SMALL: u32 = 13;

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

fn small() -> TextStyle<'static> {
    ("sans-serif", SMALL).into_font().color(&TEXT)
}

/// A picture in its frame, with a text for users who cannot see it.
fn framed(label: &str, svg: &str) -> Markup {
    html! { div.picture role="img" aria-label=(label) tabindex="0" { (PreEscaped(svg)) } }
}

/// Draws, and returns the text of the SVG.
fn svg(
    height: u32,
    draw: impl FnOnce(&Area<'_>) -> Result<(), PictureError>,
) -> Result<String, PictureError> {
    svg_with(height, |area| draw(area).map(|()| String::new()))
}

/// Draws, puts the returned elements above it, and returns the text of the SVG.
fn svg_with(
    height: u32,
    draw: impl FnOnce(&Area<'_>) -> Result<String, PictureError>,
) -> Result<String, PictureError> {
    let mut text = String::new();
    let above = {
        let area = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        let above = draw(&area)?;
        area.present()?;
        above
    };
    let end = text.rfind("</svg>").unwrap_or(text.len());
    text.insert_str(end, &above);
    Ok(text)
}

/// A little more than the span of the values, so that none is on the frame.
fn span(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
    if low > high {
        return (0.0, 1.0);
    }
    let room = match high - low {
        0.0 if low == 0.0 => 1.0,
        0.0 => low.abs() * 0.05,
        // For huge values, the difference may overflow.
        wide => (wide * 0.06).min(f64::MAX / 8.0),
    };
    (
        (low - room).max(f64::MIN / 4.0),
        (high + room).min(f64::MAX / 4.0),
    )
}

/// The places of marks, one for each place on the screen, however many points fall there: the
/// picture is the same, and stays small.
fn places<'a>(
    chart: &Chart<'_, '_>,
    points: impl Iterator<Item = (f64, f64)> + 'a,
) -> Vec<(i32, i32)> {
    let places: BTreeSet<(i32, i32)> = points.map(|point| chart.backend_coord(&point)).collect();
    places.into_iter().collect()
}

/// A value at an axis: with its unit where that is one of ours, short and with a
/// prefix that suits; any other unit is in the words below the picture.
fn label(value: f64, unit: Option<&str>) -> String {
    quantity(
        value,
        unit.filter(|unit| matches!(*unit, "s" | "sec" | "seconds" | "bytes" | "B")),
    )
}

/// Returns whether names fit side by side below as many columns.
fn are_flat(names: &[&str]) -> bool {
    let longest = names.iter().map(|name| name.chars().count()).max();
    let each = f64::from(WIDTH - LEFT) / names.len().max(1) as f64;
    each > CHARACTER * longest.unwrap_or_default() as f64 + 8.0
}

/// The width of a character of a name in pixels, with some to spare: names are mostly digits.
const CHARACTER: f64 = 8.0;

/// The most characters of an upright name.
const MOST_UPRIGHT: usize = 32;

/// The two ends of a name that is too long to be upright: the second names the commit that was
/// merged last, or those held elsewhere.
fn fitted(name: &str) -> Cow<'_, str> {
    let count = name.chars().count();
    if count <= MOST_UPRIGHT {
        return Cow::Borrowed(name);
    }
    let each = (MOST_UPRIGHT - 1) / 2;
    let first: String = name.chars().take(each).collect();
    let last: String = name.chars().skip(count - each).collect();
    Cow::Owned(format!("{first}…{last}"))
}

/// The room that names below the axis need, in pixels.
fn room_below(names: &[&str]) -> u32 {
    if are_flat(names) {
        return 30;
    }
    let longest = names.iter().map(|name| name.chars().count()).max();
    (16.0 + CHARACTER * longest.unwrap_or_default() as f64).max(96.0) as u32
}

/// Names below the axis, upright where there is little room, and not all of them where there is
/// less.
fn names_below(
    area: &Area<'_>,
    chart: &Chart<'_, '_>,
    names: &[&str],
    color: impl Fn(usize) -> RGBColor,
) -> Result<(), PictureError> {
    use plotters::style::text_anchor::{HPos, Pos, VPos};

    let (across, down) = chart.plotting_area().get_pixel_range();
    let bottom = down.end;
    let each = f64::from(across.end - across.start) / names.len().max(1) as f64;
    let is_flat = are_flat(names);
    let every = if is_flat {
        1
    } else {
        ((f64::from(SMALL) + 3.0) / each).ceil().max(1.0) as usize
    };
    for (number, name) in names
        .iter()
        .enumerate()
        .filter(|(number, _)| number % every == 0)
    {
        let (x, _) = chart.backend_coord(&(number as f64, 0.0));
        let color = color(number);
        let style = small().color(&color);
        let style = if is_flat {
            style.pos(Pos::new(HPos::Center, VPos::Top))
        } else {
            style
                .transform(FontTransform::Rotate270)
                .pos(Pos::new(HPos::Right, VPos::Center))
        };
        area.draw(&Text::new((*name).to_owned(), (x, bottom + 8), style))?;
    }
    Ok(())
}

/// The lines and labels of the values' axis.
fn mesh(
    chart: &mut Chart<'_, '_>,
    labels: usize,
    format: impl Fn(f64) -> String,
) -> Result<(), PictureError> {
    (chart.configure_mesh())
        .disable_x_mesh()
        .disable_x_axis()
        .y_labels(labels)
        .y_label_formatter(&|value| format(*value))
        .label_style(small())
        .axis_style(GRID)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .draw()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use pinpoint_core::{Posterior, Span};

    use super::*;

    const HOSTILE: &str = "</text><script>alert(1)</script>\" onload='x'\u{202e}\u{0}";

    /// All figures, with texts that would need escaping.
    fn figures() -> [String; 4] {
        let columns = [
            Column::new(HOSTILE.into(), vec![Some(1.0), None], false),
            Column::new(HOSTILE.into(), vec![Some(f64::MAX), Some(f64::MIN)], true),
        ];
        let bar = Bar {
            after: 0,
            last: 1,
            probability: 0.5,
            is_culprit: false,
        };
        let difference = Difference {
            pair: 1,
            percent: 3.0,
            base_first: true,
        };
        let drawn = [
            by_commit(&columns, Some(HOSTILE), Some(HOSTILE)),
            posterior(&[bar], 2, 0.5, true),
            differences(&[difference], 1, None, None),
            histograms([&[1.0], &[2.0]], Some(HOSTILE)),
        ];
        drawn.map(|figure| figure.unwrap().into_string())
    }

    #[test]
    fn figures_hold_no_markup_of_others_and_need_no_styles_of_their_own() {
        for figure in figures() {
            assert!(figure.starts_with("<figure>") && figure.ends_with("</figure>"));
            for unsafe_text in ["<script", "\" onload", " style=", "\u{202e}", "\0"] {
                assert!(!figure.contains(unsafe_text), "{unsafe_text:?} in {figure}");
            }
        }
        assert_eq!(figures(), figures());
    }

    #[test]
    fn names_on_end_have_room_above_the_caption() {
        let height_with = |name: &str| {
            let column = || Column::new(name.into(), vec![Some(1.0)], false);
            let columns: Vec<Column> = (0..20).map(|_| column()).collect();
            let figure = by_commit(&columns, None, None).unwrap().into_string();
            let height = figure.split("height=\"").nth(1).unwrap().split('"').next();
            (height.unwrap().parse::<f64>().unwrap(), figure)
        };
        // A digit is a little more than 7 pixels wide.
        for name in ["26f84ad04a", "aa919cf89a+26f84ad04a"] {
            let (height, figure) = height_with(name);
            assert!(figure.contains(name));
            assert!(height - 310.0 >= 8.0 + 7.3 * name.len() as f64, "{height}");
        }
        let (height, figure) = height_with(&["1234567890"; 9].join("+"));
        assert!(height < 600.0, "{height}");
        assert!(
            figure.contains("1234567890+1234…7890+1234567890"),
            "{figure}"
        );
    }

    #[test]
    fn every_color_of_a_figure_has_a_rule() {
        let style = style();
        for figure in figures() {
            let colors = figure.split(['"']).filter(|text| text.starts_with('#'));
            for color in colors {
                let rules = ["fill", "stroke"].map(|what| format!("svg [{what}=\"{color}\"]"));
                assert!(rules.iter().all(|rule| style.contains(rule)), "{color}");
            }
        }
        assert!(style.contains(&colors(Theme::Light)) && style.contains(&colors(Theme::Dark)));
    }

    #[test]
    fn the_likeliest_place_stands_out_until_something_is_found() {
        let span = |after: char, last: char, probability: f64| Span {
            after,
            last,
            commits: 1,
            probability,
        };
        let posterior = |no_change| Posterior {
            no_change,
            better: 0.0,
            largest_change: None,
            other_change: None,
            spans: vec![
                span('a', 'b', 0.2),
                span('b', 'c', 0.5),
                span('c', 'x', 0.1),
            ],
        };
        let marked = |no_change: f64, is_found: bool| {
            let bars = bars(&posterior(no_change), &['a', 'b', 'c', 'x'], is_found);
            bars.iter().position(|bar| bar.is_culprit)
        };
        assert_eq!(marked(0.2, false), Some(1));
        assert_eq!(marked(0.6, false), None);
        assert_eq!(marked(0.2, true), None);
    }

    #[test]
    fn bars_show_the_probability_of_all_spans() {
        let commits = ['a', 'b', 'c', 'd', 'e'];
        let spans: Vec<Span<char>> = (commits.windows(2).zip([0.1, 0.4, 0.2, 0.1]))
            .map(|(ends, probability)| Span {
                after: ends[0],
                last: ends[1],
                commits: 1,
                probability,
            })
            .collect();
        let posterior = Posterior {
            no_change: 0.2,
            better: 0.0,
            largest_change: None,
            other_change: None,
            spans,
        };
        let table: f64 = posterior.spans.iter().map(|span| span.probability).sum();
        // Every set of commits with a column that holds the good end.
        for has_column in 0..1_usize << 4 {
            let columns: Vec<char> = (commits.into_iter().enumerate())
                .filter(|(index, _)| *index == 0 || has_column >> (index - 1) & 1 == 1)
                .map(|(_, commit)| commit)
                .collect();
            let bars = bars(&posterior, &columns, false);
            let shown: f64 = bars.iter().map(|bar| bar.probability).sum();
            assert!((shown - table).abs() < 1e-12, "{columns:?}: {bars:?}");
            for neighbors in bars.windows(2) {
                assert_eq!(neighbors[0].last, neighbors[1].after, "{columns:?}");
            }
            assert!(bars.iter().all(|bar| bar.after < bar.last), "{columns:?}");
        }
    }
}
