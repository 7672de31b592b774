//! Reads files of bot configurations, and finds all problems.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;
use toml::de::ValueDeserializer;

use super::tree::{self, SyntaxError, line_at};
use super::{
    Benchmark, BotSet, Bots, ConfigError, ConfigProblem, Definition, Dimension, Entry, Invocation,
    Swarming, Workers, near_names,
};
use crate::Aggregate;
use crate::results::Format;

/// A file of bot configurations: JSON if its name ends in `.json`, else TOML.
#[derive(Debug, Clone, Copy)]
pub struct ConfigFile<'a> {
    /// The name of the file in messages.
    pub name: &'a str,
    /// The contents of the file.
    pub text: &'a str,
}

/// All problems of some files: never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors(Vec<ConfigError>);

impl ConfigErrors {
    /// One after the other, in the order of the files and their lines.
    pub fn iter(&self) -> impl Iterator<Item = &ConfigError> {
        self.0.iter()
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<_> = self.0.iter().map(ConfigError::to_string).collect();
        formatter.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for ConfigErrors {}

impl Bots {
    /// Reads the files; their definitions add up.
    ///
    /// # Errors
    ///
    /// Everything that breaks the [rules](crate::bots#rules), with file, line and field. Of a
    /// file with an unknown field, or a value of another type, the first one is named.
    pub fn read(files: &[ConfigFile<'_>]) -> Result<Self, ConfigErrors> {
        let mut reader = BotFileReader::default();
        for file in files {
            reader.file(file);
        }
        reader.finish(files)
    }
}

/// Text that is not blank, or a list that is not empty.
struct Filled<T>(T);

trait Blank {
    fn is_blank(&self) -> bool;
}

impl Blank for String {
    fn is_blank(&self) -> bool {
        self.trim().is_empty()
    }
}

impl<T> Blank for Vec<T> {
    fn is_blank(&self) -> bool {
        self.is_empty()
    }
}

impl<'de, T: Deserialize<'de> + Blank> Deserialize<'de> for Filled<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = T::deserialize(deserializer)?;
        match value.is_blank() {
            true => Err(D::Error::custom(ConfigProblem::Empty)),
            false => Ok(Self(value)),
        }
    }
}

/// Reads a field that is text and not blank.
pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Filled::deserialize(deserializer).map(|Filled(text)| text)
}

/// A table, and not a list of its values in their order.
#[derive(Default)]
struct Table<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Table<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
            type Value = Table<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a table")
            }

            fn visit_map<M: MapAccess<'de>>(self, fields: M) -> Result<Table<T>, M::Error> {
                T::deserialize(MapAccessDeserializer::new(fields)).map(Table)
            }
        }

        deserializer.deserialize_map(Fields(PhantomData))
    }
}

type Text = Filled<String>;
type List<T> = Filled<Vec<T>>;
type SpannedMap<T> = BTreeMap<Spanned<String>, T>;
type Tables<T> = SpannedMap<Table<T>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    #[serde(default = "external")]
    set: BotSet,
    #[serde(default)]
    bots: Tables<BotFields>,
    #[serde(default)]
    benchmarks: Tables<BenchmarkFields>,
    out_of_resources: Option<List<Spanned<Text>>>,
    no_culprit_finder: Option<List<Spanned<Text>>>,
    #[serde(default)]
    targets: Table<TargetFields>,
}

fn external() -> BotSet {
    BotSet::External
}

/// The fields of a bot. Which of them it has depends on its kind.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BotFields {
    alias: Option<Spanned<Text>>,
    browser: Option<Text>,
    bucket: Option<Text>,
    builder: Option<Text>,
    dimensions: Option<List<Table<Dimension>>>,
    extra_test_args: Option<List<Text>>,
    local: Option<bool>,
    machines: Option<List<Text>>,
    repository: Option<Text>,
    swarming_server: Option<Text>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BenchmarkFields {
    stories: Option<List<Text>>,
    bots: Option<List<Spanned<Text>>>,
    build: Option<Text>,
    command: Option<List<Text>>,
    format: Option<Format>,
    results: Option<Text>,
    aggregate: Option<Aggregate>,
    #[serde(default, deserialize_with = "duration")]
    timeout: Option<Duration>,
    env: Option<Table<BTreeMap<String, String>>>,
    repositories: Option<List<Text>>,
    allow_extra_args: Option<List<Text>>,
    story_tag_args: Option<List<Text>>,
}

