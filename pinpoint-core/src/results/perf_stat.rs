//! The output of `perf stat`.
//!
//! ```text
//!  Performance counter stats for './sums' (3 runs):
//!
//!               1.00 msec task-clock         #    0.088 CPUs utilized    ( +-  2.32% )
//!          1,234,567      instructions       #    1.20  insn per cycle   ( +-  0.01% )
//!    <not supported>      cycles
//!
//!           0.011362 +- 0.000459 seconds time elapsed  ( +-  4.04% )
//! ```
//!
//! With `-I`, each line begins with a time, and there is no title:
//!
//! ```text
//! #           time             counts unit events
//!      0.050302066               0.96 msec task-clock      #    0.019 CPUs utilized
//!      0.100664544      <not counted> msec task-clock
//! ```
//!
//! One chart for each event, and `elapsed`, `user` and `sys` in seconds; of several commands,
//! `./sums instructions`; of parts of the machine (`-A`), `CPU0 instructions`. A count is a cost if it is known to be one.
//!
//! In another locale perf writes `1.234 instructions` for `1234` in C, and `1,234` in that of the
//! United States. Where a number of a command is not one of these two, none of them is read.
//! Checked with perf 6.1. What `-x` and `-j` write is read by `perf_stat_records.rs`.

use super::charts::Charts;
use super::number::{self, Number};
use super::perf_stat_intervals::{self, Intervals, Part, seconds, split_place};
use super::text::{column_of, lines_with, lines_with_ends, shown};
use super::{OutputPosition, ReadError, Reading, perf_stat_records};
use crate::Direction;
use crate::unit::convert;

/// Ends of events of which fewer are better.
const COSTS: [&str; 6] = [
    "instructions",
    "cycles",
    "misses",
    "faults",
    "switches",
    "migrations",
];

/// Perf's text for an event of a command that did not run.
pub(super) const NOT_COUNTED: &str = "<not counted>";

/// Perf's text for an event that the processor can't count.
pub(super) const NOT_SUPPORTED: &str = "<not supported>";

const BEGIN: &str = "Performance counter stats for";

/// The lines after the elapsed time, which end the output for a command.
const AT_THE_END: [&str; 2] = ["user", "sys"];

/// The reason why a block whose numbers may be of another locale has no charts.
pub(super) const OTHER_LOCALE: &str =
    "the points and commas of perf's numbers are those of another language; run perf with LC_ALL=C";

/// The events that are the time of a command, the best one first.
const TIMES: [&str; 4] = ["elapsed", "duration_time", "task-clock", "cpu-clock"];

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    if !has_a_block(text) {
        return match has_intervals(text) {
            true => read_intervals(text),
            false => perf_stat_records::read(text),
        };
    }
    let mut charts = Charts::default();
    let mut blocks: Vec<Block> = Vec::new();
    for (index, line, has_end) in lines_with_ends(text) {
        if let Some(title) = line.trim_start().strip_prefix(BEGIN) {
            blocks.push(Block::new(title));
            charts.knows(index);
            continue;
        }
        let Some(block) = blocks.last_mut() else {
            continue;
        };
        // A figure that is derived from the one above.
        if line.trim_start().starts_with('#') {
            block.is_of_other_locale |= !block.is_at_its_end() && has_decimal_comma(line);
            charts.knows(index);
            continue;
        }
        let Some(counter) = counter(line) else {
            continue;
        };
        let may_end = counter.unit == Some("s") && AT_THE_END.contains(&counter.name);
        if block.is_at_its_end() && !may_end {
            continue;
        }
        if !has_end && !counter.has_whole_name {
            charts.doubts(index);
            continue;
        }
        block.is_of_other_locale |= counter.is_of_other_locale;
        block.counters.push((index, line, counter));
    }
    let is_only = blocks.len() == 1;
    for block in &blocks {
        for (index, line, counter) in &block.counters {
            let event = perf_stat_intervals::chart(counter.place, counter.name);
            let chart = match is_only {
                true => event,
                false => format!("{} {event}", block.command),
            };
            match counter.value {
                Err(reason) => charts.fail(&chart, format!("perf says `{reason}`")),
                Ok(_) if block.is_of_other_locale => charts.fail(&chart, OTHER_LOCALE),
                Ok(Some(Number::NotFinite)) => charts.fail(&chart, "its value is not a number"),
                Ok(Some(Number::Finite(value))) => {
                    let direction = direction(counter.name, counter.unit);
                    charts.add_once(&chart, vec![value], counter.unit, direction, || {
                        OutputPosition::Text {
                            line: index + 1,
                            column: column_of(line, line.trim_start()),
                        }
                    });
                }
                Ok(None) => {
                    charts.doubts(*index);
                    continue;
                }
            }
            charts.knows(*index);
        }
    }
    if is_only {
        name_headline(&mut charts);
    }
    charts.finish("a counter below `Performance counter stats for`")
}

