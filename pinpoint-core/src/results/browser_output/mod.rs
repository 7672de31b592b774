//! The `browser_output.txt` of Talos: the log of a browser that ran a test.
//!
//! ```text
//! RSS: Main: 103636992
//! __start_tp_report
//! _x_x_mozilla_page_load
//! _x_x_mozilla_page_load_details
//! |i|pagename|runs|
//! |0;gearflowers.svg;74;65;68;66;62
//! __end_tp_report
//! __startTimestamp1327556458940__endTimestamp
//! __startBeforeLaunchTimestamp1327556130230__endBeforeLaunchTimestamp
//! __startAfterTerminationTimestamp1327556459158__endAfterTerminationTimestamp
//! ```
//!
//! Each page is a chart of its runs, in the unit of the test, which the log does not give. The
//! times in milliseconds give the charts `launch` and `exit`; the others are `cycle_collect`,
//! `rss/Main`, and `responsiveness` of the browser's event loop. Text between two `__FAIL` is the
//! reason of a run that failed.
//!
//! Source: Mozilla's wiki, "Buildbot/Talos/DataFormat"; Talos in 2012 and 2013, `talos/results.py`
//! and the report of its page loader; Firefox, `toolkit/xre/EventTracer.cpp`.

mod report;
#[cfg(test)]
mod tests;

use memchr::memmem;

use self::report::Report;
use super::charts::Charts;
use super::text::{self, has, lines_with, lines_with_ends};
use super::text_line::TextLine;
use super::{ReadError, Reading};
use crate::Direction;

/// The name of the writer in messages.
const WRITER: &str = "Talos";

/// The mark before and after the reason of a failure.
const FAIL: &str = "__FAIL";

/// The most characters of a reason.
const MOST_OF_A_REASON: usize = 500;

/// The parts of a log between two marks.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Section {
    /// Pages and their runs, with a header.
    Pages,
    /// Pages and their runs, or runs alone.
    Runs,
    CycleCollection,
    Start,
    BeforeLaunch,
    AfterTermination,
}

/// The parts with their marks.
const MARKS: [(Section, &str, &str); 6] = [
    (Section::Pages, "__start_tp_report", "__end_tp_report"),
    (Section::Runs, "__start_report", "__end_report"),
    (
        Section::CycleCollection,
        "__start_cc_report",
        "__end_cc_report",
    ),
    (Section::Start, "__startTimestamp", "__endTimestamp"),
    (
        Section::BeforeLaunch,
        "__startBeforeLaunchTimestamp",
        "__endBeforeLaunchTimestamp",
    ),
    (
        Section::AfterTermination,
        "__startAfterTerminationTimestamp",
        "__endAfterTerminationTimestamp",
    ),
];

impl Section {
    /// The position of the part in a log. A log has one report, of either kind.
    fn rank(self) -> usize {
        match self {
            Self::Pages | Self::Runs => 0,
            Self::CycleCollection => 1,
            Self::Start => 2,
            Self::BeforeLaunch => 3,
            Self::AfterTermination => 4,
        }
    }
}

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    // A run that failed often has a cut report, too; the reason says more than its place.
    if let Some(failure) = failure(text) {
        return Err(failure);
    }
    let mut log = Log::default();
    let marks = memmem::Finder::new("__");
    for (index, line, has_end) in lines_with_ends(text) {
        let at = TextLine {
            index,
            line,
            writer: WRITER,
        };
        log.take(at, has_end, &marks)?;
    }
    log.finish(text)
}

pub(super) fn recognize(text: &str) -> bool {
    has(text, "__start_tp_report")
        || has(text, "__start_report")
        || has(text, "__startBeforeLaunchTimestamp")
        || lines_with(text, FAIL)
            .any(|line| (line.strip_prefix(FAIL)).is_some_and(|rest| rest.contains(FAIL)))
}

/// The failure that a log tells of. Its mark begins a line.
fn failure(text: &str) -> Option<ReadError> {
    let mut found = memmem::find_iter(text.as_bytes(), FAIL);
    let start =
        found.find(|at| *at == 0 || text.as_bytes().get(*at - 1).is_some_and(|it| *it == b'\n'))?;
    let place = text::place_at(text, start);
    let rest = text.get(start + FAIL.len()..)?;
    Some(match memmem::find(rest.as_bytes(), FAIL.as_bytes()) {
        Some(end) => {
            let reason = rest.get(..end).unwrap_or_default().trim();
            ReadError::RunFailed {
                place,
                reason: reason.chars().take(MOST_OF_A_REASON).collect(),
            }
        }
        None => ReadError::Line {
            place,
            writer: WRITER,
            problem: "a __FAIL without a second one".into(),
        },
    })
}

