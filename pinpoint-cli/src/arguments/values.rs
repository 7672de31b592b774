//! Values of options.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;
use pinpoint_backends::job::RequestedMeasure;
use pinpoint_backends::local::RunMeasure;
use pinpoint_core::results::Format;
use pinpoint_core::results::talos::TalosValues;
use pinpoint_core::{Direction, Magnitude};
use pinpoint_report::command_line::without_login;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DirectionArgument {
    /// More is better: throughput, scores.
    Up,
    /// Less is better: times, memory.
    Down,
    /// A change either way is of interest.
    Unknown,
}

impl From<DirectionArgument> for Direction {
    fn from(argument: DirectionArgument) -> Self {
        match argument {
            DirectionArgument::Up => Self::Up,
            DirectionArgument::Down => Self::Down,
            DirectionArgument::Unknown => Self::Unknown,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MeasureArgument {
    /// The time from start to end.
    Wall,
    /// The processor time of the program and its children, without the kernel's: other
    /// processes and waiting disturb it less. Too coarse for runs below about 50 ms.
    User,
    /// The instructions of the program and its children, without the kernel's: hardly
    /// disturbed by anything, so that a few runs are enough; --magnitude says which
    /// differences matter. Counted by the processor or, where it can't, by valgrind
    /// (callgrind), which takes 20 to 200 times as long.
    Instructions,
    /// The peak memory of the largest process, where that has more than pinpoint itself.
    Memory,
    /// The one in which the bad end is worse most clearly, or the two sides of a pair differ,
    /// by five runs of each before the search: wall if that is clear enough, else another of
    /// time, else memory. Instructions only where the processor counts them.
    Auto,
}

impl MeasureArgument {
    /// The named measure, if any.
    pub(crate) fn named(self) -> Option<RunMeasure> {
        match self {
            Self::Wall => Some(RunMeasure::Wall),
            Self::User => Some(RunMeasure::User),
            Self::Instructions => Some(RunMeasure::Instructions),
            Self::Memory => Some(RunMeasure::Memory),
            Self::Auto => None,
        }
    }
}

impl From<MeasureArgument> for RequestedMeasure {
    fn from(argument: MeasureArgument) -> Self {
        argument.named().map_or(Self::Auto, Self::Named)
    }
}

/// A variable and its value; without one it is inherited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) value: Option<String>,
}

impl FromStr for Variable {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text, None),
        };
        if name.is_empty() || text.contains('\0') {
            return Err("NAME=VALUE or NAME is needed".to_owned());
        }
        Ok(Self {
            name: name.to_owned(),
            value,
        })
    }
}

pub(super) fn longest_wait(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => Err("a wait is longer than 0; leave --settle out to not wait".into()),
        Ok(longest) => Ok(longest),
        Err(error) => Err(error.to_string()),
    }
}

/// Parses the size of a change. Another option gives its direction.
pub(super) fn magnitude(text: &str) -> Result<Magnitude, String> {
    let magnitude = noise(text)?;
    let (Magnitude::Absolute(size) | Magnitude::Percent(size)) = magnitude else {
        return Err("this version does not support a size of this kind".into());
    };
    if size == 0.0 {
        return Err(
            "a change has a size; leave --magnitude out to look for one of any size".into(),
        );
    }
    if size < 0.0 {
        return Err(format!(
            "a size has no sign: say {}, and with --direction where better lies",
            text.trim_start_matches(['-', ' '])
        ));
    }
    Ok(magnitude)
}

pub(super) fn noise(text: &str) -> Result<Magnitude, String> {
    let number = |text: &str| {
        f64::from_str(text.trim())
            .ok()
            .filter(|number| number.is_finite())
            .ok_or_else(|| "a number is needed, or a number with a % sign".to_owned())
    };
    match text.strip_suffix('%') {
        Some(percent) => number(percent).map(Magnitude::Percent),
        None => number(text).map(Magnitude::Absolute),
    }
}

/// The format of a log of Mozilla's with the values of a subtest that count.
pub(crate) fn with_talos_values(
    format: Format,
    values: Option<TalosValues>,
) -> Result<Format, String> {
    match (format, values) {
        (format, None) => Ok(format),
        (Format::Auto | Format::Talos(TalosValues::Replicates), Some(values)) => {
            Ok(Format::Talos(values))
        }
        (Format::Talos(named), Some(values)) if named == values => Ok(Format::Talos(values)),
        (format, Some(values)) => Err(format!(
            "--talos-values {values} is for logs of Mozilla's, and not for --format {format}; \
             leave one of them out"
        )),
    }
}

