//! Who is who in two builds.
//!
//! A function is its module's base name, its name and its file's base name, each without
//! what changes from build to build (see [`symbol`](super::symbol)); an anonymous function
//! of JavaScript is its file and place. Two builds lie in two folders, so paths do not
//! count; but where one profile has two functions that differ in the path alone, as many
//! of its last parts count as tell them apart.
//!
//! Frames without symbols are one function for each module.

use hashbrown::HashMap;
use hashbrown::HashSet;
use serde::{Deserialize, Serialize};

use super::bundles::Bundles;
use super::collector::{self, COLLECTOR};
use super::cost_category::IDLE;
use super::{ExplainError, NameId, Names, Owner, Profile, symbol};

/// The most names that a message lists.
const MOST_NAMED: usize = 5;

/// How an anonymous function is called: V8 gives it no name, and some tools this one.
pub(super) const ANONYMOUS: &str = "(anonymous)";

/// A function of several profiles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// Demangled, without hashes and suffixes of the compiler. Of frames without symbols
    /// `[no symbols]`; of an anonymous function `(anonymous)`.
    pub name: String,
    /// The base name of its program or library, if known.
    pub module: Option<String>,
    /// The file or URL of its source as a profile has it, if known.
    pub file: Option<String>,
    /// The line on which it begins, if known.
    pub line: Option<u32>,
    /// The package that it comes from, if its path shows one.
    pub package: Option<String>,
    /// Whose code it is; absent for the program's own.
    pub owner: Option<Owner>,
}

impl Function {
    /// What an event of a timeline is put together by, as functions are: by the URL of its script,
    /// document or style sheet, which may be empty.
    pub fn of_event(name: &str, url: &str) -> Self {
        Self {
            name: name.to_owned(),
            module: None,
            file: (!url.is_empty()).then(|| url.to_owned()),
            line: None,
            package: None,
            owner: Owner::of("", "", url),
        }
    }
}

/// The functions of several profiles, with the function of each frame.
pub(super) struct Identified {
    pub(super) functions: Vec<Function>,
    /// Whether each function stands for time in which nothing ran.
    pub(super) idle: Vec<bool>,
    /// For each profile, by the index of the frame.
    pub(super) of: Vec<Vec<u32>>,
}

/// The strings of all profiles, each once and by one id.
#[derive(Default)]
struct Common {
    names: Names,
}

impl Common {
    fn id(&mut self, name: &str) -> u32 {
        self.names.intern(name).unwrap_or_default().0
    }
}

/// A frame by strings that all profiles share. Line and column only count for those
/// without a name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Raw {
    name: u32,
    module: u32,
    file: u32,
    line: u32,
    column: u32,
}

/// A function but for the folder that its file lies in.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    name: u32,
    module: u32,
    base: u32,
    line: u32,
    column: u32,
}

/// A function in one folder.
struct Source {
    key: u32,
    path: u32,
    example: Raw,
    line: u32,
}

#[derive(Default)]
struct Sources {
    bundles: Bundles,
    list: Vec<Source>,
    by_raw: HashMap<Raw, u32>,
    by_path: HashMap<(u32, u32), u32>,
    keys: HashMap<Key, u32>,
}

/// Finds the functions of the profiles.
pub(super) fn identify<'a>(profiles: impl Iterator<Item = &'a Profile>) -> Identified {
    let profiles: Vec<&Profile> = profiles.collect();
    let mut common = Common::default();
    let mut sources = Sources {
        bundles: Bundles::of(&profiles),
        ..Sources::default()
    };
    let of: Vec<Vec<u32>> = (profiles.into_iter())
        .map(|profile| sources_of(profile, &mut common, &mut sources))
        .collect();
    let groups = groups(&of, &sources, &common);
    let mut functions: Vec<Option<Function>> = Vec::new();
    for (source, group) in sources.list.iter().zip(&groups) {
        let group = *group as usize;
        if functions.len() <= group {
            functions.resize(group + 1, None);
        }
        let function = &mut functions[group];
        match function {
            Some(function) if function.line.is_none() && source.line > 0 => {
                function.line = Some(source.line);
            }
            Some(_) => {}
            None => *function = Some(describe(source, &common)),
        }
    }
    let (functions, places) = in_order(functions.into_iter().flatten().collect());
    let group_of = |source: u32| places[groups[source as usize] as usize];
    Identified {
        idle: functions
            .iter()
            .map(|function| function.name == IDLE)
            .collect(),
        functions,
        of: of
            .into_iter()
            .map(|of| of.into_iter().map(group_of).collect())
            .collect(),
    }
}

