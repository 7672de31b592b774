//! The page of a job.

use pinpoint_backends::job::machine_of;
use pinpoint_backends::store::{JobId, KnownFile, NewJob};
use pinpoint_core::{
    BisectionSpec, CulpritFinderSpec, Direction, Engine, JobOutcome, JobState, Journal, Machine,
    PairwiseSpec, Range, RunReport, Search, Span,
};
use pinpoint_service::SignIn;
use serde_json::{Value, json};

use super::simulated::{commit, ended, ended_with, report};
use super::{get, post};
use crate::world::World;

/// Markup, and characters that turn the text around them.
pub(super) const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\" \u{202e}'";

/// The text of an element and of all in it.
pub(super) fn text_of(html: &str) -> String {
    let mut text = String::new();
    let mut is_tag = false;
    for character in html.chars() {
        match character {
            '<' => is_tag = true,
            '>' => is_tag = false,
            character if !is_tag => text.push(character),
            _ => {}
        }
    }
    text.trim().to_owned()
}

/// The texts of the cells of each row of a table's body.
#[track_caller]
pub(super) fn rows(page: &str, table: &str) -> Vec<Vec<String>> {
    let table = page.split(&format!("<table class=\"{table}\">")).nth(1);
    let body = table.unwrap().split("<tbody>").nth(1).unwrap();
    let rows = body.split("</tbody>").next().unwrap().split("</tr>");
    let cells = |row: &str| {
        let cells = row.split("</td>").flat_map(|part| part.split("</th>"));
        let cells = cells.map(text_of).collect::<Vec<_>>();
        cells[..cells.len() - 1].to_vec()
    };
    let rows = rows.filter(|row| row.contains("<tr"));
    rows.map(cells).collect()
}

/// A search whose commit number 21 is slower.
fn bisection() -> BisectionSpec {
    BisectionSpec {
        chart: Some("time".into()),
        ..BisectionSpec::new(Range::Between {
            good: commit(0),
            bad: commit(32),
        })
    }
}

fn slower(number: u64, index: u32) -> RunReport {
    let level = if number < 21 { 100.0 } else { 110.0 };
    let noise = f64::from((index * 7 + number as u32 * 3) % 11) / 4.0;
    report(&[("time", "ms", level + noise)])
}

async fn page(world: &World, id: &JobId, query: &str) -> String {
    get(world, &format!("/jobs/{id}{query}")).await.ok()
}

/// The numbers of the elements `data` in the table of the posterior.
fn probabilities(page: &str) -> Vec<f64> {
    let Some(table) = page.split("<table class=\"posterior\">").nth(1) else {
        return Vec::new();
    };
    let table = table.split("</table>").next().unwrap();
    let values = table.split("<data value=\"").skip(1);
    let value = |text: &str| text.split('"').next().unwrap().parse().unwrap();
    values.map(value).collect()
}

