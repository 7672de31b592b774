//! The build target for a benchmark on a bot.

use std::collections::BTreeMap;

/// The target of every benchmark and bot without another one.
const DEFAULT: &str = "performance_test_suite";

/// The build targets that hold benchmarks.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Targets {
    pub(super) benchmarks: BTreeMap<String, String>,
    pub(super) bots: BTreeMap<String, String>,
    /// Parts of bots' names in lower case, in the order in which they are tried.
    pub(super) patterns: Vec<(String, String)>,
}

impl Targets {
    /// The first that exists: the benchmark's, that of one of the bot's names,
    /// that of a pattern in one of its names, the default.
    pub(super) fn find(&self, names: [&str; 2], benchmark: &str) -> &str {
        let exact = || names.iter().find_map(|name| self.bots.get(*name));
        let pattern = || {
            let names = names.map(str::to_lowercase);
            let holds = |pattern: &str| names.iter().any(|name| name.contains(pattern));
            let found = self.patterns.iter().find(|(pattern, _)| holds(pattern));
            found.map(|(_, target)| target)
        };
        self.benchmarks
            .get(benchmark)
            .or_else(exact)
            .or_else(pattern)
            .map_or(DEFAULT, String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_goes_before_the_next() {
        let map = |key: &str, target: &str| BTreeMap::from([(key.to_owned(), target.to_owned())]);
        let targets = Targets {
            benchmarks: map("special", "by benchmark"),
            bots: map("Eve WebView", "by bot"),
            patterns: vec![
                ("webview".into(), "first pattern".into()),
                ("eve".into(), "second pattern".into()),
            ],
        };
        for (names, benchmark, target) in [
            (["Eve WebView"; 2], "special", "by benchmark"),
            (["Eve WebView"; 2], "Special", "by bot"),
            (["alias", "Eve WebView"], "b", "by bot"),
            (["eve webview"; 2], "b", "first pattern"),
            (["alias", "an EVE"], "b", "second pattern"),
            (["linux"; 2], "b", "performance_test_suite"),
        ] {
            assert_eq!(targets.find(names, benchmark), target, "{names:?}");
        }
    }
}
