//! Chromium, and measurements of its pages.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::chromium::Chromium;
use crate::program::Failure;

/// Runs before each page: layout shifts are only reported to observers registered from the
/// beginning.
const OBSERVER: &str = "
    window.shift = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
    }).observe({ type: 'layout-shift', buffered: true });
";

/// Every figure that is read from a loaded page.
const ASKED: &str = "new Promise((done) => setTimeout(() => {
    const [page] = performance.getEntriesByType('navigation');
    const paint = performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0;
    const scripts = performance.getEntriesByType('resource').filter((it) => it.name.endsWith('.js'));
    done({
      first: page.responseStart - page.requestStart,
      complete: Math.max(page.loadEventEnd, paint),
      size: page.encodedBodySize,
      shift: window.shift,
      records: Number(document.querySelector('#at')?.max ?? 0),
      scripts: scripts.map((it) => [it.name, it.encodedBodySize]),
    });
  }, 300))";

pub(crate) struct Browser(pub(crate) Chromium);

/// A page that was opened.
pub(crate) struct Loaded {
    /// Milliseconds from the request to the first byte.
    pub(crate) first_byte: f64,
    /// Milliseconds until it was loaded and painted.
    pub(crate) complete: f64,
    /// Its bytes, compressed.
    pub(crate) size: f64,
    /// Its layout shift.
    pub(crate) shift: f64,
    /// The records of the job that it shows.
    pub(crate) records: u64,
    /// The bytes of its scripts, compressed.
    pub(crate) scripts: BTreeMap<String, f64>,
}

impl Browser {
    pub(crate) fn start() -> Self {
        let mut browser = Chromium::start();
        let script = json!({ "source": OBSERVER });
        browser.call("Page.addScriptToEvaluateOnNewDocument", script);
        Self(browser)
    }

    /// Opens a page, and waits until nothing moves any more.
    pub(crate) fn open(&mut self, url: &str) -> Loaded {
        self.0.visit(url);
        let said = self.0.evaluate(ASKED);
        let number = |name: &str| said[name].as_f64().unwrap_or(f64::NAN);
        let scripts = said["scripts"].as_array().into_iter().flatten();
        let script = |it: &Value| Some((it[0].as_str()?.to_owned(), it[1].as_f64()?));
        Loaded {
            first_byte: number("first"),
            complete: number("complete"),
            size: number("size"),
            shift: number("shift"),
            records: said["records"].as_u64().unwrap_or_default(),
            scripts: scripts.filter_map(script).collect(),
        }
    }

    /// The processor time that all its processes have taken, and their memory in MB.
    pub(crate) fn cost(&self) -> Result<(Duration, f64), Failure> {
        let mut parents = BTreeMap::new();
        for entry in std::fs::read_dir("/proc")? {
            let name = entry?.file_name();
            let Some(id) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            // It may have ended since.
            let Ok(stat) = std::fs::read_to_string(format!("/proc/{id}/stat")) else {
                continue;
            };
            let Some((_, fields)) = stat.rsplit_once(')') else {
                continue;
            };
            let fields: Vec<i64> = (fields.split_whitespace().skip(1))
                .map(|field| field.parse().unwrap_or_default())
                .collect();
            // proc(5): the parent, the times in user and kernel mode, and pages of memory.
            parents.insert(id, (fields[0] as u32, fields[10] + fields[11], fields[20]));
        }
        let is_own = |mut id: u32| {
            while id > 1 && id != self.0.id() {
                id = parents.get(&id).map_or(0, |it| it.0);
            }
            id == self.0.id()
        };
        let own = parents.iter().filter(|(id, _)| is_own(**id));
        let (ticks, pages) = own.fold((0, 0), |(ticks, pages), (_, it)| {
            (ticks + it.1, pages + it.2)
        });
        // Linux counts hundredths of a second here, and pages of 4 KB on most machines.
        let time = Duration::from_millis(10 * ticks.unsigned_abs());
        Ok((time, pages as f64 * 4096.0 / 1e6))
    }

    /// The memory of the page's script, in MB, after a garbage collection.
    pub(crate) fn heap(&mut self) -> f64 {
        self.0.call("HeapProfiler.collectGarbage", json!({}));
        let used = self.0.call("Runtime.getHeapUsage", json!({}));
        used["usedSize"].as_f64().unwrap_or(f64::NAN) / 1e6
    }
}
