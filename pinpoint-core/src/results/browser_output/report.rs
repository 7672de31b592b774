//! The report of a log: pages and their runs, and the figures that are printed beside them.

use super::super::charts::Charts;
use super::super::text_line::TextLine;
use super::super::{ReadError, UNNAMED};
use crate::Direction;
use crate::aggregate::mean;

/// The columns of a header with figures of each page.
const WITH_FIGURES: [&str; 7] = ["i", "pagename", "median", "mean", "min", "max", "runs"];

/// The columns of a newer header.
const PLAIN: [&str; 3] = ["i", "pagename", "runs"];

/// The most remarks on printed figures. A log may have one in each row.
const MOST_REMARKS: usize = 20;

/// The shape of the rows, from the header or the first row.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    /// Page, its figures and its runs.
    WithFigures,
    /// Page and runs.
    Plain,
    /// `page,run,run`.
    Commas,
    /// `run|run` in one line, without a page.
    Alone,
}

/// A figure of all pages that is printed above them.
#[derive(Debug)]
struct Figure {
    line: usize,
    value: f64,
    /// The largest difference by rounding.
    rounding: f64,
}

/// A report so far.
#[derive(Debug, Default)]
pub(super) struct Report {
    shape: Option<Shape>,
    rows: usize,
    median: Vec<Figure>,
    mean: Vec<Figure>,
    /// The medians and means of the pages, if figures are printed.
    medians: Vec<f64>,
    means: Vec<f64>,
    remarks: usize,
    /// The runs of a row, sorted. Each row would need memory of its own.
    sorted: Vec<f64>,
}

impl Report {
    pub(super) fn has_rows(&self) -> bool {
        self.rows > 0
    }

    /// Takes a line of a report with a header.
    pub(super) fn page_line(
        &mut self,
        line: &str,
        at: TextLine,
        charts: &mut Charts,
    ) -> Result<(), ReadError> {
        if let Some(details) = line.strip_prefix("_x_x_mozilla_page_load_details") {
            self.details(details, at)
        } else if let Some(summary) = line.strip_prefix("_x_x_mozilla_page_load") {
            let mut parts = summary.split(',').skip(1);
            if let Some(median) = parts.next() {
                self.median.extend(figure(median, 0.0, at)?);
            }
            Ok(())
        } else if line.starts_with("|i|") {
            let columns: Vec<&str> = line.trim_matches('|').split('|').collect();
            if self.shape.is_some() {
                return Err(at.fault(line, "a second header"));
            }
            self.shape = Some(match &columns[..] {
                columns if columns == WITH_FIGURES => Shape::WithFigures,
                columns if columns == PLAIN => Shape::Plain,
                _ => return Err(at.fault(line, "a header with other columns")),
            });
            Ok(())
        } else if let Some(row) = line.strip_prefix('|') {
            self.row(row.strip_suffix('|').unwrap_or(row), at, charts)
        } else {
            Err(at.fault(line, "a line of a report that is no row"))
        }
    }

    /// Takes `,avgmedian|4070.9|average|4070.73|minimum|NaN|…`.
    fn details(&mut self, details: &str, at: TextLine) -> Result<(), ReadError> {
        let mut parts = details.trim_start_matches(',').split('|');
        while let (Some(name), Some(value)) = (parts.next(), parts.next()) {
            match name {
                "avgmedian" => self.median.extend(figure(value, 0.0, at)?),
                // Written with two decimals.
                "average" => self.mean.extend(figure(value, 0.005, at)?),
                _ => {
                    figure(value, 0.0, at)?;
                }
            }
        }
        Ok(())
    }

    fn row(&mut self, row: &str, at: TextLine, charts: &mut Charts) -> Result<(), ReadError> {
        let figures = match self.shape {
            Some(Shape::WithFigures) => 4,
            Some(_) => 0,
            None => return Err(at.fault(row, "a row before the header")),
        };
        let found = row.split(';').count();
        let least = 3 + figures;
        if found < least {
            let problem = format!("{found} columns, where the header has at least {least}");
            return Err(at.fault(row, problem));
        }
        let mut columns = row.split(';');
        let index = columns.next().unwrap_or_default();
        if index.parse::<u64>().is_err() {
            return Err(at.fault(index, "a row without its number"));
        }
        let page = columns.next().unwrap_or_default();
        let mut printed = [None; 4];
        for printed in printed.iter_mut().take(figures) {
            *printed = figure(columns.next().unwrap_or_default(), 0.0, at)?.map(|it| it.value);
        }
        let mut runs = Vec::with_capacity(found - 2 - figures);
        for run in columns {
            runs.push(at.number(run)?);
        }
        let page = page_name(page, at)?;
        if figures > 0 {
            self.check_row(page, printed, &runs, at, charts);
        }
        self.add(page, runs, at, charts);
        Ok(())
    }

