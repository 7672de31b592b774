//! The picture of a range under search.

use pinpoint_core::{OpenRange, Position, Progress};

/// The widest picture of the range.
const WIDTH: usize = 60;
/// The columns next to it.
const MARGIN: usize = 6;

/// The range from the good end to the bad: `█` where a culprit is still looked
/// for, `│` where a commit was measured, `·` elsewhere; on a terminal of so many columns.
pub(super) fn bar(total: u64, progress: &Progress, columns: usize) -> String {
    let width = WIDTH.min(columns.saturating_sub(MARGIN)).max(1);
    // The good end has place 0, the first commit 1, the bad end total + 1.
    let place = |position: Position| match position {
        Position::Lower => Some(0),
        Position::Higher => Some(total + 1),
        Position::Within { range: 0, offset } => Some(offset + 1),
        Position::Within { .. } => None,
    };
    let column = |place: u64| {
        let share = place as f64 / (total + 1) as f64;
        ((share * (width - 1) as f64) as usize).min(width - 1)
    };
    let mut cells = vec!['·'; width];
    for OpenRange { lower, higher, .. } in &progress.open {
        if let (Some(lower), Some(higher)) = (place(*lower), place(*higher)) {
            cells[column(lower)..=column(higher)].fill('█');
        }
    }
    for measured in &progress.measured {
        if let Some(place) = place(measured.commit) {
            cells[column(place)] = '│';
        }
    }
    cells.iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pinpoint_core::MeasuredCommit;

    #[test]
    fn the_bar_shows_what_is_open_and_what_was_measured() {
        let at = |offset| Position::Within { range: 0, offset };
        let progress = Progress {
            runs: 0,
            builds: 0,
            runs_to_come: 0,
            measured: vec![MeasuredCommit {
                commit: Position::Lower,
                runs: 10,
                failures: 0,
                median: None,
            }],
            open: vec![OpenRange {
                lower: at(29),
                higher: Position::Higher,
                between: 28,
            }],
        };
        let bar = bar(58, &progress, WIDTH + MARGIN);
        assert_eq!(bar.chars().count(), WIDTH);
        assert_eq!(bar.chars().next(), Some('│'));
        assert_eq!(bar.chars().nth(20), Some('·'));
        assert!(bar.chars().skip(30).all(|cell| cell == '█'), "{bar}");
    }
}
