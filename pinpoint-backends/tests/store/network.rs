//! A PostgreSQL server that is killed, and networks that break: a job continues, and its journal
//! has every acknowledged record once.
//!
//! `PINPOINT_TEST_LONG=1` breaks them for a minute each, at the pace of a real network.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use pinpoint_backends::store::{
    AuditCheck, AuditEntry, AuditFilter, CancelRequest, Creation, IdempotencyKey, JobId,
    JobJournal, JobStore, Lease, Patience, StoreError,
};
use pinpoint_core::{JobState, Journal, Record};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::sync::OnceCell;

use crate::a_run::run;
use crate::common::{cause, new_job};
use crate::postgres::Server;
use crate::proxy::Proxy;

/// The command line's lease.
const LEASE: Duration = Duration::from_secs(60);

/// Longer than anything here takes on a busy machine.
const HANG: Duration = Duration::from_secs(300);

/// The server of the tests that leave it alone.
static SERVER: OnceCell<Server> = OnceCell::const_new();

static COUNT: AtomicU64 = AtomicU64::new(0);

async fn server() -> &'static Server {
    SERVER.get_or_init(async || Server::start(false)).await
}

fn is_long() -> bool {
    std::env::var_os("PINPOINT_TEST_LONG").is_some()
}

/// A store through a proxy, and a job leased in it.
struct Network {
    proxy: Arc<Proxy>,
    store: JobStore,
    /// Reaches the store directly.
    direct: JobStore,
    id: JobId,
    lease: Lease,
}

impl Network {
    async fn new(server: &Server, patience: Patience) -> Self {
        let name = format!("network_{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let mut connection = PgConnection::connect(&server.url("postgres"))
            .await
            .unwrap();
        let create = AssertSqlSafe(format!("CREATE DATABASE {name}"));
        sqlx::query(create).execute(&mut connection).await.unwrap();
        // It makes the tables, for which a busy machine may take longer than the patience.
        let direct = JobStore::connect(&server.url(&name)).await.unwrap();
        let proxy = Arc::new(Proxy::start(&server.socket()));
        let store = JobStore::connect_with(&proxy.url(&name), patience)
            .await
            .unwrap();
        let id = store
            .jobs()
            .create(&new_job("over a network"))
            .await
            .unwrap();
        let lease = store.leases().grant(&id, "ada", LEASE).await.unwrap();
        store
            .leases()
            .set_state(&lease, JobState::Running, None, None)
            .await
            .unwrap();
        Self {
            proxy,
            store,
            direct,
            id,
            lease,
        }
    }

    /// The journal of the job, over one of the two ways to the store.
    async fn journal(&self, store: &JobStore) -> JobJournal {
        store.journals().open_leased(&self.lease).await.unwrap()
    }

    /// Works like a running job, until it has happened often enough: `trouble` is called with the
    /// number of acknowledged records.
    async fn work(&self, enough: impl Fn(u64) -> bool) -> u64 {
        let mut journal = self.journal(&self.store).await;
        let mut written = 0;
        while !enough(written) {
            journal.append(&run(written)).await.unwrap();
            written += 1;
            if written % 7 == 0 {
                self.store.leases().renew(&self.lease, LEASE).await.unwrap();
            }
            if written % 5 == 0 {
                assert!(
                    !self
                        .store
                        .cancellations()
                        .is_requested(&self.id)
                        .await
                        .unwrap()
                );
            }
        }
        written
    }

    /// Checks that the journal has these records, and that the job ends properly.
    async fn is_whole(&self, written: u64) {
        let completed = serde_json::json!({ "status": "done" });
        self.store
            .leases()
            .set_state(&self.lease, JobState::Completed, None, Some(&completed))
            .await
            .unwrap();
        self.store.leases().release(&self.lease).await.unwrap();
        let mut journal = self.direct.journals().open(&self.id).await.unwrap();
        let expected: Vec<_> = (0..written).map(run).collect();
        assert!(journal.records().await.unwrap() == expected, "{written}");
        let job = self.direct.jobs().get(&self.id).await.unwrap();
        assert_eq!((job.state, job.runs), (JobState::Completed, written));
        assert_eq!(job.outcome, Some(completed));
    }
}

async fn ends<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(HANG, work).await.expect("it hangs")
}

