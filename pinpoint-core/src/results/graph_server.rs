//! The messages that Talos sent to Mozilla's graph server, and the answers of the server.
//!
//! ```text
//! START
//! VALUES
//! machine_1,tp5,branch,changeset,13,1229477017
//! 0,1.00,page_01
//! 1,2.00,page_02
//! END
//! ```
//!
//! The header is machine, test, branch, changeset, build id, and seconds since 1970. A row of
//! `VALUES` is interval, value and page, where `NULL` is no page; `AVERAGE` has one line with a
//! value. Each page is the chart `tp5/page_01`, and their mean, which the server computes itself,
//! is the chart `tp5`. Values without a page, and an average, are the chart `tp5`, too. No unit and
//! no direction are given.
//!
//! Source: Mozilla's wiki, "Perfomatic:SendingData" and "Buildbot/Talos/DataFormat", and Talos in
//! 2013, `talos/output.py`, class `GraphserverOutput`.

use std::fmt::Write as _;

use memchr::memmem;

use super::charts::Charts;
use super::origin::ChartsByOrigin;
use super::text::{self, lines_with_ends, shown};
use super::text_line::TextLine;
use super::{Origin, OriginReading, OutputPosition, ReadError, Reading};
use crate::Direction;

/// The name of the writer in messages.
const WRITER: &str = "Talos for the graph server";

/// The most characters of an answer in a message.
const MOST_SHOWN: usize = 500;

/// One message to the graph server: a test on a machine.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GraphServerReport {
    /// The name of the machine.
    pub machine: String,
    /// The name of the test.
    pub test: String,
    /// The branch of the build.
    pub branch: String,
    /// The commit of the build.
    pub changeset: String,
    /// The id of the build.
    pub build_id: String,
    /// The time of the run, in seconds since 1970.
    pub date: i64,
    /// The values of the test.
    pub values: GraphServerValues,
}

/// The values of a message to the graph server.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum GraphServerValues {
    /// `VALUES`: values of which the server makes the mean.
    Values(Vec<GraphServerValue>),
    /// `AVERAGE`: one value that is already the test's.
    Average(f64),
}

/// A row of `VALUES`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GraphServerValue {
    /// The number of the row, from 0 by Talos.
    pub interval: u64,
    /// The value, which is written with two decimals.
    pub value: f64,
    /// The page, or `None` for a counter.
    pub page: Option<String>,
}

/// A line of the server's answer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GraphServerAnswer {
    /// The name of the test.
    pub test: String,
    /// The value that the server keeps, if the line has it.
    pub value: Option<f64>,
    /// The path of the graph, as text: the one that was published is no valid query.
    pub path: String,
}

impl GraphServerReport {
    /// A message without values.
    pub fn new(machine: &str, test: &str, branch: &str, changeset: &str) -> Self {
        Self {
            machine: machine.into(),
            test: test.into(),
            branch: branch.into(),
            changeset: changeset.into(),
            build_id: String::new(),
            date: 0,
            values: GraphServerValues::Values(Vec::new()),
        }
    }

    /// The value that the server keeps for the test: the mean of all values, or the average that
    /// was sent. `None` without values.
    pub fn mean(&self) -> Option<f64> {
        match &self.values {
            GraphServerValues::Average(value) => Some(*value),
            GraphServerValues::Values(rows) => {
                let mut sum = Sum::default();
                rows.iter().for_each(|row| sum.add(row.value));
                sum.mean()
            }
        }
    }

    /// The commit and the time of the message, and its parameters: suite, machine and branch. The id
    /// of the build is different for each, and so not one of them.
    pub fn origin(&self) -> Origin {
        let parameters = [
            ("suite", &self.test),
            ("machine", &self.machine),
            ("branch", &self.branch),
        ];
        let named = parameters
            .into_iter()
            .filter(|(_, value)| !value.is_empty());
        Origin {
            revision: (!self.changeset.is_empty()).then(|| self.changeset.clone()),
            date: Some(self.date),
            parameters: named
                .map(|(name, value)| (name.to_owned(), value.clone()))
                .collect(),
        }
    }

