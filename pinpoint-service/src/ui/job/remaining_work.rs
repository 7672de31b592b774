//! The remaining work of a job: the number of runs, and their time.

use maud::{Markup, html};
use pinpoint_core::Search;
use pinpoint_report::quantity::{count, duration};

use super::job_snapshot::JobSnapshot;

/// Runs that are to come, and their time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RemainingWork {
    /// At least so many; absent where the job may end at any time.
    least: Option<u64>,
    /// At most so many; absent where nothing limits them.
    most: Option<u64>,
    /// About so many seconds, for the least runs, or else the most.
    seconds: Option<f64>,
    /// Between so many, from the least runs to the most.
    between: Option<(f64, f64)>,
}

impl RemainingWork {
    /// None without runs to come, or if nothing is known of them.
    pub(super) fn from_snapshot(moment: &JobSnapshot) -> Option<Self> {
        let runs = moment.runs_to_come()?;
        let (least, most) = match moment.engine.machine().search() {
            Search::Pairwise(search) if search.spec().early_stopping => (None, Some(runs)),
            Search::Pairwise(_) => (Some(runs), Some(runs)),
            Search::Bisection(search) => {
                let made = moment.measured.runs.len() as u64;
                let left = search.spec().max_runs.map(|most| most.saturating_sub(made));
                (Some(left.map_or(runs, |left| runs.min(left))), left)
            }
            _ => (Some(runs), None),
        };
        let (low, high) = (least.or(most)?, most.or(least)?);
        let ranges = moment.pace.range(low).zip(moment.pace.range(high));
        let is_any = high > 0 && runs > 0;
        is_any.then(|| Self {
            least,
            most,
            seconds: moment.pace.seconds(low),
            between: ranges.map(|((from, _), (_, to))| (from, to)),
        })
    }

    /// The remaining work in words.
    pub(super) fn shown(&self) -> Markup {
        let runs = match (self.least, self.most) {
            (Some(least), Some(most)) if least < most => {
                format!("{least} to {}", count(most, "more run"))
            }
            (Some(least), Some(_)) => count(least, "more run"),
            (Some(least), None) => format!("at least {}", count(least, "more run")),
            (None, most) => format!("at most {}", count(most.unwrap_or_default(), "more run")),
        };
        let is_range = matches!((self.least, self.most), (Some(least), Some(most)) if least < most);
        let between = self
            .between
            .map(|ends| <[f64; 2]>::from(ends).map(duration));
        let between = between.filter(|[from, to]| from != to);
        html! {
            p #expected {
                "Expected: " (runs)
                @if let Some(seconds) = self.seconds {
                    @match (between, is_range) {
                        (Some([from, to]), true) => { ", in " (from) " to " (to) },
                        (Some([from, to]), false) => { ", in about " (duration(seconds)) " (" (from) " to " (to) ")" },
                        (None, _) => { ", in about " (duration(seconds)) },
                    }
                }
                "."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_their_time_have_a_range_where_it_is_known() {
        let shown = |least, most, seconds, between| {
            let expected = RemainingWork {
                least,
                most,
                seconds,
                between,
            };
            let text = expected.shown().into_string();
            let text = text.strip_prefix("<p id=\"expected\">Expected: ").unwrap();
            text.strip_suffix(".</p>").unwrap().to_owned()
        };
        assert_eq!(shown(Some(1), None, None, None), "at least 1 more run");
        assert_eq!(
            shown(Some(12), None, Some(180.0), Some((120.0, 240.0))),
            "at least 12 more runs, in about 3 min 0 s (2 min 0 s to 4 min 0 s)"
        );
        assert_eq!(
            shown(Some(12), Some(20), Some(180.0), Some((120.0, 400.0))),
            "12 to 20 more runs, in 2 min 0 s to 6 min 40 s"
        );
        assert_eq!(
            shown(Some(6), Some(6), Some(60.0), Some((60.0, 60.0))),
            "6 more runs, in about 1 min 0 s"
        );
        assert_eq!(
            shown(None, Some(6), Some(60.0), None),
            "at most 6 more runs, in about 1 min 0 s"
        );
    }
}