/// The functions in the order of their names, and the new place of each: in which order profiles
/// have them decides nothing, where two are equal otherwise.
fn in_order(functions: Vec<Function>) -> (Vec<Function>, Vec<u32>) {
    let key = |at: &usize| {
        let function = &functions[*at];
        (&function.name, &function.module, &function.file)
    };
    let mut order: Vec<usize> = (0..functions.len()).collect();
    order.sort_by(|a, b| key(a).cmp(&key(b)));
    let mut places = vec![0; order.len()];
    for (place, &at) in (0..).zip(&order) {
        places[at] = place;
    }
    (
        order.into_iter().map(|at| functions[at].clone()).collect(),
        places,
    )
}

impl Identified {
    /// Makes functions of the base those of the experiment, by pairs of names; the first
    /// `base` profiles are the base's.
    pub(super) fn rename(
        &mut self,
        base: usize,
        same: &[(String, String)],
    ) -> Result<(), ExplainError> {
        let mut targets: HashMap<u32, u32> = HashMap::new();
        // Of all names as they are: two functions may have changed theirs with each other.
        for (old, new) in same {
            let (of_base, of_experiment) = self.of.split_at(base);
            let from = self.named(old, "base", of_base)?;
            let to = self.named(new, "experiment", of_experiment)?;
            // Of several modules with such functions, each with its own.
            let module = |function: u32| &self.functions[function as usize].module;
            let target = |function: u32| {
                let same_module = to.iter().find(|to| module(**to) == module(function));
                *same_module.unwrap_or(&to[0])
            };
            for from in from {
                let to = target(from);
                if let Some(before) = targets.insert(from, to).filter(|before| *before != to) {
                    return Err(ExplainError::TwoNames {
                        name: old.clone(),
                        first: self.functions[before as usize].name.clone(),
                        second: new.clone(),
                    });
                }
            }
        }
        for function in self.of.iter_mut().take(base).flatten() {
            *function = targets.get(function).copied().unwrap_or(*function);
        }
        Ok(())
    }

    /// The functions of this name that one of the profiles has; there is at least one.
    fn named(
        &self,
        name: &str,
        side: &'static str,
        of: &[Vec<u32>],
    ) -> Result<Vec<u32>, ExplainError> {
        let present: HashSet<u32> = of.iter().flatten().copied().collect();
        let functions = (0_u32..).zip(&self.functions);
        let functions = functions.filter(|(function, _)| present.contains(function));
        let (mut named, mut near) = (Vec::new(), Vec::new());
        let last = name.rsplit([':', '.']).next().unwrap_or(name);
        for (function, described) in functions {
            if described.name == name {
                named.push(function);
            } else if !last.is_empty() && described.name.contains(last) && near.len() < MOST_NAMED {
                near.push(described.name.clone());
            }
        }
        if named.is_empty() {
            if collector::is_gos(name, "") {
                near = vec![COLLECTOR.to_owned()];
            }
            let name = name.to_owned();
            return Err(ExplainError::NoFunction { side, name, near });
        }
        Ok(named)
    }
}

fn describe(source: &Source, common: &Common) -> Function {
    let text = |id: u32| common.names.get(NameId(id));
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let Raw {
        name, module, file, ..
    } = source.example;
    let name = match (symbol::function(text(name)), text(file)) {
        (name, _) if !name.is_empty() => name.into_owned(),
        (_, "") => "[no symbols]".to_owned(),
        _ => ANONYMOUS.to_owned(),
    };
    Function {
        module: known(&symbol::module(text(module))),
        file: known(text(file)),
        line: (source.line > 0).then_some(source.line),
        package: symbol::package(text(file)).map(|package| package.to_string()),
        owner: Owner::of(&name, text(module), text(file)),
        name,
    }
}

fn sources_of(profile: &Profile, common: &mut Common, sources: &mut Sources) -> Vec<u32> {
    // Most strings are used by several frames.
    let mut ids: HashMap<NameId, u32> = HashMap::new();
    let mut id = |name: NameId, common: &mut Common| {
        *ids.entry(name)
            .or_insert_with(|| common.id(profile.names.get(name)))
    };
    let mut of = Vec::with_capacity(profile.frames.len());
    for frame in &profile.frames {
        let has_name = frame.name != NameId::EMPTY && profile.names.get(frame.name) != ANONYMOUS;
        let anonymous = !has_name && frame.file != NameId::EMPTY;
        let name = if anonymous { NameId::EMPTY } else { frame.name };
        let raw = Raw {
            name: id(name, common),
            module: id(frame.module, common),
            file: id(frame.file, common),
            line: if anonymous { frame.line } else { 0 },
            column: if anonymous { frame.column } else { 0 },
        };
        let source = match sources.by_raw.get(&raw) {
            Some(source) => *source,
            None => sources.add(raw, frame.line, common),
        };
        of.push(source);
    }
    of
}

