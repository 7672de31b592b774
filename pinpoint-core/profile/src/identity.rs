//! Identifies functions across two builds.
//!
//! A function is its module's base name, its name and its file's base name, each without the parts
//! that change from build to build (see [`symbol`](super::symbol)); an anonymous function of
//! JavaScript is its file and place. Two builds lie in two folders, so paths do not count; but
//! where one profile has two functions that differ in the path alone, as many of its last parts
//! count as distinguish them. The remaining functions of one side may be the same under another
//! name of its program, file or folder (see [`matching`](super::matching)).
//!
//! Frames without symbols are one function for each module.

use hashbrown::HashMap;
use hashbrown::HashSet;
use serde::{Deserialize, Serialize};

use super::bundles::Bundles;
use super::collector::{self, COLLECTOR};
use super::cost_category::IDLE;
use super::matching::{self, Candidate, PlaceMatch};
use super::{ExplainError, NameId, Names, Owner, Profile, symbol};

/// The most names that a message lists.
const MOST_NAMED: usize = 5;

/// The name of an anonymous function: V8 gives it none, and some tools this one.
pub(super) const ANONYMOUS: &str = "(anonymous)";

/// The name of all functions of a module without symbols.
const NAMELESS: &str = "[no symbols]";

/// A function of several profiles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Function {
    /// Demangled, without hashes and suffixes of the compiler. `[no symbols]` for frames without
    /// symbols, `(anonymous)` for an anonymous function.
    pub name: String,
    /// The base name of its program or library, if known.
    pub module: Option<String>,
    /// The file or URL of its source as a profile has it, if known.
    pub file: Option<String>,
    /// The line on which it begins, if known.
    pub line: Option<u32>,
    /// The package that it comes from, if its path shows one.
    pub package: Option<String>,
    /// The owner of its code; absent for the program's own.
    pub owner: Option<Owner>,
}

impl Function {
    /// The function that stands for an event of a timeline in groups, by the URL of its script,
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
#[derive(Default)]
pub(super) struct Identified {
    pub(super) functions: Vec<Function>,
    /// True for each function that stands for time in which nothing ran.
    pub(super) idle: Vec<bool>,
    /// The functions of each profile, the base's first, by the index of the frame.
    pub(super) of: Vec<Vec<u32>>,
    /// The number of the base's profiles.
    pub(super) base: usize,
    /// Programs and files that are taken for others.
    pub(super) matched: Vec<PlaceMatch>,
    /// A name in the map that a side does not have: the side, and the name.
    pub(super) missing: Option<(&'static str, String)>,
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
struct InternedFrame {
    name: u32,
    module: u32,
    file: u32,
    line: u32,
    column: u32,
}

/// A function without the folder of its file.
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
    example: InternedFrame,
    line: u32,
}

#[derive(Default)]
struct Sources {
    bundles: Bundles,
    list: Vec<Source>,
    by_raw: HashMap<InternedFrame, u32>,
    by_path: HashMap<(u32, u32), u32>,
    keys: HashMap<Key, u32>,
}

/// Finds the functions of the profiles. `map` has programs, files and folders of the base that have
/// another name in the experiment.
pub(super) fn identify(
    base: &[Profile],
    experiment: &[Profile],
    map: &[(String, String)],
) -> Identified {
    let profiles: Vec<&Profile> = base.iter().chain(experiment).collect();
    let mut common = Common::default();
    let mut sources = Sources {
        bundles: Bundles::from_profiles(&profiles),
        ..Sources::default()
    };
    let of: Vec<Vec<u32>> = (profiles.into_iter())
        .map(|profile| sources_of(profile, &mut common, &mut sources))
        .collect();
    let groups = groups(&of, &sources, &common);
    let count = groups.iter().max().map_or(0, |last| *last as usize + 1);
    let mut sides = vec![[false; 2]; count];
    for (profile, frames) in of.iter().enumerate() {
        let side = usize::from(profile >= base.len());
        for source in frames {
            sides[groups[*source as usize] as usize][side] = true;
        }
    }
    let candidates = candidates_of(&sources, &groups, sides, &common);
    let (target, matched) = matching::matched(&candidates, map);
    let missing = matching::missing(&candidates, map);
    let mut functions: Vec<Option<Function>> = vec![None; count];
    // Of two names for one, that of the experiment counts.
    for (source, group) in sources.list.iter().zip(&groups) {
        let group = *group as usize;
        if target[group] == group && functions[group].is_none() {
            functions[group] = Some(describe(source, &common));
        }
    }
    for (source, group) in sources.list.iter().zip(&groups) {
        if let Some(function) = &mut functions[target[*group as usize]]
            && function.line.is_none()
            && source.line > 0
        {
            function.line = Some(source.line);
        }
    }
    let mut compact = vec![0; count];
    let mut described = Vec::with_capacity(count);
    for (group, function) in functions.into_iter().enumerate() {
        compact[group] = described.len();
        described.extend(function);
    }
    let (functions, places) = in_order(described);
    let group_of = |source: u32| places[compact[target[groups[source as usize] as usize]]];
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
        base: base.len(),
        matched,
        missing,
    }
}

/// The data that decides which functions are the same under another name of their program, file or
/// folder, by their groups.
fn candidates_of<'a>(
    sources: &Sources,
    groups: &[u32],
    sides: Vec<[bool; 2]>,
    common: &'a Common,
) -> Vec<Candidate<'a>> {
    let text = |id: u32| common.names.get(NameId(id));
    let mut keys: Vec<Option<&Key>> = vec![None; sources.keys.len()];
    for (key, at) in &sources.keys {
        keys[*at as usize] = Some(key);
    }
    let none = Candidate {
        name: "",
        module: "",
        file: "",
        position: (0, 0),
        path: "",
        sides: [false; 2],
    };
    let mut candidates = vec![none; sides.len()];
    for (source, group) in sources.list.iter().zip(groups) {
        let group = *group as usize;
        if let Some(key) = keys[source.key as usize] {
            candidates[group] = Candidate {
                name: text(key.name),
                module: text(key.module),
                file: text(key.base),
                position: (key.line, key.column),
                path: text(source.path),
                sides: sides[group],
            };
        }
    }
    candidates
}

