//! The description of a tool's output, from which it is recognized and read.

use crate::Direction;

/// A tool whose results stand on lines, each of which is understood alone.
///
/// A line is described by a [template](super::template).
pub(super) struct Tool {
    /// The name of its format.
    pub(super) name: &'static str,
    /// Lines of which one is in every output, and in no other tool's. `\n` joins lines that follow
    /// each other.
    pub(super) signs: &'static [&'static str],
    /// The figures that are read. A line may hold several.
    pub(super) figures: &'static [Figure],
    /// The charts of which one is the tool's own result: it is compared where no chart is named.
    /// If an output has two of them, the user is asked.
    pub(super) headlines: &'static [&'static str],
    /// The chart that is the tool's own result where none of the headlines is there.
    pub(super) otherwise: Option<&'static str>,
    /// A line that begins the output of another run, with its `{name}`. Of several names, each is
    /// the beginning of its charts' names.
    pub(super) title: Option<&'static str>,
    /// A line whose `{name}` is the beginning of the names of the charts below it.
    pub(super) section: Option<&'static str>,
    /// Lines that say that the chart `{name}` failed.
    pub(super) failures: &'static [&'static str],
    /// Lines that spoil all figures if they hold a `{value}` other than 0: shown to the user.
    pub(super) warnings: &'static [&'static str],
    /// Other lines with numbers, which are not results.
    pub(super) own: &'static [&'static str],
    /// The last line of every whole output. Without it, a figure that only counts as the last one is
    /// not known.
    pub(super) end: Option<&'static str>,
    /// Units that the tool writes in a way of its own, each with the usual one.
    pub(super) units: &'static [(&'static str, &'static str)],
}

impl Tool {
    /// A tool that prints nothing.
    pub(super) const NONE: Self = Self {
        name: "",
        signs: &[],
        figures: &[],
        headlines: &[],
        otherwise: None,
        title: None,
        section: None,
        failures: &[],
        warnings: &[],
        own: &[],
        end: None,
        units: &[],
    };

    /// Every template, in the order in which a [`Reader`](super::read) holds them.
    pub(super) fn templates(&self) -> impl Iterator<Item = &'static str> {
        let figures = self.figures.iter().map(|figure| figure.template);
        figures
            .chain(self.title)
            .chain(self.section)
            .chain(self.failures.iter().copied())
            .chain(self.warnings.iter().copied())
            .chain(self.own.iter().copied())
    }
}

/// A figure of a tool: a line with its `{value}` or `{time}`.
pub(super) struct Figure {
    pub(super) template: &'static str,
    /// The chart, in which `{name}` is that of the line.
    pub(super) chart: &'static str,
    /// The unit into which values are converted, or in which they are printed. A value in a unit
    /// that can't be converted keeps its own, and its direction is unknown.
    pub(super) unit: &'static str,
    pub(super) direction: Direction,
    /// True where only the last one below a title counts, as that of a sum below its parts.
    pub(super) is_last: bool,
}

/// A figure of which less is better.
pub(super) const fn less(
    template: &'static str,
    chart: &'static str,
    unit: &'static str,
) -> Figure {
    Figure {
        template,
        chart,
        unit,
        direction: Direction::Down,
        is_last: false,
    }
}

/// A figure of which more is better.
pub(super) const fn more(
    template: &'static str,
    chart: &'static str,
    unit: &'static str,
) -> Figure {
    Figure {
        direction: Direction::Up,
        ..less(template, chart, unit)
    }
}
