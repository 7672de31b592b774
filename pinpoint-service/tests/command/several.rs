//! Several processes of the service on one PostgreSQL server: one is killed under load, and
//! the database is.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use pinpoint_backends::store::{AuditCheck, JobFilter, JobStore, ListOrder, PagePosition};
use serde_json::{Value, json};

use crate::scene::Scene;
use crate::{paced, postgres};

const LIMITS: &str = "[limits]\njobs_an_hour = 'none'\njobs_under_way = 'none'\n";

/// Clients that make jobs, and the jobs that each makes.
const CLIENTS: usize = 4;
const JOBS: usize = 30;
/// Pairs of runs of the job that is watched, and how long each takes.
const PAIRS: u32 = 300;
const PACE: Duration = Duration::from_millis(20);

/// The longest that a client waits for a process that answers.
const HANG_TIMEOUT: Duration = Duration::from_secs(300);

/// A configuration with this store, and without the limits that the load would reach.
fn scene(store: &str) -> Scene {
    Scene::new(&format!("store = '{store}'\n{LIMITS}"))
}

/// Sends a request by HTTP/1.0, whose answers end with their connection, and reads the head of
/// the answer.
fn send(
    address: &str,
    request: &str,
    headers: &str,
    body: &str,
) -> io::Result<(u16, BufReader<TcpStream>)> {
    let mut stream = TcpStream::connect(address)?;
    let length = body.len();
    write!(
        stream,
        "{request} HTTP/1.0\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n{headers}\r\n{body}"
    )?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let status = line
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let status = status.ok_or(io::ErrorKind::UnexpectedEof)?;
    while reader.read_line(&mut line)? > 2 {}
    Ok((status, reader))
}

/// The processes as clients know them: by their addresses, one after the other.
struct Addresses(Vec<String>);

impl Addresses {
    /// Sends a request to one process after the other until one answers it with success.
    fn answer(&self, first: usize, request: &str, headers: &str, body: &str) -> Value {
        let began = Instant::now();
        let mut refusals = BTreeMap::<u16, String>::new();
        for number in first.. {
            let address = &self.0[number % self.0.len()];
            let answered = send(address, request, headers, body)
                .and_then(|(status, reader)| Ok((status, io::read_to_string(reader)?)));
            match answered {
                Ok((200, body)) => return serde_json::from_str(&body).unwrap(),
                Ok((status @ (429 | 503), body)) => drop(refusals.insert(status, body)),
                Ok((status, body)) => panic!("{status} {body}"),
                // It was killed.
                Err(_) => {}
            }
            assert!(
                began.elapsed() < HANG_TIMEOUT,
                "no process answers: {refusals:?}"
            );
            thread::sleep(Duration::from_millis(50));
        }
        unreachable!("there are enough numbers")
    }

    /// The numbers of all records of a job, in the order in which one watcher gets them. It
    /// continues at the next process when one has died.
    fn watch(&self, first: usize, id: &str) -> Vec<i64> {
        let began = Instant::now();
        let mut seen = Vec::new();
        for number in first.. {
            assert!(began.elapsed() < 2 * HANG_TIMEOUT, "the job does not end");
            let headers = seen.last().map(|last| format!("Last-Event-ID: {last}\r\n"));
            let address = &self.0[number % self.0.len()];
            let request = format!("GET /api/v2/jobs/{id}/events");
            let answered = send(address, &request, &headers.unwrap_or_default(), "");
            if let Ok((200, mut reader)) = answered
                && records(&mut reader, &mut seen)
            {
                return seen;
            }
            thread::sleep(Duration::from_millis(50));
        }
        unreachable!("there are enough numbers")
    }
}