/// The functions in the order of their names, and the new place of each: so that the order in
/// profiles does not matter, where two are otherwise equal.
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
    /// Makes functions of the base those of the experiment, by pairs of names; see
    /// [`ExplainOptions::same`](super::ExplainOptions::same).
    ///
    /// # Errors
    ///
    /// Where a name of `same`, or of the map, does not exist or is ambiguous.
    pub(super) fn rename(&mut self, same: &[(String, String)]) -> Result<(), ExplainError> {
        if let Some((side, name)) = self.missing.take() {
            return Err(ExplainError::NoPlace { side, name });
        }
        let mut targets: HashMap<u32, u32> = HashMap::new();
        // Uses the original names for all: two functions may have swapped theirs.
        for (old, new) in same {
            let from = self.named(old, Side::Base)?;
            let to = self.named(new, Side::Experiment)?;
            if let Some(before) = targets.insert(from, to).filter(|before| *before != to) {
                return Err(ExplainError::TwoNames {
                    name: old.clone(),
                    first: self.functions[before as usize].name.clone(),
                    second: new.clone(),
                });
            }
        }
        for function in self.of.iter_mut().take(self.base).flatten() {
            *function = targets.get(function).copied().unwrap_or(*function);
        }
        Ok(())
    }

    /// The functions that a side has, by their places.
    fn present(&self, side: Side) -> impl Iterator<Item = (u32, &Function)> {
        let (base, experiment) = self.of.split_at(self.base);
        let of = match side {
            Side::Base => base,
            Side::Experiment => experiment,
        };
        let present: HashSet<u32> = of.iter().flatten().copied().collect();
        let functions = (0_u32..).zip(&self.functions);
        functions.filter(move |(function, _)| present.contains(function))
    }

    /// The function of this name that one of a side's profiles has.
    fn named(&self, name: &str, side: Side) -> Result<u32, ExplainError> {
        let present: Vec<(u32, &Function)> = self.present(side).collect();
        let whole = present.iter().filter(|(_, it)| it.name == name);
        let mut named: Vec<(u32, &Function)> = whole.copied().collect();
        if named.is_empty() {
            let placed = present.iter().filter(|(_, it)| it.is_named(name));
            named = placed.copied().collect();
        }
        let last = name.rsplit([':', '.']).next().unwrap_or(name);
        match named.as_slice() {
            [(function, _)] => Ok(*function),
            [] => {
                let alike = present.iter().map(|(_, it)| *it);
                let alike = alike.filter(|it| !last.is_empty() && it.name.contains(last));
                let mut near: Vec<String> = (alike.take(MOST_NAMED))
                    .map(|it| it.told_apart(present.iter().map(|(_, it)| *it)))
                    .collect();
                if collector::is_gos(name, "") {
                    near = vec![COLLECTOR.to_owned()];
                }
                Err(ExplainError::NoFunction {
                    side: side.as_str(),
                    name: name.to_owned(),
                    near,
                })
            }
            several => Err(ExplainError::Ambiguous {
                side: side.as_str(),
                name: name.to_owned(),
                candidates: (several.iter().take(MOST_NAMED))
                    .map(|(_, function)| function.told_apart(several.iter().map(|(_, it)| *it)))
                    .collect(),
            }),
        }
    }

    /// The name of a function in the form that [`rename`](Self::rename) takes, for each of two.
    pub(super) fn told_apart(&self, base: usize, experiment: usize) -> [String; 2] {
        [(base, Side::Base), (experiment, Side::Experiment)].map(|(function, side)| {
            let present = self.present(side).map(|(_, it)| it);
            let function = self.functions.get(function);
            function.map_or_else(String::new, |function| function.told_apart(present))
        })
    }
}

