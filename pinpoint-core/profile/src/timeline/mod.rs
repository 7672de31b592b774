//! The timeline of a Chrome trace or a `.cpuprofile`.
//!
//! A trace has events, with their beginnings and ends, and samples, which are stacks at a moment.
//! [`Timeline::read`] puts both together as the Performance panel of DevTools does, so that both
//! show the same: each thread is a [`Track`] of [`Entry`]s, events and *calls*, one inside the
//! other.
//!
//! ```
//! use pinpoint_profile::Timeline;
//!
//! let trace = br#"[
//!   {"name": "RunTask", "ph": "X", "cat": "toplevel", "pid": 7, "tid": 1, "ts": 100, "dur": 50},
//!   {"name": "ParseHTML", "ph": "X", "cat": "blink", "pid": 7, "tid": 1, "ts": 110, "dur": 20}]"#;
//! let timeline = Timeline::read(trace)?;
//! let entries = &timeline.tracks[0].entries;
//! assert_eq!(timeline.id(entries[1].kind), "ParseHTML");
//! assert_eq!(entries[0].own, 30.0);
//! # Ok::<(), pinpoint_profile::ReadProfileError>(())
//! ```
//!
//! # Calls from samples
//!
//! `calls.rs` goes through events and samples in the order of time:
//!
//! - frames that are equal in script, name and line continue; the first difference ends all above
//!   it;
//! - the start of an event locks the stack below it, and its end cuts the calls after it;
//! - `RunTask` and `RunMicrotasks` begin with an empty stack;
//! - a sample of the garbage collector stands on the stack of the sample before it;
//! - the root, the program and idle time are not drawn, and instants are passed over;
//! - samples outside of any entry into a script count as if there were one.
//!
//! So the durations of single calls are estimates: compare their distributions over
//! runs, not one with another. A `.cpuprofile` has no events: there each difference between
//! two samples ends and begins calls (`sampled.rs`).
//!
//! [`Profile::flame_chart`](super::Profile::flame_chart) makes calls of the samples of other tools.
//! It is separate code, since little is the same: here a call is a node of V8's tree and has a key
//! by which DevTools finds it, the collector stands on the stack before it, and events begin and
//! end calls; there a thread that sleeps has gaps, and the tool gives the duration of a stack.
//!
//! # Asynchronous stacks
//!
//! V8's `AsyncTaskScheduled` and `AsyncTaskRun` say which call scheduled a task, joined by a flow
//! (`flows.rs`). [`Timeline::stack`] walks up from an entry to its callers, and from a task to its
//! scheduler. Some events carry a stack, which says where they were called from, and not which
//! functions were running: [`Timeline::payload_stack`].
//!
//! # Frames
//!
//! The compositor's events give the frames that were shown (`frames.rs`): [`Timeline::frames`].

mod arguments;
mod async_stack;
mod call_frames;
mod calls;
mod entry_tree;
mod flows;
mod frames;
mod key;
mod kind;
mod model;
mod modifications;
mod nesting;
mod network;
mod read;
mod sampled;
mod samples;
mod spans;
mod tables;
#[cfg(test)]
mod tests;

pub use async_stack::StackPart;
pub use call_frames::CallFrames;
pub use entry_tree::EntryTree;
pub(crate) use entry_tree::KindName;
pub use key::{EventKey, EventKeyError};
pub use kind::{Category, Kind, KindId};
pub use model::{
    Entry, EntryId, FunctionId, Nesting, PageFrame, ScriptFunction, Source, Span, Timeline, Track,
};
