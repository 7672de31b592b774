//! Reads an output by the description of its tool.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use regex::{Captures, Regex, RegexSet};

use super::description::{Figure, Tool};
use super::template;
use crate::Direction;
use crate::results::charts::Charts;
use crate::results::number::{self, Number, Printed};
use crate::results::text::{column_of, lines_with_ends};
use crate::results::{OutputPosition, ReadError, Reading};
use crate::unit::convert;

/// The templates of a tool, as patterns.
pub(super) struct Reader {
    tool: &'static Tool,
    /// Finds the templates of a line in one walk.
    set: RegexSet,
    patterns: Vec<Regex>,
}

impl Reader {
    /// `None` if a template is invalid; the tests read an output of each tool.
    pub(super) fn new(tool: &'static Tool) -> Option<Self> {
        let set = RegexSet::new(tool.templates().map(template::pattern)).ok()?;
        let patterns = tool.templates().map(template::compile);
        Some(Self {
            tool,
            set,
            patterns: patterns.collect::<Option<_>>()?,
        })
    }

    pub(super) fn read(&self, text: &str) -> Result<Reading, ReadError> {
        let Self { tool, .. } = self;
        let mut charts = Charts::default();
        let is_whole = (tool.end).is_none_or(|end| text.lines().any(|line| line.trim() == end));
        let mut found: Vec<Found> = Vec::new();
        let mut titles: Vec<&str> = Vec::new();
        let mut section = None;
        for (index, line, has_end) in lines_with_ends(text) {
            let line = line.trim();
            let mut matches: Vec<usize> = self.set.matches(line).iter().collect();
            // A line that begins a section may hold figures of it.
            matches.sort_by_key(|which| matches!(self.kind(*which), Kind::Figure(_)));
            for which in matches {
                let Some(parts) = self.patterns[which].captures(line) else {
                    continue;
                };
                let template = tool.templates().nth(which).unwrap_or_default();
                let name = parts.name("name").map_or("", |name| name.as_str());
                let kind = self.kind(which);
                // More of it may have followed.
                if !has_end && !template::has_fixed_end(template) && !matches!(kind, Kind::Own) {
                    charts.doubts(index);
                    continue;
                }
                match kind {
                    Kind::Figure(figure) => {
                        let Some(value) = value(tool, figure, &parts) else {
                            charts.doubts(index);
                            continue;
                        };
                        let title = titles.len().checked_sub(1);
                        let chart = figure.chart.replace("{name}", name);
                        let chart = match section {
                            Some(section) => format!("{section} {chart}"),
                            None => chart,
                        };
                        if figure.is_last && !is_whole {
                            let end = tool.end.unwrap_or_default();
                            charts.fail(&chart, format!("the line `{end}` is missing"));
                        }
                        let is_before = |it: &Found| it.title == title && it.chart == chart;
                        if figure.is_last
                            && let Some(before) = found.iter().position(is_before)
                        {
                            found.remove(before);
                        }
                        found.push(Found {
                            title,
                            chart,
                            value,
                            place: OutputPosition::Text {
                                line: index + 1,
                                column: column_of(line, line),
                            },
                        });
                    }
                    Kind::Title => {
                        titles.push(parts.name("name").map_or("", |name| name.as_str()));
                        section = None;
                    }
                    Kind::Section => section = parts.name("name").map(|name| name.as_str()),
                    Kind::Failure => {
                        let chart = match section {
                            Some(section) => format!("{section} {name}"),
                            None => name.to_owned(),
                        };
                        charts.fail(&chart, format!("{} says `{line}`", tool.name));
                    }
                    Kind::Warning => {
                        let value = parts.name("value").map_or("", |value| value.as_str());
                        if number::number(value) != Some(Number::Finite(0.0)) {
                            charts.remark(format!("{} says `{line}`", tool.name));
                        }
                    }
                    Kind::Own => {}
                }
                charts.knows(index);
            }
        }
        let names: BTreeSet<&str> = titles.iter().copied().collect();
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for Found {
            title,
            chart,
            value,
            place,
        } in found
        {
            let chart = match title {
                Some(title) if names.len() > 1 => format!("{} {chart}", titles[title]),
                _ => chart,
            };
            *counts.entry(chart.clone()).or_default() += 1;
            if let Some(remark) = value.remark_if_coarse(&chart) {
                charts.coarse(&chart, remark);
            }
            match value.number {
                Number::Finite(number) => {
                    let unit = Some(&*value.unit).filter(|unit| !unit.is_empty());
                    charts.add(&chart, vec![number], unit, value.direction, || place);
                }
                Number::NotFinite => charts.fail(&chart, "its value is not a number"),
            }
        }
        if let Some((chart, count)) = counts.iter().find(|(_, count)| **count > 1) {
            charts.remark(format!(
                "{} gives `{chart}` {count} times in the output of a run: check that all of them \
                 are values of the same benchmark",
                tool.name
            ));
        }
        let mut headlines = (tool.headlines.iter()).filter(|chart| charts.has(chart));
        let headline = match (headlines.next(), headlines.next()) {
            (Some(headline), None) => Some(*headline),
            (None, _) => (tool.otherwise).filter(|chart| charts.has(chart) && !charts.has_rate()),
            _ => None,
        };
        if let Some(headline) = headline {
            charts.headline(headline);
        }
        charts.finish(&format!("a result of {}", tool.name))
    }

