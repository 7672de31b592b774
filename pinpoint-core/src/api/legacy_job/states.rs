//! Each state that was run, with its runs, and how it compares with its neighbors.

use std::collections::BTreeMap;

use pinpoint_compare::{Direction, compare_functional, compare_performance};

use super::super::legacy_job_response::State;
use super::super::legacy_job_response::state::attempt::Execution;
use super::super::legacy_job_response::state::attempt::execution::Detail;
use super::super::legacy_job_response::state::{Attempt, Change, Comparison};
use super::commits;
use super::runs::{AnsweredRun, runs_of};
use crate::{Answers, Artifact, Commit, CommitOrder, Magnitude, Position};

/// The rate of failures that a culprit is expected to have.
const ERROR_RATE: f64 = 1.0;

/// A run of a state.
pub(super) struct StateRun<'a> {
    pub(super) bot: &'a str,
    pub(super) started: u64,
}

pub(super) struct States<'a> {
    pub(super) answers: &'a Answers,
    pub(super) chart: Option<&'a str>,
    /// The machine of runs that name none.
    pub(super) host: &'a str,
    pub(super) magnitude: Magnitude,
    pub(super) direction: Direction,
    pub(super) message: &'a dyn Fn(&Commit) -> Option<String>,
}

impl<'a> States<'a> {
    /// The states in the order of the history, and all runs.
    pub(super) fn read(&self) -> (Vec<State>, Vec<StateRun<'a>>) {
        let answers = &self.answers.answers;
        let order = CommitOrder::of(answers.iter().map(|answer| &answer.task));
        let mut by_commit: BTreeMap<Vec<u64>, (Position, Vec<AnsweredRun<'a>>)> = BTreeMap::new();
        for run in answers.iter().flat_map(runs_of) {
            let commit = by_commit.entry(order.key(run.commit));
            let (_, runs) = commit.or_insert((run.commit, Vec::new()));
            runs.push(run);
        }
        let all = by_commit.values().flat_map(|(_, runs)| runs);
        let all = all.map(|run| StateRun {
            bot: self.bot(run),
            started: run.report.started,
        });
        let all = all.collect();
        let states = by_commit.into_values();
        let states = states.map(|(position, runs)| self.state(position, &runs));
        let mut states: Vec<State> = states.collect();
        self.compare(&mut states);
        (states, all)
    }

    fn state(&self, position: Position, runs: &[AnsweredRun<'_>]) -> State {
        let names = self.answers.engine.names();
        let build = match names.artifact(position) {
            Some(Artifact::Digest(digest)) => cas(digest),
            _ => None,
        };
        let attempts: Vec<Attempt> = { runs.iter() }
            .map(|run| self.attempt(run, build.as_ref()))
            .collect();
        let values = attempts.iter().flat_map(|it| it.result_values.clone());
        State {
            change: names.commit(position).map(|commit| Change {
                commits: commits::of(commit, self.message),
            }),
            values: values.collect(),
            attempts,
            comparisons: None,
        }
    }

    /// Three executions, of a builder, a test and its values: readers find them, and what is known
    /// of each, by their places.
    fn attempt(&self, run: &AnsweredRun<'_>, build: Option<&CasFile>) -> Attempt {
        let bot = self.bot(run);
        let report = run.report;
        let task = report.task.as_ref();
        let completed = task.map_or(run.failure.is_none(), |task| task.completed);
        let output = { task }
            .filter(|task| task.completed)
            .and_then(|task| cas(task.output.as_deref()?));
        let id = task.map_or("", |task| &*task.id);
        let values = run.values.and_then(|values| values.get(self.chart?));
        let execution = |completed, exception: &str, details| Execution {
            completed,
            exception: exception.into(),
            details,
        };
        Attempt {
            executions: vec![
                execution(true, "", vec![detail("builder", bot, ""), isolate(build)]),
                execution(
                    completed,
                    run.failure.unwrap_or_default(),
                    vec![
                        detail("bot", bot, ""),
                        detail("task", id, &task_page(id)),
                        isolate(output.as_ref()),
                    ],
                ),
                execution(true, "", Vec::new()),
            ],
            result_values: values.cloned().unwrap_or_default(),
        }
    }

    fn bot(&self, run: &AnsweredRun<'a>) -> &'a str {
        run.report.bot.as_deref().unwrap_or(self.host)
    }

    /// Compares neighbors. One state has nothing to be compared with.
    fn compare(&self, states: &mut [State]) {
        let magnitude = match (self.magnitude, states.first()) {
            (Magnitude::Absolute(magnitude), _) => magnitude,
            (Magnitude::Percent(percent), Some(good)) => {
                percent / 100.0 * median(good.values.clone()).unwrap_or_default()
            }
            (Magnitude::Percent(_), None) => return,
        };
        let pairs = states.windows(2).map(|pair| match pair {
            [lower, higher] => self.verdict(lower, higher, magnitude),
            _ => String::new(),
        });
        let verdicts: Vec<String> = pairs.collect();
        let last = verdicts.len();
        for (place, state) in states.iter_mut().enumerate().filter(|_| last > 0) {
            let verdict = |place: Option<usize>| {
                let verdict = place.and_then(|place| verdicts.get(place));
                verdict.cloned().unwrap_or_default()
            };
            state.comparisons = Some(Comparison {
                next: verdict(Some(place)),
                prev: verdict(place.checked_sub(1)),
            });
        }
    }

    /// By their values, or where one of them has none, by their failures.
    fn verdict(&self, lower: &State, higher: &State, magnitude: f64) -> String {
        let values = [&lower.values, &higher.values];
        let verdict = if values.iter().any(|values| values.is_empty()) {
            let [lower, higher] = [lower, higher].map(failures);
            compare_functional(&lower, &higher, ERROR_RATE).map(|it| it.verdict)
        } else {
            let [lower, higher] = values;
            compare_performance(lower, higher, Some(magnitude), self.direction).map(|it| it.verdict)
        };
        verdict.map_or_else(|_| String::new(), |verdict| verdict.to_string())
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        1 => values.get(middle).copied(),
        _ => Some((values.get(middle.checked_sub(1)?)? + values.get(middle)?) / 2.0),
    }
}

/// 1 for each run without values, and 0 for the others.
fn failures(state: &State) -> Vec<f64> {
    let failed = |run: &Attempt| f64::from(u8::from(run.result_values.is_empty()));
    state.attempts.iter().map(failed).collect()
}

/// A blob in CAS.
struct CasFile {
    instance: String,
    /// `HASH/SIZE`.
    digest: String,
}

/// `INSTANCE/HASH/SIZE` taken apart.
fn cas(digest: &str) -> Option<CasFile> {
    let (hash_at, _) = digest.rmatch_indices('/').nth(1)?;
    let (instance, digest) = digest.split_at(hash_at);
    Some(CasFile {
        instance: instance.into(),
        digest: digest.trim_start_matches('/').into(),
    })
}

fn isolate(file: Option<&CasFile>) -> Detail {
    match file {
        None => detail("isolate", "", ""),
        Some(CasFile { instance, digest }) => {
            let viewer = "https://cas-viewer.appspot.com";
            let url = format!("{viewer}/{instance}/blobs/{digest}/tree");
            detail("isolate", digest, &url)
        }
    }
}

fn task_page(id: &str) -> String {
    match id {
        "" => String::new(),
        id => format!("https://chrome-swarming.appspot.com/task?id={id}"),
    }
}

fn detail(key: &str, value: &str, url: &str) -> Detail {
    Detail {
        key: key.into(),
        value: value.into(),
        url: url.into(),
    }
}
