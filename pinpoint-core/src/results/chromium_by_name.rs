//! A set of Chromium's histograms, as Chromium's Pinpoint reads it.
//!
//! ```json
//! [{"name": "timeToFirstPaint", "unit": "ms_smallerIsBetter", "sampleValues": [610.2, 598.7],
//!   "diagnostics": {"stories": "f4…"}, …},
//!  {"name": "timeToFirstPaint", "unit": "ms_smallerIsBetter", "sampleValues": [1204.5], …}]
//! ```
//!
//! A chart is named by its histograms' `name` alone, here `timeToFirstPaint`. Its values are the
//! sample values of all of them, with any story, tags or build, in the order of the file: 610.2,
//! 598.7, 1204.5. Otherwise a histogram is read as by `chromium`: one sample that is not a number
//! leaves out all of its name.
//!
//! Source: `perf/go/perfresults` of github.com/google/skia-buildbot, which Pinpoint's `read_values`
//! uses. There, a chart JSON is not read, and neither is it here.

use super::{ReadError, Reading, chromium};

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    chromium::histograms(text, |histogram, _| Ok(histogram.name.clone()))
}