/// A database's answer is lost after it has carried out a request, which must not be carried out
/// twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_done_and_not_acknowledged_is_not_done_twice() {
    let network = Network::new(server().await, Patience::default()).await;
    let Network { proxy, store, .. } = &network;
    let mut journal = network.journal(store).await;
    let mut written = 0;
    ends(async {
        for _ in 0..5 {
            // The commit of an append.
            proxy.lose(b"COMMIT\0");
            journal.append(&run(written)).await.unwrap();
            written += 1;
            assert!(proxy.has_lost());
            proxy.lose(b"UPDATE 1\0");
            store.leases().renew(&network.lease, LEASE).await.unwrap();
            assert!(proxy.has_lost());
            journal
                .append_all(&[run(written), run(written + 1)])
                .await
                .unwrap();
            written += 2;
        }
        for state in [JobState::Pending, JobState::Running] {
            proxy.lose(b"COMMIT\0");
            store
                .leases()
                .set_state(&network.lease, state, None, None)
                .await
                .unwrap();
            assert!(proxy.has_lost());
        }
        proxy.lose(b"INSERT 0 1\0");
        let other = store.jobs().create(&new_job("other")).await.unwrap();
        assert!(proxy.has_lost());
        proxy.lose(b"UPDATE 1\0");
        let lease = store.leases().grant(&other, "ada", LEASE).await.unwrap();
        assert!(proxy.has_lost());
        store.leases().renew(&lease, LEASE).await.unwrap();
        assert_eq!(crate::common::all(&network.direct).await.len(), 2);
    })
    .await;
    network.is_whole(written).await;
}

/// Nor is an entry of the audit log, or the change that it records.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_was_not_acknowledged_is_told_once() {
    let network = Network::new(server().await, Patience::default()).await;
    let Network { proxy, store, .. } = &network;
    let entry = |operation: &str| AuditEntry {
        operation: operation.into(),
        ..AuditEntry::default()
    };
    let (refused, created, canceled) = (entry("refused"), entry("created"), entry("canceled"));
    let creation = Creation {
        entry: Some(&created),
        once: Some(IdempotencyKey {
            user: "ada",
            key: "key",
            digest: [1; 32],
        }),
        ..Creation::default()
    };
    let request = CancelRequest::default();
    ends(async {
        for _ in 0..3 {
            proxy.lose(b"COMMIT\0");
            store.audit().append(&refused).await.unwrap();
            assert!(proxy.has_lost());
        }
        proxy.lose(b"COMMIT\0");
        let other = store.jobs().create_with(&new_job("other"), &creation).await;
        assert!(proxy.has_lost());
        let other = other.unwrap();
        assert!(other.is_new);
        proxy.lose(b"COMMIT\0");
        (store
            .cancellations()
            .request(&other.id, &request, Some(&canceled))
            .await)
            .unwrap();
        assert!(proxy.has_lost());
        proxy.lose(b"COMMIT\0");
        let resumed = entry("resumed");
        store
            .jobs()
            .resume(&other.id, None, Some(&resumed))
            .await
            .unwrap();
        assert!(proxy.has_lost());
    })
    .await;
    let rows = network
        .direct
        .audit()
        .list(&AuditFilter::default(), 0, 100)
        .await;
    let told: Vec<String> = (rows.unwrap().into_iter())
        .map(|row| row.entry.operation)
        .collect();
    let expected = [
        "refused", "refused", "refused", "created", "canceled", "resumed",
    ];
    assert_eq!(told, expected);
    let check = network.direct.audit().verify().await.unwrap();
    assert!(
        matches!(check, AuditCheck::Whole { rows: 6, .. }),
        "{check:?}"
    );
    assert_eq!(crate::common::all(&network.direct).await.len(), 2);
}