impl Sources {
    fn add(&mut self, raw: Raw, line: u32, common: &mut Common) -> u32 {
        let text = |id: u32, common: &Common| common.names.get(NameId(id)).to_owned();
        let path = symbol::file(&text(raw.file, common));
        let path = self.bundles.without_hash(path);
        let base = path.rsplit('/').next().unwrap_or_default();
        let key = Key {
            name: common.id(&symbol::function(&text(raw.name, common))),
            module: common.id(&symbol::module(&text(raw.module, common))),
            base: common.id(base),
            line: raw.line,
            column: raw.column,
        };
        let next = self.keys.len() as u32;
        let key = *self.keys.entry(key).or_insert(next);
        let path = common.id(&path);
        let source = *self.by_path.entry((key, path)).or_insert_with(|| {
            self.list.push(Source {
                key,
                path,
                example: raw,
                line,
            });
            (self.list.len() - 1) as u32
        });
        self.by_raw.insert(raw, source);
        source
    }
}

/// The function of each source: one for each key, but where a profile has several
/// sources of it, one for each ending of their paths.
fn groups(of: &[Vec<u32>], sources: &Sources, common: &Common) -> Vec<u32> {
    let mut several: HashMap<u32, Vec<HashSet<u32>>> = HashMap::new();
    for frames in of {
        let mut seen: HashMap<u32, u32> = HashMap::new();
        let mut here: HashMap<u32, HashSet<u32>> = HashMap::new();
        for source in frames {
            let key = sources.list[*source as usize].key;
            let first = *seen.entry(key).or_insert(*source);
            if first != *source {
                here.entry(key).or_default().extend([first, *source]);
            }
        }
        for (key, together) in here {
            several.entry(key).or_default().push(together);
        }
    }
    let mut next = 0;
    let mut ids: HashMap<(u32, &str), u32> = HashMap::new();
    let path = |source: u32| common.names.get(NameId(sources.list[source as usize].path));
    let depths: HashMap<u32, usize> = several
        .iter()
        .map(|(key, profiles)| (*key, depth(profiles, &path)))
        .collect();
    let mut groups = Vec::with_capacity(sources.list.len());
    for (index, source) in (0_u32..).zip(&sources.list) {
        let ending = match depths.get(&source.key) {
            Some(depth) => ending(path(index), *depth),
            None => "",
        };
        let group = *ids.entry((source.key, ending)).or_insert_with(|| {
            next += 1;
            next - 1
        });
        groups.push(group);
    }
    groups
}

/// The most parts of a path that count.
const MOST_PARTS: usize = 8;

/// How many of the last parts of their paths tell the sources of each profile apart.
fn depth<'a>(profiles: &[HashSet<u32>], path: &impl Fn(u32) -> &'a str) -> usize {
    let tells = |depth: &usize| {
        profiles.iter().all(|together| {
            let endings: HashSet<&str> = together
                .iter()
                .map(|source| ending(path(*source), *depth))
                .collect();
            endings.len() == together.len()
        })
    };
    (2..=MOST_PARTS).find(tells).unwrap_or(MOST_PARTS)
}

/// The last parts of a path.
fn ending(path: &str, parts: usize) -> &str {
    match path.rmatch_indices('/').nth(parts - 1) {
        Some((at, _)) => path.get(at + 1..).unwrap_or(path),
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn functions(texts: &[&str]) -> (Vec<String>, Vec<Vec<u32>>) {
        let profiles: Vec<Profile> = texts
            .iter()
            .map(|text| Profile::read(text.as_bytes()).unwrap())
            .collect();
        let identified = identify(profiles.iter());
        let names = identified.functions.into_iter().map(|f| f.name).collect();
        (names, identified.of)
    }

    #[test]
    fn hashes_and_folders_do_not_count() {
        let (names, of) = functions(&[
            "main (/a/m.py:1);f::h0123456789abcdef 1\n",
            "main (/b/m.py:7);f::hfedcba9876543210 2\n",
        ]);
        assert_eq!(names, ["f", "main"]);
        assert_eq!(of, [[1, 0], [1, 0]]);
    }

    #[test]
    fn folders_count_where_one_profile_needs_them() {
        let (_, of) = functions(&[
            "new (/a/x/mod.py:1);new (/a/y/mod.py:1) 1\n",
            "new (/b/y/mod.py:1);new (/b/x/mod.py:1) 1\n",
        ]);
        assert_eq!(of[0], [0, 1]);
        assert_eq!(of[1], [1, 0]);
    }

    #[test]
    fn frames_without_symbols_are_one_of_each_module() {
        let perf = |module: &str| {
            format!("w 1 1.0: 5 cycles:\n\t1 [unknown] ({module})\n\t2 f+0x1 (/w)\n\n")
        };
        let text = format!(
            "{}{}{}",
            perf("/l/a.so.1"),
            perf("/l/a.so.2"),
            perf("/l/b.so")
        );
        let (names, of) = functions(&[&text]);
        assert_eq!(names.len(), 3);
        assert_eq!(of[0][0], of[0][2], "{of:?}");
    }
}