/// Reads a duration like `10m`.
fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    humantime::parse_duration(&text)
        .map(Some)
        .map_err(|error| D::Error::custom(format!("{text:?} is not a duration ({error})")))
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct TargetFields {
    benchmarks: SpannedMap<Text>,
    bots: SpannedMap<Text>,
    patterns: Option<List<Table<PatternFields>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PatternFields {
    contains: Text,
    target: Text,
}

/// The items of a list; none where it is left out.
fn items<T>(list: Option<List<T>>) -> Vec<T> {
    list.map_or(Vec::new(), |Filled(items)| items)
}

/// The texts of a list.
fn texts(list: Option<List<Text>>) -> Vec<String> {
    items(list).into_iter().map(|Filled(text)| text).collect()
}

impl BenchmarkFields {
    /// The benchmark, which is run on these bots.
    fn benchmark(self, bots: Vec<String>) -> Result<Benchmark, ConfigProblem> {
        let stories = texts(self.stories);
        let fields = [
            ("build", self.build.is_some()),
            ("format", self.format.is_some()),
            ("results", self.results.is_some()),
            ("aggregate", self.aggregate.is_some()),
            ("timeout", self.timeout.is_some()),
            ("env", self.env.is_some()),
            ("repositories", self.repositories.is_some()),
            ("allow_extra_args", self.allow_extra_args.is_some()),
            ("story_tag_args", self.story_tag_args.is_some()),
        ];
        let Some(command) = self.command else {
            return match fields.iter().find(|(_, is_given)| *is_given) {
                Some((field, _)) => Err(ConfigProblem::NoCommand(field)),
                None => Ok(Benchmark {
                    stories,
                    bots,
                    invocation: None,
                }),
            };
        };
        let invocation = Invocation {
            build: self.build.map(|Filled(build)| build),
            command: texts(Some(command)),
            format: self.format.unwrap_or(Format::Auto),
            results: self.results.map(|Filled(results)| results.into()),
            aggregate: self.aggregate,
            timeout: self.timeout,
            env: self.env.unwrap_or_default().0,
            repositories: texts(self.repositories),
            allow_extra_args: texts(self.allow_extra_args),
            story_tag_args: texts(self.story_tag_args),
        };
        if !invocation.names_story() && stories.len() > 1 {
            return Err(ConfigProblem::NoStory);
        }
        Ok(Benchmark {
            stories,
            bots,
            invocation: Some(invocation),
        })
    }
}

impl BotFields {
    /// The bot, if these are the fields of one kind.
    fn definition(self) -> Result<Definition, ConfigProblem> {
        const KINDS: [&str; 3] = ["alias", "local", "machines"];
        let fields = [
            ("alias", self.alias.is_some()),
            ("browser", self.browser.is_some()),
            ("bucket", self.bucket.is_some()),
            ("builder", self.builder.is_some()),
            ("dimensions", self.dimensions.is_some()),
            ("extra_test_args", self.extra_test_args.is_some()),
            ("local", self.local.is_some()),
            ("machines", self.machines.is_some()),
            ("repository", self.repository.is_some()),
            ("swarming_server", self.swarming_server.is_some()),
        ];
        let named = |is_given| {
            let fields = fields.iter().filter(move |(_, given)| *given == is_given);
            fields.map(|(field, _)| *field)
        };
        let with = KINDS
            .into_iter()
            .find(|kind| named(true).any(|it| it == *kind));
        let excluded = with.and_then(|with| {
            let fits = |field| field == with || (field == "repository" && with != "alias");
            let field = named(true).find(|field| !fits(*field))?;
            Some(ConfigProblem::Excluded { field, with })
        });
        if let Some(excluded) = excluded {
            return Err(excluded);
        }
        let repository = self.repository.map(|Filled(repository)| repository);
        let workers = match (self.alias, self.local, self.machines) {
            (Some(alias), ..) => return Ok(Definition::Alias(alias.into_inner().0)),
            (_, Some(true), _) => Workers::Local,
            (_, Some(false), _) => return Err(ConfigProblem::NotLocal),
            (.., Some(Filled(machines))) => {
                let machines = machines.into_iter().map(|Filled(machine)| machine);
                Workers::Machines(machines.collect())
            }
            _ => {
                let (
                    Some(Filled(browser)),
                    Some(Filled(bucket)),
                    Some(Filled(builder)),
                    Some(Filled(swarming_server)),
                    Some(Filled(dimensions)),
                    Some(_),
                ) = (
                    self.browser,
                    self.bucket,
                    self.builder,
                    self.swarming_server,
                    self.dimensions,
                    &repository,
                )
                else {
                    let is_needed =
                        |field: &&str| !KINDS.contains(field) && *field != "extra_test_args";
                    let missing = named(false).filter(is_needed);
                    return Err(ConfigProblem::Missing(missing.collect()));
                };
                Workers::Swarming(Swarming {
                    browser,
                    bucket,
                    builder,
                    swarming_server,
                    dimensions: dimensions.into_iter().map(|Table(it)| it).collect(),
                    extra_test_args: texts(self.extra_test_args),
                })
            }
        };
        Ok(Definition::Bot {
            repository,
            workers,
        })
    }
}

/// A file and a line in it.
#[derive(Clone)]
struct ConfigLine(String, usize);

/// A name that must be that of a bot.
struct Reference {
    place: ConfigLine,
    field: String,
    name: String,
    set: BotSet,
    is_alias: bool,
}

#[derive(Default)]
struct BotFileReader<'a> {
    bots: Bots,
    /// The name and the text of the file that is being read.
    file: &'a str,
    text: &'a str,
    /// The place where each name was first defined.
    defined: BTreeMap<String, ConfigLine>,
    references: Vec<Reference>,
    errors: Vec<ConfigError>,
    /// A file could not be read: its bots are not known.
    is_incomplete: bool,
}