    /// The message as Talos writes it: values with two decimals, an average in full.
    ///
    /// Commas and ends of lines separate the parts, so that those in a name become `_`.
    pub fn write(&self) -> String {
        let is_average = matches!(self.values, GraphServerValues::Average(_));
        let kind = if is_average { "AVERAGE" } else { "VALUES" };
        let names = [
            &self.machine,
            &self.test,
            &self.branch,
            &self.changeset,
            &self.build_id,
        ];
        let names = names.map(|name| plain(name, &[',', '\n', '\r']));
        let mut text = format!("START\n{kind}\n{},{}\n", names.join(","), self.date);
        match &self.values {
            GraphServerValues::Average(value) => {
                let _ = writeln!(text, "{value}");
            }
            GraphServerValues::Values(rows) => {
                for row in rows {
                    let page = row.page.as_deref().unwrap_or("NULL");
                    let page = plain(page, &['\n', '\r']);
                    let _ = writeln!(text, "{},{:.2},{page}", row.interval, row.value);
                }
            }
        }
        text + "END\n"
    }

    /// The messages in a text, whose other lines are left out.
    ///
    /// # Errors
    ///
    /// Damage anywhere in a message, with its place.
    pub fn read_all(text: &str) -> Result<Vec<Self>, ReadError> {
        let mut reports: Vec<Self> = Vec::new();
        walk(text, |report, row| match row {
            Row::First => reports.push(report.clone()),
            Row::Value(interval, value, page) => {
                let row = GraphServerValue::new(interval, value, page);
                if let Some(GraphServerValues::Values(rows)) =
                    reports.last_mut().map(|report| &mut report.values)
                {
                    rows.push(row);
                }
            }
            Row::Average(value) => {
                if let Some(report) = reports.last_mut() {
                    report.values = GraphServerValues::Average(value);
                }
            }
            Row::Last => {}
        })?;
        Ok(reports)
    }
}

impl GraphServerValue {
    /// A row.
    pub fn new(interval: u64, value: f64, page: Option<&str>) -> Self {
        Self {
            interval,
            value,
            page: page.map(str::to_owned),
        }
    }
}

impl GraphServerAnswer {
    /// The lines of a server's answer: `RETURN`, test and path, with or without the value between
    /// them, separated by tabs. Other lines are left out.
    ///
    /// # Errors
    ///
    /// [`ReadError::NoAnswer`] where there is no such line, and [`ReadError::Line`] where one has
    /// other parts.
    pub fn read_all(answer: &str) -> Result<Vec<Self>, ReadError> {
        let mut answers = Vec::new();
        for (index, line, _) in lines_with_ends(answer) {
            let line = line.trim_end();
            let Some(parts) = line.strip_prefix("RETURN\t") else {
                continue;
            };
            let at = TextLine {
                index,
                line,
                writer: WRITER,
            };
            let parts: Vec<&str> = parts.splitn(4, '\t').collect();
            let (test, value, path) = match parts[..] {
                [test, path] => (test, None, path),
                [test, value, path] => (test, Some(at.number(value)?), path),
                _ => {
                    let problem = "RETURN without two or three parts after it";
                    return Err(at.fault(line, problem));
                }
            };
            answers.push(Self {
                test: test.to_owned(),
                value,
                path: path.to_owned(),
            });
        }
        if answers.is_empty() {
            let shown: String = answer.trim().chars().take(MOST_SHOWN).collect();
            return Err(ReadError::NoAnswer(shown));
        }
        Ok(answers)
    }
}

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    let mut message = MessageCharts::default();
    walk(text, |report, row| {
        message.add_to(&mut charts, &report.test, row);
    })?;
    charts.finish(WANTED)
}

/// The charts by the build and the machine in the header of their message.
pub(super) fn read_by_origin(text: &str) -> Result<Vec<OriginReading>, ReadError> {
    let mut all = ChartsByOrigin::default();
    let mut message = MessageCharts::default();
    walk(text, |report, row| {
        if matches!(row, Row::First) {
            all.begin(report.origin());
        }
        message.add_to(all.current(), &report.test, row);
    })?;
    all.finish(WANTED)
}

/// The part that a text lacks without any chart.
const WANTED: &str = "a message between START and END";

/// The charts of a message. Its rows are not kept: each takes four times its text.
#[derive(Default)]
struct MessageCharts {
    sum: Sum,
    chart: String,
}

