//! Notices for a user who waits: the warnings of the clients of services, on standard error.

use std::fmt::{Debug, Write as _};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{self, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

use crate::arguments::Display;
use crate::show::output::errln;
use crate::show::text::FOUND as WARNING;

/// The time within which a line is not repeated: requests often fail together.
const PAUSE: Duration = Duration::from_secs(60);

/// Shows the warnings of the clients of services in a process that sends no traces.
pub(crate) fn show(display: &Display) {
    let registry = tracing_subscriber::registry().with(notices(display));
    // This is the program, so there is no other.
    let _ = tracing::subscriber::set_global_default(registry);
}

/// Shows the warnings of the clients of services.
pub(crate) fn notices<S>(display: &Display) -> impl Layer<S> + use<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let level = match display.quiet {
        true => LevelFilter::OFF,
        false => LevelFilter::WARN,
    };
    let shown = Targets::new()
        .with_target("pinpoint_luci::google", level)
        .with_target("pinpoint_luci::luci::reports", level);
    Notices::default().with_filter(shown)
}

/// The last line, and when it was shown.
#[derive(Default)]
struct Notices(Mutex<Option<(String, Instant)>>);

impl Notices {
    /// Returns true if it is time to show this line.
    fn is_due(&self, line: &str, now: Instant) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_repeated = { last.as_ref() }
            .is_some_and(|(text, shown)| text == line && now.duration_since(*shown) < PAUSE);
        if !is_repeated {
            *last = Some((line.to_owned(), now));
        }
        !is_repeated
    }
}

impl<S: Subscriber> Layer<S> for Notices {
    fn on_event(&self, event: &Event<'_>, _: layer::Context<'_, S>) {
        let mut line = Line::default();
        event.record(&mut line);
        let line = line.message + &line.error;
        if self.is_due(&line, Instant::now()) {
            errln!("{WARNING}warning:{WARNING:#} {line}");
        }
    }
}

/// The text of an event.
#[derive(Default)]
struct Line {
    message: String,
    /// Its error, after a colon.
    error: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to memory does not fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            "error" => write!(self.error, ": {value:?}"),
            _ => Ok(()),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_just_said_is_not_said_again() {
        let notices = Notices::default();
        let now = Instant::now();
        assert!(notices.is_due("a", now));
        assert!(!notices.is_due("a", now + PAUSE / 2));
        assert!(notices.is_due("b", now + PAUSE / 2));
        assert!(!notices.is_due("b", now + PAUSE));
        assert!(notices.is_due("b", now + PAUSE * 2));
    }
}
