//! The input of the form: as a request of `pinpoint.v2`, and back.

use std::collections::BTreeMap;
use std::time::Duration;

use pinpoint_core::api::{ExtraArgs, GetPatchRequest};

use super::fields::{ANY, Control, GROUPS, key_of};
use super::patch_name;
use crate::api::grpc::fields::MOST_NAME;
use crate::api::grpc::v2::LEAST_CONFIDENCE;
use crate::api::grpc::v2::messages::create_job_request::Question;
use crate::api::grpc::v2::messages::{
    Bisection, CreateJobRequest, CulpritFinder, Direction, Kind, Magnitude, Pairwise, Patch,
    Strategy, magnitude,
};
use crate::api::query::Query;
use crate::config::{Preset, PresetKind};
use crate::jobs::extra_args;
use crate::jobs::gerrit::NO_GERRIT;
use crate::ui::jobs::KINDS;

/// The most characters of another text.
const MOST_TEXT: usize = 4_000;

/// The default number of pairs of runs.
const PAIRS: &str = "30";

/// A field and its problem.
pub(super) type FieldProblem = (String, String);

/// The input of the form.
#[derive(Debug, Clone)]
pub(super) struct Typed {
    pub(super) kind: Kind,
    values: BTreeMap<&'static str, String>,
}

impl Default for Typed {
    fn default() -> Self {
        Self::from_kind(Kind::Bisection)
    }
}

impl Typed {
    fn from_kind(kind: Kind) -> Self {
        let attempts = (kind != Kind::Bisection).then(|| ("attempts", PAIRS.to_owned()));
        Self {
            kind,
            values: attempts.into_iter().collect(),
        }
    }

    /// Takes the fields of a form or of an address, which outrank existing ones.
    ///
    /// # Errors
    ///
    /// When the kind is unknown.
    pub(super) fn and(self, query: &mut Query) -> Result<Self, FieldProblem> {
        let mut typed = match query.take("kind") {
            None => self,
            Some(key) => {
                let kind = KINDS.iter().find(|(known, _)| *known == key);
                let problem = || ("kind".to_owned(), "there is no such kind of job".to_owned());
                let (_, kind) = kind.ok_or_else(problem)?;
                match *kind == self.kind {
                    true => self,
                    false => Self::from_kind(*kind),
                }
            }
        };
        let fields = GROUPS.iter().flat_map(|group| group.fields(typed.kind));
        for field in fields {
            if let Some(value) = query.take(field.name) {
                typed.values.insert(field.name, value);
            }
        }
        // The ends of another kind of job, from whose form this one came.
        let ends = match typed.kind {
            Kind::Pairwise => [("base", "good"), ("experiment", "bad")],
            _ => [("good", "base"), ("bad", "experiment")],
        };
        for (own, other) in ends {
            if let Some(value) = query.take(other) {
                typed.values.entry(own).or_insert(value);
            }
        }
        Ok(typed)
    }

    /// The address of a form of this kind with this input.
    pub(super) fn query(&self, kind: Kind) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("kind", key_of(kind));
        for (name, value) in &self.values {
            // A bisection has attempts where others have pairs.
            let is_of_kind = kind == self.kind || *name != "attempts";
            if is_of_kind && !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        query.finish()
    }

    pub(super) fn get(&self, name: &str) -> &str {
        self.values.get(name).map_or("", |value| value)
    }

    fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.values.insert(name, value.into());
    }

    pub(super) fn of_preset(preset: &Preset) -> Self {
        let mut typed = Self::from_kind(match preset.kind {
            PresetKind::Bisection => Kind::Bisection,
            PresetKind::Try => Kind::Pairwise,
            PresetKind::Culprit => Kind::CulpritFinder,
        });
        typed.set("benchmark", &preset.benchmark);
        typed.set("bot", &preset.bot);
        typed.set("story", &preset.story);
        typed.set("chart", &preset.chart);
        typed.set("magnitude", &preset.magnitude);
        if let Some(attempts) = preset.attempts {
            typed.set("attempts", attempts.to_string());
        }
        typed
    }

    /// The input that makes such a job again.
    pub(super) fn of_request(request: &CreateJobRequest) -> Self {
        fn written(number: Option<impl ToString>) -> String {
            number.map(|it| it.to_string()).unwrap_or_default()
        }
        let time = |seconds: Option<u64>| {
            let time = seconds
                .map(Duration::from_secs)
                .map(humantime::format_duration);
            written(time)
        };
        let seed = |seed: u64| written((seed != 0).then_some(seed));
        let mut typed = Self::from_kind(match &request.question {
            Some(Question::Pairwise(_)) => Kind::Pairwise,
            Some(Question::CulpritFinder(_)) => Kind::CulpritFinder,
            Some(Question::Bisection(_)) | None => Kind::Bisection,
        });
        typed.set("name", &request.name);
        typed.set("bug", written(request.bug_id));
        typed.set("bot", &request.bot);
        typed.set("benchmark", &request.benchmark);
        typed.set("story", &request.story);
        typed.set("chart", &request.chart);
        typed.set("aggregate", &request.aggregate);
        typed.set("story_tags", &request.story_tags);
        typed.set(
            "direction",
            match request.direction() {
                Direction::Up => "up",
                Direction::Down => "down",
                Direction::Unspecified => "",
            },
        );
        let (search, attempts) = match &request.question {
            Some(Question::Bisection(asked)) => (Some(asked), Some("attempts")),
            Some(Question::CulpritFinder(asked)) => {
                typed.set("attempts", written(asked.pairs));
                (asked.bisection.as_ref(), Some("first_runs"))
            }
            Some(Question::Pairwise(asked)) => {
                typed.set("base", &asked.base);
                typed.set("experiment", &asked.experiment);
                typed.set("base_runner_args", &asked.base_extra_args);
                typed.set("experiment_runner_args", &asked.experiment_extra_args);
                for (name, patch) in [
                    ("base_patch", &asked.base_patch),
                    ("experiment_patch", &asked.experiment_patch),
                ] {
                    typed.set(
                        name,
                        patch.as_ref().map_or_else(String::new, patch_name::written),
                    );
                }
                typed.set("attempts", written(asked.pairs));
                typed.set("max_time", time(asked.max_seconds));
                typed.set("seed", seed(asked.seed));
                if asked.early_stopping {
                    typed.set("early_stopping", "yes");
                }
                (None, None)
            }
            None => (None, None),
        };
        if let (Some(asked), Some(attempts)) = (search, attempts) {
            typed.set("good", &asked.good);
            typed.set("bad", &asked.bad);
            typed.set(attempts, written(asked.attempts));
            let size = asked.magnitude.and_then(|magnitude| magnitude.size);
            typed.set(
                "magnitude",
                match size {
                    Some(magnitude::Size::Absolute(size)) => size.to_string(),
                    Some(magnitude::Size::Percent(size)) => format!("{size}%"),
                    None => String::new(),
                },
            );
            typed.set("confidence", written(asked.confidence));
            typed.set(
                "strategy",
                match asked.strategy() {
                    Strategy::Pinpoint => "pinpoint",
                    Strategy::Adaptive | Strategy::Unspecified => "adaptive",
                },
            );
            typed.set("build_cost", written(asked.build_cost));
            typed.set("max_runs", written(asked.max_runs));
            typed.set("max_builds", written(asked.max_builds));
            typed.set("max_time", time(asked.max_seconds));
            typed.set("seed", seed(asked.seed));
        }
        typed
    }

    /// The request, and the problems of fields that it does not show. Changes are looked for at
    /// these hosts.
    pub(super) fn request(&self, gerrit: &[String]) -> (CreateJobRequest, Vec<FieldProblem>) {
        let mut read = FormValidator {
            typed: self,
            problems: Vec::new(),
        };
        read.limits();
        let text = |name: &str| self.get(name).to_owned();
        let attempts = match self.kind {
            Kind::Bisection => read.number("attempts", "").map(|it| it as u32),
            _ => read.pairs(),
        };
        let question = match self.kind {
            Kind::Pairwise => {
                let base = text("base");
                let experiment = match self.get("experiment") {
                    "" => base.clone(),
                    experiment => experiment.to_owned(),
                };
                Question::Pairwise(Pairwise {
                    base,
                    experiment,
                    pairs: attempts,
                    early_stopping: !self.get("early_stopping").is_empty(),
                    max_seconds: read.time("max_time"),
                    seed: read.number("seed", "").unwrap_or_default(),
                    base_extra_args: self.extra_args("base"),
                    experiment_extra_args: self.extra_args("experiment"),
                    base_patch: read.patch("base_patch", gerrit),
                    experiment_patch: read.patch("experiment_patch", gerrit),
                })
            }
            Kind::CulpritFinder => {
                let first = read.number("first_runs", "").map(|it| it as u32);
                Question::CulpritFinder(CulpritFinder {
                    bisection: Some(read.search(first)),
                    pairs: attempts,
                })
            }
            Kind::Bisection | Kind::Unspecified => Question::Bisection(read.search(attempts)),
        };
        let request = CreateJobRequest {
            bot: text("bot"),
            benchmark: text("benchmark"),
            story: text("story"),
            chart: text("chart"),
            direction: match self.get("direction") {
                "up" => Direction::Up,
                "down" => Direction::Down,
                _ => Direction::Unspecified,
            } as i32,
            aggregate: text("aggregate"),
            name: text("name"),
            user: String::new(),
            bug_id: read.number("bug", "").map(|bug| bug as i64),
            question: Some(question),
            story_tags: text("story_tags"),
        };
        (request, read.problems)
    }

    /// The extra arguments of a side, in one line.
    fn extra_args(&self, side: &str) -> String {
        let part = |name: &str| self.get(&format!("{side}_{name}")).to_owned();
        let extra = ExtraArgs {
            benchmark_runner_args: part("runner_args"),
            extra_browser_args: part("browser_args"),
            js_flags: part("js_flags"),
            enable_features: part("enable_features"),
            disable_features: part("disable_features"),
        };
        extra_args::in_one_line(self.get("benchmark"), &extra)
    }

    /// The typed scatter of runs.
    pub(super) fn noise(&self) -> Result<Option<Magnitude>, String> {
        amount(self.get("noise")).transpose()
    }

    /// The typed change, of a job whose request has none.
    pub(super) fn change(&self) -> Result<Option<Magnitude>, String> {
        amount(self.get("magnitude")).transpose()
    }

    /// The typed number of commits.
    pub(super) fn commits(&self) -> Option<u64> {
        self.get("commits").parse().ok()
    }
}

