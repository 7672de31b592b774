//! The tables that nanobench prints.
//!
//! ```text
//! |               ns/op |                op/s |    err% |          ins/op |     total | benchmark
//! |--------------------:|--------------------:|--------:|----------------:|----------:|:----------
//! |                0.31 |    3,192,444,232.50 |    0.0% |            1.00 |      0.00 | `++x`
//! |                   - |                   - |       - |               - |         - | :boom: `y` (iterations overflow)
//! ```
//!
//! One chart for each row, named by its benchmark, of the time in ns/op, for any printed unit of
//! time: a run gives one value. It and the rate are printed with two decimals, which are few for a
//! fast function or a slow one, so that it is taken from the larger of the two. Further charts,
//! `++x ins/op`, are of the instructions, cycles and branches that the processor counts. The columns
//! that a program adds are part of the name, `sum [threads=4]`, and so is a title that it gives,
//! `Sums/sum`. Checked with nanobench 4.1, 4.3 and 4.6; the columns of the processor's counts are
//! those of its documentation.

use super::charts::Charts;
use super::number::{self, Number};
use super::text::{column_of, has, lines_with_ends, shown};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;
use crate::unit::convert;

/// The title of a table whose program gives none.
const NO_TITLE: &str = "benchmark";

/// The columns before the measures that depend on the other rows.
const RELATIVE: [&str; 2] = ["relative", "95% CI"];

/// The counts of the processor, each for one piece of what is counted.
const COUNTS: [&str; 3] = ["ins", "cyc", "bra"];

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    let mut table = Table::Other;
    let mut lines = lines_with_ends(text).peekable();
    while let Some((index, line, has_end)) = lines.next() {
        // What a benchmark prints may stand between the rows.
        if !line.starts_with('|') {
            continue;
        }
        if let Some((_, rule, _)) = lines.next_if(|(_, below, _)| is_rule(below)) {
            table = Table::from_lines(line, rule);
            if !matches!(table, Table::Other) {
                charts.knows(index);
                charts.knows(index + 1);
            }
            continue;
        }
        let is_known = match &table {
            // More of the name may have followed.
            Table::Results(head) => has_end && head.add_row(&mut charts, index, line).is_some(),
            Table::Complexity => true,
            Table::Other => continue,
        };
        match is_known {
            true => charts.knows(index),
            false => charts.doubts(index),
        }
    }
    charts.finish("a row below `ns/op` and `op/s`")
}

pub(super) fn recognize(text: &str) -> bool {
    // In the line below the titles, before the names.
    if !has(text, "|:-") {
        return false;
    }
    let mut above = "";
    text.lines().map(shown).any(|line| {
        let above = std::mem::replace(&mut above, line);
        Head::from_lines(above, line).is_some()
    })
}

/// The table to which a row belongs.
enum Table<'a> {
    Results(Head<'a>),
    /// The growth of the results, as nanobench estimates it.
    Complexity,
    /// One that the program writes.
    Other,
}

impl<'a> Table<'a> {
    fn from_lines(line: &'a str, rule: &str) -> Self {
        let titles = || line.split('|').map(str::trim);
        match Head::from_lines(line, rule) {
            Some(head) => Self::Results(head),
            None if titles().eq(["", "coefficient", "err%", "complexity"]) => Self::Complexity,
            None => Self::Other,
        }
    }
}

struct Head<'a> {
    titles: Vec<&'a str>,
    /// The columns that are part of the name.
    named: Vec<usize>,
    /// The column of the time, with its unit.
    time: Option<(usize, &'a str)>,
    rate: Option<usize>,
    counts: Vec<usize>,
    /// The thing that is counted, such as `op`.
    piece: &'a str,
}

impl<'a> Head<'a> {
    fn from_lines(line: &'a str, rule: &str) -> Option<Self> {
        let titles = cells(line, columns(rule)?)?;
        let time = titles.iter().enumerate().find_map(|(at, title)| {
            let (unit, piece) = title.split_once('/')?;
            convert(1.0, unit, "ns").map(|_| (at, unit, piece))
        });
        // A program may hide either, or have a unit of time of its own.
        let rate = |of: Option<&str>| {
            titles.iter().enumerate().find_map(|(at, title)| {
                let piece = title.strip_suffix("/s")?;
                of.is_none_or(|of| piece == of).then_some((at, piece))
            })
        };
        let rate = rate(time.map(|(_, _, piece)| piece));
        let (first, piece) = match (time, rate) {
            (Some((at, _, piece)), _) | (None, Some((at, piece))) => (at, piece),
            (None, None) => return None,
        };
        // A time in another unit, or what depends on the other rows, tells no benchmarks apart.
        let is_named = |title: &str| {
            let count = title.split_once('/');
            !RELATIVE.contains(&title) && count.is_none_or(|(_, of)| of != piece)
        };
        let is_count = |title: &str| {
            let count = title.split_once('/');
            count.is_some_and(|(count, of)| of == piece && COUNTS.contains(&count))
        };
        Some(Self {
            named: (0..first).filter(|at| is_named(titles[*at])).collect(),
            time: time.map(|(at, unit, _)| (at, unit)),
            rate: rate.map(|(at, _)| at),
            counts: (first..titles.len() - 1)
                .filter(|at| is_count(titles[*at]))
                .collect(),
            piece,
            titles,
        })
    }

