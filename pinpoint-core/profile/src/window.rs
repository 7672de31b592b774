//! A part of a profile, cut out by time.

use std::fmt;
use std::str::FromStr;

use super::{Profile, ProfileFormat, ReadProfileError, Sample};

/// The most names that a message lists.
const MOST_NAMED: usize = 20;

/// A part of the time of a profile: `NAME` of a mark, or `FROM..TO` in milliseconds since
/// the profile began, either end of which may be left out.
///
/// A profile begins with its first sample or mark. A `.cpuprofile` has no marks, so it begins with
/// its first sample, which is after its `startTime`.
#[derive(Clone, Debug, PartialEq)]
pub enum Window {
    /// Every span of this name.
    Mark(String),
    /// The time from the first to the second, in nanoseconds since the profile began.
    Span(f64, f64),
}

/// The text is not a window.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "{0:?} is not a window; give the name of a mark, or FROM..TO in milliseconds since the profile began, as in 120..250"
)]
pub struct WindowError(String);

impl FromStr for Window {
    type Err = WindowError;

    fn from_str(text: &str) -> Result<Self, WindowError> {
        let error = || WindowError(text.to_owned());
        let Some((from, to)) = text.split_once("..") else {
            return if text.is_empty() {
                Err(error())
            } else {
                Ok(Self::Mark(text.to_owned()))
            };
        };
        let end = |text: &str, missing: f64| match text.trim() {
            "" => Some(missing),
            number => number
                .parse()
                .ok()
                .map(|milliseconds: f64| milliseconds * 1e6),
        };
        match (end(from, 0.0), end(to, f64::INFINITY)) {
            (Some(from), Some(to)) if 0.0 <= from && from < to => Ok(Self::Span(from, to)),
            // A name may have two dots.
            (None, _) | (_, None) => Ok(Self::Mark(text.to_owned())),
            _ => Err(error()),
        }
    }
}

/// The text that it is read from.
impl fmt::Display for Window {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mark(name) => formatter.write_str(name),
            Self::Span(from, to) if *to == f64::INFINITY => write!(formatter, "{}..", from / 1e6),
            Self::Span(from, to) => write!(formatter, "{}..{}", from / 1e6, to / 1e6),
        }
    }
}

impl Profile {
    /// The part of the profile in the window. A sample that holds for a time counts with its part
    /// in the window; one of a moment counts if that is in it.
    ///
    /// # Errors
    ///
    /// [`ReadProfileError::NoTimes`], [`ReadProfileError::NoMark`], and
    /// [`ReadProfileError::NoSamples`] when nothing was sampled in the window.
    pub fn window(mut self, window: &Window) -> Result<Self, ReadProfileError> {
        if self.times.is_empty() {
            return Err(ReadProfileError::NoTimes {
                format: self.format,
            });
        }
        let spans = self.spans(window)?;
        // The first three write the time for which each stack was seen.
        let holds = matches!(
            self.format,
            ProfileFormat::ChromeTrace | ProfileFormat::CpuProfile | ProfileFormat::Speedscope
        );
        let part = |time: f64, weight: f64| -> f64 {
            let overlap = |(begin, end): &(f64, f64)| {
                if holds {
                    ((time + weight).min(*end) - time.max(*begin)).max(0.0)
                } else if (*begin..*end).contains(&time) {
                    weight
                } else {
                    0.0
                }
            };
            spans.iter().map(overlap).sum()
        };
        let ends = self.samples.iter().zip(&self.times);
        let ends = ends.map(|(sample, time)| time + if holds { sample.weight } else { 0.0 });
        let lasts = ends.fold(0.0, f64::max);
        let samples = self.samples.iter().zip(&self.times);
        let inside = samples.map(|(sample, time)| (*sample, *time, part(*time, sample.weight)));
        (self.samples, self.times) = inside
            .filter(|(_, _, weight)| *weight > 0.0)
            .map(|(sample, time, weight)| (Sample { weight, ..sample }, time))
            .unzip();
        if self.samples.is_empty() {
            return Err(ReadProfileError::NoSamples {
                format: self.format,
                window: Some(window.clone()),
                advice: format!(
                    "the profile lasts {:.1} ms: give a longer window, or another one",
                    lasts / 1e6
                )
                .into(),
            });
        }
        Ok(self)
    }

    /// The spans of a window, each its begin and end in nanoseconds since the profile began: in the
    /// order of time, without overlaps.
    ///
    /// # Errors
    ///
    /// [`ReadProfileError::NoMark`].
    pub fn spans(&self, window: &Window) -> Result<Vec<(f64, f64)>, ReadProfileError> {
        let name = match window {
            Window::Span(from, to) => return Ok(vec![(*from, *to)]),
            Window::Mark(name) => name,
        };
        let named = self
            .marks
            .iter()
            .filter(|mark| self.names.get(mark.name) == name);
        let mut spans: Vec<(f64, f64)> = named.map(|mark| (mark.begin, mark.end)).collect();
        if spans.is_empty() {
            let mut marks: Vec<String> = Vec::new();
            for mark in &self.marks {
                let name = self.names.get(mark.name);
                if marks.len() < MOST_NAMED && !marks.iter().any(|known| known == name) {
                    marks.push(name.to_owned());
                }
            }
            return Err(ReadProfileError::NoMark {
                format: self.format,
                name: name.clone(),
                marks,
            });
        }
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        spans.dedup_by(|next, last| {
            let joined = next.0 <= last.1;
            if joined {
                last.1 = last.1.max(next.1);
            }
            joined
        });
        Ok(spans)
    }
}
