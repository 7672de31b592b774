//! Pages that are left open while their jobs run.

use std::path::Path;
use std::time::{Duration, Instant};

use http::Method;
use http_body_util::BodyExt;
use pinpoint_backends::store::{JobId, JobStore};
use pinpoint_core::Record;
use serde_json::Value;

use crate::browser::Browser;
use crate::large::Simulated;
use crate::program::{Connection, Failure, Service, below, limit, ms};
use crate::{SETTLES, Sizes};

/// Records in a second.
const RECORDS: u32 = 20;
/// Milliseconds until a record is seen, at the 99th percentile.
const SEEN: f64 = 250.0;
/// Percent of a processor that the browser takes.
const PROCESSOR: f64 = 20.0;
/// MB that open pages cost the service.
const OPEN: f64 = 60.0;

/// Notes the time at which each number of records became visible.
const OBSERVER: &str = "
    window.seen = [];
    let last = 0;
    new MutationObserver(() => {
      const records = Number(document.querySelector('#at')?.max ?? 0);
      if (records === last) return;
      last = records;
      requestAnimationFrame(() => setTimeout(() => seen.push([records, Date.now()])));
    }).observe(document.querySelector('#job'), { subtree: true, childList: true, attributes: true });
    0";

/// Appends records at a fixed rate; returns the time it took.
async fn append(store: &JobStore, id: &JobId, records: &[Record]) -> Result<(), Failure> {
    let mut journal = store.journals().open(id).await?;
    let mut ticks = tokio::time::interval(Duration::from_secs(1) / RECORDS);
    for record in records {
        ticks.tick().await;
        journal.append_all(std::slice::from_ref(record)).await?;
    }
    Ok(())
}

/// The delay until a browser shows a record, and the cost: for a job that begins, and for one with
/// many runs.
pub(crate) async fn seen(service: &Service, store: &JobStore, sizes: Sizes) -> Result<(), Failure> {
    let count = (sizes.seconds * RECORDS) as usize;
    for (what, simulated, is_long) in [
        ("a search that begins", Simulated::usual(), false),
        ("a search of many runs", Simulated::many_runs(sizes), true),
        ("many metrics", Simulated::many_charts(sizes), false),
    ] {
        println!("\nLive: {what}, {RECORDS} records a second");
        let (records, _) = simulated.records().await?;
        let begun = match is_long {
            true => records.len().saturating_sub(count + 1),
            false => 3.min(records.len()),
        };
        let id = simulated.job(store, Some(&records[..begun])).await?;
        let records = &records[begun..records.len().min(begun + count)];
        let mut browser = Browser::start();
        browser.open(&format!("http://{}/jobs/{id}", service.address));
        browser.0.evaluate(OBSERVER);
        tokio::time::sleep(SETTLES).await;
        // The first seconds fill the caches.
        let (warm, records) = records.split_at(records.len() / 10);
        append(store, &id, warm).await?;
        let heap = browser.heap();
        let (before, memory) = browser.cost()?;
        let of_service = service.processor_time()?;
        let began = Instant::now();
        append(store, &id, records).await?;
        let took = began.elapsed().as_secs_f64();
        let (after, memory_after) = browser.cost()?;
        let of_service = service.processor_time()? - of_service;
        tokio::time::sleep(SETTLES).await;
        let heap_after = browser.heap();
        println!(
            "{:<46} {:>9} in {took:.0} s, {:.1} a second",
            "records",
            records.len(),
            records.len() as f64 / took
        );
        late(&mut browser, store, &id, begun).await?;
        let part = 100.0 * (after - before).as_secs_f64() / took;
        below("the browser's part of a processor", part, "%", PROCESSOR);
        let part = 100.0 * of_service.as_secs_f64() / took;
        println!(
            "{:<46} {part:>9.2} %, {:.1} ms for each record",
            "the service's part of a processor",
            ms(of_service) / records.len() as f64
        );
        println!(
            "{:<46} {memory:>9.1} MB before, {memory_after:.1} MB after",
            "memory of the browser"
        );
        println!(
            "{:<46} {heap:>9.2} MB before, {heap_after:.2} MB after",
            "of that, what scripts and the page have"
        );
    }
    Ok(())
}

