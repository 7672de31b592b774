//! A table of ratios as one HTML file, colored by how far each is from 1.

use maud::{DOCTYPE, Markup, html};

use crate::foreign::{Foreign, clean};
use crate::page::head;
use crate::quantity::date;

const STYLE: &str = include_str!("heat_map.css");

/// The steps of color on each side of 1.
const STEPS: u8 = 8;

/// A table of ratios.
#[derive(Debug, Clone)]
pub struct HeatMap {
    /// The two sides.
    pub title: String,
    /// Sentences below the title.
    pub facts: Vec<String>,
    /// True if ratios below 1 are better, false if those above; `None` where that is not known.
    pub less_is_better: Option<bool>,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<HeatMapRow>,
    /// When it was made: milliseconds of Unix time.
    pub made: i64,
}

/// A row of ratios.
#[derive(Debug, Clone)]
pub struct HeatMapRow {
    /// Its name.
    pub name: String,
    /// The mean of its ratios.
    pub mean: f64,
    /// A cell for each column.
    pub cells: Vec<Option<HeatMapCell>>,
}

/// A ratio.
#[derive(Debug, Clone)]
pub struct HeatMapCell {
    /// The ratio, positive and finite.
    pub ratio: f64,
    /// The traces of the ratio.
    pub about: String,
}

/// The page. Everything is in it: nothing is fetched, and there is no script.
///
/// Colors are symmetric in the logarithm of the ratio, from 1 to the ratio that is farthest from it,
/// but at least 1.1: 2 is as strong as 0.5. Each cell has its number and a mark, `▲` for more and `▼` for
/// less, so that it can be read without colors.
///
/// ```
/// use pinpoint_report::heat_map::{HeatMap, heat_map};
///
/// let page = heat_map(&HeatMap {
///     title: "compiler gcc over clang".into(),
///     facts: vec![],
///     less_is_better: Some(true),
///     columns: vec!["linux".into()],
///     rows: vec![],
///     made: 0,
/// });
/// assert!(page.starts_with("<!DOCTYPE html>"));
/// ```
pub fn heat_map(map: &HeatMap) -> String {
    let farthest = farthest(map);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&map.title, &[STYLE], ""))
            body {
                header {
                    p.kind { "Verticals" }
                    h1 { (Foreign(&map.title)) }
                    @for fact in &map.facts { p.facts { (Foreign(fact)) } }
                    (legend(map.less_is_better))
                }
                main { (table(map, farthest)) }
                footer {
                    "Created with Pinpoint " (env!("CARGO_PKG_VERSION")) " on " (date(map.made)) "."
                }
            }
        }
    };
    page.into_string()
}

fn legend(less_is_better: Option<bool>) -> Markup {
    let (less, more) = match less_is_better {
        Some(true) => ("A is less, which is better", "A is more, which is worse"),
        Some(false) => ("A is less, which is worse", "A is more, which is better"),
        None => ("A is less", "A is more"),
    };
    html! {
        p.facts {
            span.legend.(class(0.5, less_is_better, 2.0)) { "▼ " (less) } " "
            span.legend.(class(2.0, less_is_better, 2.0)) { "▲ " (more) }
        }
    }
}

