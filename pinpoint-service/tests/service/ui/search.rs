//! The page of a search: its runs, and all comparisons.

use pinpoint_backends::store::NewJob;
use pinpoint_core::{BisectionSpec, Range, RunReport, Strategy};

use super::get;
use super::job::text_of;
use super::simulated::{commit, ended, ended_with, report};
use crate::world::World;

/// Commit number 5 of 8 is slower, and one run of the good end fails.
fn slower(number: u64, index: u32) -> RunReport {
    if (number, index) == (0, 1) {
        return RunReport::failed(1_700_000_000_000, "exit code 3");
    }
    let level = if number < 5 { 100.0 } else { 110.0 };
    let noise = f64::from((index * 7 + number as u32 * 3) % 11) / 4.0;
    report(&[("time", "ms", level + noise)])
}

fn search(strategy: Strategy) -> BisectionSpec {
    BisectionSpec {
        chart: Some("time".into()),
        strategy,
        ..BisectionSpec::new(Range::Between {
            good: commit(0),
            bad: commit(8),
        })
    }
}

/// The section of this id.
#[track_caller]
fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let section = page.split(&format!(" id=\"{id}\" aria-labelledby=")).nth(1);
    section
        .unwrap_or_else(|| panic!("no section {id}: {page}"))
        .split(if id == "run" {
            "</dialog>"
        } else {
            "</section>"
        })
        .next()
        .unwrap()
}

#[tokio::test]
async fn each_run_of_a_search_is_a_square_that_leads_to_all_about_it() {
    let world = World::new("ada").await;
    let id = ended(&world, search(Strategy::Adaptive), slower).await;
    let path = format!("/jobs/{id}");
    let page = get(&world, &path).await.ok();
    let runs = section(&page, "runs");
    let squares = |shape: &str| runs.matches(&format!(">{shape}</a>")).count();
    let job = world.store.jobs().get(&id).await.unwrap();
    assert_eq!(squares("✕"), 1, "{runs}");
    assert_eq!((squares("■") + squares("✕")) as u64, job.runs);
    // A group for each commit, with its name, in order.
    let groups: Vec<_> = runs.split("role=\"group\"").skip(1).map(text_of).collect();
    assert!(
        groups.len() > 2 && groups[0].contains("Number 0 "),
        "{groups:?}"
    );
    assert!(groups.last().unwrap().contains("Number 8 "), "{groups:?}");
    assert!(!page.contains("<img"));

    let failed = runs.split("class=\"failed\" href=\"").nth(1).unwrap();
    let failed = failed.split('#').next().unwrap().replace("&amp;", "&");
    let card = get(&world, &failed).await.ok();
    let card = section(&card, "run").to_owned();
    assert!(
        card.contains("exit code 3") && card.contains("Number 0 "),
        "{card}"
    );
    let other = runs
        .split("href=\"")
        .find(|it| it.starts_with("/jobs/"))
        .unwrap();
    let other = other.split('#').next().unwrap().replace("&amp;", "&");
    let page = get(&world, &other).await.ok();
    let card = section(&page, "run");
    // Without a script, a link closes it.
    let close = card.split("data-close href=\"").nth(1).unwrap();
    assert_eq!(close.split('"').next(), Some(&*path), "{card}");
    for part in [
        "Machine",
        "Build",
        "built in",
        " ms",
        "2023-11-14 22:13:20 UTC",
    ] {
        assert!(card.contains(part), "{part}: {card}");
    }
    assert!(section(&page, "runs").contains("aria-current=\"true\""));
    // As it was after so many records.
    let before = get(&world, &format!("{path}?at=9")).await.ok();
    let before = section(&before, "runs").matches("■</a>").count();
    assert!(before > 0 && (before as u64) < job.runs, "{before}");
}

#[tokio::test]
async fn comparisons_of_neighbors_are_shown_as_in_the_report_while_the_job_goes_on_too() {
    let world = World::new("ada").await;
    let id = ended(&world, search(Strategy::Pinpoint), slower).await;
    let path = format!("/jobs/{id}");
    let page = get(&world, &path).await.ok();
    let shown = section(&page, "comparisons");
    assert!(
        shown.contains("<td>different</td>") && shown.contains("<td>same</td>"),
        "{shown}"
    );
    let report = get(&world, &format!("/api/v2/jobs/{id}/report")).await.text;
    // In the same words and numbers; only the links of commits differ.
    let texts = |section: &str| -> Vec<String> {
        let body = section.split("<tbody>").nth(1).unwrap();
        // The unit comes from the metric that a worker finds, and none worked here.
        let cells = body
            .split("</td>")
            .map(|cell| text_of(cell).replace(" ms", ""));
        cells
            .map(|cell| cell.split_whitespace().collect())
            .collect()
    };
    assert_eq!(texts(shown), texts(section(&report, "comparisons")));
    // The original shows no result of a search, and none of its history.
    let records = page
        .split("max=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let records: usize = records.parse().unwrap();
    let before = get(&world, &format!("{path}?at={}", records - 5))
        .await
        .ok();
    assert!(
        section(&before, "comparisons").contains("<td>different</td>"),
        "{before}"
    );
    assert!(section(&before, "searched").contains("commit"), "{before}");
    assert!(!page.contains("id=\"searched\""));
}

#[tokio::test]
async fn a_search_whose_budget_ends_shows_the_commits_that_are_left() {
    let world = World::new("ada").await;
    let spec = BisectionSpec {
        max_builds: Some(3),
        ..search(Strategy::Pinpoint)
    };
    let id = ended_with(&world, spec, slower, &[], NewJob::default()).await;
    let page = get(&world, &format!("/jobs/{id}")).await.ok();
    let left = section(&page, "candidates");
    assert!(
        left.contains("<ol>") && left.contains("Number 5 "),
        "{left}"
    );
    assert!(!left.contains("<img"), "{left}");
}
