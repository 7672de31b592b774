//! Tables with units: CSV, Markdown, and columns with tabs or two blanks between them.
//!
//! ```text
//! name,time (ms)       | name | mean [ms] | max [ms] |       name    time    memory
//! sort,12.5            | ---- | --------: | -------: |       ------  ------  ------
//!                      | sort | 1.5 ± 0.1 |      2.1 |       sort    12 ms   3 MB
//! ```
//!
//! A row is named by its only cell of words, and each of its charts by the column as well, if more
//! than one has a unit. The unit is in the header or in the cell. In CSV only the header counts, since
//! prose with commas looks like a row. Cells without a unit are not read: they may be counts.

use memchr::{memchr_iter, memchr3};

use super::number::{self, Number, Printed};
use crate::unit::is_measure;

/// A value in a table.
#[derive(Debug, PartialEq)]
pub(super) struct Cell<'a> {
    pub(super) name: String,
    /// `None` if it is not a number, or can be read in two ways.
    pub(super) value: Option<f64>,
    pub(super) text: &'a str,
    pub(super) unit: &'a str,
}

/// A line of a table.
#[derive(Debug, PartialEq)]
pub(super) struct Row<'a> {
    /// The index of the line.
    pub(super) index: usize,
    /// Its values: none in a header.
    pub(super) cells: Vec<Cell<'a>>,
}

/// The lines of the tables in a text. A last line without an end may be cut off, and is not read.
pub(super) fn rows(text: &str) -> impl Iterator<Item = Row<'_>> {
    let mut header: Option<Header> = None;
    let lines = text.split_inclusive('\n').enumerate();
    let whole = lines.map_while(|(index, line)| Some((index, line.strip_suffix('\n')?.trim())));
    whole.flat_map(move |(index, line)| {
        let mut rows = Vec::new();
        if let Some(known) = &mut header {
            if known.is_rule(line) {
                known.lines.push(index);
                return rows;
            }
            if let Some(cells) = known.cells(line) {
                rows.extend(known.lines.drain(..).map(|index| Row {
                    index,
                    cells: Vec::new(),
                }));
                rows.push(Row { index, cells });
                return rows;
            }
        }
        header = Header::new(line, index);
        rows
    })
}

struct Header<'a> {
    separator: char,
    /// The columns with their units.
    columns: Vec<(&'a str, Option<&'a str>)>,
    /// The lines of the header, until there is a row.
    lines: Vec<usize>,
}

impl<'a> Header<'a> {
    fn new(line: &'a str, index: usize) -> Option<Self> {
        let separators = match line.starts_with('|') {
            true => &['|'][..],
            false => &[',', '\t', BLANKS],
        };
        let is_in_line = |separator: &&char| match **separator {
            BLANKS => has_two_blanks(line),
            separator => line.contains(separator),
        };
        // Most lines of a log have none, and are skipped.
        if memchr3(b'|', b',', b'\t', line.as_bytes()).is_none() && !has_two_blanks(line) {
            return None;
        }
        separators.iter().filter(is_in_line).find_map(|separator| {
            let columns: Vec<_> = split(line, *separator).map(with_unit).collect();
            let is_name = |(name, _): &(&str, _)| name.starts_with(char::is_alphabetic);
            let has_unit = columns.iter().any(|(_, unit)| unit.is_some());
            let is_header =
                columns.len() > 1 && columns.iter().all(is_name) && (has_unit || *separator != ',');
            is_header.then(|| Self {
                separator: *separator,
                columns,
                lines: vec![index],
            })
        })
    }

    /// Returns true for the line below a header.
    fn is_rule(&self, line: &str) -> bool {
        match self.separator {
            '|' => line.contains('-') && line.chars().all(|it| matches!(it, '|' | '-' | ':' | ' ')),
            ',' => false,
            _ => {
                let is_rule = |it| matches!(it, '-' | '=' | '─' | '═' | '+' | ' ' | '\t');
                !line.is_empty() && line.chars().all(is_rule)
            }
        }
    }