/// Another writer's record does not count as one's own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_writer_is_found_out_after_a_reset_as_well() {
    let network = Network::new(server().await, Patience::default()).await;
    let mut first = network.journal(&network.store).await;
    let mut second = network.journal(&network.direct).await;
    assert_eq!(first.records().await.unwrap(), []);
    assert_eq!(second.records().await.unwrap(), []);
    second.append(&run(7)).await.unwrap();
    // The first answer to the append.
    network.proxy.lose(b"BEGIN\0");
    let error = cause(first.append(&run(7)).await.unwrap_err());
    assert!(matches!(error, StoreError::SecondWriter { .. }), "{error}");
    assert!(network.proxy.has_lost());
    assert_eq!(first.records().await.unwrap(), [run(7)]);
}

/// A journal that is read is returned record by record.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_read_before_a_reset_is_not_read_twice() {
    let network = Network::new(server().await, Patience::default()).await;
    let mut journal = network.journal(&network.store).await;
    let mut records: Vec<_> = (0..300).map(run).collect();
    // Often enough that some of it is in one piece, no matter where the answer is cut.
    records.push(Record::GaveUp {
        action: 300,
        reason: "over the edge ".repeat(20),
    });
    records.extend((301..400).map(run));
    journal.append_all(&records).await.unwrap();
    for _ in 0..3 {
        network.proxy.lose(b"over the edge");
        let read = ends(journal.records()).await.unwrap();
        assert!(network.proxy.has_lost());
        assert!(read == records, "{}", read.len());
    }
    journal.append(&run(400)).await.unwrap();
}

