//! Traces that go on under another id, as one row.

use std::collections::{BTreeMap, BTreeSet};

use crate::annotation::Joined;
use crate::commit::CommitNumber;
use crate::frame::Frame;
use crate::id::TraceId;

/// Puts traces together that go on under another id from a commit on: the values before that commit
/// move to the row of the new id, where that has no value of its own. Joins may follow each other.
///
/// A row from which all values have moved is removed. A join is passed over unless the frame has
/// both rows; the row of a new id without values must be there, too.
///
/// ```
/// use pinpoint_traces::{Columns, CommitNumber, Frame, Joined, join};
///
/// let mut frame = Frame::new(Columns::range(CommitNumber(4)..=CommitNumber(6)));
/// frame.push(",test=old,".parse()?, &[1.0, 2.0, f64::NAN])?;
/// frame.push(",test=new,".parse()?, &[f64::NAN, f64::NAN, 3.0])?;
/// let joined = Joined { before: ",test=old,".parse()?, after: ",test=new,".parse()? };
/// let frame = join(frame, &[(CommitNumber(6), joined)]);
/// assert_eq!(frame.values(), [1.0, 2.0, 3.0]);
/// assert_eq!(frame.names()[0].to_string(), ",test=new,");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn join(mut frame: Frame, joins: &[(CommitNumber, Joined)]) -> Frame {
    let rows: BTreeMap<TraceId, usize> = (frame.names().iter().enumerate())
        .filter_map(|(index, name)| Some((name.stored()?.clone(), index)))
        .collect();
    let mut in_order: Vec<&(CommitNumber, Joined)> = joins.iter().collect();
    in_order.sort_by_key(|(commit, _)| *commit);
    let mut left = BTreeSet::new();
    let width = frame.columns().len();
    for (commit, joined) in in_order {
        let (Some(before), Some(after)) = (rows.get(&joined.before), rows.get(&joined.after))
        else {
            continue;
        };
        let earlier = frame.columns().iter().take_while(|it| it < commit).count();
        let values = frame.values_mut();
        for column in 0..earlier {
            let (from, to) = (before * width + column, after * width + column);
            if values.get(to).is_some_and(|it| it.is_nan()) {
                values.swap(from, to);
            }
        }
        left.insert(*before);
    }
    frame.retain(|index, row| !left.contains(&index) || row.iter().any(|it| !it.is_nan()));
    frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Columns;

    const M: f64 = f64::NAN;

    fn joined(commit: u32, before: &str, after: &str) -> (CommitNumber, Joined) {
        let id = |it: &str| format!(",t={it},").parse().unwrap();
        let (before, after) = (id(before), id(after));
        (CommitNumber(commit), Joined { before, after })
    }

    fn frame(rows: &[(&str, [f64; 4])]) -> Frame {
        let mut frame = Frame::new(Columns::range(CommitNumber(0)..=CommitNumber(3)));
        for (name, values) in rows {
            frame
                .push(format!(",t={name},").parse().unwrap(), values)
                .unwrap();
        }
        frame
    }

    #[test]
    fn joins_follow_each_other_in_the_order_of_commits() {
        let traces = frame(&[
            ("a", [1.0, M, M, M]),
            ("b", [M, 2.0, M, M]),
            ("c", [M, M, 3.0, 4.0]),
            ("d", [M, M, M, 9.0]),
        ]);
        let found = join(
            traces,
            &[
                joined(2, "b", "c"),
                joined(1, "a", "b"),
                joined(1, "x", "d"),
            ],
        );
        assert_eq!(
            found,
            frame(&[("c", [1.0, 2.0, 3.0, 4.0]), ("d", [M, M, M, 9.0])])
        );
    }

    #[test]
    fn a_value_of_the_new_id_and_later_values_of_the_old_one_stay() {
        let traces = frame(&[("a", [1.0, 2.0, 3.0, M]), ("b", [M, 7.0, M, M])]);
        let found = join(traces, &[joined(2, "a", "b")]);
        assert_eq!(
            found,
            frame(&[("a", [M, 2.0, 3.0, M]), ("b", [1.0, 7.0, M, M])])
        );
        // A trace that comes back loses nothing.
        let traces = frame(&[("a", [1.0, M, M, 4.0]), ("b", [M, 2.0, M, M])]);
        let found = join(traces, &[joined(1, "a", "b"), joined(3, "b", "a")]);
        assert_eq!(found, frame(&[("a", [1.0, 2.0, M, 4.0])]));
        let itself = frame(&[("a", [1.0, M, M, M])]);
        assert_eq!(join(itself.clone(), &[joined(2, "a", "a")]), itself);
    }
}
