//! The smallest change that matters.

use serde::{Deserialize, Serialize};

use crate::id::TraceId;
use crate::query::Query;

/// The smallest change of the median that matters: smaller ones are left out.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Floor {
    /// In the unit of the values.
    pub least_amount: f64,
    /// As a share of the size of the median before: 0.05 for five percent.
    pub least_share: f64,
}

impl Floor {
    /// Returns true for a change that is smaller than either floor.
    ///
    /// ```
    /// use pinpoint_traces::watch::Floor;
    ///
    /// let floor = Floor { least_amount: 2.0, least_share: 0.05 };
    /// assert!(floor.hides(10.0, 11.0) && floor.hides(100.0, 103.0));
    /// assert!(!floor.hides(100.0, 95.0));
    /// ```
    pub fn hides(self, before: f64, after: f64) -> bool {
        let size = (after - before).abs();
        size < self.least_amount || size < self.least_share * before.abs()
    }
}

/// Other floors for some of an alert's traces: a noisy benchmark must not loosen the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FloorOverride {
    /// The traces.
    pub query: Query,
    /// [`Floor::least_amount`] for them; that of the alert when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_amount: Option<f64>,
    /// [`Floor::least_share`] for them; that of the alert when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_share: Option<f64>,
}

/// The floor of a trace. Each part is that of the first override that names it and whose query
/// matches.
pub(super) fn floor_of(floor: Floor, overrides: &[FloorOverride], trace: &TraceId) -> Floor {
    let matching = || overrides.iter().filter(|it| it.query.matches_id(trace));
    Floor {
        least_amount: (matching().find_map(|it| it.least_amount)).unwrap_or(floor.least_amount),
        least_share: (matching().find_map(|it| it.least_share)).unwrap_or(floor.least_share),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_override_changes_the_parts_that_it_names() {
        let floor = Floor {
            least_amount: 1.0,
            least_share: 0.01,
        };
        let noisy = FloorOverride {
            query: "config=8888".parse().unwrap(),
            least_amount: None,
            least_share: Some(0.05),
        };
        let all = FloorOverride {
            query: Query::default(),
            least_amount: Some(3.0),
            least_share: Some(0.9),
        };
        let overrides = [noisy, all];
        let of = |trace: &str| floor_of(floor, &overrides, &trace.parse().unwrap());
        let found = of(",config=8888,");
        assert_eq!((found.least_amount, found.least_share), (3.0, 0.05));
        assert_eq!(of(",config=gpu,").least_share, 0.9);
        let found = floor_of(floor, &overrides[..1], &",config=gpu,".parse().unwrap());
        assert_eq!(found, floor);
    }
}
