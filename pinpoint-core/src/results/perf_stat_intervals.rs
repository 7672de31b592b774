//! The parts of the time into which `perf stat -I` splits its counts, and the parts of the machine
//! for `-A`, `--per-core` and the like, in every form of its output.
//!
//! The parts of the time are added up: the sum is what perf counts without `-I`. The time of the
//! last part is that at which the command ended.

use std::collections::BTreeMap;

use super::OutputPosition;
use super::charts::Charts;
use super::perf_stat::{NOT_COUNTED, OTHER_LOCALE, direction};
use crate::Direction;

/// The values of the parts, by their charts.
#[derive(Default)]
pub(super) struct Intervals {
    sums: BTreeMap<String, Sum>,
    /// The end of the last part, and the number of parts.
    last: Option<(f64, usize)>,
    /// The length of the last part, and of the shortest one before.
    length: f64,
    shortest: Option<f64>,
    /// The number of parts at the last head of the table.
    parts_at_head: Option<usize>,
    starts_again: bool,
}

/// A value of one part of the time.
pub(super) enum Part {
    Counted(f64),
    /// The command did not run then.
    NotCounted,
    NotSupported,
    NotFinite,
    OtherLocale,
}

#[derive(Default)]
struct Sum {
    value: f64,
    unit: Option<String>,
    direction: Direction,
    parts: usize,
    counted: usize,
    /// The end of its last part.
    last: Option<f64>,
    failure: Option<&'static str>,
    line: usize,
}

/// Perf repeats the head of its table after so many parts.
const PARTS_PER_HEAD: usize = 25;

impl Intervals {
    /// Notes a head of the table: that of another command, unless it is repeated.
    pub(super) fn head(&mut self) {
        let parts = self.last.map_or(0, |(_, parts)| parts);
        let is_next = |before: usize| parts != before + PARTS_PER_HEAD;
        self.starts_again |= self.parts_at_head.replace(parts).is_some_and(is_next);
    }

    /// Adds the value of an event at a line, in the part that ends at a time.
    pub(super) fn add(
        &mut self,
        time: f64,
        (place, event): (Option<&str>, &str),
        unit: Option<&str>,
        part: Part,
        line: usize,
    ) {
        self.last = Some(match self.last {
            None => {
                self.length = time;
                (time, 1)
            }
            Some((last, parts)) if time > last => {
                let before = std::mem::replace(&mut self.length, time - last);
                self.shortest = Some(self.shortest.map_or(before, |it| it.min(before)));
                (time, parts + 1)
            }
            Some((last, parts)) => {
                self.starts_again |= time < last;
                (time, parts)
            }
        });
        let sum = self.sums.entry(chart(place, event)).or_default();
        sum.parts += 1;
        if sum.last.replace(time) == Some(time) {
            sum.failure = Some("it is there twice in a part of the time");
        }
        if sum.parts == 1 {
            sum.line = line;
            sum.direction = direction(event, unit);
        }
        match part {
            Part::Counted(value) => {
                sum.value += value;
                sum.counted += 1;
                sum.unit = unit.map(str::to_owned);
            }
            Part::NotCounted => {}
            Part::NotSupported => sum.failure = Some("perf says `<not supported>`"),
            Part::NotFinite => sum.failure = Some("its value is not a number"),
            Part::OtherLocale => sum.failure = Some(OTHER_LOCALE),
        }
    }

    /// Hands over the sums. An event that is missing in a part has no sum: the output was cut off.
    pub(super) fn finish(self, charts: &mut Charts) {
        let Some((end, parts)) = self.last else {
            return;
        };
        let is_of_several = self.starts_again;
        for (chart, sum) in self.sums {
            if is_of_several {
                charts.fail(&chart, SEVERAL);
            } else if let Some(reason) = sum.failure {
                charts.fail(&chart, reason);
            } else if sum.counted == 0 {
                charts.fail(&chart, format!("perf says `{NOT_COUNTED}`"));
            } else if sum.parts != parts {
                charts.fail(&chart, "it is missing in a part of the time");
            } else {
                charts.add_once(
                    &chart,
                    vec![sum.value],
                    sum.unit.as_deref(),
                    sum.direction,
                    || OutputPosition::Text {
                        line: sum.line + 1,
                        column: 1,
                    },
                );
            }
        }
        if is_of_several {
            charts.fail(ELAPSED, SEVERAL);
        } else {
            let place = OutputPosition::Text { line: 1, column: 1 };
            let direction = direction(ELAPSED, Some("s"));
            charts.add_once(ELAPSED, vec![end], Some("s"), direction, || place);
            let is_whole = |shortest| self.length >= shortest * OF_A_WHOLE_PART;
            if self.shortest.is_some_and(is_whole) {
                charts.remark(AFTER_A_WHOLE_PART.to_owned());
            }
        }
    }
}

/// Perf waits for at least the whole time of a part, and the next ones vary by less than this.
const OF_A_WHOLE_PART: f64 = 0.98;

/// Perf writes nothing at the end of its output, so that the last part is the only sign of it: a
/// command seldom ends just with a part.
const AFTER_A_WHOLE_PART: &str = "the last part of the time is as long as the others: check that the output of perf is not cut off after it";

const ELAPSED: &str = "elapsed";

const SEVERAL: &str = "the output has the parts of the time of several commands";

/// The chart of an event on a part of the machine, `CPU0 cycles`, or on all of it.
pub(super) fn chart(place: Option<&str>, event: &str) -> String {
    match place {
        Some(place) => format!("{place} {event}"),
        None => event.to_owned(),
    }
}

/// Splits the part of the machine off a line or a field: `CPU0` for `-A`, `S0-D0-C1` for
/// `--per-core`, `N0` for `--per-node`. All but the first are followed by the number of their
/// processors, which is left out.
pub(super) fn split_place(
    text: &str,
    separator: impl Fn(char) -> bool + Copy,
) -> (Option<&str>, &str) {
    let unsplit = (None, text);
    let Some((place, rest)) = text.split_once(separator) else {
        return unsplit;
    };
    if !is_place(place) {
        return unsplit;
    }
    if place.starts_with("CPU") {
        return (Some(place), rest);
    }
    let rest = rest.trim_start_matches(|it: char| it.is_whitespace());
    match rest.split_once(separator) {
        Some((count, rest)) if is_number(count) => (Some(place), rest),
        _ => unsplit,
    }
}

/// The time at the beginning of a line, in any locale.
pub(super) fn seconds(text: &str) -> Option<f64> {
    let (whole, fraction) = text.split_once(['.', ','])?;
    match is_number(whole) && is_number(fraction) {
        true => text.replace(',', ".").parse().ok(),
        false => None,
    }
}

/// Returns true for `CPU0` and for `S0-D0-C1`: a part of a part is separated by a hyphen.
fn is_place(word: &str) -> bool {
    const PARTS: [&str; 7] = ["CPU", "S", "D", "C", "N", "L", "ID"];
    word.split('-').enumerate().all(|(index, part)| {
        let digits = part.trim_start_matches(|it: char| it.is_ascii_uppercase());
        let letters = &part[..part.len() - digits.len()];
        is_number(digits)
            && PARTS.contains(&letters)
            && (index > 0 || matches!(letters, "CPU" | "S" | "N"))
    })
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}
