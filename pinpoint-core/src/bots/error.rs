//! The problems that bot configurations can have.

use std::fmt;

/// A problem in a file of bot configurations.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {}{problem}", Prefix(.field))]
pub struct ConfigError {
    /// The name of the file.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The field, as in `bots.linux-perf.builder`; empty where the file can't
    /// be read at all.
    pub field: String,
    /// The problem there.
    pub problem: ConfigProblem,
}

struct Prefix<'a>(&'a str);

impl fmt::Display for Prefix<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => Ok(()),
            field => write!(formatter, "{field}: "),
        }
    }
}

/// The problems in a file of bot configurations.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigProblem {
    /// The file is not TOML or not JSON, or has a field or a value that is not one of a
    /// configuration.
    #[error("{0}")]
    Content(String),
    /// A field that only another kind of bot has.
    #[error("`{field}` does not go with `{with}`; leave one of them out")]
    Excluded {
        /// The field.
        field: &'static str,
        /// The field that decides the kind of bot.
        with: &'static str,
    },
    /// `local` is false.
    #[error("`local` is true or left out")]
    NotLocal,
    /// Required fields are missing.
    #[error("missing: `{}`; a bot is complete, or has only an `alias`", .0.join("`, `"))]
    Missing(Vec<&'static str>),
    /// A setting of a benchmark without a command.
    #[error("`{0}` is for running the benchmark, and there is no `command`; add it")]
    NoCommand(&'static str),
    /// The command is the same for all stories.
    #[error("the command has no `{{story}}`, and there are several stories; add it to an argument")]
    NoStory,
    /// The value is empty.
    #[error("this is empty; fill it in or leave it out")]
    Empty,
    /// A name that has two meanings.
    #[error("this was defined before, in {file}:{line}; remove one of them")]
    Twice {
        /// The file of the first definition.
        file: String,
        /// Its line.
        line: usize,
    },
    /// An undefined name.
    #[error("there is no bot `{name}`{}", Near(.near))]
    UnknownBot {
        /// The name.
        name: String,
        /// Names that are nearly the same.
        near: Vec<String>,
    },
    /// An external bot that can only be understood with the internal ones.
    #[error("`{0}` is an internal bot; an external one can't refer to it")]
    Internal(String),
    /// An alias of an alias.
    #[error("`{0}` is an alias itself; name the bot that it stands for")]
    NestedAlias(String),
}

/// No bot has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no bot `{name}`{}", Near(.near))]
#[non_exhaustive]
pub struct UnknownBot {
    /// The name.
    pub name: String,
    /// Names that are nearly the same, the nearest first, at most three.
    pub near: Vec<String>,
}

/// The end of a sentence that suggests names.
struct Near<'a>(&'a [String]);

impl fmt::Display for Near<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => Ok(()),
            [only] => write!(formatter, "; did you mean `{only}`?"),
            [others @ .., last] => {
                let others = others.join("`, `");
                write!(formatter, "; did you mean `{others}` or `{last}`?")
            }
        }
    }
}