/// The findings in a log so far.
#[derive(Default)]
struct Log {
    charts: Charts,
    report: Report,
    /// The part that has begun.
    open: Option<(Section, &'static str)>,
    /// The last part that began, and its mark.
    last: Option<(Section, &'static str)>,
    start: Option<i64>,
    before_launch: Option<i64>,
    after_termination: Option<i64>,
    has_cycle_collection: bool,
}

impl Log {
    /// Takes a line, which may have several marks.
    fn take(
        &mut self,
        at: TextLine,
        has_end: bool,
        marks: &memmem::Finder,
    ) -> Result<(), ReadError> {
        let mut rest = at.line;
        while let Some((start, section, mark, is_start)) = next_mark(rest, marks) {
            let (content, marked) = rest.split_at(start);
            self.content(content, at)?;
            if is_start {
                self.begin(section, mark, marked, at)?;
            } else {
                self.end(section, mark, marked, at)?;
            }
            rest = &marked[mark.len()..];
        }
        if rest.len() == at.line.len() && self.counter(at, has_end)? {
            return Ok(());
        }
        self.content(rest, at)?;
        match self.open {
            Some((section, mark)) if section.rank() >= Section::Start.rank() => {
                let end = &rest[rest.len()..];
                Err(at.fault(end, format!("a {mark} without its end")))
            }
            _ => Ok(()),
        }
    }

    fn begin(
        &mut self,
        section: Section,
        mark: &'static str,
        marked: &str,
        at: TextLine,
    ) -> Result<(), ReadError> {
        if let Some((_, open)) = self.open {
            return Err(at.fault(marked, format!("a {mark} before the end of {open}")));
        }
        if let Some((last, last_mark)) = self.last {
            let problem = match section.rank().cmp(&last.rank()) {
                std::cmp::Ordering::Greater => None,
                std::cmp::Ordering::Equal if section.rank() == 0 => {
                    Some("a second report, where a log has one".to_owned())
                }
                std::cmp::Ordering::Equal => Some(format!("a second {mark}")),
                std::cmp::Ordering::Less => Some(format!("a {mark} after {last_mark}")),
            };
            if let Some(problem) = problem {
                return Err(at.fault(marked, problem));
            }
        }
        self.open = Some((section, mark));
        self.last = self.open;
        Ok(())
    }

    fn end(
        &mut self,
        section: Section,
        mark: &'static str,
        marked: &str,
        at: TextLine,
    ) -> Result<(), ReadError> {
        match self.open.take() {
            Some((open, _)) if open == section => {}
            _ => return Err(at.fault(marked, format!("a {mark} without its start"))),
        }
        let has_content = match section {
            Section::Pages | Section::Runs => self.report.has_rows(),
            Section::CycleCollection => self.has_cycle_collection,
            Section::Start => self.start.is_some(),
            Section::BeforeLaunch => self.before_launch.is_some(),
            Section::AfterTermination => self.after_termination.is_some(),
        };
        if has_content {
            Ok(())
        } else {
            Err(at.fault(marked, format!("a {mark} with nothing before it")))
        }
    }

    /// Takes text between two marks.
    fn content(&mut self, content: &str, at: TextLine) -> Result<(), ReadError> {
        let content = content.trim();
        let Some((section, _)) = self.open else {
            return Ok(());
        };
        if content.is_empty() {
            return Ok(());
        }
        let time = || {
            let time = content.parse::<i64>().ok().filter(|time| *time >= 0);
            time.ok_or_else(|| at.fault(content, "a time that is not whole milliseconds"))
        };
        match section {
            Section::Pages => self.report.page_line(content, at, &mut self.charts)?,
            Section::Runs => self.report.run_line(content, at, &mut self.charts)?,
            Section::CycleCollection => self.cycle_collection(content, at)?,
            Section::Start => self.start = Some(time()?),
            Section::BeforeLaunch => self.before_launch = Some(time()?),
            Section::AfterTermination => self.after_termination = Some(time()?),
        }
        Ok(())
    }

    fn cycle_collection(&mut self, content: &str, at: TextLine) -> Result<(), ReadError> {
        let Some(value) = content.strip_prefix("_x_x_mozilla_cycle_collect,") else {
            return Err(at.fault(content, "not the line _x_x_mozilla_cycle_collect"));
        };
        if self.has_cycle_collection {
            return Err(at.fault(content, "a second _x_x_mozilla_cycle_collect"));
        }
        self.has_cycle_collection = true;
        let value = at.number(value)?;
        (self.charts).add_once(
            "cycle_collect",
            [value],
            Some("ms"),
            Direction::Down,
            || at.place(content),
        );
        Ok(())
    }

    /// Takes a line of the browser's memory or of its event loop, or returns false.
    fn counter(&mut self, at: TextLine, has_end: bool) -> Result<bool, ReadError> {
        let line = at.line.trim();
        let is_memory = line.starts_with("RSS: ");
        let is_sample = line.starts_with("MOZ_EVENT_TRACE sample");
        if !is_memory && !is_sample {
            // Those of the start and the stop have no value.
            return Ok(line.starts_with("MOZ_EVENT_TRACE "));
        }
        if !has_end {
            return Err(at.fault(line, "a line without its end, which may be cut off"));
        }
        if let Some(memory) = line.strip_prefix("RSS: ") {
            let Some((name, bytes)) = memory.rsplit_once(": ") else {
                return Err(at.fault(line, "not RSS with a name and bytes"));
            };
            let value = at.number(bytes)?;
            let chart = format!("rss/{}", name.trim());
            (self.charts).add(&chart, [value], Some("B"), Direction::Down, || {
                at.place(bytes)
            });
            return Ok(true);
        }
        let mut words = line.split_whitespace().skip(2);
        let (Some(time), Some(value), None) = (words.next(), words.next(), words.next()) else {
            return Err(at.fault(line, "not a sample with a time and a value"));
        };
        at.number(time)?;
        let number = at.number(value)?;
        (self.charts).add(
            "responsiveness",
            [number],
            Some("ms"),
            Direction::Down,
            || at.place(value),
        );
        Ok(true)
    }

    fn finish(mut self, text: &str) -> Result<Reading, ReadError> {
        let fault = |problem: String| ReadError::Line {
            place: text::place_at(text, text.len()),
            writer: WRITER,
            problem,
        };
        if let Some((_, mark)) = self.open {
            return Err(fault(format!("a {mark} without its end")));
        }
        if !self.report.has_rows() {
            return Err(fault("a log without a report".into()));
        }
        let missing = |mark: &str| fault(format!("a log without {mark}"));
        let start = self.start.ok_or_else(|| missing("__startTimestamp"))?;
        let before = (self.before_launch).ok_or_else(|| missing("__startBeforeLaunchTimestamp"))?;
        let after =
            (self.after_termination).ok_or_else(|| missing("__startAfterTerminationTimestamp"))?;
        if before > start {
            return Err(fault(format!(
                "a launch at {before}, after the report at {start}"
            )));
        }
        // Some versions write whole seconds, cut off.
        let is_whole_second = after % 1000 == 0 && after / 1000 == start / 1000;
        if after < start && !is_whole_second {
            return Err(fault(format!(
                "an end at {after}, before the report at {start}"
            )));
        }
        self.add_time("launch", start - before, text);
        if after < start {
            let reason = "its end is in whole seconds, which began before the report";
            self.charts.fail("exit", reason);
        } else {
            self.add_time("exit", after - start, text);
        }
        self.report.check(&mut self.charts);
        self.charts.finish("a report of Talos")
    }

    fn add_time(&mut self, chart: &str, milliseconds: i64, text: &str) {
        let place = || text::place_at(text, text.len());
        let milliseconds = milliseconds as f64;
        (self.charts).add_once(chart, [milliseconds], Some("ms"), Direction::Down, place);
    }
}

/// The first mark in a text: its start, its part, itself, and true if it begins the part.
fn next_mark(text: &str, marks: &memmem::Finder) -> Option<(usize, Section, &'static str, bool)> {
    let mut from = 0;
    loop {
        let at = from + marks.find(text.as_bytes().get(from..)?)?;
        let rest = text.get(at..)?;
        if rest.starts_with("__start") || rest.starts_with("__end") {
            for (section, start, end) in MARKS {
                if rest.starts_with(start) {
                    return Some((at, section, start, true));
                }
                if rest.starts_with(end) {
                    return Some((at, section, end, false));
                }
            }
        }
        from = at + 1;
    }
}
