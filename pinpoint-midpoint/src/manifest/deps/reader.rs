//! The dependencies that an evaluated `DEPS` names.

use std::collections::BTreeMap;

use super::evaluate::{self, Data, Evaluator, Value, Variables};
use super::fault::Fault;
use super::parser::{self, names_in_condition};
use crate::manifest::dependency::{Dependency, Source};
use crate::manifest::error::{ManifestError, Problem};
use crate::manifest::interface::{Manifest, check_size};

/// Reads Chromium's `DEPS`.
///
/// The path of a dependency is its key in `deps`, as written: from the top of the repository with
/// `use_relative_paths = True`, else from the directory that holds the checkout
/// (`src/third_party/skia`). Each package of a CIPD dependency is separate: its path is followed by
/// `:` and the name of the package.
///
/// Dependencies with a condition are all included. Where a condition uses variables of the file,
/// their values follow it (`checkout_nacl where checkout_nacl = False`), so that a commit that
/// flips one changes the dependency. Variables that gclient itself sets (`host_os`,
/// `checkout_linux`) depend on the machine, and stay unexpanded.
///
/// `git_dependencies` needs nothing here: with `SUBMODULES` there are submodules in addition to
/// these dependencies, with `SYNC` they are the same.
#[derive(Debug, Clone, Copy)]
pub struct Deps;

impl Manifest for Deps {
    fn file(&self) -> &'static str {
        "DEPS"
    }

    fn read(
        &self,
        file: &str,
        _gitlinks: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, Dependency>, ManifestError> {
        bounded(file, |text| DepsReader::default().read(text))
    }
}

impl Deps {
    /// Returns true if the paths of a file begin at the top of its own repository
    /// (`use_relative_paths = True`), not at the directory that holds the checkout.
    ///
    /// # Errors
    ///
    /// As [`read`](Manifest::read).
    pub fn has_relative_paths(file: &str) -> Result<bool, ManifestError> {
        bounded(file, |text| {
            let Some(expression) = parser::parse(text)?.remove("use_relative_paths") else {
                return Ok(false);
            };
            match Evaluator::default().evaluate(&expression, None)?.data {
                Data::Bool(relative) => Ok(relative),
                other => Err(Fault::wrong_kind(
                    expression.offset,
                    "True or False",
                    &other,
                )),
            }
        })
    }
}

/// Reads a file that is not too long; an error names its place.
fn bounded<T>(file: &str, read: impl FnOnce(&str) -> Result<T, Fault>) -> Result<T, ManifestError> {
    check_size(Deps.file(), file)?;
    read(file).map_err(|fault| ManifestError::at(Deps.file(), file, fault.offset, fault.problem))
}

#[derive(Default)]
struct DepsReader {
    evaluator: Evaluator,
    /// `vars` as written: the values for formatting strings.
    written: Variables,
    /// `vars`, themselves formatted once: gclient's values for formatting paths, URLs and versions
    /// again.
    formatted: Variables,
}

impl DepsReader {
    fn read(&mut self, text: &str) -> Result<BTreeMap<String, Dependency>, Fault> {
        let assignments = parser::parse(text)?;
        if let Some(vars) = assignments.get("vars") {
            self.written = Variables(self.evaluator.evaluate(vars, None)?.dict()?);
            for value in self.written.0.values() {
                if !matches!(value.data, Data::String(_) | Data::Bool(_)) {
                    return Err(Fault::wrong_kind(
                        value.offset,
                        "a string, True or False",
                        &value.data,
                    ));
                }
            }
            let formatted = self.evaluator.evaluate(vars, Some(&self.written))?;
            self.formatted = Variables(formatted.dict()?);
        }
        let mut evaluated = |name: &str| {
            assignments
                .get(name)
                .map(|value| self.evaluator.evaluate(value, Some(&self.written)))
                .transpose()
        };
        let deps = evaluated("deps")?;
        let deps_os = evaluated("deps_os")?;
        let recursedeps = evaluated("recursedeps")?;

        let mut entries = BTreeMap::new();
        if let Some(deps) = deps {
            self.add(&mut entries, deps, None)?;
        }
        if let Some(deps_os) = deps_os {
            for (os, deps) in deps_os.dict()? {
                self.add(&mut entries, deps, Some(&os))?;
            }
        }
        let mut dependencies = BTreeMap::new();
        for (path, entry) in entries {
            let condition = entry.condition();
            let condition = condition.map(|condition| self.explained(&condition, entry.offset));
            let dependency = Dependency {
                condition: condition.transpose()?,
                ..entry.source.into()
            };
            dependencies.insert(path, dependency);
        }
        if let Some(recursedeps) = recursedeps {
            for recursed in recursedeps.list()? {
                let (path, file) = recursed_path(recursed)?;
                if let Some(dependency) = dependencies.get_mut(&path) {
                    dependency.nested = vec![file];
                }
            }
        }
        Ok(dependencies)
    }