impl<'a> BotFileReader<'a> {
    fn file(&mut self, file: &ConfigFile<'a>) {
        (self.file, self.text) = (file.name, file.text);
        match content(file) {
            Ok(content) => self.whole(content),
            Err(SyntaxError { line, message }) => {
                let place = ConfigLine(file.name.to_owned(), line);
                self.error(place, "", ConfigProblem::Content(message));
                self.is_incomplete = true;
            }
        }
    }

    fn whole(&mut self, content: Content) {
        let set = content.set;
        for (name, Table(fields)) in content.bots {
            let Some(field) = self.define("bots", &name) else {
                continue;
            };
            if let Some(alias) = &fields.alias {
                self.refer(&format!("{field}.alias"), alias, set, true);
            }
            match fields.definition() {
                Ok(is) => drop(self.bots.bots.insert(name.into_inner(), Entry { set, is })),
                Err(problem) => self.error(self.place(&name), &field, problem),
            }
        }
        for (name, Table(mut fields)) in content.benchmarks {
            let Some(field) = self.define("benchmarks", &name) else {
                continue;
            };
            let bots = self.refer_all(&format!("{field}.bots"), fields.bots.take(), set);
            match fields.benchmark(bots) {
                Ok(benchmark) => drop(self.bots.benchmarks.insert(name.into_inner(), benchmark)),
                Err(problem) => self.error(self.place(&name), &field, problem),
            }
        }
        let names = self.refer_all("out_of_resources", content.out_of_resources, set);
        self.bots.out_of_resources.extend(names);
        let names = self.refer_all("no_culprit_finder", content.no_culprit_finder, set);
        self.bots.no_culprit_finder.extend(names);
        let Table(targets) = content.targets;
        for (name, Filled(target)) in targets.benchmarks {
            if self.define("targets.benchmarks", &name).is_some() {
                let known = &mut self.bots.targets.benchmarks;
                known.insert(name.into_inner(), target);
            }
        }
        for (name, Filled(target)) in targets.bots {
            if self.define("targets.bots", &name).is_some() {
                self.bots.targets.bots.insert(name.into_inner(), target);
            }
        }
        for Table(PatternFields { contains, target }) in items(targets.patterns) {
            let pattern = (contains.0.to_lowercase(), target.0);
            self.bots.targets.patterns.push(pattern);
        }
    }

