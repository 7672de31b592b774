//! DevTools' name of an entry in a file.

use std::fmt;
use std::str::FromStr;

/// The key of an entry, under which annotations are saved in a trace.
///
/// ```
/// use pinpoint_profile::EventKey;
///
/// let key: EventKey = "p-7-1-120-33".parse()?;
/// assert_eq!(key, EventKey::Call { process: 7, thread: 1, sample: 120, node: 33 });
/// assert_eq!(key.to_string(), "p-7-1-120-33");
/// # Ok::<(), pinpoint_profile::EventKeyError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum EventKey {
    /// `r-INDEX`: an event of the file, by its place.
    Raw(u64),
    /// `s-INDEX`: an entry made from an event of the file, such as a span from its begin.
    Synthetic(u64),
    /// `p-PID-TID-SAMPLE-NODE`: a call.
    Call {
        /// The process.
        process: i64,
        /// The thread.
        thread: i64,
        /// The sample in which it is first seen; -1 for one that was taken for an event.
        sample: i64,
        /// V8's number of the node in its call tree.
        node: u64,
    },
    /// `l-FRAME`: a frame that was drawn, by its place in
    /// [`Timeline::frames`](super::Timeline::frames).
    Frame(u64),
}

/// The text is not the key of an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a key of an entry, such as r-12, s-12, p-7-1-120-33 or l-3")]
pub struct EventKeyError(String);

impl fmt::Display for EventKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Raw(index) => write!(formatter, "r-{index}"),
            Self::Synthetic(index) => write!(formatter, "s-{index}"),
            Self::Call {
                process,
                thread,
                sample,
                node,
            } => write!(formatter, "p-{process}-{thread}-{sample}-{node}"),
            Self::Frame(index) => write!(formatter, "l-{index}"),
        }
    }
}

impl FromStr for EventKey {
    type Err = EventKeyError;

    fn from_str(text: &str) -> Result<Self, EventKeyError> {
        parse(text).ok_or_else(|| EventKeyError(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<EventKey> {
    let (kind, rest) = text.split_once('-')?;
    Some(match kind {
        "r" => EventKey::Raw(rest.parse().ok()?),
        "s" => EventKey::Synthetic(rest.parse().ok()?),
        "l" => EventKey::Frame(rest.parse().ok()?),
        "p" => {
            // The sample may be -1: its sign is not a separator.
            let (process, rest) = rest.split_once('-')?;
            let (thread, rest) = rest.split_once('-')?;
            let (sample, node) = rest.rsplit_once('-')?;
            EventKey::Call {
                process: process.parse().ok()?,
                thread: thread.parse().ok()?,
                sample: sample.parse().ok()?,
                node: node.parse().ok()?,
            }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_read_as_it_is_written() {
        for text in ["r-0", "s-12", "p-7-1-120-33", "p-7-1--1-33", "l-3"] {
            assert_eq!(text.parse::<EventKey>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for text in [
            "",
            "r",
            "r-",
            "r--1",
            "x-1",
            "p-1-2-3",
            "p-1-2-x-4",
            "l-1-2",
        ] {
            let error = text.parse::<EventKey>().unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
    }
}