pub(super) fn recognize(text: &str) -> bool {
    has_a_block(text) || has_intervals(text) || perf_stat_records::recognize(text)
}

/// Reads the output of `perf stat -I`.
fn read_intervals(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    let mut intervals = Intervals::default();
    let mut is_begun = false;
    for (index, line, has_end) in lines_with_ends(text) {
        if is_head(line) {
            is_begun = true;
            intervals.head();
            charts.knows(index);
            continue;
        }
        let Some((word, rest)) = line.trim().split_once(char::is_whitespace) else {
            continue;
        };
        let Some(time) = seconds(word).filter(|_| is_begun) else {
            continue;
        };
        // A figure that is derived from the one above.
        if rest.trim_start().starts_with('#') {
            charts.knows(index);
            continue;
        }
        let Some(counter) = counter(rest) else {
            continue;
        };
        let part = match counter.value {
            // Half a name is another event's.
            _ if !has_end && !counter.has_whole_name => {
                charts.doubts(index);
                continue;
            }
            _ if word.contains(',') => Part::OtherLocale,
            Ok(_) if counter.is_of_other_locale => Part::OtherLocale,
            Ok(Some(Number::Finite(value))) => Part::Counted(value),
            Ok(Some(Number::NotFinite)) => Part::NotFinite,
            Ok(None) => {
                charts.doubts(index);
                continue;
            }
            Err(NOT_COUNTED) => Part::NotCounted,
            Err(_) => Part::NotSupported,
        };
        let event = (counter.place, counter.name);
        intervals.add(time, event, counter.unit, part, index);
        charts.knows(index);
    }
    intervals.finish(&mut charts);
    name_headline(&mut charts);
    charts.finish("a counter below `time counts unit events`")
}

/// The end of the head of the table of `-I`.
const HEAD_END: &str = " unit events";

/// Returns true for the head of the table of `-I`.
fn is_head(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next() == Some("#") && words.next() == Some("time") && line.trim_end().ends_with(HEAD_END)
}

fn has_intervals(text: &str) -> bool {
    lines_with(text, HEAD_END).any(|line| is_head(shown(line)))
}

/// Names the chart that is the time of the command, of which the others tell why it is so long.
pub(super) fn name_headline(charts: &mut Charts) {
    if let Some(time) = TIMES.into_iter().find(|time| charts.has(time)) {
        charts.headline(time);
    }
}

/// The better direction of an event: fewer of the units of time or energy, and of the known costs.
pub(super) fn direction(event: &str, unit: Option<&str>) -> Direction {
    match unit {
        Some(_) => Direction::Down,
        None if is_cost(event) => Direction::Down,
        None => Direction::Unknown,
    }
}

fn has_a_block(text: &str) -> bool {
    lines_with(text, BEGIN).any(|line| shown(line).trim_start().starts_with(BEGIN))
}

fn is_cost(event: &str) -> bool {
    let event = event.split(':').next().unwrap_or_default();
    COSTS
        .iter()
        .any(|cost| event.trim_end_matches('/').ends_with(cost))
}

/// The output of perf for one command.
struct Block<'a> {
    command: &'a str,
    counters: Vec<(usize, &'a str, Counter<'a>)>,
    /// True when any of its numbers may mean another one than in the C locale.
    is_of_other_locale: bool,
}

impl<'a> Block<'a> {
    /// Starts with the text after `Performance counter stats for`: ` './sums 5' (3 runs):`.
    fn new(title: &'a str) -> Self {
        let quoted = title
            .split_once('\'')
            .and_then(|(_, rest)| rest.rsplit_once('\''));
        Self {
            command: match quoted {
                Some((command, _)) => command,
                None => title.trim().trim_end_matches(':'),
            },
            counters: Vec::new(),
            is_of_other_locale: false,
        }
    }

    fn is_at_its_end(&self) -> bool {
        let last = self.counters.last();
        last.is_some_and(|(_, _, last)| last.name == "elapsed" || AT_THE_END.contains(&last.name))
    }
}