    /// The checks that need all files together.
    fn finish(mut self, files: &[ConfigFile<'_>]) -> Result<Bots, ConfigErrors> {
        for reference in std::mem::take(&mut self.references) {
            let Reference { name, set, .. } = reference;
            let problem = match self.bots.bots.get(&name) {
                Some(entry) if set == BotSet::External && entry.set == BotSet::Internal => {
                    ConfigProblem::Internal(name)
                }
                Some(entry) if reference.is_alias && matches!(entry.is, Definition::Alias(_)) => {
                    ConfigProblem::NestedAlias(name)
                }
                Some(_) => continue,
                // It may be in the file that can't be read.
                None if self.is_incomplete => continue,
                // It exists, with a separate error.
                None if self.defined.contains_key(&format!("bots.{name}")) => continue,
                None => ConfigProblem::UnknownBot {
                    near: near_names(&name, self.bots.bots.keys()),
                    name,
                },
            };
            self.error(reference.place, &reference.field, problem);
        }
        if self.errors.is_empty() {
            return Ok(self.bots);
        }
        self.errors.sort_by_key(|error| {
            let file = files.iter().position(|file| file.name == error.file);
            (file, error.line)
        });
        Err(ConfigErrors(self.errors))
    }

    fn place<T>(&self, part: &Spanned<T>) -> ConfigLine {
        ConfigLine(self.file.to_owned(), line_at(self.text, part.span().start))
    }

    fn error(&mut self, ConfigLine(file, line): ConfigLine, field: &str, problem: ConfigProblem) {
        self.errors.push(ConfigError {
            file,
            line,
            field: field.to_owned(),
            problem,
        });
    }

    /// Notes that a name has a meaning from here on. Returns its field, unless it can't have
    /// one.
    fn define(&mut self, section: &str, name: &Spanned<String>) -> Option<String> {
        let field = format!("{section}.{}", name.get_ref());
        let problem = if name.get_ref().is_blank() {
            ConfigProblem::Empty
        } else if let Some(ConfigLine(file, line)) = self.defined.get(&field).cloned() {
            ConfigProblem::Twice { file, line }
        } else {
            self.defined.insert(field.clone(), self.place(name));
            return Some(field);
        };
        self.error(self.place(name), &field, problem);
        None
    }

    /// Notes that this must be the name of a bot.
    fn refer(&mut self, field: &str, name: &Spanned<Text>, set: BotSet, is_alias: bool) {
        self.references.push(Reference {
            place: self.place(name),
            field: field.to_owned(),
            name: name.get_ref().0.clone(),
            set,
            is_alias,
        });
    }

    /// Notes that these must be names of bots, and returns them.
    fn refer_all(
        &mut self,
        field: &str,
        names: Option<List<Spanned<Text>>>,
        set: BotSet,
    ) -> Vec<String> {
        let names = items(names).into_iter().enumerate();
        names
            .map(|(index, name)| {
                self.refer(&format!("{field}[{index}]"), &name, set, false);
                name.into_inner().0
            })
            .collect()
    }
}

fn content(file: &ConfigFile<'_>) -> Result<Content, SyntaxError> {
    let is_json = file.name.to_ascii_lowercase().ends_with(".json");
    let root = if is_json {
        tree::from_json(file.text)
    } else {
        tree::from_toml(file.text)
    }?;
    let content = Table::deserialize(ValueDeserializer::from(root));
    content
        .map(|Table(content)| content)
        .map_err(|error| SyntaxError {
            line: line_at(file.text, error.span().map_or(0, |span| span.start)),
            // The problem, and the table in which it is.
            message: error.to_string().trim_end().replace('\n', " "),
        })
}