    /// The values of a row, if it is one.
    fn cells(&self, line: &'a str) -> Option<Vec<Cell<'a>>> {
        if self.separator == '|' && (!line.starts_with('|') || self.lines.len() == 1) {
            return None;
        }
        let cells: Vec<&str> = split(line, self.separator).collect();
        if cells.len() != self.columns.len() {
            return None;
        }
        let measure = |cell| (self.separator != ',').then(|| measure(cell)).flatten();
        let measured: Vec<_> = (cells.iter().zip(&self.columns))
            .filter_map(|(cell, (column, unit))| {
                let (value, unit) = match (measure(cell), unit) {
                    (Some(measure), _) => measure,
                    (None, Some(unit)) => (value_of(cell), *unit),
                    (None, None) => return None,
                };
                Some((*column, *cell, value, unit))
            })
            .collect();
        let mut words = (cells.iter().zip(&self.columns)).filter(|(cell, (_, unit))| {
            unit.is_none() && measure(cell).is_none() && cell.contains(char::is_alphabetic)
        });
        let name = *words.next()?.0;
        // Two columns of words: either may tell the rows apart.
        if name.is_empty() || words.next().is_some() {
            return None;
        }
        // Among them those that are not finite.
        let has_number = (measured.iter()).any(|(_, _, value, _)| number::printed(value).is_some());
        let is_one = measured.len() == 1;
        let cells = measured
            .into_iter()
            .map(|(column, text, value, unit)| Cell {
                name: match is_one {
                    true => name.to_owned(),
                    false => format!("{name} {column}"),
                },
                value: match number::printed(value) {
                    Some(Printed::Sure(Number::Finite(value))) => Some(value),
                    _ => None,
                },
                text,
                unit,
            });
        has_number.then(|| cells.collect())
    }
}

/// The separator of columns that are two blanks or more apart.
const BLANKS: char = ' ';

fn has_two_blanks(line: &str) -> bool {
    let mut blanks = memchr_iter(b' ', line.as_bytes());
    blanks.any(|at| line.as_bytes().get(at + 1) == Some(&b' '))
}

/// The number and the unit of a cell: `12.5 ms`, `12.5ms`, `12.5 ± 0.1 ms`. Percentages are not
/// read: most columns of them are shares or deviations.
fn measure(cell: &str) -> Option<(&str, &str)> {
    let mut words = value_of(cell).split_whitespace();
    let word = words.next()?;
    let (value, unit) = match (number::split_unit(word), words.next()) {
        (Some(split), None) => split,
        (None, Some(unit)) => (word, unit),
        (None, None) if cell.contains('±') => (word, cell.split_whitespace().last()?),
        _ => return None,
    };
    let is_measure = unit != "%" && is_measure(unit) && number::printed(value).is_some();
    (is_measure && words.next().is_none()).then_some((value, unit))
}

/// The value of a cell without its deviation: 1.5 of `1.5 ± 0.1`.
fn value_of(cell: &str) -> &str {
    cell.split('±').next().unwrap_or_default().trim()
}

fn split(line: &str, separator: char) -> impl Iterator<Item = &str> {
    let line = match separator {
        '|' => line.trim_matches('|'),
        _ => line,
    };
    let cells: Vec<&str> = match separator {
        BLANKS => (line.split("  "))
            .filter(|cell| !cell.trim().is_empty())
            .collect(),
        _ => line.split(separator).collect(),
    };
    (cells.into_iter()).map(|cell| cell.trim().trim_matches(['"', '`', '*']))
}

/// The name of a column and its unit: `time (ms)`, `Mean [ms]`, `time_ms`.
fn with_unit(cell: &str) -> (&str, Option<&str>) {
    let in_brackets = [('(', ')'), ('[', ']')]
        .into_iter()
        .find_map(|(open, close)| {
            let (name, unit) = cell.strip_suffix(close)?.rsplit_once(open)?;
            is_measure(unit).then_some((name.trim(), Some(unit)))
        });
    let at_end = || {
        let (name, unit) = cell.rsplit_once('_')?;
        ["ns", "us", "ms", "s", "sec", "seconds"]
            .contains(&unit)
            .then_some((name, Some(unit)))
    };
    in_brackets.or_else(at_end).unwrap_or((cell, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<(String, Option<f64>, &str)> {
        let cells = rows(text).flat_map(|row| row.cells);
        cells
            .map(|cell| (cell.name, cell.value, cell.unit))
            .collect()
    }

    #[test]
    fn tables_with_units_are_read() {
        let sort = |value| [("sort".to_owned(), Some(value), "ms")];
        assert_eq!(values("name,n,time (ms)\nsort,5,12.5\n"), sort(12.5));
        assert_eq!(values("x\nname,time_ms\r\nsort,12\r\n"), sort(12.0));
        assert_eq!(
            values("|name|time (ms)|\n|-|-:|\n|`sort`|12.5|\n"),
            sort(12.5)
        );
        assert_eq!(
            values(
                "| Command | Mean [ms] | Max [s] | Relative |\n|:--|--:|--:|--:|\n| sort 5 | 1.5 ± 0.1 | - | 1.00 |\n"
            ),
            [
                ("sort 5 Mean".to_owned(), Some(1.5), "ms"),
                ("sort 5 Max".to_owned(), None, "s"),
            ]
        );
        for text in [
            "Name      Time\n---       ---\nsort      12.5 ms\n",
            "Name\tn\tTime\nsort\t5\t12.5ms\n",
            "| name | time |\n|--|--|\n| sort | 12.5 ± 0.1 ms |\n",
        ] {
            assert_eq!(values(text), sort(12.5), "{text}");
        }
        assert_eq!(
            values("Name     Time     CPU  Memory\nsort  12.5 ms     95%    3 MB\n"),
            [
                ("sort Time".to_owned(), Some(12.5), "ms"),
                ("sort Memory".to_owned(), Some(3.0), "MB"),
            ]
        );
        let lines: Vec<usize> = rows("name,time_ms\nsort,1\nsort,2\nend\n")
            .map(|row| row.index)
            .collect();
        assert_eq!(lines, [0, 1, 2]);
    }

    #[test]
    fn other_rows_are_not() {
        for text in [
            "name,time\nsort,12.5\n",
            "name,time (ms)\n",
            "name,time (ms)\nsort,12.5",
            "name,time (ms)\nsort,12.5,3\n",
            "suite,name,time (ms)\na,sort,12.5\n",
            "name,time (ms)\n5,12.5\n",
            "| name | time (ms) |\n| sort | 12.5 |\n",
            "| sort | 12.5 | 13.5 |\n",
            "name,time\nsort,12.5 ms\n",
            "Name  Time\nsort  12.5\n",
            "Name  Time\nsort  fast  12.5 ms\n",
            "we sorted  and slept\n5  12.5 ms\n",
            "we sorted, in all (ms)\nand then, we slept\n",
        ] {
            assert_eq!(rows(text).next(), None, "{text}");
        }
    }
}
