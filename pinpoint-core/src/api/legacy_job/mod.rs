//! A job in the form of the API that Chromium's Pinpoint replaced, for its clients and for
//! Catapult's database.
//!
//! | file | holds |
//! | --- | --- |
//! | `arguments.rs` | the words of the request |
//! | `states.rs` | each commit with its runs, and how it compares with its neighbors |
//! | `commits.rs` | commits, with the footers of their messages |
//! | `write_back.rs` | the body that Catapult's database is sent |

mod arguments;
mod commits;
mod runs;
mod states;
mod write_back;

use std::collections::BTreeSet;

use pinpoint_compare::Direction;

pub use self::runs::{AnsweredRun, runs_of};
use self::states::States;
pub use self::write_back::{MissingInBody, write_back_body};
use super::{LegacyJobResponse, ScheduleBisectRequest, Timestamp};
use crate::job::{BisectionResult, JobResult};
use crate::{Answers, BisectionSpec, Charts, Commit, Machine, Magnitude};

/// The user of jobs that nobody is named for.
const NOBODY: &str = "chromeperf@appspot.gserviceaccount.com";

/// The steps of each run.
const QUESTS: [&str; 3] = ["Build", "Test", "Get values"];

/// The size of a change of interest where a job names none.
const MAGNITUDE: f64 = 1.0;

/// The facts about a job besides its journal.
pub struct LegacyJob<'a> {
    /// Its id.
    pub id: &'a str,
    /// The words that it was asked for with; a job of the command line has the same words.
    pub request: &'a ScheduleBisectRequest,
    /// The build target of the benchmark on the bot; empty when nothing was built for a bot.
    pub target: &'a str,
    /// The machine of runs that name none, and of jobs without a bot.
    pub host: &'a str,
    /// The name of its state.
    pub status: &'a str,
    /// The result, if it has one.
    pub result: Option<&'a JobResult>,
    /// The question, if it is a search.
    pub search: Option<&'a BisectionSpec>,
    /// The reason why it failed.
    pub exception: &'a str,
    /// The reason why it was canceled.
    pub cancel_reason: &'a str,
    /// The time of its creation, in milliseconds since 1970.
    pub created: i64,
    /// The time of this conversion, in milliseconds since 1970.
    pub now: i64,
    /// The address of its page; empty when there is none.
    pub page: &'a str,
    /// The whole message of a commit, if it is known.
    pub message: &'a dyn Fn(&Commit) -> Option<String>,
}

/// A job can't be converted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{field}: {text:?} is not {expected}")]
pub struct LegacyJobError {
    /// The field of the request, by its name in the `.proto` file.
    pub field: &'static str,
    /// Its text.
    pub text: String,
    /// The form that it must have.
    pub expected: &'static str,
}

impl LegacyJob<'_> {
    /// The job with all its runs. Cost: a comparison for each pair of neighbors.
    ///
    /// # Errors
    ///
    /// When a field of the request is not of its form.
    pub fn response(&self, answers: &Answers) -> Result<LegacyJobResponse, LegacyJobError> {
        let request = self.request;
        let chart = self.chart(answers);
        let states = States {
            answers,
            chart: chart.as_deref(),
            host: self.host,
            magnitude: self.magnitude(),
            direction: self.direction(answers),
            message: self.message,
        };
        let (state, runs) = states.read();
        let bots: BTreeSet<&str> = runs.iter().map(|run| run.bot).collect();
        let bots = bots.into_iter().filter(|bot| !bot.is_empty());
        let started = runs.iter().map(|run| run.started).min();
        let started = started.and_then(|it| i64::try_from(it).ok());
        let configuration = match request.configuration.as_str() {
            "" => self.host,
            bot => bot,
        };
        let culprits = self.search_result().map_or(0, |found| found.culprits.len());
        Ok(LegacyJobResponse {
            job_id: self.id.into(),
            configuration: configuration.into(),
            results_url: String::new(),
            improvement_direction: match self.direction(answers) {
                Direction::Up => 0,
                Direction::Down => 1,
                Direction::Unknown => 4,
            },
            arguments: Some(arguments::read(request, configuration, self.target)?),
            bug_id: request.bug_id.clone(),
            project: request.project.clone(),
            comparison_mode: arguments::comparison_mode(request).into(),
            name: format!(
                "[Skia] Performance bisect on {configuration}/{}",
                request.benchmark
            ),
            user: match request.user.as_str() {
                "" => NOBODY.into(),
                user => user.into(),
            },
            created: Timestamp::of_milliseconds(self.created),
            updated: Timestamp::of_milliseconds(self.now),
            started_time: started.and_then(Timestamp::of_milliseconds),
            difference_count: i32::try_from(culprits).unwrap_or(i32::MAX),
            exception: self.exception.into(),
            status: self.status.into(),
            cancel_reason: self.cancel_reason.into(),
            batch_id: String::new(),
            bots: bots.map(str::to_owned).collect(),
            metric: chart.unwrap_or_default(),
            quests: QUESTS.map(str::to_owned).into(),
            state,
            skia_workflow_url: self.page.into(),
        })
    }

    fn search_result(&self) -> Option<&BisectionResult> {
        self.result.and_then(JobResult::bisection)
    }

    /// The chart that decides.
    fn chart(&self, answers: &Answers) -> Option<String> {
        match answers.engine.machine().charts() {
            Charts::Deciding(Some(chart)) => Some(chart),
            _ => Some(self.request.chart.clone()).filter(|chart| !chart.is_empty()),
        }
    }

    fn magnitude(&self) -> Magnitude {
        let magnitude = self.search.and_then(|search| search.magnitude);
        magnitude.unwrap_or(Magnitude::Absolute(MAGNITUDE))
    }

    /// The direction that the question names, or that the metric was found to have.
    fn direction(&self, answers: &Answers) -> Direction {
        let asked = self.search.map_or(Direction::Unknown, |it| it.direction);
        let found = answers.engine.metric().map(|metric| metric.direction);
        match asked {
            Direction::Unknown => found.unwrap_or_default(),
            asked => asked,
        }
    }
}
