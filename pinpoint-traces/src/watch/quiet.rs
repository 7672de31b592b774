//! Traces that have stopped, and those that may go on for them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::event::EventKind;
use super::state::WatchState;
use crate::commit::CommitNumber;
use crate::frame::Frame;
use crate::id::TraceId;

/// The gaps between values that make the rhythm: the newest ones.
const GAPS: usize = 64;

/// A trace with fewer values has no rhythm yet.
const LEAST_VALUES: usize = 5;

/// Values that may fail in a row, whatever the rhythm.
const FAILURES: u32 = 4;

/// The rhythm in which a trace has values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rhythm {
    /// The first commit with a value.
    pub first: CommitNumber,
    /// The last commit with a value.
    pub last: CommitNumber,
    /// The commits that may pass without a value: twice the largest of the last 64 gaps, and 4 more.
    /// Of gaps that chance makes, hardly any is longer than twice the largest of 64. Absent with
    /// fewer than 5 values.
    pub allowed: Option<u32>,
}

impl Rhythm {
    /// The rhythm of values at these commits, which ascend; `None` without any.
    ///
    /// ```
    /// use pinpoint_traces::{CommitNumber, watch::Rhythm};
    ///
    /// let rhythm = Rhythm::of([10, 12, 13, 16, 18].map(CommitNumber)).unwrap();
    /// assert_eq!((rhythm.last, rhythm.allowed), (CommitNumber(18), Some(10)));
    /// assert!(!rhythm.is_quiet(CommitNumber(28)) && rhythm.is_quiet(CommitNumber(29)));
    /// ```
    pub fn of(commits: impl IntoIterator<Item = CommitNumber>) -> Option<Self> {
        let commits: Vec<CommitNumber> = commits.into_iter().collect();
        let (first, last) = (*commits.first()?, *commits.last()?);
        let gaps = commits.iter().zip(commits.iter().skip(1));
        let gaps = gaps.rev().take(GAPS).map(|(a, b)| b.0.saturating_sub(a.0));
        let largest = gaps.max().unwrap_or_default();
        let allowed = largest.saturating_mul(2).saturating_add(FAILURES);
        Some(Self {
            first,
            last,
            allowed: (commits.len() >= LEAST_VALUES).then_some(allowed),
        })
    }

    /// Returns true if more commits than allowed have passed up to the newest one that was measured.
    pub fn is_quiet(&self, newest: CommitNumber) -> bool {
        let passed = newest.0.saturating_sub(self.last.0);
        self.allowed.is_some_and(|allowed| passed > allowed)
    }
}

/// A trace that has had no value for longer than its rhythm allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuietTrace {
    /// The trace.
    pub trace: TraceId,
    /// The last commit with a value.
    pub last: CommitNumber,
    /// The commits that may pass without one.
    pub allowed: u32,
    /// The trace that may go on for it, and the first commit of that: then
    /// [`join`](crate::join()) makes them one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<Successor>,
}

/// A trace that begins where another one ends.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Successor {
    /// The first commit with a value.
    pub first: CommitNumber,
    /// The trace.
    pub trace: TraceId,
}

/// The traces that are quiet at the newest commit that was measured, by id.
///
/// The successor differs in one parameter, which has another value or stands in one of the two ids
/// alone. Its first value is at the last commit of the trace or within the commits allowed after it.
/// Of several, it is the one that begins first, then the first by id.
///
/// # Cost
///
/// O(traces · keys · log traces).
pub fn quiet_traces(traces: &[(TraceId, Rhythm)], newest: CommitNumber) -> Vec<QuietTrace> {
    let is_quiet = |(_, rhythm): &&(TraceId, Rhythm)| rhythm.is_quiet(newest);
    let mut quiet: Vec<&(TraceId, Rhythm)> = traces.iter().filter(is_quiet).collect();
    quiet.sort_by(|(a, _), (b, _)| a.cmp(b));
    let Some(earliest) = quiet.iter().map(|(_, rhythm)| rhythm.last).min() else {
        return Vec::new();
    };
    // What is left of a trace without each of its keys, and the trace itself.
    let mut by_rest: BTreeMap<String, Vec<(Option<&str>, Successor)>> = BTreeMap::new();
    for (trace, rhythm) in traces.iter().filter(|(_, it)| it.first >= earliest) {
        let keys = trace.iter().map(|(key, _)| Some(key));
        for key in keys.chain([None]) {
            let successor = Successor {
                first: rhythm.first,
                trace: trace.clone(),
            };
            by_rest
                .entry(without(trace, key))
                .or_default()
                .push((key, successor));
        }
    }
    let successor = |trace: &TraceId, last: CommitNumber, allowed: u32| {
        let keys = trace.iter().map(|(key, _)| Some(key));
        let candidates = keys.chain([None]).flat_map(|key| {
            let same_rest = by_rest.get(&without(trace, key)).into_iter().flatten();
            // Another value of one key; or one key more, or less.
            same_rest.filter(move |(other, _)| *other == key || (other.is_some() != key.is_some()))
        });
        let candidates = candidates.map(|(_, it)| it).filter(|it| {
            let begins = last..=CommitNumber(last.0.saturating_add(allowed));
            it.trace != *trace && begins.contains(&it.first)
        });
        candidates.min().cloned()
    };
    let found = quiet.into_iter().filter_map(|(trace, rhythm)| {
        let allowed = rhythm.allowed?;
        Some(QuietTrace {
            trace: trace.clone(),
            last: rhythm.last,
            allowed,
            successor: successor(trace, rhythm.last, allowed),
        })
    });
    found.collect()
}

