//! BigQuery's own client, in Go, and ours.

use pinpoint_backends::bigquery::Query;

use super::fake::Fake;
use super::{Job, client, job, rows, table};
use crate::programs::printed;

/// In this order one of them makes the table, and the other finds it made.
#[tokio::test]
#[ignore = "needs the programs in Go: the test says how to build them"]
async fn each_reads_what_the_other_wrote() {
    for are_we_first in [true, false] {
        let fake = Fake::start().await;
        fake.state.lock().unwrap().has_plain_names = true;
        let ours = client(&fake);
        let address = &fake.server.address;
        let (mine, theirs) = match are_we_first {
            true => (0..5, ["5", "9"]),
            false => (4..9, ["0", "4"]),
        };
        let read = ["jobs", theirs[0], theirs[1]];
        if !are_we_first {
            printed("bigquery", &[&[&**address], &read[..]].concat()).await;
        }
        ours.create::<Job>(&table()).await.unwrap();
        ours.insert(&table(), rows(mine)).await.unwrap();
        // Those that it inserted before are the same rows.
        let printed = printed("bigquery", &[&[&**address], &read[..]].concat()).await;
        let mut found: Vec<(i64, String, String, usize, bool)> = { printed.iter() }
            .map(|row| {
                let list = |name: &str| row[name].as_array().map_or(0, Vec::len);
                let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
                let is_done = row["is_done"].as_bool().unwrap();
                let lists = 10 * list("samples") + list("culprits");
                let number = row["number"].as_i64().unwrap();
                (number, text("id"), text("made"), lists, is_done)
            })
            .collect();
        found.sort();
        let expected: Vec<_> = (0..9)
            .map(job)
            .map(|job| {
                let lists = 10 * job.samples.len() + job.culprits.len();
                (job.number, job.id, job.made.0, lists, job.is_done)
            })
            .collect();
        assert_eq!(found, expected);
        let all = Query::new("SELECT * FROM d.jobs");
        let mut all: Vec<Job> = ours.query("p", &all).await.unwrap();
        all.sort_by_key(|job| job.number);
        assert_eq!(all, (0..9).map(job).collect::<Vec<_>>());
    }
}