    /// Takes a line of a report without a header.
    pub(super) fn run_line(
        &mut self,
        line: &str,
        at: TextLine,
        charts: &mut Charts,
    ) -> Result<(), ReadError> {
        let first = if line.contains(',') {
            Shape::Commas
        } else {
            Shape::Alone
        };
        let (page, runs) = match *self.shape.get_or_insert(first) {
            Shape::Commas => match line.split_once(',') {
                Some((page, runs)) => (page_name(page, at)?, runs.split(',')),
                None => return Err(at.fault(line, "a row without a run")),
            },
            _ if self.rows > 0 => {
                return Err(at.fault(line, "a second line of runs without a page"));
            }
            _ if line.contains(',') => return Err(at.fault(line, "a row among runs")),
            _ => (UNNAMED, line.split('|')),
        };
        let runs = runs
            .map(|run| at.number(run))
            .collect::<Result<Vec<_>, _>>()?;
        self.add(page, runs, at, charts);
        Ok(())
    }

    fn add(&mut self, page: &str, runs: Vec<f64>, at: TextLine, charts: &mut Charts) {
        self.rows += 1;
        charts.add_once(page, runs, None, Direction::Unknown, || {
            at.place(at.line.trim())
        });
    }

    /// Compares the figures of a row with its runs.
    fn check_row(
        &mut self,
        page: &str,
        printed: [Option<f64>; 4],
        runs: &[f64],
        at: TextLine,
        charts: &mut Charts,
    ) {
        self.sorted.clear();
        self.sorted.extend_from_slice(runs);
        let Some(computed) = Figures::of(&mut self.sorted) else {
            return;
        };
        self.medians.push(computed.median);
        self.means.push(computed.mean);
        // Without the largest, nothing is left of one run.
        let skipped = if runs.len() < 2 { 2 } else { 0 };
        let names = ["median", "mean", "min", "max"];
        let own = [computed.median, computed.mean, computed.min, computed.max];
        for ((name, printed), own) in names.into_iter().zip(printed).zip(own).skip(skipped) {
            if let Some(printed) = printed.filter(|printed| differs(*printed, own, 0.0)) {
                let line = at.index + 1;
                let remark = format!(
                    "line {line} prints {printed} as the {name} of `{page}`, and its runs give {own}"
                );
                self.remark(remark, charts);
            }
        }
    }

    /// Compares the figures of all pages with their runs.
    pub(super) fn check(&mut self, charts: &mut Charts) {
        let medians = std::mem::take(&mut self.medians);
        let means = std::mem::take(&mut self.means);
        let printed_medians = std::mem::take(&mut self.median);
        let printed_means = std::mem::take(&mut self.mean);
        for (name, printed, values) in [
            ("medians", printed_medians, medians),
            ("means", printed_means, means),
        ] {
            let Some(own) = average_of_pages(&values) else {
                continue;
            };
            for figure in printed {
                if differs(figure.value, own, figure.rounding) {
                    let remark = format!(
                        "line {} prints {} as the average of the pages' {name}, and the runs give {own}",
                        figure.line, figure.value
                    );
                    self.remark(remark, charts);
                }
            }
        }
        if let Some(more) = self.remarks.checked_sub(MOST_REMARKS).filter(|it| *it > 0) {
            charts.remark(format!(
                "{more} more printed figures do not follow from the runs"
            ));
        }
    }

    fn remark(&mut self, remark: String, charts: &mut Charts) {
        self.remarks += 1;
        if self.remarks <= MOST_REMARKS {
            charts.remark(remark);
        }
    }
}

/// The figures of a page that Talos' page loader computes from its runs.
#[derive(Debug, PartialEq)]
pub(super) struct Figures {
    /// Of all runs but the largest one.
    pub(super) median: f64,
    /// Of all runs but the largest one.
    pub(super) mean: f64,
    pub(super) min: f64,
    pub(super) max: f64,
}

impl Figures {
    /// Takes the runs in any order, and sorts them.
    pub(super) fn of(sorted: &mut Vec<f64>) -> Option<Self> {
        sorted.sort_unstable_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        if sorted.len() > 1 {
            sorted.pop();
        }
        let middle = sorted.len() / 2;
        let upper = *sorted.get(middle)?;
        let median = match sorted.len() % 2 {
            0 => sorted.get(middle - 1)?.midpoint(upper),
            _ => upper,
        };
        Some(Self {
            median,
            mean: mean(sorted),
            min,
            max,
        })
    }
}

/// The average of a value of each page, without the page whose value is largest. `None` of fewer
/// than two pages.
pub(super) fn average_of_pages(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.pop();
    Some(mean(&sorted))
}

/// Returns true if a printed figure does not follow from the runs.
fn differs(printed: f64, own: f64, rounding: f64) -> bool {
    (printed - own).abs() > rounding + 1e-9 * own.abs().max(printed.abs())
}

/// A printed figure, or nothing for `NaN`, which stands for a figure that is absent.
fn figure(text: &str, rounding: f64, at: TextLine) -> Result<Option<Figure>, ReadError> {
    if text.trim() == "NaN" {
        return Ok(None);
    }
    Ok(Some(Figure {
        line: at.index + 1,
        value: at.number(text)?,
        rounding,
    }))
}

/// The name of a page as Talos reports it: without `/` at its end, and up to the first one.
fn page_name<'a>(page: &'a str, at: TextLine) -> Result<&'a str, ReadError> {
    let name = page.trim().trim_end_matches('/');
    let name = name.split('/').next().unwrap_or(name);
    if name.is_empty() {
        return Err(at.fault(page, "a row without the name of its page"));
    }
    Ok(name)
}
