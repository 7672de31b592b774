//! The outputs of a benchmark of Chromium.

use std::collections::BTreeMap;

use pinpoint_core::Series;
use pinpoint_core::results::Format;

use super::{Cas, CasError, Digest, Tree};

/// The file that Chromium's runners leave for each benchmark, in a folder of its name.
const FILE: &str = "perf_results.json";

/// The size limit of the file. Typical files have some MB.
const LARGEST: u64 = 256 << 20;

impl Cas {
    /// Reads the charts in `BENCHMARK/perf_results.json` of a task's outputs, as
    /// [`Format::ChromiumByName`] does.
    ///
    /// # Errors
    ///
    /// [`CasError::NoResults`] if the file does not exist, [`CasError::Results`] if it cannot be
    /// read, and all errors of [`Cas::tree`] and [`Cas::read`].
    pub async fn perf_results(
        &self,
        root: &Digest,
        benchmark: &str,
    ) -> Result<BTreeMap<String, Series>, CasError> {
        let tree = self.tree(root).await?;
        let path = format!("{benchmark}/{FILE}");
        let Some(file) = tree.files.get(&path) else {
            let present = present(&tree);
            return Err(CasError::NoResults {
                root: *root,
                wanted: path,
                present,
            });
        };
        let content = self.read(&file.digest, LARGEST).await?;
        // Some MB of JSON take a moment.
        let read = move || Format::ChromiumByName.read(&content[..]);
        let charts = match tokio::task::spawn_blocking(read).await {
            Ok(charts) => charts,
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        };
        charts.map_err(|source| CasError::Results {
            root: *root,
            path,
            source: Box::new(source),
        })
    }
}

/// The first few results of other benchmarks.
fn present(tree: &Tree) -> Vec<String> {
    let paths = tree.files.keys();
    let results = paths.filter(|path| path.rsplit('/').next() == Some(FILE));
    results.take(5).cloned().collect()
}
