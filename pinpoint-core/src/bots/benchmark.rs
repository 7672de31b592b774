//! Benchmarks: the bots that run them, and the commands that the operator lets requests run.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::bot::Bot;
use super::similar::near_names;
use crate::Aggregate;
use crate::results::Format;

/// The part of an argument that stands for the story.
const STORY: &str = "{story}";

/// The part of an argument that stands for the tags of stories.
const STORY_TAGS: &str = "{story_tags}";

/// A benchmark, as the operator configured it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Benchmark {
    /// Its stories.
    pub stories: Vec<String>,
    /// The bots on which it is run.
    pub bots: Vec<String>,
    /// The invocation for requests that name it; absent where only the creator of a job gives one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invocation: Option<Invocation>,
}

/// The commands that build and run a benchmark. They come from the operator alone: a request
/// chooses a benchmark and a story.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Invocation {
    /// Run by `sh -c` in the work tree of each commit, once.
    pub build: Option<String>,
    /// The program and its arguments, run in the work tree; never empty. `{story}` in an
    /// argument stands for the story; the program's name stays as it is.
    pub command: Vec<String>,
    /// The format in which values are read.
    pub format: Format,
    /// The file that the benchmark writes its values to, relative to the work tree; when
    /// absent, they are read from its standard output.
    pub results: Option<PathBuf>,
    /// The aggregate of the values of one run, where a request names none.
    pub aggregate: Option<Aggregate>,
    /// The longest that one build or one run may take.
    pub timeout: Option<Duration>,
    /// Variables set for the build and the benchmark.
    pub env: BTreeMap<String, String>,
    /// URLs of other repositories: of the dependencies that are searched, too.
    pub repositories: Vec<String>,
    /// The arguments that a request may add to the command: patterns, in which `*` stands for
    /// any text. None where there is no pattern.
    pub allow_extra_args: Vec<String>,
    /// The arguments that are added to the command where a request chooses stories by tags;
    /// none where the benchmark can't. `{story_tags}` stands for the tags, with commas between
    /// them.
    pub story_tag_args: Vec<String>,
}

/// An argument that no pattern of the benchmark allows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the argument {0:?} can't be added to this benchmark; its operator allows arguments in `allow_extra_args`"
)]
pub struct RefusedArgument(pub String);

/// A story that a benchmark can't be run with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoryError {
    /// The command needs one.
    #[error("this benchmark needs a story")]
    Missing,
    /// The benchmark has others.
    #[error("the benchmark has no story `{story}`{}", Suggested(.near))]
    Unknown {
        /// The name.
        story: String,
        /// Names that are nearly the same, the nearest first, at most three.
        near: Vec<String>,
    },
    /// A program could take it for an option, or it has a control character.
    #[error("{0:?} is not the name of a story")]
    Name(String),
}

struct Suggested<'a>(&'a [String]);

impl fmt::Display for Suggested<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.first() {
            Some(nearest) => write!(formatter, "; did you mean `{nearest}`?"),
            None => Ok(()),
        }
    }
}

impl Invocation {
    /// Checks the arguments that a request adds to the command.
    ///
    /// # Errors
    ///
    /// The first one that no pattern allows.
    pub fn check_extra(&self, arguments: &[String]) -> Result<(), RefusedArgument> {
        let is_allowed = |argument: &&String| {
            let mut patterns = self.allow_extra_args.iter();
            !argument.chars().any(char::is_control)
                && patterns.any(|pattern| fits(pattern, argument))
        };
        match arguments.iter().find(|argument| !is_allowed(argument)) {
            Some(refused) => Err(RefusedArgument(refused.clone())),
            None => Ok(()),
        }
    }

    /// The arguments that choose stories by these tags; absent where the benchmark can't, or a tag
    /// is invalid: it has a comma, a blank or a control character, or begins with `-`.
    pub fn choose_by_tags(&self, tags: &[String]) -> Option<Vec<String>> {
        let is_tag = |tag: &String| {
            let is_part =
                |letter: char| letter == ',' || letter.is_whitespace() || letter.is_control();
            !tag.is_empty() && !tag.starts_with('-') && !tag.contains(is_part)
        };
        if self.story_tag_args.is_empty() || !tags.iter().all(is_tag) {
            return None;
        }
        let tags = tags.join(",");
        let arguments = self.story_tag_args.iter();
        Some(arguments.map(|it| it.replace(STORY_TAGS, &tags)).collect())
    }

    /// Returns true if the story is part of the command.
    pub(super) fn names_story(&self) -> bool {
        let mut arguments = self.command.iter().skip(1);
        arguments.any(|argument| argument.contains(STORY))
    }
}

/// Returns true if the text matches a pattern, in which `*` stands for any text.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts = rest.split('*');
    let last = parts.next_back().unwrap_or_default();
    // Where a part is found first, the most is left for those after it.
    for part in parts {
        match text.split_once(part) {
            Some((_, after)) => text = after,
            None => return false,
        }
    }
    text.ends_with(last)
}

impl Benchmark {
    /// The program and its arguments for a story; `None` where the operator configured no command.
    /// No shell reads the story.
    ///
    /// # Errors
    ///
    /// When the benchmark does not have this story, or the name is invalid.
    pub fn command(&self, story: Option<&str>) -> Result<Option<Vec<String>>, StoryError> {
        let Some(invocation) = &self.invocation else {
            return Ok(None);
        };
        let story = match story {
            Some(story) => self.known(story)?,
            None if invocation.names_story() => return Err(StoryError::Missing),
            None => "",
        };
        let mut command = invocation.command.clone();
        for argument in command.iter_mut().skip(1) {
            *argument = argument.replace(STORY, story);
        }
        Ok(Some(command))
    }