/// The field of the form that a field of the request comes from.
pub(super) fn name_in_form(field: &str) -> &str {
    match field.rsplit('.').next().unwrap_or(field) {
        "pairs" => "attempts",
        "max_seconds" => "max_time",
        "bug_id" => "bug",
        "base_extra_args" => "base_runner_args",
        "experiment_extra_args" => "experiment_runner_args",
        last => last,
    }
}

/// Fields as they are read, and the problems so far.
struct FormValidator<'a> {
    typed: &'a Typed,
    problems: Vec<FieldProblem>,
}

impl FormValidator<'_> {
    fn note(&mut self, field: &str, problem: impl Into<String>) {
        self.problems.push((field.to_owned(), problem.into()));
    }

    /// Checks the limits that a browser checks, too.
    fn limits(&mut self) {
        for field in GROUPS
            .iter()
            .flat_map(|group| group.fields(self.typed.kind))
        {
            let value = self.typed.get(field.name);
            let most = match field.name {
                "name" => MOST_NAME,
                _ => MOST_TEXT,
            };
            match field.control {
                _ if value.is_empty() && field.is_required => {
                    self.note(field.name, "this field is required");
                }
                _ if value.chars().count() > most => {
                    self.note(field.name, format!("enter at most {most} characters"));
                }
                Control::Choice(values)
                    if !value.is_empty() && values.iter().all(|it| it.0 != value) =>
                {
                    self.note(field.name, "choose one of the options");
                }
                Control::Number(least, most) if !value.is_empty() => {
                    let number = value.parse::<u64>().ok();
                    if number.is_none_or(|number| !(least..=most).contains(&number)) {
                        let problem = match most {
                            ANY => format!("enter a whole number, {least} or more"),
                            _ => format!("enter a whole number from {least} to {most}"),
                        };
                        self.note(field.name, problem);
                    }
                }
                _ => {}
            }
        }
    }

    /// A number; a wrong one was noted with the limits.
    fn number(&self, name: &str, default: &str) -> Option<u64> {
        match self.typed.get(name) {
            "" => default.parse().ok(),
            text => text.parse().ok(),
        }
    }

    /// A change at one of the hosts of Gerrit.
    fn patch(&mut self, name: &str, gerrit: &[String]) -> Option<Patch> {
        let text = self.typed.get(name);
        if text.is_empty() {
            return None;
        }
        if gerrit.is_empty() {
            self.note(name, NO_GERRIT);
            return None;
        }
        match patch_name::read(text, gerrit) {
            Ok(GetPatchRequest {
                host,
                change,
                patchset,
            }) => Some(Patch {
                host,
                change,
                patchset,
            }),
            Err(problem) => {
                self.note(name, problem);
                None
            }
        }
    }

    fn pairs(&mut self) -> Option<u32> {
        let pairs = u32::try_from(self.number("attempts", PAIRS)?).ok()?;
        pairs.checked_next_multiple_of(2)
    }

    fn search(&mut self, attempts: Option<u32>) -> Bisection {
        let text = |name: &str| self.typed.get(name).to_owned();
        Bisection {
            good: text("good"),
            bad: text("bad"),
            strategy: match self.typed.get("strategy") {
                "pinpoint" => Strategy::Pinpoint,
                _ => Strategy::Adaptive,
            } as i32,
            confidence: self.confidence(),
            magnitude: self.magnitude(),
            attempts,
            build_cost: self.build_cost(),
            max_runs: self.number("max_runs", ""),
            max_builds: self.number("max_builds", ""),
            max_seconds: self.time("max_time"),
            seed: self.number("seed", "").unwrap_or_default(),
        }
    }

    fn confidence(&mut self) -> Option<f64> {
        let text = self.typed.get("confidence");
        let number = match text.strip_suffix('%') {
            None if text.is_empty() => return None,
            None => text.parse::<f64>().ok(),
            // 94.6 / 100 is 0.9459999999999998.
            Some(percent) => format!("{}e-2", percent.trim()).parse::<f64>().ok(),
        };
        let confidence = number.filter(|it| (LEAST_CONFIDENCE..1.0).contains(it));
        if confidence.is_none() {
            let problem =
                "enter a number from 0.5 to below 1, like 0.95, or a percentage, like 95%";
            self.note("confidence", problem);
        }
        confidence
    }

    fn magnitude(&mut self) -> Option<Magnitude> {
        match amount(self.typed.get("magnitude"))? {
            Ok(magnitude) => Some(magnitude),
            Err(problem) => {
                self.note("magnitude", problem);
                None
            }
        }
    }

    fn build_cost(&mut self) -> Option<f64> {
        let text = self.typed.get("build_cost");
        let cost = text
            .parse()
            .ok()
            .filter(|cost: &f64| cost.is_finite() && *cost >= 0.0);
        if cost.is_none() && !text.is_empty() {
            self.note("build_cost", "enter a number of runs, like 2.5");
        }
        cost
    }

    fn time(&mut self, name: &str) -> Option<u64> {
        let text = self.typed.get(name);
        if text.is_empty() {
            return None;
        }
        let time = humantime::parse_duration(text)
            .ok()
            .map(|time| time.as_secs());
        let time = time.filter(|seconds| *seconds > 0);
        if time.is_none() {
            self.note(name, "enter a time like 90s, 20m or 1h 30m");
        }
        time
    }
}