    /// The meaning of a template, by its place in [`Tool::templates`].
    fn kind(&self, which: usize) -> Kind {
        let tool = self.tool;
        let mut rest = which;
        if let Some(figure) = tool.figures.get(rest) {
            return Kind::Figure(figure);
        }
        rest -= tool.figures.len();
        for (count, kind) in [
            (usize::from(tool.title.is_some()), Kind::Title),
            (usize::from(tool.section.is_some()), Kind::Section),
            (tool.failures.len(), Kind::Failure),
            (tool.warnings.len(), Kind::Warning),
        ] {
            if rest < count {
                return kind;
            }
            rest -= count;
        }
        Kind::Own
    }
}

enum Kind {
    Figure(&'static Figure),
    Title,
    Section,
    Failure,
    Warning,
    Own,
}

/// A value in an output.
struct Found {
    /// The index of the title above it.
    title: Option<usize>,
    chart: String,
    value: Value,
    place: OutputPosition,
}

struct Value {
    number: Number,
    unit: Cow<'static, str>,
    direction: Direction,
    /// The value of its last decimal place, in its unit.
    step: Option<f64>,
}

/// A value of fewer steps than this hardly tells a change.
const FEW_STEPS: f64 = 20.0;

impl Value {
    /// A remark on a time that is printed with so few digits that they hide changes.
    fn remark_if_coarse(&self, chart: &str) -> Option<String> {
        let (Number::Finite(value), Some(step)) = (self.number, self.step) else {
            return None;
        };
        // Half a step less, as the last decimal of both is not exact.
        let is_time = matches!(&*self.unit, "s" | "ms" | "us" | "ns");
        let is_coarse = is_time && value.abs() < step * (FEW_STEPS - 0.5);
        is_coarse.then(|| {
            let steps = format!("{step} {}", self.unit);
            let steps = steps.trim_end();
            let share = match (step / value.abs() * 100.0).round() {
                share if share.is_finite() => format!("{share} % of its value"),
                _ => "more than its value".to_owned(),
            };
            format!(
                "`{chart}` is printed in steps of {steps}, {share}: a smaller change may not show, \
                 so have a run do more work, or compare its wall-clock time"
            )
        })
    }
}

/// The value of the last decimal place of a number or a duration, in the unit of its last part.
fn step_of(text: &str) -> Option<f64> {
    let number = text.trim_end_matches(|letter: char| letter.is_alphabetic());
    let decimals = number.rsplit_once(['.', ','])?.1.len();
    let is_decimal = !number.contains(['e', 'E']) && (1..=9).contains(&decimals);
    match is_decimal {
        true => format!("1e-{decimals}").parse().ok(),
        false => None,
    }
}

/// The value of a line, in the unit of the figure. `None` if it can be read in two ways.
fn value(tool: &Tool, figure: &Figure, parts: &Captures) -> Option<Value> {
    let usual = |printed: &str| {
        let usual = tool.units.iter().find(|(own, _)| *own == printed);
        usual.map(|(_, usual)| *usual)
    };
    let text = parts.name("value").or(parts.name("time"));
    let step = text.and_then(|text| step_of(text.as_str()));
    let (number, printed) = match (parts.name("value"), parts.name("time")) {
        (Some(value), _) => {
            let unit = parts.name("unit").map(|unit| unit.as_str());
            let has_unit = unit.is_some() || !figure.unit.is_empty();
            let number = match number::printed(value.as_str())? {
                Printed::Sure(number) => number,
                // `real 0,05` in a language with a decimal comma.
                Printed::DecimalOrList(value) if has_unit => Number::Finite(value),
                Printed::DecimalOrList(_) | Printed::Ambiguous => return None,
            };
            (number, unit)
        }
        (None, Some(time)) => time_of(time.as_str())?,
        (None, None) => return None,
    };
    let of_figure = Value {
        number,
        unit: figure.unit.into(),
        direction: figure.direction,
        step,
    };
    let (Some(printed), Number::Finite(amount)) = (printed, number) else {
        return Some(of_figure);
    };
    let unit = usual(printed).unwrap_or(printed);
    Some(match convert(amount, unit, figure.unit) {
        Some(amount) => Value {
            number: Number::Finite(amount),
            step: step.and_then(|step| convert(step, unit, figure.unit)),
            ..of_figure
        },
        None => Value {
            unit: unit.to_owned().into(),
            direction: Direction::Unknown,
            ..of_figure
        },
    })
}

/// A duration, with its unit: `12.5ms`, `1m2.5s`, `0:01.25`; with a decimal comma in other
/// languages.
fn time_of(text: &str) -> Option<(Number, Option<&str>)> {
    let plain = text.replace(' ', "").replace(',', ".");
    if plain.contains(':') {
        let mut seconds = 0.0;
        for part in plain.split(':') {
            seconds = seconds * 60.0 + part.parse::<f64>().ok()?;
        }
        return Some((Number::Finite(seconds), Some("s")));
    }
    if let Some(seconds) = number::duration(&plain) {
        return Some((Number::Finite(seconds), Some("s")));
    }
    let end = text.find(|letter: char| letter.is_alphabetic())?;
    let unit = match &text[end..] {
        "m" => "min",
        unit => unit,
    };
    let (value, _) = number::split_unit(&plain)?;
    Some((number::number(value)?, Some(unit)))
}
