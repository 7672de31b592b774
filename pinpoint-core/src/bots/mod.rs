//! Bots: where a benchmark is built and run, by name.
//!
//! A bot's configuration gives the browser's build and the machines that run it: those of a
//! Swarming server that have certain dimensions, a pool of machines by name, or this machine.
//! Configurations are files, TOML or JSON, and so are the benchmarks and their build targets:
//!
//! ```
//! use pinpoint_core::bots::{Bots, ConfigFile, Workers};
//!
//! let file = ConfigFile {
//!     name: "bots.toml",
//!     text: r#"
//!         [bots.desk]
//!         local = true
//!
//!         [bots.lab]
//!         machines = ["rack-1", "rack-2"]
//!         repository = "https://example.org/tool.git"
//!
//!         [bots.nightly]
//!         alias = "lab"
//!
//!         [bots.linux-perf]
//!         browser = "release"
//!         bucket = "luci.chrome.try"
//!         builder = "Linux Builder Perf"
//!         repository = "https://chromium.googlesource.com/chromium/src.git"
//!         swarming_server = "https://chrome-swarming.appspot.com"
//!         dimensions = [{ key = "pool", value = "chrome.tests.pinpoint" }]
//!
//!         [benchmarks.parsing]
//!         stories = ["small", "large"]
//!         bots = ["lab"]
//!         build = "make -j bench"
//!         command = ["./bench", "{story}"]
//!         format = "lines"
//!         timeout = "10m"
//!
//!         [targets.benchmarks]
//!         parsing = "parsing_tests"
//!     "#,
//! };
//! let bots = Bots::read(&[file])?;
//! let bot = bots.get("nightly")?;
//! assert_eq!((bot.name, bot.configured_as), ("nightly", "lab"));
//! assert_eq!(bots.target("nightly", "parsing")?, "parsing_tests");
//! let command = bots.benchmarks()["parsing"].command(Some("small"))?;
//! assert_eq!(command, Some(vec!["./bench".into(), "small".into()]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Rules
//!
//! A bot is an alias and nothing else, or it is complete; an alias names a bot
//! that is not an alias. Bots are external or, in a file with `set = "internal"`,
//! internal: no name is in both sets, and external bots refer to external ones
//! only, so that [`Bots::external`] stands alone. Names in `out_of_resources`
//! are bots that take no jobs for now, and those in `no_culprit_finder` take no culprit finders.
//!
//! A benchmark that requests may name has a `command`, which runs it, and the other settings of a
//! build and a run: see [`Invocation`]. Of several stories one is chosen by `{story}` in an
//! argument of the command.
//!
//! The target of a benchmark on a bot is the benchmark's in `targets.benchmarks`;
//! else the bot's in `targets.bots`; else that of the first of
//! `targets.patterns` whose `contains` is part of the bot's name in lower case;
//! else `performance_test_suite`.
//!
//! The rules, and the facts in the [built-in](Bots::builtin) files, are those
//! that Chromium's Pinpoint published in `pinpoint/go/bot_configs` of
//! <https://skia.googlesource.com/buildbot>.

mod benchmark;
mod bot;
mod completion;
mod error;
mod file;
mod similar;
mod target;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

pub use benchmark::{Benchmark, Invocation, RefusedArgument, StoryError};
pub use bot::{Bot, BotSet, Dimension, Swarming, Workers};
pub use completion::completions;
pub use error::{ConfigError, ConfigProblem, UnknownBot};
pub use file::{ConfigErrors, ConfigFile};
use similar::near_names;
use target::Targets;

static BUILTIN: LazyLock<Bots> = LazyLock::new(|| {
    let file = |name, text| ConfigFile { name, text };
    Bots::read(&[
        file("external.toml", include_str!("defaults/external.toml")),
        file("internal.toml", include_str!("defaults/internal.toml")),
    ])
    .expect("the built-in files follow the rules, as a test makes sure")
});

/// All bots, with benchmarks and their targets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bots {
    bots: BTreeMap<String, Entry>,
    out_of_resources: BTreeSet<String>,
    no_culprit_finder: BTreeSet<String>,
    benchmarks: BTreeMap<String, Benchmark>,
    targets: Targets,
}

/// A file's entry for a name.
#[derive(Debug, Clone, PartialEq)]
struct Entry {
    set: BotSet,
    is: Definition,
}

#[derive(Debug, Clone, PartialEq)]
enum Definition {
    Alias(String),
    Bot {
        repository: Option<String>,
        workers: Workers,
    },
}

impl Bots {
    /// Chromium's bots, as they were published, and `local`, which
    /// is this machine. Read at the first call.
    pub fn builtin() -> &'static Self {
        &BUILTIN
    }

    /// The external bots alone, with their aliases and targets.
    pub fn external(&self) -> Self {
        let mut external = self.clone();
        external
            .bots
            .retain(|_, entry| entry.set == BotSet::External);
        let known = &external.bots;
        for names in [
            &mut external.out_of_resources,
            &mut external.no_culprit_finder,
        ] {
            names.retain(|name| known.contains_key(name));
        }
        external.benchmarks.retain(|_, benchmark| {
            benchmark.bots.retain(|name| known.contains_key(name));
            !benchmark.bots.is_empty()
        });
        external
    }

    /// The bot of this name, or the one that it is an alias of.
    ///
    /// # Errors
    ///
    /// When no bot has this name; the error holds similar names.
    pub fn get(&self, name: &str) -> Result<Bot<'_>, UnknownBot> {
        let find = |name: &str| {
            let found = self.bots.get_key_value(name);
            found.ok_or_else(|| self.unknown(name))
        };
        let (name, entry) = find(name)?;
        let (configured_as, definition) = match &entry.is {
            Definition::Alias(other) => find(other).map(|(name, entry)| (name, &entry.is))?,
            own => (name, own),
        };
        let Definition::Bot {
            repository,
            workers,
        } = definition
        else {
            return Err(self.unknown(configured_as));
        };
        let is_in =
            |names: &BTreeSet<String>| [name, configured_as].iter().any(|it| names.contains(*it));
        Ok(Bot {
            name,
            configured_as,
            set: entry.set,
            out_of_resources: is_in(&self.out_of_resources),
            no_culprit_finder: is_in(&self.no_culprit_finder),
            repository: repository.as_deref(),
            workers,
        })
    }

    /// All bots and aliases, by name.
    pub fn iter(&self) -> impl Iterator<Item = Bot<'_>> {
        self.bots.keys().filter_map(|name| self.get(name).ok())
    }

    /// The known benchmarks, by name.
    pub fn benchmarks(&self) -> &BTreeMap<String, Benchmark> {
        &self.benchmarks
    }

    /// The name of a benchmark that can be requested, and that is similar to this one.
    pub fn benchmark_near(&self, name: &str) -> Option<String> {
        let requested = self.benchmarks.iter();
        let requested = requested.filter(|(_, benchmark)| benchmark.invocation.is_some());
        near_names(name, requested.map(|(name, _)| name))
            .into_iter()
            .next()
    }

    /// The build target for a benchmark on a bot. An alias has the target of its own name
    /// if there is one, else that of its bot.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub fn target(&self, bot: &str, benchmark: &str) -> Result<&str, UnknownBot> {
        let bot = self.get(bot)?;
        Ok(self.targets.find([bot.name, bot.configured_as], benchmark))
    }

    fn unknown(&self, name: &str) -> UnknownBot {
        UnknownBot {
            name: name.to_owned(),
            near: near_names(name, self.bots.keys()),
        }
    }
}

#[cfg(test)]
mod tests;
