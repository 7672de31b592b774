//! The screen of a job under way: lines that stay, the current work, and what explains a silence.

use std::time::Duration;

use pinpoint_backends::local::SettleWait;
use pinpoint_report::quantity::{count, duration};

use crate::show::text::{Text, text};

/// The time after which a line reports the current work, if nothing else moves on the screen.
pub(crate) const SILENCE: Duration = Duration::from_secs(60);

/// The facts about the screen that decide what is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terminal {
    /// It can show the current work; otherwise it gets lines only.
    pub(crate) is_live: bool,
    /// Its width.
    pub(crate) columns: usize,
}

/// The changes of the screen since the last events.
#[derive(Debug, Default)]
pub(crate) struct Update {
    /// New lines.
    pub(crate) lines: Vec<Text>,
    /// The current work, if it has changed.
    pub(crate) now: Option<String>,
}

/// The lines and the current work that a screen was given.
pub(crate) struct ScreenState {
    pub(super) terminal: Terminal,
    /// The time since this process began to work on the job.
    pub(super) time: Duration,
    /// The time of the latest line.
    told: Duration,
    /// The current work as last shown.
    now: String,
    /// A wait for a quiet machine was reported.
    has_waited: bool,
    /// A wait for another job of the machine was reported.
    has_waited_for_others: bool,
    update: Update,
}

impl ScreenState {
    pub(super) fn new(terminal: Terminal) -> Self {
        Self {
            terminal,
            time: Duration::ZERO,
            told: Duration::ZERO,
            now: String::new(),
            has_waited: false,
            has_waited_for_others: false,
            update: Update::default(),
        }
    }

    /// Takes what has changed since the last call.
    pub(crate) fn take(&mut self) -> Update {
        std::mem::take(&mut self.update)
    }

    /// Sets the time since this process began to work on the job.
    pub(crate) fn at(&mut self, time: Duration) {
        self.time = time;
    }

    /// A line that stays.
    pub(crate) fn tell(&mut self, text: Text) {
        self.update.lines.push(text);
        self.told = self.time;
    }

    /// Shows the current work; without a terminal its first line, now and then.
    pub(super) fn show(&mut self, text: String) {
        self.now.clone_from(&text);
        match self.terminal.is_live {
            true => self.update.now = Some(text),
            false => self.break_silence(),
        }
    }

    /// Prints the current work after a long silence that the screen does not explain.
    pub(crate) fn break_silence(&mut self) {
        let is_silent = self.time.saturating_sub(self.told) >= SILENCE;
        if is_silent && !self.terminal.is_live && !self.now.is_empty() {
            self.tell(text!("{}", self.now.lines().next().unwrap_or_default()));
        }
    }

    /// A run waits for a quiet machine, or waits no longer.
    pub(crate) fn waits(&mut self, waiting: Option<SettleWait>) {
        let Some(waiting) = waiting else {
            return self.show(self.now.clone());
        };
        let line = format!(
            "waiting for a quiet machine: {:.1} of {} busy",
            waiting.busy,
            count(waiting.processors as u64, "processor")
        );
        let [waited, most] =
            [waiting.waited, waiting.most].map(|time| duration(time.as_secs_f64()));
        if self.terminal.is_live {
            let now = format!("{}\n  {line}, {waited} of at most {most}", self.now);
            self.update.now = Some(now);
        } else if !std::mem::replace(&mut self.has_waited, true) {
            // Each run may wait: one line is enough.
            self.tell(text!("{line}; each run waits {most} at most"));
        }
    }

    /// A run or a build waits for another job of this machine, or waits no longer.
    pub(crate) fn waits_for_others(&mut self, waits: bool) {
        if !waits {
            return self.show(self.now.clone());
        }
        let line = "waiting for another job of this machine to end its run or build";
        if self.terminal.is_live {
            self.update.now = Some(format!("{}\n  {line}", self.now));
        } else if !std::mem::replace(&mut self.has_waited_for_others, true) {
            self.tell(text!("{line}; only one measures at a time"));
        }
    }
}