impl MessageCharts {
    fn add_to(&mut self, charts: &mut Charts, test: &str, row: Row<'_>) {
        let top = || OutputPosition::Text { line: 1, column: 1 };
        let mut add = |chart: &str, value: f64| {
            charts.add(chart, [value], None, Direction::Unknown, top);
        };
        match row {
            Row::First => self.sum = Sum::default(),
            Row::Average(value) => add(test, value),
            Row::Value(_, value, page) => {
                self.sum.add(value);
                self.sum.has_pages &= page.is_some();
                match page {
                    Some(page) => {
                        self.chart.clear();
                        self.chart.extend([test, "/", page]);
                        add(&self.chart, value);
                    }
                    None => add(test, value),
                }
            }
            Row::Last => {
                if let Some(mean) = self.sum.mean().filter(|_| self.sum.has_pages) {
                    add(test, mean);
                }
            }
        }
    }
}

pub(super) fn recognize(text: &str) -> bool {
    let mut found = memmem::find_iter(text.as_bytes(), "START");
    found.any(|at| {
        let is_line = at == 0 || text.as_bytes().get(at - 1) == Some(&b'\n');
        let mut lines = text.get(at..).unwrap_or_default().lines().map(shown);
        is_line
            && lines.next().is_some_and(|line| line.trim_end() == "START")
            && (lines.next()).is_some_and(|line| matches!(line.trim(), "VALUES" | "AVERAGE"))
    })
}

/// A message so far.
enum Part {
    Outside,
    /// After `START`.
    Kind,
    /// After `VALUES` or, if true, `AVERAGE`.
    Header(bool),
    /// After the header, with the number of rows.
    Rows(GraphServerReport, bool, usize),
}

/// A part of a message after its header.
enum Row<'a> {
    /// The beginning of the rows.
    First,
    /// Interval, value and page.
    Value(u64, f64, Option<&'a str>),
    Average(f64),
    /// The end of the rows.
    Last,
}

/// Takes each row of the messages in a text, with the header of its message.
fn walk<'a>(
    text: &'a str,
    mut take: impl FnMut(&GraphServerReport, Row<'a>),
) -> Result<(), ReadError> {
    let mut part = Part::Outside;
    for (index, line, _) in lines_with_ends(text) {
        let at = TextLine {
            index,
            line,
            writer: WRITER,
        };
        let line = line.trim();
        part = match (part, line) {
            (Part::Outside, "START") => Part::Kind,
            (Part::Outside, "END") => return Err(at.fault(line, "an END without its START")),
            (Part::Outside, _) => Part::Outside,
            (_, "START") => return Err(at.fault(line, "a START before the END")),
            (Part::Kind, "VALUES") => Part::Header(false),
            (Part::Kind, "AVERAGE") => Part::Header(true),
            (Part::Kind, _) => return Err(at.fault(line, "neither VALUES nor AVERAGE")),
            (Part::Header(is_average), _) => {
                let report = header(at, line)?;
                take(&report, Row::First);
                Part::Rows(report, is_average, 0)
            }
            (Part::Rows(_, _, 0), "END") => {
                return Err(at.fault(line, "an END without a value before it"));
            }
            (Part::Rows(report, _, _), "END") => {
                take(&report, Row::Last);
                Part::Outside
            }
            (Part::Rows(_, true, 1), _) => {
                return Err(at.fault(line, "a second line after AVERAGE"));
            }
            (Part::Rows(report, is_average, rows), _) => {
                let row = match is_average {
                    true => Row::Average(at.number(line)?),
                    false => row(at, line)?,
                };
                take(&report, row);
                Part::Rows(report, is_average, rows + 1)
            }
        };
    }
    match part {
        Part::Outside => Ok(()),
        _ => Err(ReadError::Line {
            place: text::place_at(text, text.len()),
            writer: WRITER,
            problem: "a START without its END".into(),
        }),
    }
}

/// The sum of the values of a message.
struct Sum {
    sum: f64,
    count: usize,
    /// True if each value so far has a page.
    has_pages: bool,
}

impl Default for Sum {
    fn default() -> Self {
        Self {
            sum: 0.0,
            count: 0,
            has_pages: true,
        }
    }
}

impl Sum {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    /// The mean, or nothing without a value, or where the sum is too large for 64 bits.
    fn mean(&self) -> Option<f64> {
        let mean = self.sum / self.count as f64;
        mean.is_finite().then_some(mean)
    }
}