/// [`quiet_traces`] of the rows of a frame, at the last of its commits that has a value.
pub fn quiet_rows(frame: &Frame) -> Vec<QuietTrace> {
    let mut newest = None;
    let mut traces = Vec::new();
    for (name, row) in frame.rows() {
        let present = frame
            .columns()
            .iter()
            .zip(row)
            .filter(|(_, value)| !value.is_nan());
        let rhythm = Rhythm::of(present.map(|(commit, _)| commit));
        if let (Some(trace), Some(rhythm)) = (name.stored(), rhythm) {
            newest = newest.max(Some(rhythm.last));
            traces.push((trace.clone(), rhythm));
        }
    }
    newest.map_or_else(Vec::new, |newest| quiet_traces(&traces, newest))
}

/// The events that lead from what is known of quiet traces to what was found now. Of the traces that
/// are known as quiet, those that `has_values` names and that are not found are heard again.
pub fn quiet_events(
    state: &WatchState,
    found: &[QuietTrace],
    has_values: impl Fn(&TraceId) -> bool,
) -> Vec<EventKind> {
    let fresh = found
        .iter()
        .filter(|it| state.quiet.get(&it.trace) != Some(it));
    let went = fresh.map(|it| EventKind::WentQuiet(it.clone()));
    let is_found = |trace: &TraceId| found.iter().any(|it| it.trace == *trace);
    let known = state.quiet.keys();
    let resumed = known.filter(|trace| !is_found(trace) && has_values(trace));
    went.chain(resumed.map(|trace| EventKind::Resumed {
        trace: trace.clone(),
    }))
    .collect()
}

/// The text of a trace without one of its keys.
fn without(trace: &TraceId, key: Option<&str>) -> String {
    let Some(key) = key else {
        return trace.as_str().to_owned();
    };
    let mut text = String::from(",");
    for (other, value) in trace.iter().filter(|(other, _)| *other != key) {
        text.extend([other, "=", value, ","]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rhythm(commits: &[u32]) -> Rhythm {
        Rhythm::of(commits.iter().copied().map(CommitNumber)).unwrap()
    }

    fn traces(list: &[(&str, &[u32])]) -> Vec<(TraceId, Rhythm)> {
        let one = |(id, commits): &(&str, &[u32])| (id.parse().unwrap(), rhythm(commits));
        list.iter().map(one).collect()
    }

    #[test]
    fn a_trace_is_quiet_after_its_own_rhythm() {
        assert_eq!(rhythm(&[1, 2, 3, 4]).allowed, None);
        assert_eq!(rhythm(&[1, 2, 3, 4, 5]).allowed, Some(6));
        assert!(!rhythm(&[1, 2, 3, 4]).is_quiet(CommitNumber(1000)));
        assert_eq!(rhythm(&[0, 50, 100, 150, 200]).allowed, Some(104));
        // An old gap is forgotten.
        let commits: Vec<u32> = std::iter::once(0).chain(500..565).collect();
        assert_eq!(rhythm(&commits).allowed, Some(6));
        assert_eq!(Rhythm::of([]), None);
    }

    #[test]
    fn the_successor_differs_in_one_parameter_and_begins_at_the_end() {
        let old: &[u32] = &[1, 2, 3, 4, 5];
        let list = traces(&[
            (",os=1,test=t,", old),
            // Begins too late, differs in two, began before.
            (",os=4,test=t,", &[12, 13]),
            (",os=2,test=x,", &[6, 7]),
            (",os=0,test=t,", &[3, 4, 5, 6, 7, 20]),
            (",os=3,test=t,", &[8, 9]),
            (",os=2,test=t,", &[8, 9, 20]),
        ]);
        let quiet = quiet_traces(&list, CommitNumber(20));
        assert_eq!(quiet.len(), 1, "{quiet:?}");
        let successor = Successor {
            first: CommitNumber(8),
            trace: ",os=2,test=t,".parse().unwrap(),
        };
        assert_eq!(quiet[0].successor, Some(successor));
        assert_eq!((quiet[0].last, quiet[0].allowed), (CommitNumber(5), 6));
        // One key more, or one less.
        for (before, after) in [(",a=1,", ",a=1,b=2,"), (",a=1,b=2,", ",b=2,")] {
            let list = traces(&[(before, old), (after, &[6, 7, 20])]);
            let quiet = quiet_traces(&list, CommitNumber(20));
            assert_eq!(quiet[0].successor.as_ref().unwrap().trace.as_str(), after);
        }
        // Two keys that differ leave nothing in common.
        let list = traces(&[(",a=1,", old), (",b=1,", &[6, 7, 20])]);
        assert_eq!(quiet_traces(&list, CommitNumber(20))[0].successor, None);
    }

    #[test]
    fn quiet_traces_are_told_once_and_heard_again() {
        let list = traces(&[(",a=1,", &[1, 2, 3, 4, 5])]);
        let found = quiet_traces(&list, CommitNumber(20));
        let mut state = WatchState::default();
        let events = quiet_events(&state, &found, |_| true);
        assert_eq!(events, [EventKind::WentQuiet(found[0].clone())]);
        state.quiet.insert(found[0].trace.clone(), found[0].clone());
        assert!(quiet_events(&state, &found, |_| true).is_empty());
        assert!(quiet_events(&state, &[], |_| false).is_empty());
        let trace = found[0].trace.clone();
        assert_eq!(
            quiet_events(&state, &[], |_| true),
            [EventKind::Resumed { trace }]
        );
    }
}
