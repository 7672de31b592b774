//! Tools whose results stand on lines of their own, each described in a file here.
//!
//! To add one: a file with its [`Tool`], a line in [`TOOLS`], a sample in
//! `pinpoint-core/tests/results/` with its lines in `result_formats/`, and a row in the table of
//! `docs/command-line.md`.

mod ab;
mod description;
mod fio;
mod gnu_time;
mod iperf3;
mod k6;
mod mitata;
mod pgbench;
mod phpbench;
mod pyperf;
mod read;
mod shell_time;
mod sysbench;
mod template;
mod wrk;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{LazyLock, OnceLock};

use regex::{Regex, RegexSet};

use self::description::Tool;
use self::read::Reader;
use super::charts::Charts;
use super::text::shown;
use super::{ReadError, Reading};

/// The tools, in the order in which they are recognized: another program may run under `time`.
const TOOLS: [&Tool; 13] = [
    &mitata::TOOL,
    &pyperf::TOOL,
    &phpbench::TOOL,
    &k6::TOOL,
    &wrk::WRK2,
    &wrk::TOOL,
    &ab::TOOL,
    &sysbench::TOOL,
    &pgbench::TOOL,
    &fio::TOOL,
    &iperf3::TOOL,
    &gnu_time::TOOL,
    &shell_time::TOOL,
];

/// A tool that prints its results on lines of their own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LineTool(usize);

impl LineTool {
    /// Every such tool.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..TOOLS.len()).map(Self)
    }

    /// The name of its format.
    #[must_use]
    pub fn name(self) -> &'static str {
        TOOLS[self.0].name
    }

    /// The tool of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::all().find(|tool| tool.name() == name)
    }

    /// The tool that printed a text. A tool is known by its beginning.
    pub(super) fn recognize(text: &str) -> Option<Self> {
        tools_of(text).first().copied().map(Self)
    }

    pub(super) fn read(self, text: &str) -> Result<Reading, ReadError> {
        // Without a sign of the tool, a line that looks like its result is another tool's.
        if !tools_of(text).contains(&self.0) {
            return Charts::default().finish(&format!("the output of {}", self.name()));
        }
        static READERS: [OnceLock<Option<Reader>>; TOOLS.len()] =
            [const { OnceLock::new() }; TOOLS.len()];
        match READERS[self.0].get_or_init(|| Reader::new(TOOLS[self.0])) {
            Some(reader) => reader.read(text),
            None => Err(ReadError::NothingRecognized),
        }
    }
}

impl fmt::Debug for LineTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "LineTool({})", self.name())
    }
}

/// The tools whose signs are in a text, by their indices.
fn tools_of(text: &str) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let Some(signs) = SIGNS.as_ref() else {
        return found;
    };
    let mut before = 0;
    for word in signs.words.find_iter(text) {
        // A line may have several.
        if word.start() < before {
            continue;
        }
        let start = text[..word.start()].rfind('\n').map_or(0, |end| end + 1);
        let mut lines = text[start..].lines();
        let line = lines.next().unwrap_or_default();
        let next = lines.next().unwrap_or_default();
        before = start + line.len();
        for sign in &signs.first.matches(shown(line).trim()) {
            let (tool, second) = &signs.tools[sign];
            if (second.as_ref()).is_none_or(|second| second.is_match(shown(next).trim())) {
                found.insert(*tool);
            }
        }
    }
    found
}

/// The names of the tools for a message.
pub(super) fn names() -> String {
    LineTool::all()
        .map(LineTool::name)
        .collect::<Vec<_>>()
        .join(", ")
}

/// The signs of all tools.
struct Signs {
    /// The longest word of the first line of each, of which few lines have one.
    words: Regex,
    /// The first line of each.
    first: RegexSet,
    /// The tool of each, and its second line.
    tools: Vec<(usize, Option<Regex>)>,
}

static SIGNS: LazyLock<Option<Signs>> = LazyLock::new(|| {
    let signs = (TOOLS.iter().enumerate())
        .flat_map(|(index, tool)| tool.signs.iter().map(move |sign| (index, *sign)));
    let mut words = Vec::new();
    let mut first = Vec::new();
    let mut tools = Vec::new();
    for (tool, sign) in signs {
        let (line, second) = match sign.split_once('\n') {
            Some((line, second)) => (line, Some(template::compile(second)?)),
            None => (sign, None),
        };
        words.push(regex::escape(template::longest_word(line)?));
        first.push(template::pattern(line));
        tools.push((tool, second));
    }
    let first = RegexSet::new(first).ok()?;
    let words = Regex::new(&words.join("|")).ok()?;
    Some(Signs {
        words,
        first,
        tools,
    })
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_description_is_sound() {
        assert!(SIGNS.is_some());
        for tool in TOOLS {
            assert!(Reader::new(tool).is_some(), "{}", tool.name);
            assert!(
                !tool.signs.is_empty() && !tool.figures.is_empty(),
                "{}",
                tool.name
            );
            for headline in tool.headlines.iter().chain(&tool.otherwise) {
                let is_chart = tool.figures.iter().any(|figure| figure.chart == *headline);
                assert!(
                    is_chart || tool.section.is_some(),
                    "{headline} of {}",
                    tool.name
                );
            }
            for template in tool.warnings {
                assert!(template.contains("{value}"), "{template}");
            }
        }
    }

    #[test]
    fn names_are_unique() {
        for tool in LineTool::all() {
            assert_eq!(LineTool::named(tool.name()), Some(tool));
        }
    }
}
