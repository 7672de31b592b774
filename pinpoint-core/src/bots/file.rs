//! Reads files of bot configurations, and finds all problems.

use std::collections::BTreeMap;
use std::fmt;

use super::tree::{self, Node, Value};
use super::{
    Benchmark, Bots, ConfigError, ConfigProblem, Definition, Dimension, Entry, Set, Swarming,
    Workers, near,
};

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
    /// Everything that breaks the [rules](crate::bots#rules), with file, line and field.
    pub fn read(files: &[ConfigFile<'_>]) -> Result<Self, ConfigErrors> {
        let mut reader = Reader::default();
        for file in files {
            reader.file(file);
        }
        reader.finish(files)
    }
}

/// A field that messages can name.
#[derive(Debug, Clone)]
struct Place {
    file: String,
    line: usize,
    field: String,
}

/// A name that must be that of a bot.
struct Reference {
    place: Place,
    name: String,
    set: Set,
    is_alias: bool,
}

type Members<'a> = BTreeMap<&'a str, &'a Node>;

#[derive(Default)]
struct Reader {
    bots: Bots,
    /// The file that is being read.
    file: String,
    /// The place where each field was first defined.
    defined: BTreeMap<String, Place>,
    references: Vec<Reference>,
    errors: Vec<ConfigError>,
}

impl Reader {
    fn file(&mut self, file: &ConfigFile<'_>) {
        self.file = file.name.to_owned();
        let is_json = file.name.to_ascii_lowercase().ends_with(".json");
        let read = if is_json {
            tree::from_json(file.text)
        } else {
            tree::from_toml(file.text)
        };
        match read {
            Ok(root) => self.whole(&root),
            Err(error) => {
                let place = self.place(error.line, "");
                self.error(&place, ConfigProblem::Syntax(error.message));
            }
        }
    }

    fn whole(&mut self, root: &Node) {
        const FIELDS: &[&str] = &["benchmarks", "bots", "out_of_resources", "set", "targets"];
        let Some(members) = self.members("", root, FIELDS) else {
            return;
        };
        let set = match members.get("set") {
            None => Set::External,
            Some(node) => match &node.value {
                Value::Text(text) if text == "external" => Set::External,
                Value::Text(text) if text == "internal" => Set::Internal,
                other => {
                    let needed = "\"external\" or \"internal\"";
                    let found = match other {
                        Value::Text(_) => "another text",
                        other => other.kind(),
                    };
                    let place = self.place(node.line, "set");
                    self.error(&place, ConfigProblem::Type { needed, found });
                    Set::External
                }
            },
        };
        for (name, place, node) in self.named("bots", members.get("bots")) {
            if let Some(is) = self.bot(&place, node, set) {
                self.bots.bots.insert(name, Entry { set, is });
            }
        }
        for (name, place, node) in self.named("benchmarks", members.get("benchmarks")) {
            if let Some(benchmark) = self.benchmark(&place.field, node, set) {
                self.bots.benchmarks.insert(name, benchmark);
            }
        }
        if let Some(node) = members.get("out_of_resources")
            && let Some(names) = self.bot_names("out_of_resources", node, set)
        {
            self.bots.out_of_resources.extend(names);
        }
        if let Some(node) = members.get("targets") {
            self.targets(node);
        }
    }