fn table(map: &HeatMap, farthest: f64) -> Markup {
    if map.rows.is_empty() {
        return html! { p { "No two traces have positive values on both sides." } };
    }
    html! {
        div.wide tabindex="0" role="region" aria-label="Ratios" {
            table.heat {
                thead {
                    tr {
                        th scope="col" { "row" }
                        th.number scope="col" { "mean" }
                        @for column in &map.columns {
                            th.number scope="col" {
                                @if column.is_empty() { "all" } @else { (Foreign(column)) }
                            }
                        }
                    }
                }
                tbody {
                    @for row in &map.rows {
                        tr {
                            th scope="row" { (Foreign(&row.name)) }
                            (ratio(row.mean, None, map.less_is_better, farthest))
                            @for cell in &row.cells {
                                @match cell {
                                    Some(cell) => (ratio(cell.ratio, Some(&cell.about), map.less_is_better, farthest)),
                                    None => td.number { "–" },
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn ratio(ratio: f64, about: Option<&str>, less_is_better: Option<bool>, farthest: f64) -> Markup {
    let number = format!("{ratio:.3}");
    let mark = match ratio {
        _ if number == "1.000" => "",
        less if less < 1.0 => " ▼",
        _ => " ▲",
    };
    let title = about.map(clean);
    html! {
        td.number.(class(ratio, less_is_better, farthest)) title=[title] { (number) (mark) }
    }
}

/// The class of a cell's color: a side, and a step of the logarithm of the ratio.
fn class(ratio: f64, less_is_better: Option<bool>, farthest: f64) -> String {
    let share = (libm::log(ratio) / libm::log(farthest)).clamp(-1.0, 1.0);
    // At most the number of steps.
    let step = (share.abs() * f64::from(STEPS)).round() as u8;
    let side = match (share < 0.0, less_is_better) {
        (_, None) if share < 0.0 => "less",
        (_, None) => "more",
        (is_less, Some(less_is_better)) if is_less == less_is_better => "better",
        _ => "worse",
    };
    format!("{side}{step}")
}

/// The ratio that has the strongest color.
fn farthest(map: &HeatMap) -> f64 {
    let cells = map.rows.iter().flat_map(|row| row.cells.iter().flatten());
    let away = |ratio: f64| ratio.max(1.0 / ratio);
    let ratios = cells.map(|it| away(it.ratio)).filter(|it| it.is_finite());
    ratios.fold(1.1, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(ratios: &[f64], name: &str, less_is_better: Option<bool>) -> HeatMap {
        let cell = |ratio: &f64| {
            Some(HeatMapCell {
                ratio: *ratio,
                about: name.into(),
            })
        };
        HeatMap {
            title: name.into(),
            facts: vec![name.into()],
            less_is_better,
            columns: ratios.iter().map(|_| name.to_owned()).collect(),
            rows: vec![HeatMapRow {
                name: name.into(),
                mean: 1.0,
                cells: ratios.iter().map(cell).collect(),
            }],
            made: 0,
        }
    }

    #[test]
    fn colors_are_symmetric_in_the_logarithm_and_numbers_say_the_same() {
        let page = heat_map(&map(&[0.25, 0.5, 1.0, 2.0, 4.0], "x", Some(true)));
        for cell in [
            "better8\" title=\"x\">0.250 ▼",
            "better4\" title=\"x\">0.500 ▼",
            "worse0\" title=\"x\">1.000<",
            "worse4\" title=\"x\">2.000 ▲",
            "worse8\" title=\"x\">4.000 ▲",
        ] {
            assert!(page.contains(cell), "{cell}: {page}");
        }
        let page = heat_map(&map(&[0.5, 2.0], "x", Some(false)));
        assert!(page.contains("worse8\" title=\"x\">0.500 ▼"), "{page}");
        // A small ratio is not made to look large.
        let page = heat_map(&map(&[1.01], "x", None));
        assert!(page.contains("more1\" title=\"x\">1.010 ▲"), "{page}");
    }

    #[test]
    fn names_stay_text_and_nothing_is_fetched() {
        let hostile = "</td><script>alert(1)</script>\" onclick='x' \u{202e}";
        let page = heat_map(&map(&[2.0], hostile, None));
        assert!(
            !page.contains("<script") && !page.contains('\u{202e}'),
            "{page}"
        );
        assert!(page.contains("&lt;script&gt;") && page.contains("&quot; onclick"));
        for fetched in ["http:", "https:", "src=", "url("] {
            assert!(!page.contains(fetched), "{fetched}");
        }
        assert!(page.contains("width=device-width"));
    }
}
