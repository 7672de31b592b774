//! The readers, one for each format, with one function `read`.

pub(super) mod austin;
pub(super) mod callgrind;
pub(super) mod chrome_trace;
pub(super) mod cpuprofile;
mod event_times;
pub(super) mod firefox;
pub(super) mod folded;
mod gecko;
pub(super) mod json;
pub(super) mod legacy_pprof;
pub(super) mod macos_sample;
mod nested_nodes;
mod open_events;
pub(super) mod perf_script;
pub(super) mod pprof;
mod script_maps;
pub(super) mod simpleperf;
mod source_map;
pub(super) mod speedscope;
mod stack_frames;
pub(super) mod stackprof;
pub(super) mod trace_events;
pub(super) mod v8;
pub(super) mod v8_log;

use crate::{ProfileFormat, ReadProfileError};
use pinpoint_document::OutputPosition;

/// The error of a line, counted from 0, of a text.
fn misshapen(
    format: ProfileFormat,
    index: usize,
    column: usize,
    problem: impl Into<String>,
) -> ReadProfileError {
    ReadProfileError::Misshapen {
        format,
        place: OutputPosition::Text {
            line: index + 1,
            column,
        },
        problem: problem.into(),
    }
}

/// The end of a text that is cut short.
fn cut_short(format: ProfileFormat, text: &str) -> ReadProfileError {
    let last = text.lines().next_back().unwrap_or_default();
    ReadProfileError::CutShort {
        format,
        place: OutputPosition::Text {
            line: text.lines().count().max(1),
            column: last.chars().count() + 1,
        },
    }
}

/// Returns true for the address of a function without a symbol: `0x1160`.
fn is_address(name: &str) -> bool {
    name.strip_prefix("0x").is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}