    fn bot(&mut self, place: &Place, node: &Node, set: Set) -> Option<Definition> {
        const FIELDS: &[&str] = &[
            "alias",
            "browser",
            "bucket",
            "builder",
            "dimensions",
            "local",
            "machines",
            "repository",
            "swarming_server",
        ];
        let field = &place.field;
        let members = self.members(field, node, FIELDS)?;
        let kinds: [(&str, &[&str]); 3] = [
            ("alias", &[]),
            ("local", &["repository"]),
            ("machines", &["repository"]),
        ];
        let kind = kinds
            .into_iter()
            .find(|(kind, _)| members.contains_key(kind));
        if let Some((with, others)) = kind {
            for (key, node) in &members {
                if *key != with && !others.contains(key) {
                    let place = self.place(node.line, &path(field, key));
                    self.error(&place, ConfigProblem::Excluded { with });
                }
            }
        }
        let repository = match members.get("repository") {
            Some(node) => Some(self.text(&path(field, "repository"), node)?),
            None => None,
        };
        let workers = match kind {
            Some(("alias", _)) => {
                let name = self.required(place, &members, "alias")?;
                self.references.push(Reference {
                    place: self.place(members["alias"].line, &path(field, "alias")),
                    name: name.clone(),
                    set,
                    is_alias: true,
                });
                return Some(Definition::Alias(name));
            }
            Some(("local", _)) => {
                let node = members["local"];
                if node.value != Value::Flag(true) {
                    let place = self.place(node.line, &path(field, "local"));
                    let found = match &node.value {
                        Value::Flag(_) => "false",
                        other => other.kind(),
                    };
                    let needed = "true, or no such field,";
                    self.error(&place, ConfigProblem::Type { needed, found });
                }
                Workers::Local
            }
            Some(_) => {
                Workers::Machines(self.texts(&path(field, "machines"), members["machines"])?)
            }
            None => {
                // Checks all of them, so that everything missing is reported at once.
                let [browser, bucket, builder, swarming_server] =
                    ["browser", "bucket", "builder", "swarming_server"]
                        .map(|key| self.required(place, &members, key));
                let dimensions = self.needed(place, &members, "dimensions");
                self.needed(place, &members, "repository");
                let dimensions =
                    self.pairs(&path(field, "dimensions"), dimensions?, &["key", "value"])?;
                Workers::Swarming(Swarming {
                    browser: browser?,
                    bucket: bucket?,
                    builder: builder?,
                    swarming_server: swarming_server?,
                    dimensions: dimensions
                        .into_iter()
                        .map(|[key, value]| Dimension { key, value })
                        .collect(),
                })
            }
        };
        Some(Definition::Bot {
            repository,
            workers,
        })
    }

    fn benchmark(&mut self, field: &str, node: &Node, set: Set) -> Option<Benchmark> {
        let members = self.members(field, node, &["bots", "stories"])?;
        let stories = match members.get("stories") {
            Some(node) => self.texts(&path(field, "stories"), node)?,
            None => Vec::new(),
        };
        let bots = match members.get("bots") {
            Some(node) => self.bot_names(&path(field, "bots"), node, set)?,
            None => Vec::new(),
        };
        Some(Benchmark { stories, bots })
    }

    fn targets(&mut self, node: &Node) {
        let Some(members) = self.members("targets", node, &["benchmarks", "bots", "patterns"])
        else {
            return;
        };
        for (name, place, node) in self.named("targets.benchmarks", members.get("benchmarks")) {
            if let Some(target) = self.text(&place.field, node) {
                self.bots.targets.benchmarks.insert(name, target);
            }
        }
        for (name, place, node) in self.named("targets.bots", members.get("bots")) {
            if let Some(target) = self.text(&place.field, node) {
                self.bots.targets.bots.insert(name, target);
            }
        }
        if let Some(node) = members.get("patterns") {
            let pairs = self.pairs("targets.patterns", node, &["contains", "target"]);
            for [contains, target] in pairs.unwrap_or_default() {
                let pattern = (contains.to_lowercase(), target);
                self.bots.targets.patterns.push(pattern);
            }
        }
    }

    /// The checks that need all files together.
    fn finish(mut self, files: &[ConfigFile<'_>]) -> Result<Bots, ConfigErrors> {
        for reference in std::mem::take(&mut self.references) {
            let Reference {
                place,
                name,
                set,
                is_alias,
            } = reference;
            let problem = match self.bots.bots.get(&name) {
                Some(entry) if set == Set::External && entry.set == Set::Internal => {
                    ConfigProblem::Internal(name)
                }
                Some(entry) if is_alias && matches!(entry.is, Definition::Alias(_)) => {
                    ConfigProblem::NestedAlias(name)
                }
                Some(_) => continue,
                // It exists, with an error of its own.
                None if self.defined.contains_key(&path("bots", &name)) => continue,
                None => ConfigProblem::UnknownBot {
                    near: near(&name, self.bots.bots.keys()),
                    name,
                },
            };
            self.error(&place, problem);
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

    fn place(&self, line: usize, field: &str) -> Place {
        Place {
            file: self.file.clone(),
            line,
            field: field.to_owned(),
        }
    }

    fn error(&mut self, place: &Place, problem: ConfigProblem) {
        let Place { file, line, field } = place.clone();
        self.errors.push(ConfigError {
            file,
            line,
            field,
            problem,
        });
    }

    fn wrong_type<T>(&mut self, field: &str, node: &Node, needed: &'static str) -> Option<T> {
        let found = node.value.kind();
        let place = self.place(node.line, field);
        self.error(&place, ConfigProblem::Type { needed, found });
        None
    }

    /// The members of a table whose fields are known.
    fn members<'a>(
        &mut self,
        field: &str,
        node: &'a Node,
        known: &'static [&'static str],
    ) -> Option<Members<'a>> {
        let Value::Table(table) = &node.value else {
            return self.wrong_type(field, node, "a table");
        };
        let mut members = Members::new();
        for (key, node) in table {
            if known.contains(&key.as_str()) {
                members.insert(key, node);
            } else {
                let place = self.place(node.line, &path(field, key));
                self.error(&place, ConfigProblem::UnknownField { known });
            }
        }
        Some(members)
    }

