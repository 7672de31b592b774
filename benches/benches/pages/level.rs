//! The memory of a page that stays open, over as many records as an hour brings, delivered as fast
//! as the page takes them.
//!
//! At first a page fills: with rows, scripts that were compiled, and caches. Only the second half
//! of the hour counts.

use std::time::{Duration, Instant};

use pinpoint_backends::store::JobStore;
use serde_json::json;

use crate::Sizes;
use crate::browser::Browser;
use crate::large::Simulated;
use crate::program::{Failure, Service, below};

/// Records of an hour, 20 in a second.
const RECORDS: usize = 72_000;
/// Records that are written before the page is waited for.
const GROUP: usize = 250;
/// The number of times that memory is measured.
const LOOKS: usize = 10;
/// Percent by which the page's memory may grow in the second half.
const GROWTH: f64 = 10.0;
/// A page that shows nothing for so long has stopped following.
const HANG_TIMEOUT: Duration = Duration::from_secs(60);

/// The memory of a page, after a garbage collection.
struct PageMemory {
    /// MB.
    heap: f64,
    nodes: f64,
    listeners: f64,
}

impl PageMemory {
    fn measure(browser: &mut Browser) -> Self {
        let heap = browser.heap();
        let counted = browser.0.call("Memory.getDOMCounters", json!({}));
        let number = |name: &str| counted[name].as_f64().unwrap_or(f64::NAN);
        Self {
            heap,
            nodes: number("nodes"),
            listeners: number("jsEventListeners"),
        }
    }
}

/// Follows a job from its beginning through the records of an hour.
pub(crate) async fn level(
    service: &Service,
    store: &JobStore,
    sizes: Sizes,
    quick: bool,
) -> Result<(), Failure> {
    let count = if quick { RECORDS / 60 } else { RECORDS };
    // A record for each run, and some for builds.
    let runs = count as u64 / sizes.commits + 1;
    let simulated = Simulated::many_runs(Sizes {
        runs_of_each: u32::try_from(runs)?,
        ..sizes
    });
    let (records, _) = simulated.records().await?;
    let count = count.min(records.len().saturating_sub(1));
    println!("\nOne page, {count} records");
    let id = simulated.job(store, Some(&records[..1])).await?;
    let mut journal = store.journals().open(&id).await?;
    let mut browser = Browser::start();
    let url = format!("http://{}/jobs/{id}", service.address);
    browser.open(&url);
    println!("  records   MB of the page    nodes   listeners   MB of the service");
    let began = Instant::now();
    let (mut written, mut looks) = (1, Vec::new());
    for look in 1..=LOOKS {
        let until = 1 + (count - 1) * look / LOOKS;
        while written < until {
            let end = until.min(written + GROUP);
            journal.append_all(&records[written..end]).await?;
            written = end;
            shown(&mut browser, written).await?;
        }
        let kept = PageMemory::measure(&mut browser);
        let of_service = service.memory("VmRSS:")?;
        println!(
            "{written:>9} {:>16.2} {:>8} {:>11} {of_service:>19.1}",
            kept.heap, kept.nodes, kept.listeners
        );
        looks.push(kept);
    }
    println!("{:<46} {:>9.0} s", "took", began.elapsed().as_secs_f64());
    let (Some(middle), Some(last)) = (looks.get(LOOKS / 2 - 1), looks.last()) else {
        return Err("nothing was looked at".into());
    };
    for (what, middle, last) in [
        ("growth of scripts and the page", middle.heap, last.heap),
        ("growth of nodes", middle.nodes, last.nodes),
        ("growth of listeners", middle.listeners, last.listeners),
    ] {
        below(what, 100.0 * (last - middle) / middle, "%", GROWTH);
    }
    Ok(())
}

/// Waits until the page shows so many records.
async fn shown(browser: &mut Browser, records: usize) -> Result<(), Failure> {
    let began = Instant::now();
    loop {
        let shown = browser
            .0
            .evaluate("Number(document.querySelector('#at')?.max ?? 0)");
        if shown.as_u64().is_some_and(|shown| shown >= records as u64) {
            return Ok(());
        }
        if began.elapsed() > HANG_TIMEOUT {
            return Err(format!("the page shows {shown} records, and not {records}").into());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