/// An amount, where one is given: `5%`, or a number in the unit of the metric.
fn amount(text: &str) -> Option<Result<Magnitude, String>> {
    let (text, is_percent) = match text.trim().strip_suffix('%') {
        Some(percent) => (percent.trim(), true),
        None => (text.trim(), false),
    };
    if text.is_empty() && !is_percent {
        return None;
    }
    let size = text
        .parse()
        .ok()
        .filter(|size: &f64| size.is_finite() && *size > 0.0);
    let Some(size) = size else {
        return Some(Err(
            "enter a percentage, like 5%, or a number above 0 in the metric's unit".into(),
        ));
    };
    let size = match is_percent {
        true => magnitude::Size::Percent(size),
        false => magnitude::Size::Absolute(size),
    };
    Some(Ok(Magnitude { size: Some(size) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_the_request_and_back() {
        for query in [
            "kind=bisection&name=n&bug=7&bot=lab&benchmark=b&story=s&chart=c&direction=up\
             &good=a&bad=b&attempts=20&magnitude=5%25&confidence=0.99&strategy=pinpoint\
             &max_runs=100&max_builds=9&max_time=1h+30m&build_cost=2.5&aggregate=max&seed=3",
            "kind=try&bot=lab&benchmark=b.crossbench&base=a&experiment=b&attempts=20\
             &base_runner_args=--repeat%3D2&max_time=20m&seed=3&early_stopping=yes\
             &experiment_patch=7%2F2&story_tags=a%2Cb",
            "kind=culprit&bot=lab&benchmark=b&good=a&bad=b&attempts=10&first_runs=20\
             &magnitude=2.5&direction=down",
        ] {
            let mut query = Query::read(query.as_bytes()).unwrap();
            let typed = Typed::default().and(&mut query).unwrap();
            let gerrit = ["gerrit.example.org".to_owned()];
            let (request, problems) = typed.request(&gerrit);
            assert_eq!(problems, []);
            let again = Typed::of_request(&request);
            assert_eq!(again.request(&gerrit), (request, Vec::new()));
        }
    }

    #[test]
    fn an_amount_is_in_percent_or_not() {
        let size = |text: &str| amount(text).and_then(|it| it.unwrap().size);
        assert_eq!(size("5 %"), Some(magnitude::Size::Percent(5.0)));
        assert_eq!(size("0.5"), Some(magnitude::Size::Absolute(0.5)));
        assert_eq!(size(" "), None);
        for text in ["%", "x", "5 ms", "0", "-1%", "inf", "NaN%"] {
            assert!(amount(text).unwrap().is_err(), "{text}");
        }
    }
}