/// The header of a message.
fn header(at: TextLine, line: &str) -> Result<GraphServerReport, ReadError> {
    let mut parts = line.split(',').map(str::trim);
    let mut next = || parts.next();
    let (
        Some(machine),
        Some(test),
        Some(branch),
        Some(changeset),
        Some(build_id),
        Some(date),
        None,
    ) = (next(), next(), next(), next(), next(), next(), next())
    else {
        let problem = "not the six parts of a header: machine, test, branch, changeset, build id and seconds since 1970";
        return Err(at.fault(line, problem));
    };
    if test.is_empty() {
        return Err(at.fault(test, "a header without the name of the test"));
    }
    let date = (date.parse())
        .map_err(|_| at.fault(date, "a time that is not whole seconds since 1970"))?;
    Ok(GraphServerReport {
        build_id: build_id.into(),
        date,
        ..GraphServerReport::new(machine, test, branch, changeset)
    })
}

/// A row of `VALUES`.
fn row<'a>(at: TextLine, line: &'a str) -> Result<Row<'a>, ReadError> {
    let mut parts = line.splitn(3, ',').map(str::trim);
    let (Some(interval), Some(value), Some(page)) = (parts.next(), parts.next(), parts.next())
    else {
        let problem = "not the three parts of a row: interval, value and page";
        return Err(at.fault(line, problem));
    };
    if page.is_empty() {
        return Err(at.fault(page, "a row without its page"));
    }
    let problem = "an interval that is not a whole number";
    Ok(Row::Value(
        interval.parse().map_err(|_| at.fault(interval, problem))?,
        at.number(value)?,
        (page != "NULL").then_some(page),
    ))
}

