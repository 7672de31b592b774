//! Ratios of two values of a key, as text.

use pinpoint_core::Direction;
use pinpoint_report::quantity::count;
use pinpoint_traces::Verticals;

use super::text::{BOLD, DIM, Text, text};
use super::trace_table::matrix;

/// Column names that are longer together are numbered.
const NAMES_IN_HEADS: usize = 60;

/// A table of ratios, and what its two sides are called.
pub(crate) fn render(table: &Verticals, title: &str) -> Text {
    let rows = count(table.rows.len() as u64, "row");
    let mut shown = text!(
        "{BOLD}{title}{BOLD:#}: {rows}, {}\n",
        better(table.direction)
    );
    if table.rows.is_empty() {
        shown = text!("{shown}no two traces have positive values on both sides\n");
    } else {
        let names = &table.columns;
        let is_short = names.iter().map(|it| it.len() + 2).sum::<usize>() <= NAMES_IN_HEADS;
        let heads = names.iter().enumerate().map(|(at, name)| match is_short {
            true if name.is_empty() => "all".to_owned(),
            true => name.clone(),
            false => format!("({})", at + 1),
        });
        let heads: Vec<String> = std::iter::once("mean".to_owned()).chain(heads).collect();
        let lines = table.rows.iter().map(|row| {
            let cells = row.cells.iter().map(|cell| match cell {
                Some(cell) => marked(cell.ratio, table.direction),
                None => "-  ".to_owned(),
            });
            let mean = marked(row.mean, table.direction);
            (
                row.name.clone(),
                std::iter::once(mean).chain(cells).collect(),
            )
        });
        shown = text!("{shown}\n{}", matrix(&heads, &lines.collect::<Vec<_>>()));
        if !is_short {
            shown = text!("{shown}\n");
            for (at, name) in names.iter().enumerate() {
                shown = text!("{shown}{DIM}({}){DIM:#} {name}\n", at + 1);
            }
        }
    }
    if table.left_out > 0 {
        let left_out = count(table.left_out as u64, "trace");
        shown = text!("{shown}\n{left_out} without a counterpart or a positive value left out\n");
    }
    shown
}

/// Which ratios are better.
fn better(direction: Direction) -> &'static str {
    match direction {
        Direction::Down => "below 1 A is better (+), above 1 worse (-)",
        Direction::Up => "above 1 A is better (+), below 1 worse (-)",
        Direction::Unknown => "below 1 A is less (<), above 1 more (>)",
    }
}

/// A ratio with a mark: + is better, - is worse; < is less, > is more where it is not known what is
/// better.
fn marked(ratio: f64, direction: Direction) -> String {
    let text = format!("{ratio:.3}");
    let mark = match (ratio.total_cmp(&1.0), direction) {
        _ if text == "1.000" => " ",
        (std::cmp::Ordering::Less, Direction::Down)
        | (std::cmp::Ordering::Greater, Direction::Up) => "+",
        (_, Direction::Down | Direction::Up) => "-",
        (std::cmp::Ordering::Less, Direction::Unknown) => "<",
        _ => ">",
    };
    format!("{text} {mark}")
}
