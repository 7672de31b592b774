//! The form of a new job.

mod commands;
pub(crate) mod look_up;
mod patches;

use pinpoint_service::config::{Preset, PresetKind};
use pinpoint_service::{Service, SignIn, router};
use serde_json::{Value, json};
use tower::ServiceExt;

use super::{Page, get, post};
use crate::v2::id_of;
use crate::world::World;

/// With arguments that requests may add.
const BOTS: &str = r#"
    [bots.lab]
    local = true
    repository = "https://example.org/tool.git"

    [benchmarks.parsing]
    stories = ["small", "large"]
    bots = ["lab"]
    build = "make 'all of it'"
    command = ["./bench", "{story}"]
    format = "lines"
    timeout = "10m"
    env = { SECRET = "s3cr3t" }
    allow_extra_args = ["--repeat=*", "--extra-browser-args=*"]
"#;

async fn world() -> World {
    World::with_bots(SignIn::Nobody("ada@example.org".into()), BOTS).await
}

/// The value that a field of a page has.
#[track_caller]
fn value<'a>(page: &'a str, name: &str) -> &'a str {
    let field = page
        .split('<')
        .find(|tag| tag.starts_with("input ") && tag.contains(&format!(r#" name="{name}""#)));
    let field = field.unwrap_or_else(|| panic!("there is no field {name}: {page}"));
    let value = field.split(r#" value=""#).nth(1).unwrap();
    value.split('"').next().unwrap()
}

/// Sends a form with the fields that the page has itself.
async fn send(world: &World, what: &str, fields: &[(&str, &str)]) -> Page {
    let page = get(world, "/new").await.ok();
    let own = [("key", value(&page, "key")), ("do", what)];
    post(world, "/new", &[&own, fields].concat()).await
}

fn good() -> String {
    "a".repeat(40)
}

fn bad() -> String {
    "b".repeat(40)
}

/// The arguments of the job that a page leads to.
async fn arguments(world: &World, page: &Page) -> Value {
    let id = page.leads_to().strip_prefix("/jobs/").unwrap();
    world.get(&format!("/api/v2/jobs/{id}")).await.ok()["arguments"].clone()
}

#[tokio::test]
async fn each_kind_has_its_fields() {
    let world = world().await;
    for (kind, has, lacks) in [
        (
            "bisection",
            &[
                "good",
                "bad",
                "attempts",
                "magnitude",
                "max_runs",
                "commits",
            ][..],
            &["base", "first_runs", "base_patch"][..],
        ),
        (
            "try",
            &[
                "base",
                "experiment",
                "base_patch",
                "experiment_js_flags",
                "base_browser_args",
                "experiment_enable_features",
                "early_stopping",
                "magnitude",
                "noise",
            ],
            &["good", "commits", "confidence"],
        ),
        (
            "culprit",
            &["good", "bad", "first_runs", "noise"],
            &["base"],
        ),
    ] {
        let page = get(&world, &format!("/new?kind={kind}")).await.ok();
        assert_eq!(value(&page, "kind"), kind);
        assert!(page.contains(&format!(r#"data-kind="{kind}" aria-current="true""#)));
        for name in has
            .iter()
            .chain(&["name", "bug", "bot", "benchmark", "story", "chart"])
        {
            assert!(
                page.contains(&format!(r#" name="{name}""#)),
                "{kind} {name}"
            );
            // Each has its label.
            assert!(
                page.contains(&format!(r#"<label for="f-{name}">"#)),
                "{kind} {name}"
            );
        }
        for name in lacks {
            assert!(
                !page.contains(&format!(r#" name="{name}""#)),
                "{kind} {name}"
            );
        }
        let attempts = if kind == "bisection" { "" } else { "30" };
        assert_eq!(value(&page, "attempts"), attempts);
        // A browser sends no form without these.
        let commit = if kind == "try" { "base" } else { "good" };
        for name in ["bot", "benchmark", commit] {
            let field = page
                .split('<')
                .find(|tag| tag.contains(&format!(r#" name="{name}""#)));
            assert!(field.unwrap().contains(" required"), "{kind} {name}");
        }
        // Enter presses the first button, which makes no job.
        let button = page
            .split("<button ")
            .find(|tag| tag.contains(r#"name="do""#));
        assert!(button.unwrap().contains(r#"value="look" formnovalidate"#));
    }
    let page = get(&world, "/new?kind=bisection").await.ok();
    for (list, expected) in [("bots", "lab"), ("benchmarks", "parsing")] {
        let options = page
            .split(&format!("<datalist id=\"{list}\""))
            .nth(1)
            .unwrap();
        let options = options.split("</datalist>").next().unwrap();
        assert!(
            options.contains(&format!("<option value=\"{expected}\">")),
            "{options}"
        );
    }
    assert_eq!(get(&world, "/new?kind=unheard").await.status.as_u16(), 400);
}

#[tokio::test]
async fn a_bisection_is_made_as_it_was_typed() {
    let world = world().await;
    let (good, bad) = (good(), bad());
    let sent = [
        ("kind", "bisection"),
        ("name", "Since Monday"),
        ("bug", "7"),
        ("bot", "lab"),
        ("benchmark", "parsing"),
        ("story", "small"),
        ("chart", "time"),
        ("direction", "down"),
        ("good", &good),
        ("bad", &bad),
        ("attempts", "20"),
        ("magnitude", "5 %"),
        ("confidence", "99%"),
        ("strategy", "pinpoint"),
        ("max_runs", "500"),
        ("max_builds", "30"),
        ("max_time", "1h 30m"),
    ];
    let made = send(&world, "make", &sent).await;
    let shown = arguments(&world, &made).await;
    let expected = json!({
        "bot": "lab",
        "benchmark": "parsing",
        "story": "small",
        "storyTags": "",
        "chart": "time",
        "direction": "DOWN",
        // As the benchmark is configured.
        "aggregate": "median",
        "name": "Since Monday",
        "user": "",
        "bugId": "7",
        "bisection": {
            "good": good,
            "bad": bad,
            "strategy": "PINPOINT",
            "confidence": 0.99,
            "magnitude": { "percent": 5.0 },
            "attempts": 20,
            "buildCost": 1.0,
            "maxRuns": "500",
            "maxBuilds": "30",
            "maxSeconds": "5400",
            "seed": "0",
        },
    });
    assert_eq!(shown, expected);

    // Another one like it is requested with the same form, filled in.
    let id = made.leads_to().strip_prefix("/jobs/").unwrap();
    let again = get(&world, &format!("/new?from={id}")).await.ok();
    for (name, typed) in sent {
        let shown = match name {
            "direction" | "strategy" => {
                assert!(again.contains(&format!(r#"<option value="{typed}" selected>"#)));
                continue;
            }
            "magnitude" => "5%",
            "confidence" => "0.99",
            "max_time" => "1h 30m",
            _ => typed,
        };
        assert_eq!(value(&again, name), shown, "{name}");
    }
    // Fields in the address outrank it.
    let other = get(&world, &format!("/new?from={id}&name=other"))
        .await
        .ok();
    assert_eq!(value(&other, "name"), "other");
    let unknown = "/new?from=0199f3c1a2b37f0e8d1c2b3a49586776";
    assert_eq!(get(&world, unknown).await.status.as_u16(), 404);
}

#[tokio::test]
async fn a_try_job_is_made_as_it_was_typed() {
    let world = world().await;
    let base = good();
    let sent = [
        ("kind", "try"),
        ("bot", "lab"),
        ("benchmark", "parsing"),
        ("story", "large"),
        ("base", &*base),
        ("attempts", "19"),
        ("experiment_runner_args", "--repeat=2 --repeat='3 4'"),
        ("experiment_js_flags", "--a --b"),
        ("experiment_enable_features", "One,Two"),
        ("early_stopping", "yes"),
    ];
    let made = send(&world, "make", &sent).await;
    let shown = arguments(&world, &made).await;
    // An experiment that is not named is the base, with other arguments.
    let asked = &shown["pairwise"];
    assert_eq!(
        (&asked["base"], &asked["experiment"]),
        (&json!(base), &json!(base))
    );
    assert_eq!(
        (&asked["pairs"], &asked["earlyStopping"]),
        (&json!(20), &json!(true))
    );
    let id = made.leads_to().strip_prefix("/jobs/").unwrap();
    let job = world.job(id).await;
    let sides = &job.spec["sides"];
    let arguments = [
        "--repeat=2",
        "--repeat=3 4",
        "--extra-browser-args=--js-flags=\"--a --b\" --enable-features=One,Two",
    ];
    assert_eq!(sides["experiment"]["arguments"], json!(arguments));
    let none = sides["base"]["arguments"].as_array();
    assert!(none.is_none_or(Vec::is_empty));
    // Another one like it has them, too, and so does its repetition.
    let again = get(&world, &format!("/new?from={id}")).await.ok();
    assert!(value(&again, "experiment_runner_args").contains("--repeat=2"));
    let retried = world
        .post(&format!("/api/v2/jobs/{id}/retry"), &json!({}))
        .await
        .ok();
    let retried = world.job(&id_of(&retried)).await;
    assert_eq!(retried.spec["sides"], job.spec["sides"]);
}

#[tokio::test]
async fn every_problem_stands_at_its_field_and_what_was_typed_stays() {
    let world = world().await;
    let long = "ü".repeat(1_001);
    let try_job = [
        ("kind", "try"),
        ("name", &*long),
        ("bug", "-3"),
        ("bot", "lib"),
        ("benchmark", "parsimg"),
        ("base_patch", "12345/6"),
        ("base_runner_args", "--a='"),
        ("experiment", "HEAD~1"),
        ("attempts", "151"),
        ("max_time", "soon"),
        ("direction", "sideways"),
        ("aggregate", "<b>most</b>"),
    ];
    let wrong = [
        ("name", "at most 1000 characters"),
        ("bug", "a whole number, 1 or more"),
        ("bot", "did you mean `lab`"),
        ("benchmark", "did you mean `parsing`"),
        ("base", "This field is required."),
        ("base_patch", "its operator lists hosts"),
        ("base_runner_args", "is not ended"),
        ("experiment", "not a full git hash"),
        ("attempts", "from 6 to 150"),
        ("max_time", "Enter a time like 90s"),
        ("direction", "one of the options"),
        ("aggregate", "most"),
    ];
    refused(&world, &try_job, &wrong).await;
    let bisection = [
        ("kind", "bisection"),
        ("bot", "lab"),
        ("benchmark", "parsing"),
        ("story", "medium"),
        ("good", "\"><script>alert(1)</script>"),
        ("bad", "abc"),
        ("attempts", "0"),
        ("magnitude", "5 ms"),
        ("confidence", "1"),
        ("strategy", "luck"),
        ("max_runs", "many"),
        ("max_builds", "0"),
        ("build_cost", "-1"),
        ("seed", "x"),
        ("commits", "10001"),
    ];
    let wrong = [
        ("story", "no story `medium`"),
        ("good", "not a full git hash"),
        ("bad", "not a full git hash"),
        ("attempts", "from 1 to 150"),
        ("magnitude", "5%, or a number"),
        ("confidence", "0.95, or a percentage"),
        ("strategy", "one of the options"),
        ("max_runs", "a whole number"),
        ("max_builds", "a whole number"),
        ("build_cost", "a number of runs"),
        ("seed", "a whole number"),
        ("commits", "from 1 to 10000"),
    ];
    refused(&world, &bisection, &wrong).await;
    // Problems that only the workers' libraries find.
    let culprit = [
        ("kind", "culprit"),
        ("bot", "lab"),
        ("benchmark", "parsing"),
        ("attempts", "4"),
        ("first_runs", "151"),
    ];
    let wrong = [
        ("story", "This benchmark needs a story."),
        ("good", "This field is required."),
        ("bad", "This field is required."),
        ("attempts", "from 6 to 150"),
        ("first_runs", "from 1 to 150"),
    ];
    refused(&world, &culprit, &wrong).await;
    assert!(get(&world, "/?size=25").await.ok().contains("0 jobs"));
}

/// A form with these problems, and no others.
async fn refused(world: &World, sent: &[(&str, &str)], wrong: &[(&str, &str)]) {
    let page = send(world, "make", sent).await;
    assert_eq!(page.status.as_u16(), 400, "{}", page.text);
    let text = page.text;
    for (name, problem) in wrong {
        let there = text
            .split(&format!(r#"<p class="error" id="e-{name}">"#))
            .nth(1);
        let there = there.unwrap_or_else(|| panic!("{name} has no problem: {text}"));
        let there = there.split("</p>").next().unwrap();
        assert!(there.contains(problem), "{name}: {there}");
        assert!(
            text.contains(&format!(r##"<a href="#f-{name}">"##)),
            "{name}"
        );
    }
    let invalid = text.matches(r#" aria-invalid="true""#).count();
    assert_eq!(invalid, wrong.len(), "{text}");
    for (name, typed) in sent {
        let typed = typed
            .replace('"', "&quot;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        if !["direction", "strategy"].contains(name) {
            assert_eq!(value(&text, name), typed, "{name}");
        }
    }
    assert!(!text.contains("<b>most") && !text.contains("<script>"));
}

/// The limits themselves are allowed.
#[tokio::test]
async fn the_longest_name_and_the_most_attempts_are_taken() {
    let world = world().await;
    let name = "ü".repeat(500);
    let (good, bad) = (good(), bad());
    let sent = [
        ("kind", "culprit"),
        ("name", &*name),
        ("bot", "lab"),
        ("benchmark", "parsing"),
        ("story", "small"),
        ("good", &good),
        ("bad", &bad),
        ("attempts", "150"),
    ];
    let made = send(&world, "make", &sent).await;
    let shown = arguments(&world, &made).await;
    assert_eq!(shown["culpritFinder"]["pairs"], 150);
    assert_eq!(shown["name"], *name);
}

#[tokio::test]
async fn a_double_click_makes_one_job() {
    let world = world().await;
    let page = get(&world, "/new").await.ok();
    let (good, bad) = (good(), bad());
    let key = value(&page, "key");
    let sent = [
        ("do", "make"),
        ("key", key),
        ("kind", "bisection"),
        ("bot", "lab"),
        ("benchmark", "parsing"),
        ("story", "small"),
        ("good", &good),
        ("bad", &bad),
    ];
    let (first, second) = tokio::join!(post(&world, "/new", &sent), post(&world, "/new", &sent));
    assert_eq!(first.leads_to(), second.leads_to());
    assert!(get(&world, "/?size=25").await.ok().contains("1 job<"));
    // Sent again with other values, from the page before: the form stays, with a new key.
    let other = post(&world, "/new", &[&sent[..], &[("name", "other")]].concat()).await;
    assert_eq!(other.status.as_u16(), 409);
    assert_eq!(value(&other.text, "name"), "other");
    assert!(
        other.text.contains("This form has already started a job;"),
        "{}",
        other.text
    );
    assert_ne!(value(&other.text, "key"), key);
    let without = post(&world, "/new", &[&sent[..1], &sent[2..]].concat()).await;
    assert_eq!(without.status.as_u16(), 400);
}

#[tokio::test]
async fn a_preset_fills_the_form() {
    let world = world().await;
    let preset = Preset {
        name: "Parsing & more".into(),
        kind: PresetKind::Try,
        benchmark: "parsing".into(),
        bot: "lab".into(),
        story: "large".into(),
        attempts: Some(20),
        ..Preset::default()
    };
    let service = Service {
        presets: [preset].into(),
        ..world.service.clone()
    };
    let router = router(service).await;
    let page = async |path: &str| {
        let request = http::Request::get(path).header("accept", "text/html");
        let request = request.body(axum::body::Body::empty()).unwrap();
        let answer = router.clone().oneshot(request).await.unwrap();
        let body = axum::body::to_bytes(answer.into_body(), usize::MAX).await;
        String::from_utf8(body.unwrap().into()).unwrap()
    };
    let link = "/new?preset=Parsing+%26+more";
    assert!(page("/new").await.contains(&format!(r#"href="{link}""#)));
    let filled = page(link).await;
    for (name, expected) in [
        ("kind", "try"),
        ("bot", "lab"),
        ("benchmark", "parsing"),
        ("story", "large"),
        ("attempts", "20"),
    ] {
        assert_eq!(value(&filled, name), expected);
    }
    assert_eq!(get(&world, link).await.status.as_u16(), 400);
}

#[tokio::test]
async fn a_search_is_estimated_and_makes_no_job() {
    let world = world().await;
    let sent = [
        ("kind", "culprit"),
        ("bot", "lab"),
        ("benchmark", "parsing"),
        ("story", "small"),
        ("magnitude", "20%"),
        ("attempts", "10"),
        ("max_runs", "100"),
        ("commits", "3"),
    ];
    // The ends are missing, which is not a problem yet.
    let page = send(&world, "look", &sent).await.ok();
    assert!(page.contains("3 commits between the ends; noise between runs: 1.000 % (assumed"));
    assert!(page.contains("<th scope=\"row\">+20.00 %</th>"), "{page}");
    assert!(page.contains("Runs include the comparisons of the ends and of each culprit."));
    assert!(page.contains("Correct result"));
    assert!(page.contains("<bdi>lab</bdi>: queue empty, no worker is online."));
    assert!(!page.contains("aria-invalid"));
    assert_eq!(value(&page, "commits"), "3");
    let part = async |query: &str| get(&world, &format!("/new/estimate?{query}")).await.ok();
    let unknown = part("kind=bisection&bot=lab").await;
    assert!(
        unknown.contains("the number of commits between them"),
        "{unknown}"
    );
    let pairs = part("kind=try&bot=lab&attempts=10").await;
    assert!(pairs.starts_with("<p>20 runs and 2 builds."), "{pairs}");
    assert!(
        pairs.contains("Difference found") && pairs.contains("% (false alarm)"),
        "{pairs}"
    );
    // Without a change to find, several sizes.
    assert_eq!(pairs.matches("<th scope=\"row\">").count(), 5, "{pairs}");
    let one =
        part("kind=try&bot=lab&attempts=10&magnitude=4%25&noise=2%25&early_stopping=yes").await;
    assert!(one.contains("<th scope=\"row\">+4.000 %</th>"), "{one}");
    assert_eq!(one.matches("<th scope=\"row\">").count(), 2, "{one}");
    assert!(one.contains("20 runs and 2 builds at most. Noise between runs: 2.000 % (as entered)"));
    let wrong = part("kind=try&bot=lab&magnitude=much").await;
    assert!(wrong.contains("class=\"error\""), "{wrong}");
    let search = "kind=bisection&bot=lab&benchmark=parsing&commits=3";
    let in_unit = part(&format!("{search}&magnitude=2.5&max_runs=40")).await;
    assert!(
        in_unit.contains("3 commits between the ends") && in_unit.contains("Enter the noise in it"),
        "{in_unit}"
    );
    let noise = part("kind=bisection&commits=3&noise=x").await;
    assert!(noise.contains("class=\"error\""), "{noise}");
    assert!(get(&world, "/?size=25").await.ok().contains("0 jobs"));
}

#[tokio::test]
async fn what_an_address_fills_in_is_kept_for_the_other_kinds() {
    let world = world().await;
    let address = format!(
        "/new?kind=bisection&name=slow%20page&benchmark=parsing&bot=lab&good={}&bad={}",
        good(),
        bad()
    );
    let page = get(&world, &address).await.ok();
    for (name, filled) in [
        ("name", "slow page"),
        ("benchmark", "parsing"),
        ("bot", "lab"),
    ] {
        assert_eq!(value(&page, name), filled);
    }
    let link = page
        .split("<a ")
        .find(|tag| tag.contains(r#"data-kind="try""#));
    let link = link.unwrap().split("href=\"").nth(1).unwrap();
    let link = link.split('"').next().unwrap().replace("&amp;", "&");
    let other = get(&world, &link).await.ok();
    assert_eq!(value(&other, "kind"), "try");
    for (name, filled) in [
        ("name", "slow page"),
        ("benchmark", "parsing"),
        ("bot", "lab"),
    ] {
        assert_eq!(value(&other, name), filled, "{link}");
    }
}
