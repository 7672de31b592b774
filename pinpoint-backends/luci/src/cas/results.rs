//! What a benchmark of Chromium leaves.

use std::collections::BTreeMap;

use pinpoint_core::Series;
use pinpoint_core::results::Format;

use super::{Cas, CasError, Digest, Tree};

/// The file that Chromium's runners leave for each benchmark, in a folder of its name.
const FILE: &str = "perf_results.json";

/// The largest that is read. They have some MB.
const LARGEST: u64 = 256 << 20;

impl Cas {
    /// The charts in `BENCHMARK/perf_results.json` of what a task left, as
    /// [`Format::ChromiumByName`] reads them.
    ///
    /// # Errors
    ///
    /// [`CasError::NoResults`] if there is no such file, [`CasError::Results`] if it can't be
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