    /// Adds the dependencies of `deps`, or of one system in `deps_os`, which adds a condition.
    fn add(
        &mut self,
        entries: &mut BTreeMap<String, Entry>,
        deps: Value,
        os: Option<&str>,
    ) -> Result<(), Fault> {
        for (path, value) in deps.dict()? {
            for (path, mut entry) in self.entries(&path, value)? {
                if let Some(os) = os {
                    let os = if os == "unix" { "linux" } else { os };
                    self.evaluator.count(os.len(), entry.offset)?;
                    for condition in &mut entry.conditions {
                        *condition = match condition.as_str() {
                            "" => format!("checkout_{os}"),
                            condition => format!("({condition}) and (checkout_{os})"),
                        };
                    }
                }
                let Some(known) = entries.get_mut(&path) else {
                    entries.insert(path, entry);
                    continue;
                };
                if os.is_none() || known.source != entry.source {
                    return Err(Fault::meaning(
                        entry.offset,
                        format!("`{path}` is named twice, and not as the same"),
                    ));
                }
                known.conditions.extend(entry.conditions);
            }
        }
        Ok(())
    }

    /// The dependencies of one entry: none for `None`, one for each package of CIPD, else one.
    fn entries(&mut self, path: &str, value: Value) -> Result<Vec<(String, Entry)>, Fault> {
        let offset = value.offset;
        let path = self.evaluator.format(path, offset, &self.formatted)?;
        let mut condition = String::new();
        let mut sources = Vec::new();
        match value.data {
            Data::None => {}
            Data::String(url) => sources.push((path, self.git(&url, offset)?)),
            Data::Dict(mut fields) => {
                let mut text = |name: &str| fields.remove(name).map(Value::string).transpose();
                condition = text("condition")?.unwrap_or_default();
                let kind = text("dep_type")?.unwrap_or_else(|| "git".into());
                let mut field = |name: &str| {
                    fields
                        .remove(name)
                        .ok_or_else(|| Fault::meaning(offset, format!("`{path}` has no `{name}`")))
                };
                match kind.as_str() {
                    "git" => {
                        let url = field("url")?;
                        if !matches!(url.data, Data::None) {
                            let source = self.git(&url.string()?, offset)?;
                            sources.push((path, source));
                        }
                    }
                    "cipd" => {
                        for package in field("packages")?.list()? {
                            let source = self.cipd(package)?;
                            let Source::Package { name, .. } = &source else {
                                continue;
                            };
                            // Each package repeats the path and the condition.
                            let repeated = path.len() + condition.len();
                            self.evaluator.count(repeated, offset)?;
                            sources.push((format!("{path}:{name}"), source));
                        }
                    }
                    "gcs" => {
                        let source = gcs(field("bucket")?.string()?, field("objects")?.list()?)?;
                        sources.push((path, source));
                    }
                    other => {
                        return Err(Fault::unsupported(
                            offset,
                            format!("the `dep_type` `{other}`"),
                        ));
                    }
                }
                if let Some((unknown, value)) = fields.pop_first() {
                    return Err(Fault::unsupported(
                        value.offset,
                        format!("the key `{unknown}` of a dependency"),
                    ));
                }
            }
            other => {
                return Err(Fault::wrong_kind(offset, "a URL or a dictionary", &other));
            }
        }
        Ok(sources
            .into_iter()
            .map(|(path, source)| {
                let entry = Entry {
                    offset,
                    source,
                    conditions: vec![condition.clone()],
                };
                (path, entry)
            })
            .collect())
    }

    /// `url@revision`.
    fn git(&mut self, written: &str, offset: usize) -> Result<Source, Fault> {
        let text = self.evaluator.format(written, offset, &self.formatted)?;
        if text.contains('{') {
            return Err(Fault::unsupported(
                offset,
                "a URL or revision with a brace in it, which is left where it depends on the machine,",
            ));
        }
        let (url, revision) = split_revision(&text);
        let located = url.contains("://") || user(url).is_some();
        Ok(match revision {
            Some(revision) if located => Source::Git {
                url: url.into(),
                revision: revision.into(),
            },
            // The head on the day of the build, or a repository on the server of the one that names
            // it: its history can't be walked.
            revision => Source::Package {
                registry: "git".into(),
                name: url.into(),
                version: revision.unwrap_or("HEAD").into(),
            },
        })
    }

    fn cipd(&mut self, package: Value) -> Result<Source, Fault> {
        let offset = package.offset;
        let mut fields = package.dict()?;
        let mut text = |name: &str| {
            fields
                .remove(name)
                .ok_or_else(|| Fault::meaning(offset, format!("the package has no `{name}`")))?
                .string()
        };
        let name = text("package")?;
        let version = text("version")?;
        Ok(Source::Package {
            registry: "cipd".into(),
            name,
            version: self.evaluator.format(&version, offset, &self.formatted)?,
        })
    }

