//! The typed job, as commands to copy.

use maud::{Markup, html};
use pinpoint_core::bots::Invocation;
use pinpoint_core::results::Format;
use pinpoint_report::Foreign;
use pinpoint_report::command_line::{quoted, without_login};

use super::typed::Typed;
use crate::api::grpc::v2::json_of;
use crate::api::grpc::v2::messages::create_job_request::Question;
use crate::api::grpc::v2::messages::{
    Bisection, CreateJobRequest, Direction, Magnitude, Strategy, magnitude,
};
use crate::auth::sign_in::SignIn;
use crate::state::Service;

/// The commands, once the form is valid: their arguments were checked then.
pub(super) async fn shown(service: &Service, origin: &str, typed: &Typed) -> Markup {
    let missing = || html! { p.soft { "Fill in the form to see the commands." } };
    let (typed, problems) = typed.request(service.gerrit_hosts());
    if !problems.is_empty() {
        return missing();
    }
    let Ok((_, request)) = service.asked(typed.clone(), None, None).await else {
        return missing();
    };
    let Ok(json) = json_of("CreateJobRequest", &typed) else {
        return missing();
    };
    let bot = service.bots.get(&request.bot);
    let repository = bot.ok().and_then(|bot| bot.repository).map(without_login);
    let line = here(service, &request);
    let curl = curl(service, origin, &json.to_string());
    html! {
        @if let Some(line) = line {
            h3 { "On your own machine" }
            p.soft {
                "In a clone of " (Foreign(repository.as_deref().unwrap_or_default()))
                ". The values of the benchmark's environment variables are left out."
            }
            (copied(&line))
        }
        h3 { "Through this service" }
        (copied(&curl))
    }
}

fn copied(text: &str) -> Markup {
    html! {
        div.copied {
            // Nothing is replaced in it, since it is copied.
            pre { (text) }
            button type="button" data-copy hidden { "Copy" }
        }
    }
}

/// The same request as a `curl` command.
fn curl(service: &Service, origin: &str, json: &str) -> String {
    let words = [
        "curl",
        "--fail-with-body",
        "--header",
        "Content-Type: application/json",
    ];
    let mut line = quoted(&words.map(str::to_owned));
    if !matches!(*service.sign_in, SignIn::Nobody(_)) {
        line.push_str(" --header \"Authorization: Bearer $PINPOINT_TOKEN\"");
    }
    let rest = [
        "--data-raw".to_owned(),
        json.to_owned(),
        format!("{origin}/api/v2/jobs"),
    ];
    format!("{line} {}", quoted(&rest))
}

/// The command that answers the same question on another machine.
fn here(service: &Service, request: &CreateJobRequest) -> Option<String> {
    let benchmark = service.bots.benchmarks().get(&request.benchmark)?;
    let story = Some(&*request.story).filter(|story| !story.is_empty());
    let mut command = benchmark.command(story).ok()??;
    let invocation = benchmark.invocation.as_ref()?;
    let tags: Vec<String> = { request.story_tags.split(',') }
        .map(|tag| tag.trim().to_owned())
        .filter(|tag| !tag.is_empty())
        .collect();
    if !tags.is_empty() {
        command.extend(invocation.choose_by_tags(&tags)?);
    }
    words(invocation, command, request).map(|words| quoted(&words))
}

/// An option and its value are one word, so that no value is taken for an option.
fn words(
    invocation: &Invocation,
    command: Vec<String>,
    request: &CreateJobRequest,
) -> Option<Vec<String>> {
    let mut words = vec!["pinpoint".to_owned()];
    let mut options = Vec::new();
    let mut option = |name: &str, value: &dyn ToString| {
        options.push(format!("--{name}={}", value.to_string()));
    };
    match request.question.as_ref()? {
        Question::Bisection(search) => {
            words.push("bisect".into());
            searched(&mut words, &mut option, search);
        }
        Question::CulpritFinder(finder) => {
            words.push("culprit".into());
            searched(&mut words, &mut option, finder.bisection.as_ref()?);
            if let Some(pairs) = finder.pairs {
                option("pairs", &pairs);
            }
        }
        // The change is at Gerrit, not in a local file.
        Question::Pairwise(asked)
            if asked.base_patch.is_some() || asked.experiment_patch.is_some() =>
        {
            return None;
        }
        Question::Pairwise(asked) => {
            words.push("pairwise".into());
            words.extend([asked.base.clone(), asked.experiment.clone()]);
            for (name, line) in [
                ("base-arg", &asked.base_extra_args),
                ("experiment-arg", &asked.experiment_extra_args),
            ] {
                for argument in shlex::split(line)? {
                    option(name, &argument);
                }
            }
            if let Some(pairs) = asked.pairs {
                option("pairs", &pairs);
            }
            if let Some(seconds) = asked.max_seconds {
                option("max-time", &format!("{seconds}s"));
            }
            if asked.seed != 0 {
                option("seed", &asked.seed);
            }
        }
    }
    match request.direction() {
        Direction::Up => option("direction", &"up"),
        Direction::Down => option("direction", &"down"),
        Direction::Unspecified => {}
    }
    let aggregate = match &*request.aggregate {
        "" => invocation.aggregate.as_ref().map(ToString::to_string),
        aggregate => Some(aggregate.to_owned()),
    };
    for (name, value) in [
        ("chart", Some(request.chart.clone())),
        ("aggregate", aggregate),
        ("build", invocation.build.clone()),
        (
            "format",
            (invocation.format != Format::Auto).then(|| invocation.format.to_string()),
        ),
        (
            "results",
            invocation
                .results
                .as_ref()
                .map(|path| path.display().to_string()),
        ),
        (
            "timeout",
            invocation
                .timeout
                .map(|time| humantime::format_duration(time).to_string()),
        ),
        ("benchmark", Some(request.benchmark.clone())),
        ("name", Some(request.name.clone())),
    ] {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            option(name, &value);
        }
    }
    for name in invocation.env.keys() {
        option("env", name);
    }
    if let Some(Question::Pairwise(asked)) = &request.question
        && asked.early_stopping
    {
        options.push("--early-stop".into());
    }
    words.extend(options);
    words.push("--".into());
    words.extend(command);
    Some(words)
}

fn searched(
    words: &mut Vec<String>,
    option: &mut impl FnMut(&str, &dyn ToString),
    search: &Bisection,
) {
    words.extend([search.good.clone(), search.bad.clone()]);
    match search.magnitude {
        Some(Magnitude {
            size: Some(magnitude::Size::Percent(size)),
        }) => {
            option("magnitude", &format!("{size}%"));
        }
        Some(Magnitude {
            size: Some(magnitude::Size::Absolute(size)),
        }) => {
            option("magnitude", &size);
        }
        _ => {}
    }
    if let Some(confidence) = search.confidence {
        option("confidence", &confidence);
    }
    if search.strategy() == Strategy::Pinpoint {
        option("strategy", &"pinpoint");
    }
    if let Some(attempts) = search.attempts {
        option("attempts", &attempts);
    }
    if let Some(cost) = search.build_cost {
        option("build-cost", &cost);
    }
    if let Some(runs) = search.max_runs {
        option("max-runs", &runs);
    }
    if let Some(builds) = search.max_builds {
        option("max-builds", &builds);
    }
    if let Some(seconds) = search.max_seconds {
        option("max-time", &format!("{seconds}s"));
    }
    if search.seed != 0 {
        option("seed", &search.seed);
    }
}