/// A name without the characters that separate names.
fn plain(name: &str, separators: &[char]) -> String {
    name.replace(separators, "_")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::results::Format;

    const VALUES: &str = "START\nVALUES\nmachine_1, tp5, branch, changeset, 13, 1229477017\n";

    fn one(text: &str) -> GraphServerReport {
        let mut reports = GraphServerReport::read_all(text).unwrap();
        assert_eq!(reports.len(), 1);
        reports.remove(0)
    }

    #[test]
    fn the_server_makes_the_mean() {
        let rows: String = (1..=12)
            .map(|row| format!("{row},{}.00,page_{row:02}\n", (row - 1) % 3 + 1))
            .collect();
        let text = format!("{VALUES}{rows}END\n");
        let report = one(&text);
        assert_eq!(format!("{:.2}", report.mean().unwrap()), "2.00");
        // Blanks after commas are not written.
        assert_eq!(report.write(), text.replace(", ", ","));
        let charts = read(&text).unwrap().charts;
        assert_eq!(charts.len(), 13);
        assert_eq!(charts["tp5"].values, [2.0]);
        assert_eq!(charts["tp5/page_03"].values, [3.0]);
    }

    #[test]
    fn an_average_is_written_in_full() {
        let text = "START\nAVERAGE\nm,tcanvasmark,b,c,13,1229477017\n4070.909090909091\nEND\n";
        let report = one(text);
        assert_eq!(report.mean(), Some(4070.909090909091));
        assert_eq!(report.write(), text);
        assert_eq!(
            read(text).unwrap().charts["tcanvasmark"].values,
            [4070.909090909091]
        );
    }

    #[test]
    fn values_without_a_page_are_the_tests() {
        let text = format!("{VALUES}0,1.50,NULL\n1,2.50,NULL\nEND");
        assert_eq!(read(&text).unwrap().charts["tp5"].values, [1.5, 2.5]);
        assert_eq!(one(&text).write(), text.replace(", ", ",") + "\n");
    }

    #[test]
    fn bad_input_is_refused_with_its_place() {
        for (text, expected) in [
            ("END\n", "line 1, column 1"),
            ("START\nSUMS\n", "line 2, column 1"),
            ("START\nVALUES\na,b,c\n", "line 3, column 1"),
            ("START\nVALUES\na,b,c,d,1,2,3\n", "line 3, column 1"),
            ("START\nVALUES\na,b,c,d,1,now\n", "line 3, column 11"),
            ("START\nVALUES\na,,c,d,1,2\n", "line 3, column 3"),
            ("START\nVALUES\na,b,c,d,1,2\n0,1.00\n", "line 4, column 1"),
            ("START\nVALUES\na,b,c,d,1,2\nx,1.00,p\n", "line 4, column 1"),
            ("START\nVALUES\na,b,c,d,1,2\n0,1.O,p\n", "line 4, column 3"),
            ("START\nVALUES\na,b,c,d,1,2\n0,NaN,p\n", "line 4, column 3"),
            ("START\nVALUES\na,b,c,d,1,2\n0,1.00,\n", "line 4, column 8"),
            ("START\nVALUES\na,b,c,d,1,2\nEND\n", "line 4, column 1"),
            (
                "START\nVALUES\na,b,c,d,1,2\n0,1.00,p\nEN",
                "line 5, column 1",
            ),
            ("START\nVALUES\na,b,c,d,1,2\n0,1.00,p\n", "line 5, column 1"),
            (
                "START\nVALUES\na,b,c,d,1,2\n0,1,p\nSTART\n",
                "line 5, column 1",
            ),
            (
                "START\nAVERAGE\na,b,c,d,1,2\n1\n2\nEND\n",
                "line 5, column 1",
            ),
            ("START\nAVERAGE\na,b,c,d,1,2\nEND\n", "line 4, column 1"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("{expected} ")),
                "{text:?}: {error}"
            );
        }
        assert!(matches!(read("\n"), Err(ReadError::NoValue { .. })));
    }

    #[test]
    fn an_answer_is_read() {
        let answer = "Content-type: text/plain\n\nRETURN\ttp5\tgraph.html#[{\"testrun\"=6667}]\nRETURN\ttp5\t2.00\tgraph.html#[{\"testrun\"=6667}]\n";
        let answers = GraphServerAnswer::read_all(answer).unwrap();
        assert_eq!(answers.len(), 2);
        assert_eq!((answers[0].value, answers[1].value), (None, Some(2.0)));
        assert_eq!(answers[1].path, "graph.html#[{\"testrun\"=6667}]");

        let error = GraphServerAnswer::read_all("No machine_name called 'a'\n").unwrap_err();
        assert!(matches!(error, ReadError::NoAnswer(_)));
        assert!(error.to_string().contains("No machine_name called 'a'"));
        for (answer, place) in [
            ("RETURN\ttp5\n", "line 1, column 1 "),
            ("RETURN\ta\tx\tp\n", "line 1, column 10 "),
            ("RETURN\ta\t1\tp\tq\n", "line 1, column 1 "),
        ] {
            let error = GraphServerAnswer::read_all(answer).unwrap_err().to_string();
            assert!(error.starts_with(place), "{answer:?}: {error}");
        }
    }

    #[test]
    fn it_is_recognized_with_other_ends_of_lines() {
        const MESSAGES: &str = include_str!("../../tests/results/graph-server.txt");
        let plain = read(MESSAGES).unwrap();
        assert_eq!(plain.charts["tp5"].values, [1.875]);
        assert_eq!(plain.charts["tcanvasmark"].values, [6204.0]);
        for text in [MESSAGES.to_owned(), MESSAGES.replace('\n', "\r\n")] {
            assert_eq!(
                Format::recognize(text.as_bytes()).unwrap(),
                Format::GraphServer
            );
            assert_eq!(read(&text).unwrap(), plain);
        }
    }

    proptest! {
        #[test]
        fn a_message_that_was_written_is_read_again(
            names in proptest::array::uniform4("[a-z0-9._()-]{1,8}( [a-z]{1,3})?"),
            date in 0_i64..4_000_000_000,
            rows in proptest::collection::vec((-1_000_000_i32..1_000_000, "[a-z/.,]{0,5}[a-z]"), 1..9),
            average in proptest::option::of(-1e12..1e12),
        ) {
            let mut report = GraphServerReport::new(&names[0], &names[1], &names[2], &names[3]);
            report.date = date;
            let rows = (0..).zip(&rows).map(|(interval, (hundredths, page))| {
                let page = (interval % 2 == 0).then_some(page.as_str());
                GraphServerValue::new(interval, f64::from(*hundredths) / 100.0, page)
            });
            report.values = match average {
                Some(average) => GraphServerValues::Average(average),
                None => GraphServerValues::Values(rows.collect()),
            };
            prop_assert!(recognize(&report.write()));
            prop_assert_eq!(one(&report.write()), report);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "(START\n|VALUES\n|AVERAGE\n|END\n|a,b,c,d,1,2\n|0,1.0,p\n|.{0,9}\n){0,9}") {
            let _ = read(&text);
            let _ = GraphServerAnswer::read_all(&text.replace("START", "RETURN\t"));
        }
    }
}