    /// Adds the charts of a row; `None` if it is not a whole one.
    fn add_row(&self, charts: &mut Charts, index: usize, line: &str) -> Option<()> {
        let cells = cells(line, self.titles.len())?;
        let (cells, last) = (&cells[..], cells.last()?);
        let (name, failure) = named(last)?;
        let name = self.name(name, cells);
        charts.benchmark(&name);
        let counts = self.counts.iter().map(|at| {
            let unit = self.titles[*at];
            (*at, format!("{name} {unit}"), unit)
        });
        if let Some(failure) = failure {
            let reason = format!("nanobench says `{failure}`");
            counts.for_each(|(_, chart, _)| charts.fail(&chart, reason.as_str()));
            charts.fail(&name, reason);
            return Some(());
        }
        let time = self.time(cells)?;
        let counted: Option<Vec<_>> = counts
            .map(|(at, chart, unit)| Some((at, chart, unit, figure(cells[at])?)))
            .collect();
        let place = |at: usize| OutputPosition::Text {
            line: index + 1,
            column: column_of(line, cells[at]),
        };
        for (at, chart, unit, count) in counted? {
            charts.add_once(&chart, vec![count], Some(unit), Direction::Down, || {
                place(at)
            });
        }
        let unit = format!("ns/{}", self.piece);
        let at = self.time.map(|(at, _)| at).or(self.rate)?;
        match time.is_finite() && time > 0.0 {
            true => charts.add_once(&name, vec![time], Some(&unit), Direction::Down, || {
                place(at)
            }),
            false => charts.fail(&name, "nanobench has no time for it"),
        }
        Some(())
    }

    fn name(&self, name: String, cells: &[&str]) -> String {
        let columns = (self.named.iter()).map(|at| format!("{}={}", self.titles[*at], cells[*at]));
        let columns: Vec<String> = columns.collect();
        let name = match columns.is_empty() {
            true => name,
            false => format!("{name} [{}]", columns.join(", ")),
        };
        match self.titles.last() {
            Some(title) if *title != NO_TITLE && !title.is_empty() => format!("{title}/{name}"),
            _ => name,
        }
    }

    /// The time of one piece in nanoseconds, of the figure that has more digits.
    fn time(&self, cells: &[&str]) -> Option<f64> {
        let rate = match self.rate {
            Some(at) => figure(cells[at])?,
            None => 0.0,
        };
        if let Some((at, unit)) = self.time {
            let time = figure(cells[at])?;
            if time >= rate {
                return convert(time, unit, "ns");
            }
        }
        Some(1e9 / rate)
    }
}

/// The number of columns above a line between the titles and the rows: of all but the last, the end
/// is aligned.
fn columns(rule: &str) -> Option<usize> {
    let is_line = |cell: &str| !cell.is_empty() && cell.bytes().all(|byte| byte == b'-');
    let (numbers, names) = rule.strip_prefix('|')?.rsplit_once('|')?;
    let mut numbers = numbers.split('|').map(|cell| cell.strip_suffix(':'));
    let is_rule = names.strip_prefix(':').is_some_and(is_line)
        && numbers.all(|cell| cell.is_some_and(is_line));
    is_rule.then(|| rule.matches('|').count())
}

/// Returns true for a line between the titles and the rows of any table in Markdown.
fn is_rule(line: &str) -> bool {
    let is_part = |byte| matches!(byte, b'|' | b'-' | b':' | b' ');
    line.starts_with('|') && line.contains('-') && line.bytes().all(is_part)
}

/// The cells of a row with this many columns. The last one may have bars in it.
fn cells(line: &str, columns: usize) -> Option<Vec<&str>> {
    let cells = line.strip_prefix('|')?.splitn(columns, '|').map(str::trim);
    let cells: Vec<&str> = cells.collect();
    (cells.len() == columns).then_some(cells)
}

/// The name in a row's last cell, in which a backtick stands twice, and the reason if it failed.
fn named(cell: &str) -> Option<(String, Option<&str>)> {
    let (has_failed, rest) = match cell.strip_prefix(":boom: ") {
        Some(rest) => (true, rest),
        None => (false, cell.strip_prefix(":wavy_dash: ").unwrap_or(cell)),
    };
    let code = rest.strip_prefix('`')?;
    let mut end = code.find('`')?;
    while code[end + 1..].starts_with('`') {
        end += 2 + code[end + 2..].find('`')?;
    }
    let name = code[..end].replace("``", "`");
    let remark = code[end + 1..].trim();
    if !has_failed {
        // That it is unstable.
        return (remark.is_empty() || remark.starts_with('(')).then_some((name, None));
    }
    let reason = remark.strip_prefix('(').unwrap_or(remark);
    Some((name, Some(reason.strip_suffix(')').unwrap_or(reason))))
}

/// A printed number.
fn figure(cell: &str) -> Option<f64> {
    match number::with_thousands(cell)? {
        Number::Finite(value) => Some(value),
        Number::NotFinite => Some(f64::NAN),
    }
}
