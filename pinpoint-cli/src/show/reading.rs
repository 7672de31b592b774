//! The progress of reading many files, on a terminal: `⠋ reading profiles: 3 of 20`.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::arguments::Display;
use crate::show::output::{is_live, keep_above};

/// Shown until it is dropped.
pub(crate) struct Reading(ProgressBar);

impl Reading {
    /// Begins to read so many files of these contents; shows nothing for none.
    pub(crate) fn begin(what: &'static str, files: usize, display: &Display) -> Self {
        if files == 0 || display.quiet || !is_live() {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::with_draw_target(Some(files as u64), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} reading {msg}: {pos} of {len}") {
            bar.set_style(style);
        }
        bar.set_message(what);
        bar.enable_steady_tick(Duration::from_millis(120));
        keep_above(Some(bar.clone()));
        Self(bar)
    }

    /// Counts the next file.
    pub(crate) fn next(&self) {
        self.advance(1);
    }

    /// Counts the next files.
    pub(crate) fn advance(&self, files: usize) {
        self.0.inc(files as u64);
        self.0.force_draw();
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.finish_and_clear();
        keep_above(None);
    }
}