/// The delay of each record.
async fn late(
    browser: &mut Browser,
    store: &JobStore,
    id: &JobId,
    begun: usize,
) -> Result<(), Failure> {
    let seen = browser.0.evaluate("window.seen");
    let seen: Vec<(usize, i64)> = (seen.as_array().into_iter().flatten())
        .filter_map(|it: &Value| Some((it[0].as_u64()? as usize, it[1].as_i64()?)))
        .collect();
    let journal = store.journals().open(id).await?;
    let (mut entries, mut last) = (Vec::new(), None);
    loop {
        let page = journal.entries_after(last, 1000).await?;
        let Some(entry) = page.last() else {
            break;
        };
        last = Some(entry.sequence);
        entries.extend(page.iter().map(|entry| entry.recorded));
    }
    let mut times = Vec::new();
    let mut unseen = 0;
    for (index, recorded) in entries.iter().enumerate().skip(begun) {
        match seen.iter().find(|(records, _)| *records > index) {
            Some((_, at)) => times.push(Duration::from_millis((at - recorded).max(0) as u64)),
            None => unseen += 1,
        }
    }
    if unseen > 0 {
        return Err(format!("{unseen} of {} records were never seen", times.len()).into());
    }
    limit("a record is seen", &mut times, 0.99, SEEN);
    println!("{:<46} {:>9}", "changes of the page", seen.len());
    Ok(())
}

/// Pages that are open at once: half of them show one running job of many runs, the others twenty
/// jobs.
pub(crate) async fn open(
    program: &Path,
    place: &Path,
    store: &JobStore,
    sizes: Sizes,
) -> Result<(), Failure> {
    println!("\n{} open pages", sizes.open_pages);
    let large = Simulated::many_runs(sizes);
    let (records, _) = large.records().await?;
    let count = (sizes.seconds.min(30) * RECORDS) as usize;
    let begun = records.len().saturating_sub(count);
    let first = large.job(store, Some(&records[..begun])).await?;
    let usual = Simulated::usual();
    let (of_usual, _) = usual.records().await?;
    let mut others = Vec::new();
    for _ in 0..20 {
        others.push(
            usual
                .job(store, Some(&of_usual[..of_usual.len() / 2]))
                .await?,
        );
    }
    let (service, _) = Service::start(program, place, None).await?;
    // Only the first page pays for the shared caches.
    let mut connection = Connection::open(service.address).await?;
    connection.get("/?size=25").await?;
    tokio::time::sleep(SETTLES).await;
    let idle = service.memory("VmRSS:")?;
    let mut pages = Vec::new();
    for page in 0..sizes.open_pages {
        let id = match page % 2 {
            0 => &first,
            _ => &others[page / 2 % others.len()],
        };
        let mut connection = Connection::open(service.address).await?;
        let html = connection.get(&format!("/jobs/{id}")).await?;
        let html = String::from_utf8(html.to_vec())?;
        let live = html
            .split("data-live=\"")
            .nth(1)
            .ok_or("the page is not live")?;
        let live = live
            .split('"')
            .next()
            .unwrap_or_default()
            .replace("&amp;", "&");
        let mut body = connection.begin(Method::GET, &live, String::new()).await?;
        pages.push(tokio::spawn(async move {
            let mut bytes = 0;
            while let Some(Ok(frame)) = body.frame().await {
                bytes += frame.data_ref().map_or(0, |data| data.len());
            }
            (bytes, connection)
        }));
    }
    tokio::time::sleep(SETTLES).await;
    println!("{:<46} {:>9.2} MB", "memory of the service, idle", idle);
    let opened = service.memory("VmRSS:")?;
    below("open pages", opened - idle, "MB", OPEN);
    let taken = service.processor_time()?;
    let began = Instant::now();
    append(store, &first, &records[begun..]).await?;
    let part = (service.processor_time()? - taken).as_secs_f64() / began.elapsed().as_secs_f64();
    let going_on = service.memory("VmRSS:")?;
    below("while one job runs", going_on - idle, "MB", OPEN);
    println!(
        "{:<46} {:>9.2} %",
        "the service's part of a processor",
        100.0 * part
    );
    drop(service);
    let mut bytes = 0;
    for page in pages {
        bytes += page.await?.0;
    }
    let each = bytes as f64 / sizes.open_pages as f64 / began.elapsed().as_secs_f64();
    println!("{:<46} {:>9.2} KB/s", "sent to each page", each / 1e3);
    Ok(())
}
