//! The columns of the list.

use maud::{Markup, html};
use pinpoint_report::Foreign;
use pinpoint_report::quantity::{change, count, duration};

use crate::api::grpc::v2::messages::{JobAnswer, JobEffect, JobOrder, JobSummary};
use crate::ui::dates::ago;
use crate::ui::job::{kind, state, title};

/// The digits of a hash that people read.
const SHORT: usize = 10;

/// A column of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    Name,
    Benchmark,
    Bot,
    Story,
    Type,
    Bug,
    User,
    Created,
    Status,
    Result,
    Runs,
    Duration,
}

impl Column {
    pub(super) const ALL: [Self; 12] = [
        Self::Name,
        Self::Benchmark,
        Self::Bot,
        Self::Story,
        Self::Type,
        Self::Bug,
        Self::User,
        Self::Created,
        Self::Status,
        Self::Result,
        Self::Runs,
        Self::Duration,
    ];

    /// The name in the head of the table.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Name => "Name",
            Self::Benchmark => "Benchmark",
            Self::Bot => "Bot",
            Self::Story => "Story",
            Self::Type => "Type",
            Self::Bug => "Bug",
            Self::User => "User",
            Self::Created => "Created",
            Self::Status => "Status",
            Self::Result => "Result",
            Self::Runs => "Runs",
            Self::Duration => "Duration",
        }
    }

    /// The name in an address.
    pub(super) fn key(self) -> String {
        self.name().to_ascii_lowercase()
    }

    pub(super) fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.key() == key)
    }

    /// The order in which the store sorts by it.
    pub(super) fn order(self) -> JobOrder {
        match self {
            Self::Name => JobOrder::Name,
            Self::Benchmark => JobOrder::Benchmark,
            Self::Bot => JobOrder::Bot,
            Self::Type => JobOrder::Kind,
            Self::User => JobOrder::User,
            Self::Created => JobOrder::Created,
            Self::Status => JobOrder::State,
            Self::Runs => JobOrder::Runs,
            Self::Duration => JobOrder::RunningTime,
            Self::Story => JobOrder::Story,
            Self::Bug => JobOrder::Bug,
            Self::Result => JobOrder::Result,
        }
    }

    /// Returns true if the first sort is ascending, as for names.
    pub(super) fn begins_ascending(self) -> bool {
        !matches!(
            self,
            Self::Created | Self::Bug | Self::Result | Self::Runs | Self::Duration
        )
    }

    pub(super) fn cell(self, job: &JobSummary) -> Markup {
        html! {
            @match self {
                Self::Name => th scope="row" {
                    a href=(format!("/jobs/{}", job.job_id)) { (Foreign(title(job))) }
                },
                Self::Benchmark => td { (Foreign(&job.benchmark)) },
                Self::Bot => td { (Foreign(&job.bot)) },
                Self::Story => td { (Foreign(&job.story)) },
                Self::Type => td { (kind(job)) },
                Self::Bug => td { @if let Some(bug) = job.bug_id { (bug) } },
                Self::User => td { (Foreign(&job.user)) },
                Self::Created => td { (ago(job.created.as_ref())) },
                Self::Status => td { (state(job)) },
                Self::Result => td { @if let Some(answer) = &job.answer { (result(answer)) } },
                Self::Runs => td.number { (job.runs) },
                Self::Duration => td.number {
                    @if let Some(seconds) = job.running_s { (duration(seconds)) }
                },
            }
        }
    }
}

/// The result in a few words: the culprit and its effect, the open range, or the verdict.
fn result(answer: &JobAnswer) -> Markup {
    let short = |hash: &str| hash.get(..SHORT).unwrap_or(hash).to_owned();
    html! {
        @match &*answer.status {
            "culprit_found" => {
                code { (short(&answer.git_hash)) }
                @if answer.culprits > 1 { " and " (answer.culprits - 1) " more" }
                @if let Some(effect) = &answer.effect { " " (size(effect, 1)) }
            },
            "no_regression" => "no change",
            "inconclusive" if answer.candidates > 0 => {
                "one of " (count(answer.candidates, "commit")) ", "
                code { (short(&answer.first_candidate)) } " to "
                code { (short(&answer.last_candidate)) }
            },
            "different" | "same" | "unknown" if answer.charts > 1 => {
                (answer.moved) " worse, " (answer.improved) " better of " (count(answer.charts, "metric"))
            },
            "different" => { "different" @if let Some(effect) = &answer.effect { " " (size(effect, 2)) } },
            "same" => "no difference",
            "unknown" => "not decided",
            other => (other),
        }
    }
}

/// The size of a change, in percent of the value before if that is possible, with the decimals of
/// the job's page.
fn size(effect: &JobEffect, decimals: usize) -> String {
    match (effect.percent, effect.estimate) {
        (Some(percent), _) => format!("{percent:+.decimals$} %"),
        (None, Some(_)) if effect.of_failures => match (effect.before, effect.after) {
            (Some(before), Some(after)) => {
                format!("fails {:.0} % → {:.0} %", before * 100.0, after * 100.0)
            }
            _ => String::new(),
        },
        (None, Some(estimate)) => change(estimate, Some(&*effect.unit).filter(|it| !it.is_empty())),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(answer: &JobAnswer) -> String {
        result(answer).into_string()
    }

    #[test]
    fn a_result_is_a_few_words() {
        let effect = JobEffect {
            before: Some(10.0),
            after: Some(11.2),
            estimate: Some(1.2),
            unit: "ms".into(),
            of_failures: false,
            percent: Some(12.04),
        };
        let found = JobAnswer {
            status: "culprit_found".into(),
            git_hash: "0123456789abcdef".into(),
            culprits: 1,
            effect: Some(effect.clone()),
            ..JobAnswer::default()
        };
        assert_eq!(shown(&found), "<code>0123456789</code> +12.0 %");
        let several = JobAnswer {
            culprits: 3,
            ..found.clone()
        };
        let text = shown(&several);
        assert_eq!(text, "<code>0123456789</code> and 2 more +12.0 %");
        // No percentage describes a change from zero.
        let from_zero = JobAnswer {
            effect: Some(JobEffect {
                before: Some(0.0),
                percent: None,
                ..effect.clone()
            }),
            ..found.clone()
        };
        assert!(shown(&from_zero).ends_with(" +1.200 ms"));
        let failing = JobAnswer {
            effect: Some(JobEffect {
                before: Some(0.0),
                after: Some(0.5),
                estimate: Some(0.5),
                of_failures: true,
                percent: None,
                ..effect
            }),
            ..found.clone()
        };
        assert!(shown(&failing).ends_with("fails 0 % → 50 %"));
        let compared = JobAnswer {
            status: "different".into(),
            charts: 1,
            culprits: 0,
            ..found
        };
        assert_eq!(shown(&compared), "different +12.04 %");
        let range = JobAnswer {
            status: "inconclusive".into(),
            candidates: 4,
            first_candidate: "aaaaaaaaaaaaaa".into(),
            last_candidate: "b".into(),
            ..JobAnswer::default()
        };
        assert!(shown(&range).starts_with("one of 4 commits, <code>aaaaaaaaaa</code> to <code>b<"));
        let word = |status: &str| {
            shown(&JobAnswer {
                status: status.into(),
                ..JobAnswer::default()
            })
        };
        assert_eq!(word("no_regression"), "no change");
        assert_eq!(word("same"), "no difference");
        assert_eq!(word("<b>"), "&lt;b&gt;");
    }
}