    /// Returns true if it is run on the bot: on all of them where none is named.
    pub fn is_run_on(&self, bot: &Bot<'_>) -> bool {
        let names = [bot.name, bot.configured_as];
        self.bots.is_empty() || self.bots.iter().any(|name| names.contains(&&**name))
    }

    /// Checks that the name is one of the stories, where these are listed.
    fn known<'a>(&self, story: &'a str) -> Result<&'a str, StoryError> {
        if !self.stories.is_empty() && !self.stories.iter().any(|known| known == story) {
            return Err(StoryError::Unknown {
                story: story.to_owned(),
                near: near_names(story, self.stories.iter()),
            });
        }
        if story.starts_with('-') || story.chars().any(char::is_control) {
            return Err(StoryError::Name(story.to_owned()));
        }
        Ok(story)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn benchmark(stories: &[&str], command: &[&str]) -> Benchmark {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Benchmark {
            stories: texts(stories),
            bots: Vec::new(),
            invocation: Some(Invocation {
                build: None,
                command: texts(command),
                format: Format::Auto,
                results: None,
                aggregate: None,
                timeout: None,
                env: BTreeMap::new(),
                repositories: Vec::new(),
                allow_extra_args: Vec::new(),
                story_tag_args: Vec::new(),
            }),
        }
    }

    #[test]
    fn tags_choose_stories_where_the_operator_says_how() {
        let mut invocation = benchmark(&[], &["./bench"]).invocation.unwrap();
        let tags = |tags: &[&str]| tags.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        assert_eq!(invocation.choose_by_tags(&tags(&["a"])), None);
        invocation.story_tag_args = tags(&["-d", "--story-tag-filter={story_tags}"]);
        let chosen = invocation.choose_by_tags(&tags(&["10s", "2019 $(id)"]));
        assert_eq!(chosen, None);
        let chosen = invocation.choose_by_tags(&tags(&["10s", "$(id)"]));
        assert_eq!(chosen, Some(tags(&["-d", "--story-tag-filter=10s,$(id)"])));
        for wrong in ["", "-x", "a,b", "a b", "a\u{0}"] {
            assert_eq!(
                invocation.choose_by_tags(&tags(&[wrong])),
                None,
                "{wrong:?}"
            );
        }
    }

    #[test]
    fn the_story_is_a_part_of_the_arguments() {
        let any = benchmark(&[], &["./bench", "--story={story}", "{story}", "{other}"]);
        let command = any.command(Some("load:news $(id)")).unwrap().unwrap();
        let expected = [
            "./bench",
            "--story=load:news $(id)",
            "load:news $(id)",
            "{other}",
        ];
        assert_eq!(command, expected);
        assert_eq!(any.command(None), Err(StoryError::Missing));
        // A request does not choose the program.
        let program = benchmark(&[], &["bench-{story}", "{story}"]);
        let command = program.command(Some("../other")).unwrap().unwrap();
        assert_eq!(command, ["bench-{story}", "../other"]);
        let program = benchmark(&["all"], &["bench-{story}"]);
        let command = program.command(None).unwrap().unwrap();
        assert_eq!(command, ["bench-{story}"]);

        let whole = benchmark(&["all"], &["./bench"]);
        assert_eq!(whole.command(Some("all")), Ok(Some(vec!["./bench".into()])));
        assert_eq!(whole.command(None), Ok(Some(vec!["./bench".into()])));
        let none = Benchmark {
            invocation: None,
            ..whole
        };
        assert_eq!(none.command(Some("all")), Ok(None));
    }

    #[test]
    fn arguments_are_added_where_a_pattern_allows_each_of_them() {
        let allow = |patterns: &[&str]| Invocation {
            allow_extra_args: patterns.iter().map(|text| (*text).to_owned()).collect(),
            ..benchmark(&[], &["./bench"]).invocation.unwrap()
        };
        let checked = |invocation: &Invocation, arguments: &[&str]| {
            let arguments: Vec<_> = arguments.iter().map(|text| (*text).to_owned()).collect();
            invocation.check_extra(&arguments)
        };
        let refused = |argument: &str| Err(RefusedArgument(argument.into()));
        let none = allow(&[]);
        assert_eq!(checked(&none, &[]), Ok(()));
        assert_eq!(checked(&none, &[""]), refused(""));
        let some = allow(&["--fast", "--repeat=*", "--*-flags=--a*b*"]);
        assert_eq!(
            checked(&some, &["--fast", "--repeat=", "--repeat=3"]),
            Ok(())
        );
        assert_eq!(checked(&some, &["--js-flags=--a b a b"]), Ok(()));
        for bad in [
            "--faster",
            "-fast",
            "x--repeat=3",
            "--repeat",
            "--repeat=a\nb",
            "--js-flags=--b",
            "--flags=--ab",
        ] {
            assert_eq!(checked(&some, &["--fast", bad]), refused(bad));
        }
        assert_eq!(checked(&allow(&["a*a"]), &["a"]), refused("a"));
        assert_eq!(checked(&allow(&["*"]), &["", "--any"]), Ok(()));
        assert_eq!(checked(&allow(&["*ab*"]), &["aab"]), Ok(()));
    }

    #[test]
    fn what_is_no_story_is_refused() {
        let listed = benchmark(&["small", "large"], &["./bench", "{story}"]);
        let error = listed.command(Some("smal")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the benchmark has no story `smal`; did you mean `small`?"
        );
        let any = benchmark(&[], &["./bench", "{story}"]);
        for story in ["--help", "-", "a\nb", "\0"] {
            let refused = any.command(Some(story));
            assert_eq!(refused, Err(StoryError::Name(story.into())));
        }
    }
}
