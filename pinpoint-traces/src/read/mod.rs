//! Readers of files of results.
//!
//! Skia Perf's format has a version; a file with any other one, or without, is read as its older
//! form. Both are documents of JSON in which each name occurs once. A value of 1e32 is missing, and
//! gives no point.

mod charts;
mod collect;
mod error;
mod legacy;
mod members;
mod place;
mod skia;
mod table;
#[cfg(test)]
mod tests;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

pub use charts::{ChartPoints, ChartsError, points_of_charts};
pub use error::{ResultFault, ResultFileError};
pub use place::ResultPlace;
pub use table::{SeriesTable, TableError, TableSeries, read_table};

use crate::points::ResultFile;
use crate::source::Source;

/// Reads a file in Skia Perf's format.
///
/// Version 1 has these members and no others:
///
/// ```json
/// {"version": 1, "git_hash": "cd5…", "issue": "327697", "patchset": "1",
///  "key": {"arch": "x86"}, "links": {"log": "https://…"},
///  "results": [
///   {"key": {"test": "a"}, "measurement": 1.5},
///   {"key": {"test": "b"}, "measurements": {
///     "stat": [{"value": "min", "measurement": 1.2, "links": {}}]}}]}
/// ```
///
/// The parameters of a trace are `key`, overridden by the key of the result, and `stat=min` for an
/// entry of `measurements`. Each result has one of `measurement` and `measurements`.
///
/// The older form has `{"gitHash", "issue", "patchset", "key", "options", "results": {test:
/// {config: {"options", "samples", name: number…}}}}`, and further members, which are passed over.
/// Parameters are its key, the test and the config, its options, options of the result that are
/// text and do not begin with `GL_`, and the name of the number as `sub_result`. The samples are
/// those of `min_ms`.
///
/// Takes time in proportion to the size, and memory for the points.
///
/// # Errors
///
/// [`ResultFileError`], with the file and the place in it. A file that is damaged anywhere gives no
/// points at all.
pub fn read_results(source: Source, bytes: &[u8]) -> Result<ResultFile, ResultFileError> {
    let fail = |fault| ResultFileError {
        path: source.path.clone(),
        place: None,
        fault,
    };
    let text = match str::from_utf8(bytes) {
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err(error) => return Err(fail(ResultFault::NotUtf8(error.valid_up_to()))),
    };
    if text.trim().is_empty() {
        return Err(fail(ResultFault::Empty));
    }
    #[derive(Deserialize)]
    struct Versioned<'a> {
        #[serde(borrow)]
        version: Option<&'a RawValue>,
        #[serde(rename = "gitHash")]
        old_hash: Option<IgnoredAny>,
    }
    let versioned: Versioned<'_> = place::from_str(text, &source.path)?;
    match versioned.version {
        Some(version) if version.get() == "1" => skia::read(source, text),
        Some(version) if versioned.old_hash.is_none() => {
            Err(fail(ResultFault::Version(version.get().to_owned())))
        }
        _ => legacy::read(source, text),
    }
}
