//! Files with profiles, as users name them.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use pinpoint_core::profile::{Profile, ReadProfileError, Window};
use pinpoint_report::text::name;

use super::perf_data;
use crate::error::CliError;
use crate::show::output::errln;
use crate::show::text::FOUND as WARNING;

/// The largest file that is read.
const MOST_BYTES: u64 = 4 << 30;

/// Reads the profile in a file, or the part of it in a window.
pub(crate) fn read(
    path: &Path,
    window: Option<&Window>,
    event: Option<&str>,
) -> Result<Profile, CliError> {
    let refused = |source| refused(path, source);
    let mut content = content(path)?;
    // A pipe is read once; the reader says what to do with what stood in it.
    if perf_data::is_perf_data(&content) && !is_read_once(path) {
        content = perf_data::text(path)?;
    }
    let profile = Profile::read_event(&content, event).map_err(refused)?;
    for warning in &profile.warnings {
        let path = path.display();
        errln!(
            "{WARNING}warning:{WARNING:#} {path}: {}",
            name(&warning.to_string())
        );
    }
    match window {
        Some(window) => profile.window(window).map_err(refused),
        None => Ok(profile),
    }
}

/// The content of a file that users name, or that a shell makes of a command (`<(…)`). Other pipes
/// may have no writer, a device no end, and a file of the system no content yet.
pub(super) fn content(path: &Path) -> Result<Vec<u8>, CliError> {
    if path.as_os_str() == STANDARD_INPUT {
        return at_most(io::stdin().lock(), path);
    }
    let problem = |problem: &dyn fmt::Display| {
        CliError::Input(format!("can't read {}: {problem}", path.display()))
    };
    let unreadable = |error: io::Error| problem(&error);
    let kind = fs::metadata(path).map_err(unreadable)?.file_type();
    let is_of_shell = kind.is_fifo() && fs::canonicalize(path).is_err();
    let mut options = File::options();
    options.read(true);
    if !is_of_shell {
        if kind.is_dir() {
            return Err(problem(&"it is a directory; name the files in it"));
        }
        if !kind.is_file() {
            return Err(problem(&"it is not a regular file"));
        }
        options.custom_flags(libc::O_NONBLOCK);
    }
    let file = options.open(path).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    if length > MOST_BYTES {
        return Err(too_large(path));
    }
    at_most(file, path)
}

/// Returns true for standard input, or a pipe that a shell makes of a command (`<(…)`).
pub(super) fn is_read_once(path: &Path) -> bool {
    let is_fifo = || fs::metadata(path).is_ok_and(|it| it.file_type().is_fifo());
    path.as_os_str() == STANDARD_INPUT || is_fifo()
}

/// The name of standard input.
pub(crate) const STANDARD_INPUT: &str = "-";

/// Reads everything, up to a limit.
pub(super) fn at_most(reader: impl Read, path: &Path) -> Result<Vec<u8>, CliError> {
    let mut content = Vec::new();
    let mut begin = reader.take(MOST_BYTES + 1);
    begin
        .read_to_end(&mut content)
        .map_err(|error| CliError::Input(format!("can't read {}: {error}", path.display())))?;
    match content.len() as u64 > MOST_BYTES {
        true => Err(too_large(path)),
        false => Ok(content),
    }
}

fn too_large(path: &Path) -> CliError {
    CliError::Input(format!(
        "{} is larger than 4 GB; record for a shorter time, or less often",
        path.display()
    ))
}

pub(super) fn refused(path: &Path, source: ReadProfileError) -> CliError {
    CliError::Profile {
        path: path.to_owned(),
        source: Box::new(source),
    }
}