/// Parses pairs of key and value between commas.
pub(super) fn key_values(text: &str) -> Result<Vec<(String, String)>, String> {
    let pair = |pair: &str| match pair.split_once('=') {
        Some((key, value)) if !key.is_empty() && !value.is_empty() => {
            Ok((key.to_owned(), value.to_owned()))
        }
        _ => Err(format!("{pair:?} is not KEY=VALUE")),
    };
    text.split(',').map(pair).collect()
}

/// Parses a URL and the directory of a clone. A URL may have a query; few directories have a `=` in
/// their names.
pub(super) fn repository(text: &str) -> Result<(String, PathBuf), String> {
    match text.rsplit_once('=') {
        Some((url, directory)) if !url.is_empty() && !directory.is_empty() => {
            Ok((without_login(url), directory.into()))
        }
        _ => Err("URL=DIR is needed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_named_without_a_password() {
        for (given, kept) in [
            ("https://ada:secret@host/x", "https://host/x"),
            ("https://token@host", "https://host"),
            ("ssh://ada:secret@host:22/x", "ssh://ada@host:22/x"),
            ("https://host/a@b", "https://host/a@b"),
            ("git@host:x", "git@host:x"),
            ("/src/a:b@c", "/src/a:b@c"),
        ] {
            let parsed = repository(&format!("{given}=/home/a@b"));
            assert_eq!(parsed, Ok((kept.to_owned(), "/home/a@b".into())));
        }
    }

    #[test]
    fn values_of_talos_are_for_its_logs() {
        let with = |format: &str| {
            let format = format.parse().unwrap();
            with_talos_values(format, Some(TalosValues::Mean)).map(|it| it.to_string())
        };
        for format in ["auto", "talos", "talos:mean"] {
            assert_eq!(with(format).as_deref(), Ok("talos:mean"), "{format}");
        }
        for format in ["talos:max", "gbench"] {
            assert!(with(format).unwrap_err().contains(format), "{format}");
        }
        assert_eq!(with_talos_values(Format::Jmh, None), Ok(Format::Jmh));
    }

    #[test]
    fn keys_have_values_between_commas() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(
            key_values("os=linux,flags=-O2=x"),
            Ok(vec![pair("os", "linux"), pair("flags", "-O2=x")])
        );
        for wrong in ["", "os", "os=", "=x", "os=x,"] {
            assert!(key_values(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_variable_has_a_value_or_is_inherited() {
        let parsed = |text: &str| text.parse::<Variable>();
        let variable = |name: &str, value: Option<&str>| Variable {
            name: name.to_owned(),
            value: value.map(str::to_owned),
        };
        assert_eq!(parsed("A=b=c"), Ok(variable("A", Some("b=c"))));
        assert_eq!(parsed("A="), Ok(variable("A", Some(""))));
        assert_eq!(parsed("A"), Ok(variable("A", None)));
        for wrong in ["", "=", "=b"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_wait_is_longer_than_nothing() {
        assert_eq!(longest_wait("2s"), Ok(Duration::from_secs(2)));
        assert!(longest_wait("0s").unwrap_err().contains("--settle"));
        assert!(longest_wait("soon").is_err());
    }

    #[test]
    fn a_magnitude_is_a_number_or_a_percentage() {
        assert_eq!(magnitude("5%"), Ok(Magnitude::Percent(5.0)));
        assert_eq!(magnitude("0.5"), Ok(Magnitude::Absolute(0.5)));
        for wrong in ["", "%", "five", "nan", "inf", "5%%", "1e999", "--build"] {
            assert!(magnitude(wrong).is_err(), "{wrong}");
        }
        for (none, help) in [
            ("0", "of any size"),
            ("0%", "of any size"),
            ("-0", "of any size"),
            ("-5%", "say 5%, and with --direction"),
            ("-0.5", "say 0.5, and"),
        ] {
            let error = magnitude(none).unwrap_err();
            assert!(error.contains(help), "{none}: {error}");
        }
    }
}