struct Counter<'a> {
    name: &'a str,
    /// The part of the machine.
    place: Option<&'a str>,
    /// Or perf's text instead. `None` is not a number, or not one of the C locale.
    value: Result<Option<Number>, &'a str>,
    unit: Option<&'a str>,
    is_of_other_locale: bool,
    /// True when the text after the name shows that it is not cut off.
    has_whole_name: bool,
}

fn counter(line: &str) -> Option<Counter<'_>> {
    let (place, line) = split_place(line.trim(), char::is_whitespace);
    let line = line.trim();
    let before = line.split('#').next().unwrap_or_default();
    // The deviation of the runs, and the part of the time for which it was counted.
    let before = before.split(" (").next().unwrap_or_default();
    let after = &line[before.len()..];
    for reason in [NOT_COUNTED, NOT_SUPPORTED] {
        if let Some(rest) = before.strip_prefix(reason) {
            let name = rest.split_whitespace().find(|word| !is_unit(word))?;
            return Some(Counter {
                name,
                place,
                value: Err(reason),
                unit: None,
                is_of_other_locale: has_decimal_comma(after),
                has_whole_name: !after.is_empty(),
            });
        }
    }
    let (value, rest) = split_value(before)?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let (deviation, words) = match words[..] {
        ["+-", deviation, ..] => (deviation, &words[2..]),
        _ => ("", &words[..]),
    };
    let (unit, name) = match *words {
        ["seconds", "time", "elapsed"] => (Some("s"), "elapsed"),
        ["seconds", name] => (Some("s"), name),
        ["msec", name] => (Some("ms"), name),
        [unit, name] if is_unit(unit) => (Some(unit), name),
        [name] if !name.starts_with(|it: char| it.is_ascii_digit()) => (None, name),
        _ => return None,
    };
    let number = number::with_thousands(value);
    let begins_with_digit = value.starts_with(|it: char| it.is_ascii_digit());
    let is_numeral = begins_with_digit
        && value
            .chars()
            .all(|it| is_digit_or_mark(it) || is_separator(it));
    let is_not_of_c = match unit {
        // Counts have no decimals there.
        None => value.contains('.') || number.is_none(),
        // Nor do seconds have commas between thousands.
        Some("s") => value.contains(',') || number.is_none(),
        Some(_) => number.is_none(),
    };
    let is_of_other_locale =
        is_numeral && is_not_of_c || has_decimal_comma(deviation) || has_decimal_comma(after);
    if number.is_none() && !is_numeral && !(begins_with_digit && unit.is_some()) {
        return None;
    }
    Some(Counter {
        name,
        place,
        value: Ok(number),
        unit,
        is_of_other_locale,
        has_whole_name: !after.is_empty()
            || unit == Some("s") && (name == "elapsed" || AT_THE_END.contains(&name)),
    })
}

/// The number at the beginning of a text, in any locale, and the rest.
fn split_value(text: &str) -> Option<(&str, &str)> {
    let mut letters = text.char_indices().peekable();
    let mut end = text.len();
    while let Some((at, letter)) = letters.next() {
        let is_part = match letter {
            // Some locales have one between thousands.
            ' ' => {
                at > 0
                    && letters
                        .peek()
                        .is_some_and(|(_, next)| next.is_ascii_digit())
            }
            letter => is_digit_or_mark(letter) || is_separator(letter),
        };
        if !is_part {
            end = at;
            break;
        }
    }
    let (value, rest) = text.split_at(end);
    match value.is_empty() || !rest.starts_with(char::is_whitespace) {
        true => text.split_once(char::is_whitespace),
        false => Some((value, rest)),
    }
}

fn is_digit_or_mark(letter: char) -> bool {
    letter.is_ascii_digit() || matches!(letter, '.' | ',')
}

/// Returns true if it stands between thousands in another locale only.
fn is_separator(letter: char) -> bool {
    matches!(
        letter,
        ' ' | '\u{a0}' | '\u{2009}' | '\u{202f}' | '\'' | '’'
    )
}

/// Returns true for a comma between digits: perf writes none between the thousands of a derived
/// figure.
fn has_decimal_comma(text: &str) -> bool {
    let mut triples = text.as_bytes().windows(3);
    triples.any(|it| it[0].is_ascii_digit() && it[1] == b',' && it[2].is_ascii_digit())
}

fn is_unit(word: &str) -> bool {
    word == "Joules" || word == "msec" || convert(1.0, word, "ns").is_some()
}