#[derive(Clone, Copy)]
enum Side {
    Base,
    Experiment,
}

impl Side {
    fn as_str(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Experiment => "experiment",
        }
    }
}

impl Function {
    /// It stands for all functions of its module that have no symbols.
    pub(super) fn is_nameless(&self) -> bool {
        self.name == NAMELESS
    }

    /// Returns true if this is its name, or `PLACE:NAME` with its module, its file, the last parts
    /// of the file's path, or one of these and the line.
    fn is_named(&self, text: &str) -> bool {
        let place = text.strip_suffix(&*self.name);
        let Some(place) = place.and_then(|place| place.strip_suffix(':')) else {
            return text == self.name;
        };
        let is_module = self.module.as_deref() == Some(place);
        let Some(file) = &self.file else {
            return is_module;
        };
        let with_line = match self.line {
            Some(line) => format!("{file}:{line}"),
            None => file.clone(),
        };
        let ends = |path: &str| {
            let before = path.strip_suffix(place);
            before.is_some_and(|before| before.is_empty() || before.ends_with(['/', '\\']))
        };
        !place.is_empty() && (is_module || ends(file) || ends(&with_line))
    }

    /// The shortest name that none of the others has: with as much of its place as needed.
    fn told_apart<'a>(&self, others: impl Iterator<Item = &'a Self>) -> String {
        let alike: Vec<&Self> = others
            .filter(|other| other.name == self.name && *other != self)
            .collect();
        let mut names = vec![self.name.clone()];
        if let Some(file) = &self.file {
            let starts = file.rmatch_indices(['/', '\\']).map(|(at, _)| at + 1);
            let endings = starts.map(|at| &file[at..]).chain([file.as_str()]);
            names.extend(endings.map(|ending| format!("{ending}:{}", self.name)));
            if let Some(line) = self.line {
                names.push(format!("{file}:{line}:{}", self.name));
            }
        }
        if let Some(module) = &self.module {
            names.push(format!("{module}:{}", self.name));
        }
        let is_alone = |name: &&String| !alike.iter().any(|other| other.is_named(name));
        let alone = names.iter().find(is_alone);
        alone.or(names.last()).cloned().unwrap_or_default()
    }
}

fn describe(source: &Source, common: &Common) -> Function {
    let text = |id: u32| common.names.get(NameId(id));
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let InternedFrame {
        name, module, file, ..
    } = source.example;
    let name = match (symbol::function(text(name)), text(file)) {
        (name, _) if !name.is_empty() => name.into_owned(),
        (_, "") => NAMELESS.to_owned(),
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
        let raw = InternedFrame {
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
    fn add(&mut self, raw: InternedFrame, line: u32, common: &mut Common) -> u32 {
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

/// The number of the last parts of their paths that distinguish the sources of each profile.
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
        let identified = identify(&profiles[..1], &profiles[1..], &[]);
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
