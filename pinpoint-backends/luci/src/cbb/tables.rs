//! Tables that an operator can replace.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// The bots, the benchmarks, and the names of earlier data.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CbbTables {
    /// The bots, by platform: `mac`, `windows`, `android`.
    pub bots: BTreeMap<String, BTreeMap<String, CbbBot>>,
    /// The benchmarks.
    pub benchmarks: Vec<CbbBenchmark>,
    /// The names of earlier data.
    pub v3: EarlierTables,
}

/// A bot.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CbbBot {
    /// Its short name.
    pub short: String,
    /// Its devices.
    pub devices: u32,
}

/// A benchmark.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CbbBenchmark {
    /// Its name, without `.crossbench`.
    pub benchmark: String,
    /// Its short name.
    pub short: String,
    /// The only bots that run it; all when absent.
    #[serde(default)]
    pub bots: Option<Vec<String>>,
    /// Its runs.
    pub iterations: Iterations,
}

/// The runs of a benchmark.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Iterations {
    /// On all bots.
    Everywhere(u32),
    /// By platform.
    ByPlatform(BTreeMap<String, u32>),
}

/// The names and commit positions of earlier data.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct EarlierTables {
    /// Bots, by devices.
    pub devices: BTreeMap<String, String>,
    /// Names of browsers, by earlier ones.
    pub browsers: BTreeMap<String, String>,
    /// Charts, by benchmarks.
    pub tests: BTreeMap<String, String>,
    /// Commit positions, by versions, by browsers.
    pub commit_positions: BTreeMap<String, BTreeMap<String, u32>>,
}

/// Tables can't be read.
#[derive(Debug, thiserror::Error)]
#[error("the tables of browsers can't be read: {0}")]
pub struct TablesError(#[from] serde_json::Error);

static BUILTIN: LazyLock<CbbTables> = LazyLock::new(|| {
    serde_json::from_str(include_str!("tables.json"))
        .expect("the tables are readable, as a test makes sure")
});

impl CbbTables {
    /// The published tables, which name their source.
    pub fn builtin() -> &'static Self {
        &BUILTIN
    }

    /// The tables of an operator, in JSON.
    ///
    /// # Errors
    ///
    /// When they are not of the form of the published ones.
    pub fn read(text: &str) -> Result<Self, TablesError> {
        Ok(serde_json::from_str(text)?)
    }

    /// The platform of a bot, and its short name.
    pub fn bot(&self, name: &str) -> Option<(&str, &CbbBot)> {
        let mut platforms = self.bots.iter();
        platforms.find_map(|(platform, bots)| Some((platform.as_str(), bots.get(name)?)))
    }

    /// The benchmarks of a bot, with their runs.
    pub fn benchmarks_of(&self, bot: &str) -> Vec<(&CbbBenchmark, u32)> {
        let Some((platform, _)) = self.bot(bot) else {
            return Vec::new();
        };
        let benchmarks = self.benchmarks.iter().filter(|benchmark| {
            let bots = benchmark.bots.as_ref();
            bots.is_none_or(|bots| bots.iter().any(|it| it == bot))
        });
        benchmarks
            .filter_map(|benchmark| {
                let iterations = match &benchmark.iterations {
                    Iterations::Everywhere(iterations) => *iterations,
                    Iterations::ByPlatform(iterations) => *iterations.get(platform)?,
                };
                Some((benchmark, iterations))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bot_has_its_benchmarks() {
        let tables = CbbTables::builtin();
        let shown = |bot: &str| {
            let benchmarks = tables.benchmarks_of(bot).into_iter();
            let shown = benchmarks.map(|(it, runs)| format!("{} {runs}", it.short));
            shown.collect::<Vec<_>>()
        };
        let mac = ["SP 150", "JS2 22", "JS3 22", "MM 22"];
        assert_eq!(shown("mac-m3-pro-perf-cbb"), mac);
        let tablet = ["SP 22", "JS2 22", "JS3 22", "MM 22", "LL2 8"];
        assert_eq!(shown("android-pixel-tangor-perf-cbb"), tablet);
        assert_eq!(shown("android-pixel10-perf-cbb")[4], "LL2 14");
        assert!(shown("linux-perf").is_empty());
        assert_eq!(tables.bot("win-victus-perf-cbb").unwrap().0, "windows");
        assert!(CbbTables::read("{}").is_err());
    }
}
