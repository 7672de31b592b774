//! `pinpoint jobs import`: all of a file comes in, or nothing; what is in can be
//! listed, read and exported.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use pinpoint_backends::store::{Durability, JobFilter, JobStore, Order, Place};
use tokio::runtime::Runtime;

/// The end of the year 9999, in milliseconds since 1970.
const END_OF_TIME: i64 = 253_402_300_799_999;

struct World {
    runtime: Runtime,
    // Kept for as long as the store is open.
    _directory: tempfile::TempDir,
    store: JobStore,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let directory = tempfile::tempdir().expect("a directory");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let open = JobStore::open_with(directory.path(), Durability::Process);
    let store = runtime.block_on(open).expect("a new store");
    World { runtime, _directory: directory, store }
});

fuzz_target!(|text: &[u8]| {
    WORLD.runtime.block_on(import(&WORLD.store, text));
});

async fn import(store: &JobStore, text: &[u8]) {
    let all = JobFilter::default();
    let mut input = text;
    let imported = store.exchange().import(&mut input, &|_| Ok(())).await;
    let page = store.jobs().list(&all, Order::default(), &Place::First, 100).await.expect("a list of what came in");
    match imported {
        Ok(imported) => assert_eq!(imported.added.min(100), page.jobs.len() as u64),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert!(page.jobs.is_empty(), "half of a file came in");
        }
    }
    for job in page.jobs {
        let mut journal = store.journals().open(&job.id).await.expect("its journal");
        let records = journal.records().await.expect("records that can be replayed");
        assert_eq!(journal.is_empty().await.expect("a look at them"), records.is_empty());
    }
    let mut exported = Vec::new();
    store.exchange().export(&all, &mut exported).await.expect("an export of what came in");
    while !store.jobs().purge(END_OF_TIME, 100).await.expect("a clean store").is_empty() {}
    let left = store.jobs().list(&all, Order::default(), &Place::First, 1).await.expect("a list");
    assert!(left.jobs.is_empty(), "a job that came in can't be removed");
}
