//! The workload, common to all jobs: the benchmark, and the bot that runs it.

use super::NotCarried;
use super::validation::{Check, Problem, text};
use crate::Aggregate;
use crate::Commit;
use crate::bots::{Bot, Bots};

/// The workload of a job: the benchmark, and the bot that runs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// The bot, by the name given: of a bot or of an alias.
    pub bot: String,
    /// The benchmark.
    pub benchmark: String,
    /// The story. Absent only where tags choose stories.
    pub story: Option<String>,
    /// Tags that choose stories.
    pub story_tags: Vec<String>,
    /// The aggregate of the values of one run; absent: all of them count.
    pub aggregate: Option<Aggregate>,
}

impl Workload {
    /// Reads the fields common to all schedule requests.
    pub(super) fn read(
        check: &mut Check,
        bot: Option<&Bot<'_>>,
        [benchmark, story, story_tags]: [&str; 3],
        aggregate: Option<Aggregate>,
    ) -> Self {
        let story_tags: Vec<_> = story_tags
            .split(',')
            .map(str::trim)
            .filter(|tag| !tag.is_empty())
            .map(str::to_owned)
            .collect();
        let benchmark = check.needed("benchmark", benchmark);
        if story.trim().is_empty() && story_tags.is_empty() {
            check.note("story", Problem::MissingEither { or: "story_tags" });
        }
        Self {
            bot: bot.map_or_else(String::new, |bot| bot.name.to_owned()),
            benchmark,
            story: text(story.trim()),
            story_tags,
            aggregate,
        }
    }

    /// The hash of an end: a request has nothing else, and the repository is the bot's.
    pub(super) fn write_end(&self, end: &Commit, bots: &Bots) -> Result<String, NotCarried> {
        let bot = bots.get(&self.bot);
        let bot = bot.map_err(|_| NotCarried("a bot that is not configured"))?;
        if bot.repository != Some(&end.repository) || !end.merged.is_empty() {
            return Err(NotCarried(
                "an end that is no plain commit of the bot's repository",
            ));
        }
        Ok(end.git_hash.clone())
    }

    pub(super) fn write_tags(&self) -> Result<String, NotCarried> {
        let is_tag = |tag: &String| !tag.is_empty() && tag.trim() == tag && !tag.contains(',');
        if !self.story_tags.iter().all(is_tag) {
            return Err(NotCarried("a story tag with a comma or blanks around it"));
        }
        Ok(self.story_tags.join(","))
    }

    pub(super) fn write_aggregate(&self) -> String {
        let aggregate = self.aggregate.as_ref();
        aggregate.map_or_else(String::new, Aggregate::to_string)
    }
}

/// Arguments as a shell reads them.
pub(super) fn write_arguments(arguments: &[String]) -> Result<String, NotCarried> {
    shlex::try_join(arguments.iter().map(String::as_str))
        .map_err(|_| NotCarried("an argument with a NUL byte"))
}