    /// The condition, checked, with the values of the file's variables in it.
    fn explained(&mut self, condition: &str, offset: usize) -> Result<String, Fault> {
        let mut open = names_in_condition(condition).map_err(|fault| Fault {
            offset,
            problem: match fault.problem {
                Problem::Syntax(what) => {
                    Problem::Syntax(format!("in the condition `{condition}`, {what}"))
                }
                other => other,
            },
        })?;
        let mut values = BTreeMap::new();
        while let Some(name) = open.pop() {
            if evaluate::is_built_in(name) || values.contains_key(name) {
                continue;
            }
            match self.formatted.0.get(name).map(|value| &value.data) {
                Some(Data::Bool(true)) => values.insert(name, "True"),
                Some(Data::Bool(false)) => values.insert(name, "False"),
                Some(Data::String(text)) => {
                    // A variable may hold a condition, or any other text.
                    open.extend(names_in_condition(text).unwrap_or_default());
                    values.insert(name, text)
                }
                _ => None,
            };
        }
        let mut explained = condition.to_owned();
        for (index, (name, value)) in values.into_iter().enumerate() {
            let separator = if index == 0 { " where " } else { ", " };
            explained.extend([separator, name, " = ", value]);
        }
        self.evaluator.count(explained.len(), offset)?;
        Ok(explained)
    }
}

/// A dependency and its place.
struct Entry {
    offset: usize,
    source: Source,
    /// As written: one of them has to hold. An empty one always does.
    conditions: Vec<String>,
}

impl Entry {
    /// All conditions in one, the newest first; absent if it is always used.
    fn condition(&self) -> Option<String> {
        match self.conditions.as_slice() {
            [condition] => Some(condition.clone()).filter(|condition| !condition.is_empty()),
            conditions if conditions.iter().any(String::is_empty) => None,
            conditions => {
                let quoted = conditions.iter().rev().map(|one| format!("({one})"));
                Some(quoted.collect::<Vec<_>>().join(" or "))
            }
        }
    }
}

/// An entry of `recursedeps`: a path, or a path and the file to read there.
fn recursed_path(value: Value) -> Result<(String, String), Fault> {
    if let Data::String(path) = value.data {
        return Ok((path, "DEPS".into()));
    }
    let offset = value.offset;
    let mut parts = value.list()?.into_iter();
    match (parts.next(), parts.next(), parts.next()) {
        (Some(path), Some(file), None) => Ok((path.string()?, file.string()?)),
        _ => Err(Fault::meaning(
            offset,
            "a path, or a path and the name of a file are needed here",
        )),
    }
}

/// Objects of Google Cloud Storage. All objects at one path are one dependency, for an object is
/// often named by the hash of its content.
fn gcs(bucket: String, objects: Vec<Value>) -> Result<Source, Fault> {
    let mut versions = Vec::new();
    for object in objects {
        let offset = object.offset;
        let mut fields = object.dict()?;
        let name = fields
            .remove("object_name")
            .ok_or_else(|| Fault::meaning(offset, "the object has no `object_name`"))?
            .string()?;
        versions.push(match fields.remove("generation").map(|value| value.data) {
            Some(Data::Integer(generation)) => format!("{name}#{generation}"),
            Some(other) => return Err(Fault::wrong_kind(offset, "a `generation` number", &other)),
            None => name,
        });
    }
    Ok(Source::Package {
        registry: "gcs".into(),
        name: bucket,
        version: versions.join(", "),
    })
}

/// `git@` of `git@host:path`, as its length.
fn user(url: &str) -> Option<usize> {
    let at = url.find('@')?;
    let word = url[..at].chars().all(|c| c.is_alphanumeric() || c == '_');
    (at > 0 && word && url[at..].contains(':')).then_some(at + 1)
}

/// The URL and the text after the `@` that is not part of it.
fn split_revision(text: &str) -> (&str, Option<&str>) {
    // An `@` before the host belongs to a user.
    let path = match text.find("://") {
        Some(scheme) => text[scheme + 3..]
            .find('/')
            .map_or(text.len(), |slash| scheme + 3 + slash),
        None => user(text).unwrap_or(0),
    };
    let at = if text.starts_with("ssh:") {
        text[path..].find('@')
    } else {
        text[path..].rfind('@')
    };
    match at {
        Some(at) => {
            let revision = &text[path + at + 1..];
            (&text[..path + at], Some(revision).filter(|r| !r.is_empty()))
        }
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_where_its_paths_begin() {
        let relative = |file| Deps::has_relative_paths(file);
        assert_eq!(relative("deps = {}\nuse_relative_paths = True\n"), Ok(true));
        assert_eq!(relative("use_relative_paths = False\n"), Ok(false));
        assert_eq!(relative("deps = {}\n"), Ok(false));
        let error = relative("\nuse_relative_paths = 'yes'\n").expect_err("a string");
        assert_eq!((error.line, error.column), (2, 22));
        let long = " ".repeat((4 << 20) + 1);
        assert!(relative(&long).is_err());
    }
}