    /// The members of a table whose keys are names, each defined once.
    fn named<'a>(
        &mut self,
        field: &str,
        node: Option<&&'a Node>,
    ) -> Vec<(String, Place, &'a Node)> {
        let table = match node.map(|node| (node, &node.value)) {
            None => return Vec::new(),
            Some((_, Value::Table(table))) => table,
            Some((node, _)) => return self.wrong_type(field, node, "a table").unwrap_or_default(),
        };
        let mut named = Vec::new();
        for (name, node) in table {
            let place = self.place(node.line, &path(field, name));
            if name.trim().is_empty() {
                self.error(&place, ConfigProblem::Empty);
            } else if let Some(Place { file, line, .. }) = self.defined.get(&place.field).cloned() {
                self.error(&place, ConfigProblem::Twice { file, line });
            } else {
                self.defined.insert(place.field.clone(), place.clone());
                named.push((name.clone(), place, node));
            }
        }
        named
    }

    fn needed<'a>(
        &mut self,
        place: &Place,
        members: &Members<'a>,
        key: &'static str,
    ) -> Option<&'a Node> {
        let found = members.get(key).copied();
        if found.is_none() {
            let place = Place {
                field: path(&place.field, key),
                ..place.clone()
            };
            self.error(&place, ConfigProblem::Missing);
        }
        found
    }

    fn required(
        &mut self,
        place: &Place,
        members: &Members<'_>,
        key: &'static str,
    ) -> Option<String> {
        let node = self.needed(place, members, key)?;
        self.text(&path(&place.field, key), node)
    }

    fn text(&mut self, field: &str, node: &Node) -> Option<String> {
        match &node.value {
            Value::Text(text) if text.trim().is_empty() => {
                let place = self.place(node.line, field);
                self.error(&place, ConfigProblem::Empty);
                None
            }
            Value::Text(text) => Some(text.clone()),
            _ => self.wrong_type(field, node, "text"),
        }
    }

    /// The items of a non-empty list, with a name for each.
    fn items<'a>(&mut self, field: &str, node: &'a Node) -> Option<Vec<(String, &'a Node)>> {
        match &node.value {
            Value::List(items) if items.is_empty() => {
                let place = self.place(node.line, field);
                self.error(&place, ConfigProblem::Empty);
                None
            }
            Value::List(items) => Some(
                (0..)
                    .zip(items)
                    .map(|(index, item): (usize, _)| (format!("{field}[{index}]"), item))
                    .collect(),
            ),
            _ => self.wrong_type(field, node, "a list"),
        }
    }

    fn texts(&mut self, field: &str, node: &Node) -> Option<Vec<String>> {
        let items = self.items(field, node)?.into_iter();
        // Not lazily: every item is looked at.
        let texts: Vec<_> = items.map(|(field, node)| self.text(&field, node)).collect();
        texts.into_iter().collect()
    }

    fn bot_names(&mut self, field: &str, node: &Node, set: Set) -> Option<Vec<String>> {
        let names = self.texts(field, node)?;
        for ((field, node), name) in self.items(field, node)?.into_iter().zip(&names) {
            self.references.push(Reference {
                place: self.place(node.line, &field),
                name: name.clone(),
                set,
                is_alias: false,
            });
        }
        Some(names)
    }

    /// A list of tables with the same two fields, both of them text.
    fn pairs(
        &mut self,
        field: &str,
        node: &Node,
        keys: &'static [&'static str; 2],
    ) -> Option<Vec<[String; 2]>> {
        let mut pairs = Vec::new();
        for (field, node) in self.items(field, node)? {
            let members = self.members(&field, node, keys)?;
            let place = self.place(node.line, &field);
            let [first, second] = keys.map(|key| self.required(&place, &members, key));
            pairs.push([first?, second?]);
        }
        Some(pairs)
    }
}

/// A field's name after that of its table, as TOML would have it.
fn path(table: &str, key: &str) -> String {
    let is_bare = !key.is_empty()
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let key = if is_bare {
        key.to_owned()
    } else {
        format!("{key:?}")
    };
    if table.is_empty() {
        key
    } else {
        format!("{table}.{key}")
    }
}