/// Reads the numbers of records, and whether the job has ended.
fn records(reader: &mut impl BufRead, seen: &mut Vec<i64>) -> bool {
    let (mut line, mut number, mut event) = (String::new(), None::<i64>, String::new());
    loop {
        line.clear();
        if !reader.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            return false;
        }
        if let Some(id) = line.strip_prefix("id:") {
            number = Some(id.trim().parse().unwrap());
        } else if let Some(name) = line.strip_prefix("event:") {
            event = name.trim().to_owned();
        } else if let Some(data) = line.strip_prefix("data:") {
            let data: Value = serde_json::from_str(data).unwrap();
            if data["state"]["state"] == "COMPLETED" {
                return true;
            }
        } else if line.trim().is_empty() {
            // An event counts once it is whole.
            if event == "record" {
                seen.extend(number.take());
            }
            event.clear();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_three_that_is_killed_loses_no_job_makes_none_twice_and_watchers_go_on() {
    let database = postgres::Database::new().await;
    let store = JobStore::connect(database.url()).await.unwrap();
    let id = paced::create(&store, PAIRS).await;
    let scenes = [(); 3].map(|()| scene(database.url()));
    let processes = scenes.each_ref().map(Scene::serve);
    let addresses = &Addresses(processes.iter().map(|one| one.address.clone()).collect());
    let made = &AtomicUsize::new(0);
    let (jobs, watched) = thread::scope(|scope| {
        let watchers: Vec<_> = (0..3)
            .map(|first| {
                scope.spawn({
                    let id = &id;
                    move || addresses.watch(first, id.as_str())
                })
            })
            .collect();
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                scope.spawn(move || {
                    let job = |number| {
                        let key = format!("client-{client}-{number}");
                        let body = json!({
                            "bot": "lab", "benchmark": "parsing", "name": key,
                            "pairwise": { "base": "0".repeat(40), "experiment": "1".repeat(40) },
                        });
                        let headers = format!("Idempotency-Key: {key}\r\n");
                        let job = addresses.answer(
                            number,
                            "POST /api/v2/jobs",
                            &headers,
                            &body.to_string(),
                        );
                        made.fetch_add(1, Ordering::Relaxed);
                        (key, job["summary"]["jobId"].as_str().unwrap().to_owned())
                    };
                    (0..JOBS).map(job).collect::<Vec<_>>()
                })
            })
            .collect();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let work = scope.spawn({
            let (store, id) = (&store, &id);
            move || runtime.block_on(paced::carry_out(store, id, PACE))
        });
        while made.load(Ordering::Relaxed) < CLIENTS * JOBS / 3 {
            thread::sleep(Duration::from_millis(1));
        }
        processes[1].kill();
        work.join().unwrap();
        let jobs: BTreeMap<_, _> = clients
            .into_iter()
            .flat_map(|client| client.join().unwrap())
            .collect();
        let watched: Vec<_> = watchers
            .into_iter()
            .map(|one| one.join().unwrap())
            .collect();
        (jobs, watched)
    });

    let filter = JobFilter {
        bots: vec!["lab".into()],
        ..JobFilter::default()
    };
    let listed = store
        .jobs()
        .list(&filter, ListOrder::default(), &PagePosition::First, 1000)
        .await
        .unwrap();
    let listed: BTreeMap<_, _> = listed
        .jobs
        .into_iter()
        .map(|job| (job.name, job.id.to_string()))
        .collect();
    assert_eq!(listed.len(), CLIENTS * JOBS);
    assert_eq!(listed, jobs);
    let journal = store.journals().open(&id).await.unwrap();
    let entries = journal.entries_after(None, 10 * PAIRS).await.unwrap();
    let entries: Vec<_> = entries.iter().map(|entry| entry.sequence).collect();
    assert!(entries.len() > PAIRS as usize);
    for seen in watched {
        assert_eq!(seen, entries);
    }
    let audit = store.audit().verify().await.unwrap();
    assert!(matches!(audit, AuditCheck::Whole { .. }), "{audit:?}");
}

#[test]
fn a_database_that_is_restarted_is_unavailable_meanwhile() {
    let server = postgres::Server::start(false);
    let scene = scene(&server.url("postgres"));
    let process = scene.serve();
    let addresses = Addresses(vec![process.address.clone()]);
    let body = json!({
        "bot": "lab", "benchmark": "parsing",
        "pairwise": { "base": "0".repeat(40), "experiment": "1".repeat(40) },
    });
    let make = || addresses.answer(0, "POST /api/v2/jobs", "", &body.to_string());
    let first = make();
    server.kill();
    // The server's processes outlive their parent for a moment.
    let began = Instant::now();
    while send(&process.address, "GET /readyz", "", "").unwrap().0 != 503 {
        assert!(
            began.elapsed() < HANG_TIMEOUT,
            "it is ready without its database"
        );
        thread::sleep(Duration::from_millis(50));
    }
    let (status, reader) = send(&process.address, "GET /api/v2/jobs", "", "").unwrap();
    let text = io::read_to_string(reader).unwrap();
    let error: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, &error["code"]), (503, &json!(14)), "{text}");
    server.restart();
    let second = make();
    let list = addresses.answer(0, "GET /api/v2/jobs", "", "");
    let listed: Vec<_> = list["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| &job["jobId"])
        .collect();
    assert_eq!(
        listed,
        [&second["summary"]["jobId"], &first["summary"]["jobId"]]
    );
}
