//! The report of a supervisor: one datagram, in text.

use std::fmt;
use std::io;
use std::time::Duration;

use libc::c_int;

/// The most remaining processes that are counted.
pub(super) const MOST_COUNTED: usize = 256;

/// The longest report, in bytes.
pub(super) const REPORT_LENGTH: usize = 1024;

/// The report of a supervisor on a command that was started.
#[derive(Debug, PartialEq)]
pub(crate) struct Report {
    /// The status from `wait`.
    pub(crate) status: c_int,
    pub(crate) wall: Duration,
    pub(crate) user: Duration,
    pub(crate) system: Duration,
    /// The peak of memory, in the system's unit.
    pub(crate) peak_memory: u64,
    pub(crate) left: LeftoverProcesses,
    /// Bytes that its two outputs had when the command ended.
    pub(crate) written: [u64; 2],
}

/// Processes that were still running when the command had ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LeftoverProcesses {
    /// The number of processes known to be left.
    pub(crate) count: usize,
    /// The number of them that could not be ended.
    pub(crate) survived: usize,
    /// The first of them: `redis-server (pid 124)`.
    pub(crate) names: Vec<String>,
}

impl LeftoverProcesses {
    /// Describes them in half a sentence: "1 process was still running and was ended: …".
    pub(crate) fn in_words(&self) -> Option<String> {
        let were = |count: usize| if count == 1 { "was" } else { "were" };
        let processes = match self.count {
            0 => return None,
            1 => "1 process".to_owned(),
            MOST_COUNTED => format!("{MOST_COUNTED} processes or more"),
            count => format!("{count} processes"),
        };
        let end = match self.survived {
            0 => format!("{} ended", were(self.count)),
            survived => format!("{survived} of them could not be ended"),
        };
        let more = match self.count.saturating_sub(self.names.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let names = self.names.join(", ");
        Some(format!(
            "{processes} {} still running and {end}: {names}{more}",
            were(self.count)
        ))
    }
}

/// The report, written into a buffer of fixed size: allocation is not allowed here.
pub(super) struct ReportBuffer {
    text: [u8; REPORT_LENGTH],
    length: usize,
}

impl fmt::Write for ReportBuffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}

impl ReportBuffer {
    pub(super) const fn new() -> Self {
        Self {
            text: [0; REPORT_LENGTH],
            length: 0,
        }
    }

    /// Adds as much as fits.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if let Some(place) = self.text.get_mut(self.length) {
                *place = *byte;
                self.length += 1;
            }
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.text.get(..self.length).unwrap_or_default()
    }
}

/// Reads the text of a [`ReportBuffer`]. The inner error is from the start of the command.
pub(super) fn parse(report: &str) -> Option<io::Result<Report>> {
    let mut lines = report.lines();
    let mut numbers = lines
        .next()?
        .split(' ')
        .map(|number| number.parse::<i64>().ok());
    let mut number = || numbers.next().flatten();
    let error = number()?;
    if error != 0 {
        let error = i32::try_from(error).ok()?;
        return Some(Err(io::Error::from_raw_os_error(error)));
    }
    let status = i32::try_from(number()?).ok()?;
    let mut unsigned = || u64::try_from(number()?).ok();
    let wall = Duration::from_nanos(unsigned()?);
    let user = Duration::from_micros(unsigned()?);
    let system = Duration::from_micros(unsigned()?);
    let peak_memory = unsigned()?;
    let count = usize::try_from(unsigned()?).ok()?;
    let survived = usize::try_from(unsigned()?).ok()?;
    let written = [unsigned()?, unsigned()?];
    let names = lines.filter_map(|line| {
        let (process, name) = line.split_once(' ')?;
        let name = name.replace(char::is_control, "\u{fffd}");
        Some(format!("{name} (pid {process})"))
    });
    Some(Ok(Report {
        status,
        wall,
        user,
        system,
        peak_memory,
        left: LeftoverProcesses {
            count,
            survived,
            names: names.collect(),
        },
        written,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_as_it_is_written() {
        let text = "0 256 1500 20 30 4096 2 1 70 0\n12 a b\n13 c\u{1b}[2J\n";
        let report = parse(text).unwrap().unwrap();
        assert_eq!(
            report,
            Report {
                status: 256,
                wall: Duration::from_nanos(1500),
                user: Duration::from_micros(20),
                system: Duration::from_micros(30),
                peak_memory: 4096,
                left: LeftoverProcesses {
                    count: 2,
                    survived: 1,
                    names: vec!["a b (pid 12)".into(), "c\u{fffd}[2J (pid 13)".into()],
                },
                written: [70, 0],
            }
        );
        let error = parse("2").unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        for text in ["", "0", "0 1 2 3", "x"] {
            assert!(parse(text).is_none(), "{text:?}");
        }
    }
}