#[tokio::test]
async fn the_posterior_of_each_moment_is_that_of_the_machine() {
    let world = World::new("ada").await;
    let id = ended(&world, bisection(), slower).await;
    let mut journal = world.store.journals().open(&id).await.unwrap();
    let records = journal.records().await.unwrap();
    let job = world.store.jobs().get(&id).await.unwrap();
    let mut engine = Engine::new(journal.job(), machine_of(&job, false).unwrap());
    let mut seen = 0;
    for at in 0..=records.len() {
        if at > 0 {
            engine.apply(&records[at - 1]).unwrap();
        }
        let Search::Bisection(search) = engine.machine().search() else {
            panic!("it is a bisection");
        };
        // The culprit that was found has its own probability; others belong to a further change.
        let found = match engine.machine().outcome() {
            Some(JobOutcome::Bisection(outcome)) => outcome.culprits.first(),
            _ => None,
        };
        let of_culprit = |span: &Span| {
            let found = found.filter(|it| it.prior == span.after && it.commit == span.last);
            found.and_then(|it| it.probability)
        };
        let expected = search.posterior().map(|known| {
            let better = (known.better > 0.0).then_some(known.better);
            let spans = (known.spans.iter()).map(|it| of_culprit(it).unwrap_or(it.probability));
            let first = [Some(known.no_change), better].into_iter().flatten();
            first.chain(spans).collect::<Vec<f64>>()
        });
        let page = page(&world, &id, &format!("?at={at}")).await;
        assert_eq!(
            probabilities(&page),
            expected.clone().unwrap_or_default(),
            "after record {at}"
        );
        seen += usize::from(expected.is_some());
        let is_past = page.contains("The page shows the job as it was");
        assert_eq!(is_past, at < records.len());
        assert_eq!(page.contains("culprit found"), !is_past);
        let value = format!(r#"max="{}" value="{at}""#, records.len());
        assert!(page.contains(&value), "{page}");
    }
    assert!(seen > 5, "{seen}");
    let ended = page(&world, &id, "").await;
    let table = rows(&ended, "posterior");
    let culprit = table
        .iter()
        .find(|row| row.iter().any(|it| it.ends_with("(culprit)")));
    assert!(
        (culprit
            .unwrap()
            .last()
            .unwrap()
            .trim_start_matches("more than "))
        .starts_with('9'),
        "{table:?}"
    );
    assert_eq!(
        probabilities(&page(&world, &id, "").await),
        probabilities(&page(&world, &id, "?at=100000").await)
    );
}

#[tokio::test]
async fn a_search_is_shown_with_its_answer_and_its_evidence() {
    let world = World::new("ada").await;
    // The middle does not build.
    let id = ended_with(&world, bisection(), slower, &[16], NewJob::default()).await;
    let page = page(&world, &id, "").await;
    let answer = page.split(r#"id="answer">"#).nth(1).unwrap();
    let answer = text_of(answer.split("</p>").next().unwrap());
    assert!(answer.starts_with("0000000000 “Number 21"), "{answer}");
    assert!(
        answer.contains("changed time from 10") && answer.contains("to 11"),
        "{answer}"
    );
    for part in [
        "Why it ended",
        "everything was decided",
        "Probability of each culprit",
        "Values of all runs by commit",
        r#"href="https://github.com/example/numbers/commit/"#,
        "Skipped commits",
        "does not build: ",
        &format!("/jobs/{id}/journal.jsonl"),
        &format!("/api/v2/jobs/{id}/report"),
        r#"aria-labelledby="facts-title""#,
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    // Nothing is live anymore.
    assert!(!page.contains("data-live") && !page.contains("Expected: "));
}

#[tokio::test]
async fn a_result_has_the_same_size_on_the_page_in_the_list_and_in_the_api() {
    let world = World::new("ada").await;
    let search = ended(&world, bisection(), slower).await;
    let spec = PairwiseSpec {
        pairs: 12,
        ..PairwiseSpec::new(commit(0), commit(1))
    };
    let comparison = ended(&world, spec, |number, index| {
        // The ratio of the medians is not the median of the ratios.
        let value = 20.0 + f64::from(index * index % 7);
        let factor = if number == 0 {
            1.0
        } else {
            1.3 + 0.02 * f64::from(index % 5)
        };
        report(&[("time", "ms", value * factor)])
    })
    .await;
    let list = get(&world, "/?size=25").await.ok();
    for (id, digits) in [(search, 1), (comparison, 2)] {
        let job = world.get(&format!("/api/v2/jobs/{id}")).await.ok();
        let effect = &job["summary"]["answer"]["effect"];
        let number = |name: &str| effect[name].as_f64().unwrap();
        let (before, percent) = (number("before"), number("percent"));
        let of_medians = 100.0 * (number("after") / before - 1.0);
        assert!((percent - of_medians).abs() > 1e-9, "{effect}");
        assert!(
            (number("estimate") - before * percent / 100.0).abs() < 1e-9,
            "{effect}"
        );
        let shown = format!("{percent:+.digits$} %");
        let row = list.split(&format!("/jobs/{id}\"")).nth(1).unwrap();
        let row = row.split("</tr>").next().unwrap();
        assert!(row.contains(&shown), "{shown}: {row}");
        let page = page(&world, &id, "").await;
        assert!(page.contains(&shown), "{shown}: {page}");
    }
}

/// The original divides an interval in percent by the median once more, swaps base and
/// experiment, and takes every metric as one whose larger values are better.
#[tokio::test]
async fn a_change_is_in_percent_once_from_base_to_experiment_by_the_metrics_own_direction() {
    let world = World::new("ada").await;
    let spec = PairwiseSpec {
        pairs: 10,
        directions: [
            ("time".to_owned(), Direction::Down),
            ("rate".to_owned(), Direction::Up),
        ]
        .into(),
        ..PairwiseSpec::new(commit(0), commit(1))
    };
    let id = ended(&world, spec, |number, _| {
        // 200 and 220: ten pairs whose ratio is 1.1.
        let value = if number == 0 { 200.0 } else { 220.0 };
        report(&[
            ("time", "ms", value),
            ("rate", "runs", value),
            ("size", "ms", value),
        ])
    })
    .await;
    let shown = page(&world, &id, "?sort=metric").await;
    // ln 1.1 is every difference and so every average of two: the estimate and both ends of
    // its interval are 10 %. All ten differences have one sign: p is 2 / 2^10 where no two are
    // alike, and with ties z = 27.5 / √75.625 = 3.162, p = 0.0016. Alike in all three metrics,
    // the adjusted p is the same.
    let numbers = |chart: &str, unit: &str, verdict: &str| {
        let (base, experiment) = (format!("200.0 {unit}"), format!("220.0 {unit}"));
        let interval = "+9.57 to +10.43 %";
        [
            chart,
            &base,
            &experiment,
            "+10.00 %",
            interval,
            "0.002",
            "0.002",
            verdict,
        ]
        .map(str::to_owned)
    };
    let rows = rows(&shown, "metrics");
    let expected = [
        numbers("rate", "runs", "▲ better"),
        numbers("size", "ms", "◆ changed"),
        numbers("time", "ms", "▼ worse"),
    ];
    assert_eq!(rows, expected);
}

fn of_many(number: u64, _: u32) -> RunReport {
    let mut report = RunReport::new(0);
    for chart in 0..250_u32 {
        // Chart 3 changes by 3 %, chart 12 by 12 %, and so on.
        let change = 1.0 + f64::from(chart) / 100.0 * number as f64;
        report = report.value(format!("chart {chart:03}"), 50.0 * change);
    }
    report
}

#[tokio::test]
async fn metrics_are_sorted_by_number_over_all_pages_and_searched() {
    let world = World::new("ada").await;
    let spec = PairwiseSpec {
        pairs: 6,
        ..PairwiseSpec::new(commit(0), commit(1))
    };
    let id = ended(&world, spec, of_many).await;
    let first = |page: &str| rows(page, "metrics")[0][0].clone();
    let shown = page(&world, &id, "?sort=change").await;
    assert_eq!(first(&shown), "chart 000");
    assert!(shown.contains(r#"aria-sort="ascending""#) && shown.contains("Page 1 of 3"));
    let shown = page(&world, &id, "?sort=change&order=descending").await;
    // As text, 99 would be more than 249.
    assert_eq!(first(&shown), "chart 249");
    assert_eq!(rows(&shown, "metrics").len(), 100);
    let last = page(&world, &id, "?sort=change&order=descending&page=3").await;
    assert_eq!(rows(&last, "metrics").len(), 50);
    assert_eq!(first(&last), "chart 049");
    assert!(!last.contains(r#"rel="next" href="/jobs"#) || !last.contains("Later</a></nav>"));
    let found = page(&world, &id, "?find=CHART+24&sort=metric").await;
    assert_eq!(rows(&found, "metrics").len(), 10);
    assert!(found.contains("10 of 250 metrics"), "{found}");
    // The choice stays when the page changes.
    assert!(
        found.contains("find=CHART+24&amp;sort=base#metrics"),
        "{found}"
    );
    let one = page(&world, &id, "?chart=chart+007").await;
    assert!(one.contains("the experiment below") && one.contains("a value of <bdi>chart 007"));
    for bad in ["sort=unheard", "at=-1", "page=x", "at=1&at=2"] {
        let refused = get(&world, &format!("/jobs/{id}?{bad}")).await;
        assert_eq!(refused.status.as_u16(), 400, "{bad}");
    }
}

#[tokio::test]
async fn each_run_of_a_pair_is_a_square_that_leads_to_all_about_it() {
    let world = World::new("ada").await;
    let spec = PairwiseSpec {
        pairs: 6,
        ..PairwiseSpec::new(commit(0), commit(1))
    };
    let id = ended(&world, spec, |number, index| match (number, index) {
        (1, 2) => RunReport::failed(0, "exit code 3"),
        (0, 0) => report(&[("time", "ms", 10.0)]),
        _ => report(&[("time", "ms", 10.0), ("size", "bytes", 2048.0)]),
    })
    .await;
    let shown = page(&world, &id, "").await;
    let squares = |page: &str, shape: &str| page.matches(&format!(">{shape}</a>")).count();
    assert_eq!((squares(&shown, "■"), squares(&shown, "✕")), (11, 1));
    let failed = shown
        .split("aria-label=\"run ")
        .find(|it| it.contains(", failed\""));
    assert!(failed.is_some(), "{shown}");
    // A run without a value of the metric that was chosen is not one of those.
    let chosen = page(&world, &id, "?chart=size").await;
    assert_eq!((squares(&chosen, "■"), squares(&chosen, "✕")), (10, 2));
    let link = shown.split("class=\"failed\" href=\"").nth(1).unwrap();
    let link = link.split('#').next().unwrap().replace("&amp;", "&");
    let run = get(&world, &link).await.ok();
    let details = run.split("id=\"run\"").nth(1).unwrap();
    let details = details.split("</section>").next().unwrap();
    assert!(details.contains("exit code 3"), "{details}");
    let other = shown
        .split("href=\"/jobs")
        .find(|it| it.contains("aria-label=\"run") && !it.contains("failed"));
    let other = format!("/jobs{}", other.unwrap().split('#').next().unwrap());
    let details = get(&world, &other).await.ok();
    let details = details.split("id=\"run\"").nth(1).unwrap();
    assert!(
        details.contains("10.00 ms") && details.contains("2023-11-14 22:13:20 UTC"),
        "{details}"
    );
    assert!(details.contains("Machine") && !details.contains("<img"));
    assert!(
        page(&world, &id, "?run=%3Cb%3E")
            .await
            .contains("There is no run")
    );
}

#[tokio::test]
async fn a_culprit_finder_has_three_stages() {
    let world = World::new("ada").await;
    let mut spec = CulpritFinderSpec::new(bisection().range);
    spec.bisection = bisection();
    spec.pairs = 10;
    let id = ended(&world, spec, slower).await;
    let shown = page(&world, &id, "").await;
    for part in [
        "Verification",
        "Do the ends differ? 10 of 10 pairs",
        "Search",
        "Confirmation",
        "Culprit: ",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(shown.matches(">done</span>").count(), 3, "{shown}");
    let begun = page(&world, &id, "?at=8").await;
    assert!(
        begun.contains(">in progress</span>") && begun.contains(">not started</span>"),
        "{begun}"
    );
    assert!(begun.contains("It starts once the ends are known to differ"));
    assert!(begun.contains("At this point, "), "{begun}");
}

#[tokio::test]
async fn the_past_shows_what_was_known_then() {
    let world = World::new("ada").await;
    let id = ended(&world, bisection(), slower).await;
    let now = page(&world, &id, "").await;
    let past = page(&world, &id, "?at=5").await;
    for of_now in ["Completed", "Last state change", "Why it ended"] {
        assert!(now.contains(of_now), "{of_now}: {now}");
        assert!(!past.contains(of_now), "{of_now}: {past}");
    }
    let cost = |page: &str| {
        let cost = page.split(">Cost</th>").nth(1).unwrap();
        text_of(cost.split("</td>").next().unwrap())
    };
    let job = world.store.jobs().get(&id).await.unwrap();
    assert!(cost(&now).starts_with(&format!("{} runs, ", job.runs)));
    assert_ne!(cost(&past), cost(&now));
    let at_first = page(&world, &id, "?at=0").await;
    assert_eq!(cost(&at_first), "0 runs, 0 builds");
}

#[tokio::test]
async fn every_run_has_a_square_on_some_page_of_them() {
    let world = World::new("ada").await;
    let spec = PairwiseSpec {
        pairs: 510,
        ..PairwiseSpec::new(commit(0), commit(1))
    };
    let id = ended(&world, spec, slower).await;
    let squares = |page: &str| page.matches(r#"aria-label="run "#).count();
    let last = page(&world, &id, "").await;
    assert_eq!(squares(&last), 1000);
    assert!(last.contains("Pairs 11 to 510 of 510"), "{last}");
    let earlier = last.split(r#"rel="prev" href=""#).find_map(|part| {
        let link = part.split('"').next()?;
        link.contains("pairs=").then(|| link.replace("&amp;", "&"))
    });
    let earlier = get(&world, &earlier.unwrap()).await.ok();
    assert!(earlier.contains("Pairs 1 to 500 of 510"), "{earlier}");
    assert_eq!(squares(&earlier), 1000);
}

#[tokio::test]
async fn what_is_under_way_is_kept_as_it_is_and_nothing_else_is() {
    let world = World::new("ada").await;
    let job = json!({
        "bot": "lab", "benchmark": "parsing", "story": "small", "name": "Since Monday", "bugId": 17,
        "bisection": { "good": "a".repeat(40), "bad": "b".repeat(40) },
    });
    let made = world.post("/api/v2/jobs", &job).await.ok();
    let id = made["summary"]["jobId"].as_str().unwrap();
    let path = format!("/jobs/{id}");
    let whole = get(&world, &path).await.ok();
    let live = format!(r#"data-live="/jobs/{id}/events?shown="#);
    assert!(whole.contains(&live), "{whole}");
    assert!(
        whole.contains("no worker serves bot") && whole.contains("Still to do: "),
        "{whole}"
    );
    assert!(whole.contains("17") && whole.contains(&format!("/new?from={id}")));
    // The part that a script requests is that of the page.
    let part = get(&world, &format!("{path}?fragment=1")).await;
    assert_eq!(part.headers["cache-control"], "private, no-cache");
    let part = part.ok();
    let steady = |text: &str| text.split("name=\"key\"").next().unwrap().to_owned();
    assert!(
        part.starts_with("<div id=\"job\"") && whole.contains(&steady(&part)),
        "{part}"
    );
    let reason = [("reason", "fixed in main")];
    post(&world, &format!("{path}/cancel"), &reason).await;
    let canceled = get(&world, &path).await.ok();
    assert!(
        !canceled.contains("data-live=") && canceled.contains("fixed in main"),
        "{canceled}"
    );
    // Users who may only look get no buttons.
    let tokens = world.beside(SignIn::Tokens).await;
    let token = world.token("bo", &["viewer"]).await;
    let request = http::Request::get(&path)
        .header("accept", "text/html")
        .header("authorization", format!("Bearer {token}"));
    let request = request.body(axum::body::Body::empty()).unwrap();
    let seen = tower::ServiceExt::oneshot(tokens, request).await.unwrap();
    let seen = axum::body::to_bytes(seen.into_body(), usize::MAX)
        .await
        .unwrap();
    let seen = String::from_utf8(seen.into()).unwrap();
    assert!(
        seen.contains("Since Monday") && !seen.contains("method=\"post\""),
        "{seen}"
    );
}

#[tokio::test]
async fn what_others_wrote_is_text_wherever_it_is() {
    let world = World::new("ada").await;
    let names = NewJob {
        name: format!("{}{HOSTILE}", "שלום ".repeat(200)),
        benchmark: HOSTILE.into(),
        bot: HOSTILE.into(),
        user: HOSTILE.into(),
        repository: HOSTILE.into(),
        title: HOSTILE.into(),
        config: json!({ "request": { "story": HOSTILE } }),
        ..NewJob::default()
    };
    let spec = PairwiseSpec {
        pairs: 6,
        ..PairwiseSpec::new(commit(0), commit(1))
    };
    let runs = |number: u64, index: u32| match (number, index) {
        (1, 1) => RunReport::failed(0, HOSTILE),
        _ => report(&[(HOSTILE, HOSTILE, 1.0 + number as f64)]),
    };
    let pairs = ended_with(&world, spec, runs, &[], names.clone()).await;
    let search = ended_with(&world, bisection(), slower, &[16], names).await;
    let chart: String = form_urlencoded::byte_serialize(HOSTILE.as_bytes()).collect();
    for path in [
        format!("/jobs/{pairs}"),
        format!("/jobs/{pairs}?at=3"),
        format!("/jobs/{pairs}?chart={chart}&find={chart}&run={chart}"),
        format!("/jobs/{search}"),
        format!("/jobs/{search}?at=9"),
        format!("/compare?jobs={pairs},{search}"),
    ] {
        let page = get(&world, &path).await.ok();
        for unsafe_text in ["<img", "\u{202e}", " style="] {
            assert!(
                !page.contains(unsafe_text),
                "{path}: {unsafe_text:?} in {page}"
            );
        }
        assert!(
            page.contains("&lt;img src=x onerror=alert(1)&gt;"),
            "{path}: {page}"
        );
    }
}

#[tokio::test]
async fn a_job_of_a_newer_version_is_shown_as_far_as_it_can_be() {
    let world = World::new("ada").await;
    let names = || NewJob {
        name: "Since Monday".into(),
        benchmark: "parsing".into(),
        ..NewJob::default()
    };
    let newer = NewJob {
        kind: "tournament".into(),
        spec: json!({ "version": 7 }),
        ..names()
    };
    let newer = world.store.jobs().create(&newer).await.unwrap();
    let spec = PairwiseSpec {
        pairs: 6,
        ..PairwiseSpec::new(commit(0), commit(1))
    };
    let other = ended_with(&world, spec, of_many, &[], names()).await;
    for (id, is_known) in [(newer, false), (other, true)] {
        let page = page(&world, &id, "").await;
        assert!(
            page.contains("Since Monday") && page.contains("parsing"),
            "{page}"
        );
        assert_eq!(page.contains("be shown in full"), !is_known, "{page}");
    }
}

#[tokio::test]
async fn a_job_that_was_purged_is_not_found() {
    let world = World::new("ada").await;
    let id = ended(&world, bisection(), slower).await;
    assert!(page(&world, &id, "").await.contains("culprit found"));
    let purged = world.store.jobs().purge(i64::MAX, 10).await.unwrap();
    assert_eq!(purged, std::slice::from_ref(&id));
    for path in ["", "/journal.jsonl", "/files/builds/a.log"] {
        let gone = get(&world, &format!("/jobs/{id}{path}")).await;
        assert_eq!(gone.status.as_u16(), 404, "{path}");
        assert!(gone.text.contains("Not found"), "{}", gone.text);
    }
}

#[tokio::test]
async fn a_journal_is_a_file_of_lines() {
    let world = World::new("ada").await;
    let id = ended(&world, bisection(), slower).await;
    let file = get(&world, &format!("/jobs/{id}/journal.jsonl")).await;
    assert_eq!(
        file.headers["content-type"],
        "application/jsonl; charset=utf-8"
    );
    let name = format!("attachment; filename=\"pinpoint-{id}.jsonl\"");
    assert_eq!(file.headers["content-disposition"], *name);
    let lines = file
        .text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines: Vec<_> = lines.collect();
    let mut journal = world.store.journals().open(&id).await.unwrap();
    assert_eq!(lines.len(), journal.records().await.unwrap().len());
    let numbers: Vec<_> = lines
        .iter()
        .map(|line| line["sequence"].as_u64().unwrap())
        .collect();
    assert!(
        numbers.is_sorted() && lines[0]["record"].is_object(),
        "{}",
        lines[0]
    );
}

#[tokio::test]
async fn an_output_is_given_and_nothing_else_of_the_job_is() {
    let world = World::new("ada").await;
    let id = world
        .store
        .jobs()
        .create(&NewJob::new(bisection()).unwrap())
        .await
        .unwrap();
    let lease = world
        .store
        .leases()
        .grant(&id, "test", std::time::Duration::from_secs(600));
    let lease = lease.await.unwrap();
    let store = &world.store;
    for (name, content) in [
        ("builds/ab-1.log", "error: <b>no</b>"),
        ("runs/tails.jsonl", "{}"),
        ("patch", "secret"),
    ] {
        store
            .files()
            .append(
                &lease,
                &KnownFile {
                    name: name.into(),
                    size: 0,
                    pieces: 0,
                },
                content.as_bytes(),
            )
            .await
            .unwrap();
    }
    store
        .leases()
        .set_state(&lease, JobState::Running, None, None)
        .await
        .unwrap();
    let file = get(&world, &format!("/jobs/{id}/files/builds/ab-1.log")).await;
    assert_eq!(
        (file.status.as_u16(), &*file.text),
        (200, "error: <b>no</b>")
    );
    assert_eq!(file.headers["content-type"], "text/plain; charset=utf-8");
    assert_eq!(file.headers["x-content-type-options"], "nosniff");
    for path in [
        "runs/tails.jsonl",
        "patch/patch",
        "builds/..%2Fpatch",
        "builds/none.log",
    ] {
        let refused = get(&world, &format!("/jobs/{id}/files/{path}")).await;
        assert_eq!(refused.status.as_u16(), 404, "{path}");
    }
}

#[tokio::test]
async fn ten_thousand_metrics_are_a_page_like_others() {
    let world = World::new("ada").await;
    let spec = PairwiseSpec {
        pairs: 6,
        ..PairwiseSpec::new(commit(0), commit(1))
    };
    let id = ended(&world, spec, |number, _| {
        let mut report = RunReport::new(0);
        for chart in 0..10_000 {
            report = report.value(format!("{chart}"), 1.0 + number as f64);
        }
        report
    })
    .await;
    let shown = page(&world, &id, "?page=100&sort=metric").await;
    assert!(shown.contains("10000 metrics") && shown.contains("Page 100 of 100"));
    assert_eq!(rows(&shown, "metrics").len(), 100);
    assert!(shown.len() < 200_000, "{}", shown.len());
}
