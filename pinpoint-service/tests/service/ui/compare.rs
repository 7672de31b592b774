//! Two jobs side by side.

use pinpoint_backends::store::NewJob;
use pinpoint_core::{BisectionSpec, PairwiseSpec, Range};
use serde_json::json;

use super::get;
use super::job::rows;
use super::simulated::{commit, ended, report};
use crate::world::World;

#[tokio::test]
async fn two_comparisons_stand_side_by_side() {
    let world = World::new("ada").await;
    let spec = PairwiseSpec {
        pairs: 10,
        ..PairwiseSpec::new(commit(0), commit(1))
    };
    let one = ended(&world, spec.clone(), |number, _| {
        report(&[
            ("time", "ms", 100.0 + 10.0 * number as f64),
            ("size", "ms", 1.0),
        ])
    });
    let one = one.await;
    let other = ended(&world, spec, |number, _| {
        report(&[("time", "ms", 100.0 - 10.0 * number as f64)])
    });
    let other = other.await;
    let page = get(&world, &format!("/compare?jobs={one},{other}"))
        .await
        .ok();
    let rows = rows(&page, "metrics");
    assert_eq!(rows[0][..2], ["size", "1.000"], "{rows:?}");
    assert_eq!(rows[0][7], "not compared", "{rows:?}");
    let (first, second) = (&rows[1][1..7], &rows[1][7..]);
    assert_eq!(first[..3], ["100.0", "110.0", "+10.00 %"]);
    assert_eq!(second[..3], ["100.0", "90.00", "-10.00 %"]);
    for id in [&one, &other] {
        assert!(page.contains(&format!("/jobs/{id}")));
    }
    // As the form of a job sends it.
    let asked = get(&world, &format!("/compare?jobs={one}&with=+{other}")).await;
    assert_eq!(asked.leads_to(), format!("/compare?jobs={one}%2C{other}"));
    for (jobs, status) in [
        ("", 400),
        (one.as_str(), 400),
        ("a,b,c", 400),
        ("a,b", 400),
        (&format!("{one},0199f3c1a2b37f0e8d1c2b3a49586776"), 404),
    ] {
        let refused = get(&world, &format!("/compare?jobs={jobs}")).await;
        assert_eq!(refused.status.as_u16(), status, "{jobs}: {}", refused.text);
    }
}

#[tokio::test]
async fn culprits_of_both_and_of_one_are_told_apart() {
    let world = World::new("ada").await;
    let spec = |bad: u64| BisectionSpec {
        chart: Some("time".into()),
        ..BisectionSpec::new(Range::Between {
            good: commit(0),
            bad: commit(bad),
        })
    };
    let runs = |number: u64, index: u32| {
        let steps = [5, 20].map(|step| f64::from(u8::from(number >= step)));
        let noise = f64::from(index * 7 % 5) / 10.0;
        report(&[("time", "ms", 100.0 + 20.0 * (steps[0] + steps[1]) + noise)])
    };
    let both = ended(&world, spec(30), runs).await;
    let one = ended(&world, spec(10), runs).await;
    let page = get(&world, &format!("/compare?jobs={both},{one}"))
        .await
        .ok();
    let part = |title: &str| {
        let part = page.split(title).nth(1);
        part.map(|part| part.split("</ul>").next().unwrap().matches("<li>").count())
    };
    assert_eq!(part("Both found"), Some(1), "{page}");
    assert_eq!(part("Only the first found"), Some(1), "{page}");
    assert_eq!(part("Only the second found"), None);
}

#[tokio::test]
async fn a_job_that_can_not_be_read_is_shown_as_far_as_it_can_be() {
    let world = World::new("ada").await;
    let spec = PairwiseSpec {
        pairs: 6,
        ..PairwiseSpec::new(commit(0), commit(1))
    };
    let whole = ended(&world, spec.clone(), |_, _| report(&[("time", "ms", 1.0)])).await;
    let newer = NewJob {
        kind: "tournament".into(),
        spec: json!({ "version": 7 }),
        ..NewJob::default()
    };
    let damaged = NewJob {
        kind: "pairwise".into(),
        spec: serde_json::to_value(&spec).unwrap(),
        config: json!({ "local": 7 }),
        ..NewJob::default()
    };
    for unreadable in [newer, damaged] {
        let unreadable = NewJob {
            name: "Since Monday".into(),
            benchmark: "parsing".into(),
            ..unreadable
        };
        let id = world.store.jobs().create(&unreadable).await.unwrap();
        for jobs in [format!("{id},{whole}"), format!("{whole},{id}")] {
            let page = get(&world, &format!("/compare?jobs={jobs}")).await.ok();
            for shown in ["Since Monday", "parsing", "be shown in full", "time"] {
                assert!(page.contains(shown), "{shown}: {page}");
            }
            // The other one has its answer.
            assert_eq!(page.matches("be shown in full").count(), 1, "{page}");
            assert!(page.contains("not compared"), "{page}");
        }
    }
}
