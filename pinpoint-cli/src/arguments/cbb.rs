//! `pinpoint cbb`.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum Cbb {
    /// Convert the results of the system before, from a table of comma-separated values.
    ///
    /// Each row has a device, Chrome and its version, another browser and its version, a benchmark,
    /// and two medians. Each value becomes a file in Perf's format,
    /// BOT.BENCHMARK.BROWSER.POSITION.json. Rows that are too short are skipped and counted.
    ImportV3 {
        /// The table; its first row is the header.
        #[arg(value_name = "FILE.csv")]
        table: PathBuf,
        /// The directory for the files.
        #[arg(long, value_name = "DIR", default_value = ".")]
        into: PathBuf,
        /// A file of devices, browsers, benchmarks and positions, JSON, instead of the published ones.
        #[arg(long, value_name = "FILE.json")]
        tables: Option<PathBuf>,
    },
}