/// One reset for some appends, at any time during them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_goes_on_over_connections_that_are_reset() {
    let network = Network::new(server().await, Patience::default()).await;
    let resets: u64 = if is_long() { 1000 } else { 60 };
    let written = Arc::new(AtomicU64::new(0));
    let done = Arc::new(AtomicU64::new(0));
    let (proxy, seen, count) = (network.proxy.clone(), written.clone(), done.clone());
    let resetting = std::thread::spawn(move || {
        for number in 0..resets {
            // When an append has succeeded since the last one.
            let before = seen.load(Ordering::SeqCst);
            while seen.load(Ordering::SeqCst) == before {
                std::thread::sleep(Duration::from_micros(200));
            }
            // At any time during the next ones.
            std::thread::sleep(Duration::from_micros(number * 7919 % 9000));
            proxy.reset();
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    let enough = |number| {
        written.store(number, Ordering::SeqCst);
        done.load(Ordering::SeqCst) == resets
    };
    let number = ends(network.work(enough)).await;
    resetting.join().unwrap();
    assert!(network.proxy.connections() > resets / 2);
    network.is_whole(number).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_goes_on_when_the_server_is_killed_and_started_again() {
    // A separate server: other tests would notice.
    let server = Arc::new(Server::start(false));
    let network = Network::new(&server, Patience::default()).await;
    let kills: u64 = if is_long() { 20 } else { 3 };
    let written = Arc::new(AtomicU64::new(0));
    let over = Arc::new(AtomicBool::new(false));
    let (seen, ended) = (written.clone(), over.clone());
    let killing = std::thread::spawn(move || {
        for number in 0..kills {
            let before = seen.load(Ordering::SeqCst);
            while seen.load(Ordering::SeqCst) < before + 5 {
                std::thread::sleep(Duration::from_micros(200));
            }
            std::thread::sleep(Duration::from_micros(number * 7919 % 9000));
            server.kill();
            server.restart();
        }
        ended.store(true, Ordering::SeqCst);
    });
    let enough = |number| {
        written.store(number, Ordering::SeqCst);
        over.load(Ordering::SeqCst)
    };
    let number = ends(network.work(enough)).await;
    killing.join().unwrap();
    network.is_whole(number).await;
}

/// The patience that a short test can afford.
fn short() -> Patience {
    Patience {
        connect: Duration::from_secs(1),
        answer: Duration::from_secs(1),
        ..Patience::default()
    }
}

/// Data sent during the silence arrives after it, from long abandoned connections.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_goes_on_after_a_silence() {
    let (patience, silence, silences) = match is_long() {
        true => (Patience::default(), Duration::from_secs(20), 3),
        false => (short(), Duration::from_secs(3), 2),
    };
    let network = Network::new(server().await, patience).await;
    let written = Arc::new(AtomicU64::new(0));
    let over = Arc::new(AtomicBool::new(false));
    let (proxy, seen, ended) = (network.proxy.clone(), written.clone(), over.clone());
    let silencing = std::thread::spawn(move || {
        for number in 0..silences {
            let before = seen.load(Ordering::SeqCst);
            while seen.load(Ordering::SeqCst) < before + 5 {
                std::thread::sleep(Duration::from_micros(200));
            }
            std::thread::sleep(Duration::from_micros(number * 7919 % 9000));
            proxy.silence(true);
            std::thread::sleep(silence);
            proxy.silence(false);
        }
        ended.store(true, Ordering::SeqCst);
    });
    let enough = |number| {
        written.store(number, Ordering::SeqCst);
        over.load(Ordering::SeqCst)
    };
    let number = ends(network.work(enough)).await;
    silencing.join().unwrap();
    network.is_whole(number).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silence_that_lasts_ends_the_job_with_its_lease() {
    let network = Network::new(server().await, short()).await;
    let Network { store, lease, .. } = &network;
    let mut journal = store.journals().open_leased(lease).await.unwrap();
    journal.append(&run(0)).await.unwrap();
    store
        .leases()
        .renew(lease, Duration::from_millis(800))
        .await
        .unwrap();
    network.proxy.silence(true);
    let error = cause(ends(journal.append(&run(1))).await.unwrap_err());
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("no answer within"), "{error}");
    // It is unknown whether it was written.
    let error = cause(journal.append(&run(1)).await.unwrap_err());
    assert!(matches!(error, StoreError::BrokenOff { .. }), "{error}");
    ends(store.jobs().get(&network.id)).await.unwrap_err();
    ends(store.leases().release(lease)).await.unwrap_err();
    ends(store.clone().close()).await;

    // Another takes the job, and late data changes nothing.
    let other = loop {
        match network
            .direct
            .leases()
            .grant(&network.id, "bob", LEASE)
            .await
        {
            Ok(lease) => break lease,
            Err(StoreError::Leased { .. }) => tokio::time::sleep(Duration::from_millis(5)).await,
            Err(error) => panic!("{error}"),
        }
    };
    network.proxy.silence(false);
    let mut journal = network.direct.journals().open_leased(&other).await.unwrap();
    let known = journal.records().await.unwrap();
    assert!(known == [run(0)] || known == [run(0), run(1)], "{known:?}");
    for number in known.len() as u64..20 {
        journal.append(&run(number)).await.unwrap();
    }
    let expected: Vec<_> = (0..20).map(run).collect();
    assert_eq!(journal.records().await.unwrap(), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_is_opened_over_a_connection_that_is_reset() {
    let network = Network::new(server().await, Patience::default()).await;
    for part in [&b"SELECT 1\0"[..], b"\x00\x00\x00\x08\x00\x00\x00\x00"] {
        network.proxy.lose(part);
        let name = "postgres";
        JobStore::connect(&network.proxy.url(name)).await.unwrap();
        assert!(network.proxy.has_lost());
    }
    // A missing server is reported at once.
    let nowhere = Proxy::start(Path::new("/nowhere"));
    let patience = Patience {
        retry: Duration::from_millis(100),
        ..Patience::default()
    };
    let error = JobStore::connect_with(&nowhere.url("x"), patience)
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
}
