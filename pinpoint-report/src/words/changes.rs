//! Changes of a series in words.

use pinpoint_core::Direction;
use pinpoint_traces::{SeriesChange, Shape};

use crate::quantity::{digits, percent_change, probability};

/// Returns whether a change is for the worse; `None` where that is not known: without a direction,
/// and for a change of spread.
pub fn is_worse(change: &SeriesChange, direction: Direction) -> Option<bool> {
    match (direction, change.shape) {
        (Direction::Unknown, _) | (_, Shape::Spread) => None,
        _ => Some(change.rose == (direction == Direction::Down)),
    }
}

/// The event itself: "rises from 10 to 13 (+30 %)". `row` gives the name of a row.
pub fn what_changed(change: &SeriesChange, row: impl Fn(usize) -> String) -> String {
    let by = || {
        let share = change.share.map(percent_change);
        format!(
            "{} from {} to {}{}",
            if change.rose { "rises" } else { "falls" },
            digits(change.before),
            digits(change.after),
            share.map_or(String::new(), |share| format!(" ({share})"))
        )
    };
    match (change.shape, change.back_at) {
        (Shape::Spread, _) if change.rose => "scatters more".to_owned(),
        (Shape::Spread, _) => "scatters less".to_owned(),
        (Shape::Drift, _) => format!("drifts: {}", by()),
        (_, Some(back)) => format!("{}, and is back at {}", by(), row(back)),
        _ => by(),
    }
}

/// The rows among which a change begins, after its likeliest one: "62 %, in 95 % from a to b".
pub fn begins_among(change: &SeriesChange, row: impl Fn(usize) -> String) -> String {
    let [first, last] = change.interval;
    let among = match first == last {
        true => String::new(),
        false => format!(", in 95 % from {} to {}", row(first), row(last)),
    };
    format!("{}{among}", probability(change.probability))
}

/// The false alarms to expect: "about 1.3".
pub fn expected_alarms(alarms: f64) -> String {
    match alarms {
        few if few < 0.1 => "fewer than 0.1".to_owned(),
        alarms => format!("about {alarms:.1}"),
    }
}
