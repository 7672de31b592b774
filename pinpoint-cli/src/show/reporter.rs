//! Shows the progress of a job: a live view on a terminal, plain lines elsewhere.
//! Always on standard error: standard output is for the result.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pinpoint_backends::local::SettleWait;
use pinpoint_backends::store::JobId;
use pinpoint_core::{DriveEvent, Engine, JobMachine};
use pinpoint_report::text::plain;

use crate::arguments::Display;
use crate::show::output::{errln, is_live, keep_above};
use crate::show::progress::{Terminal, Watch};
use crate::show::text::{DIM, Text, text};

pub(crate) struct Reporter {
    screen: Screen,
    watch: Watch,
    began: Instant,
}

enum Screen {
    Quiet,
    Lines,
    Live(ProgressBar),
}

impl Reporter {
    pub(crate) fn new(display: &Display, id: &JobId) -> Self {
        let columns = console::Term::stderr().size_checked();
        let terminal = Terminal {
            is_live: !display.quiet && is_live(),
            columns: columns.map_or(80, |(_, columns)| columns.into()),
        };
        let screen = if display.quiet {
            Screen::Quiet
        } else if terminal.is_live {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(120));
            keep_above(Some(bar.clone()));
            Screen::Live(bar)
        } else {
            Screen::Lines
        };
        let mut reporter = Self {
            screen,
            watch: Watch::new(terminal),
            began: Instant::now(),
        };
        reporter.tell(text!("{DIM}job {id}{DIM:#}"));
        reporter
    }

    /// A reporter of a job that others carry out.
    pub(crate) fn following(display: &Display, id: &JobId) -> Self {
        let mut reporter = Self::new(display, id);
        reporter.watch.follow();
        reporter
    }

    /// Shows a line that stays.
    pub(crate) fn tell(&mut self, line: Text) {
        self.update(|watch| watch.screen.tell(line));
    }

    /// Lets the watch look at something, and shows the changes.
    fn update(&mut self, look: impl FnOnce(&mut Watch)) {
        if matches!(self.screen, Screen::Quiet) {
            return;
        }
        self.watch.screen.at(self.began.elapsed());
        look(&mut self.watch);
        let update = self.watch.screen.take();
        for line in update.lines {
            errln!("{line}");
        }
        if let (Screen::Live(bar), Some(now)) = (&self.screen, update.now) {
            // The bar prints by itself.
            bar.set_message(plain(&now).into_owned());
        }
    }

    /// Shows the changes by an event of a job, whatever its kind.
    pub(crate) fn watch(&mut self, event: &DriveEvent<'_>, engine: &Engine<JobMachine>) {
        self.update(|watch| watch.watch(event, engine));
    }

    /// Prints the current work after a long silence.
    pub(crate) fn break_silence(&mut self) {
        self.update(|watch| watch.screen.break_silence());
    }

    /// Shows that a run waits for a quiet machine, or waits no longer.
    pub(crate) fn waits(&mut self, waiting: Option<SettleWait>) {
        self.update(|watch| watch.screen.waits(waiting));
    }

    /// Shows that work waits for another job of this machine, or waits no longer.
    pub(crate) fn waits_for_others(&mut self, waits: bool) {
        self.update(|watch| watch.screen.waits_for_others(waits));
    }

    pub(crate) fn finish(&mut self) {
        if let Screen::Live(bar) = &self.screen {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        keep_above(None);
    }
}
