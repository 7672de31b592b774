//! Functions of two builds that lie in programs, files or folders of different names.
//!
//! `bench-old` and `bench-new`, `python3.11` and `python3.12`, and sources that lie below `a/` and
//! `b/` hold the same functions, though their modules or paths differ. A function that only the
//! base has is matched with one that only the experiment has:
//!
//! 1. as the user specifies, by pairs of names of programs, files or folders;
//! 2. where its program or library is on one side only, in the one of the other side that has at
//!    least half of the same names; then the same with files;
//! 3. by its name alone, where its program or library has one such function on each side;
//! 4. by its name and file, where paths differ in one folder.
//!
//! The second rule's matches are guesses, which [`PlaceMatch`] reports.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// A program, library or source file of the base that is taken for one of another name in the
/// experiment, since they have the same functions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PlaceMatch {
    /// Its base name in the base.
    pub base: String,
    /// Its base name in the experiment.
    pub experiment: String,
    /// The number of functions with the same name in both.
    pub common: usize,
}

/// A function, as far as it decides about matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate<'a> {
    /// Empty for a function without a name.
    pub(super) name: &'a str,
    pub(super) module: &'a str,
    /// The base name of its source.
    pub(super) file: &'a str,
    /// The position at which an anonymous function begins; 0 for all others.
    pub(super) position: (u32, u32),
    /// The whole path of its source.
    pub(super) path: &'a str,
    /// True for each of the base and the experiment that has it.
    pub(super) sides: [bool; 2],
}

/// All but the part that may have another name.
type Rest<'a> = (&'a str, &'a str, (u32, u32));

/// The part of a function that may have another name, and the rest.
type Split = for<'a> fn(&Candidate<'a>) -> (&'a str, Rest<'a>);

/// Returns the match of each function, by its place, and the guesses.
pub(super) fn matched(
    candidates: &[Candidate],
    map: &[(String, String)],
) -> (Vec<usize>, Vec<PlaceMatch>) {
    let mut matches = Matches {
        candidates,
        target: (0..candidates.len()).collect(),
        taken: BTreeSet::new(),
        modules: BTreeMap::new(),
    };
    matches.by_map(map);
    let mut guesses = matches.by_part(|it| (it.module, (it.name, it.file, it.position)));
    for guess in &guesses {
        let module = |name: &str| {
            let mut modules = candidates.iter().map(|it| it.module);
            modules.find(|module| *module == name)
        };
        if let (Some(base), Some(experiment)) = (module(&guess.base), module(&guess.experiment)) {
            matches.modules.insert(base, experiment);
        }
    }
    guesses.extend(matches.by_part(|it| (it.file, (it.name, it.module, it.position))));
    matches.by_name();
    matches.by_folder();
    (matches.target, guesses)
}

/// The first name of a map that a side does not have.
pub(super) fn missing(
    candidates: &[Candidate],
    map: &[(String, String)],
) -> Option<(&'static str, String)> {
    let names = map
        .iter()
        .flat_map(|(old, new)| [("base", 0, old), ("experiment", 1, new)]);
    let mut missing = names.filter(|(_, side, name)| {
        let mut of_side = candidates.iter().filter(|it| it.sides[*side]);
        !of_side.any(|it| it.lies_in(name))
    });
    missing.next().map(|(side, _, name)| (side, name.clone()))
}

struct Matches<'c, 'a> {
    candidates: &'c [Candidate<'a>],
    /// The match of each function.
    target: Vec<usize>,
    /// Functions of the experiment that are matched with one of the base.
    taken: BTreeSet<usize>,
    /// Modules of the base that have another name in the experiment.
    modules: BTreeMap<&'a str, &'a str>,
}

impl<'a> Matches<'_, 'a> {
    fn take(&mut self, base: usize, experiment: usize) {
        self.target[base] = experiment;
        self.taken.insert(experiment);
    }

    /// The functions that only one side has, and that are not matched.
    fn open(&self, side: usize) -> impl Iterator<Item = (usize, &Candidate<'a>)> {
        let all = self.candidates.iter().enumerate();
        all.filter(move |(at, it)| {
            let is_matched = self.target[*at] != *at || self.taken.contains(at);
            it.sides[side] && !it.sides[1 - side] && !is_matched
        })
    }

    fn by_map(&mut self, map: &[(String, String)]) {
        // By name, file and position.
        let mut experiment = BTreeMap::<_, Vec<usize>>::new();
        let all = self.candidates.iter().enumerate();
        for (at, it) in all.clone().filter(|(_, it)| it.sides[1]) {
            let key = (it.name, it.file, it.position);
            experiment.entry(key).or_default().push(at);
        }
        let mut found = Vec::new();
        for (at, it) in all.filter(|(_, it)| it.sides[0]) {
            let renamed = |text: &str, is_whole: bool| {
                let mut text = text.to_owned();
                for (old, new) in map {
                    text = match is_whole && text == *old {
                        true => new.clone(),
                        false => with_folder(&text, old, new),
                    };
                }
                text
            };
            let (name, module) = (renamed(it.name, false), renamed(it.module, true));
            let (file, path) = (renamed(it.file, true), renamed(it.path, false));
            let is_same = [
                name == it.name,
                module == it.module,
                file == it.file,
                path == it.path,
            ];
            if is_same.into_iter().all(|is_same| is_same) {
                continue;
            }
            let key = (&*name, &*file, it.position);
            let alike = experiment.get(&key).into_iter().flatten().copied();
            let alike = alike.filter(|at| self.candidates[*at].module == module);
            let path = with_base(&path, &file);
            let best = alike.max_by_key(|at| common_ending(self.candidates[*at].path, &path));
            found.extend(best.map(|best| (at, best)));
        }
        for (base, best) in found.into_iter().filter(|(base, best)| base != best) {
            self.take(base, best);
        }
    }

    /// Matches parts that are on one side only by the names of their functions.
    fn by_part(&mut self, split: Split) -> Vec<PlaceMatch> {
        let parts = |side: usize| -> BTreeSet<&str> {
            let of_side = self.candidates.iter().filter(|it| it.sides[side]);
            of_side.map(|it| split(it).0).collect()
        };
        let both = [parts(0), parts(1)];
        let mut open: [Vec<(&str, Rest, usize)>; 2] = Default::default();
        // The parts in which each is.
        let mut parts_of: [BTreeMap<Rest, Vec<&str>>; 2] = Default::default();
        for side in [0, 1] {
            for (at, it) in self.open(side) {
                let (part, mut rest) = split(it);
                if part.is_empty() || both[1 - side].contains(part) {
                    continue;
                }
                // For a program that has another name, too.
                rest.1 = match side {
                    0 => self.modules.get(rest.1).copied().unwrap_or(rest.1),
                    _ => rest.1,
                };
                open[side].push((part, rest, at));
                parts_of[side].entry(rest).or_default().push(part);
            }
        }
        let is_evidence = |rest: &Rest| {
            let mut counts = parts_of.iter().map(|of| of.get(rest).map_or(0, Vec::len));
            is_evidence(rest.0) && counts.all(|count| count <= MOST_PARTS)
        };
        let mut sizes: [BTreeMap<&str, usize>; 2] = Default::default();
        for (sizes, open) in sizes.iter_mut().zip(&open) {
            for (part, rest, _) in open {
                *sizes.entry(part).or_default() += usize::from(is_evidence(rest));
            }
        }
        let mut common: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for (part, rest, _) in open[0].iter().filter(|(_, rest, _)| is_evidence(rest)) {
            for other in parts_of[1].get(rest).into_iter().flatten() {
                *common.entry((part, other)).or_default() += 1;
            }
        }
        let mut pairs: Vec<((&str, &str), usize)> = common.into_iter().collect();
        pairs.retain(|((old, new), common)| {
            let size = |side: usize, part: &str| sizes[side].get(part).copied().unwrap_or_default();
            2 * common >= size(0, old).min(size(1, new))
        });
        pairs.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        let mut used: [BTreeSet<&str>; 2] = Default::default();
        pairs.retain(|((old, new), _)| {
            let is_free = !used[0].contains(old) && !used[1].contains(new);
            if is_free {
                used[0].insert(old);
                used[1].insert(new);
            }
            is_free
        });
        let news: BTreeMap<&str, &str> = pairs.iter().map(|(names, _)| *names).collect();
        let [base, experiment] = open;
        let mut in_part: BTreeMap<(&str, Rest), Vec<usize>> = BTreeMap::new();
        for (part, rest, at) in experiment {
            in_part.entry((part, rest)).or_default().push(at);
        }
        let mut found = Vec::new();
        for (part, rest, at) in base {
            let Some(new) = news.get(part) else {
                continue;
            };
            let alike = in_part.get(&(*new, rest)).into_iter().flatten().copied();
            let path = self.candidates[at].path;
            let best = alike.max_by_key(|at| common_ending(self.candidates[*at].path, path));
            found.extend(best.map(|best| (at, best)));
        }
        for (base, experiment) in found {
            self.take(base, experiment);
        }
        let renamed = |((base, experiment), common): ((&str, &str), usize)| PlaceMatch {
            base: base.to_owned(),
            experiment: experiment.to_owned(),
            common,
        };
        pairs.into_iter().map(renamed).collect()
    }

    /// Matches functions by name and module: the file of a function is at times that of the first
    /// line that is inlined into it, and code is moved between files.
    fn by_name(&mut self) {
        let modules = self.modules.clone();
        let key = |it: &Candidate<'a>| {
            // The experiment has none of the modules that are in this table.
            let module = modules.get(it.module).copied().unwrap_or(it.module);
            (it.name, module)
        };
        let is_known = |it: &Candidate| !it.name.is_empty() && !it.module.is_empty();
        self.by_key(key, is_known);
    }

    /// Matches functions of one name and file, if one is left on each side, or if the paths of
    /// two differ in one folder.
    fn by_folder(&mut self) {
        self.by_key(|it| (it.name, it.module, it.position, it.file), |_| true);
        // By the path without one of its folders.
        let mut by_key: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (at, it) in self.open(1) {
            let key = (it.name, it.module, it.position, it.file);
            for rest in without_one(it.path) {
                by_key.entry((key, rest)).or_default().push(at);
            }
        }
        let mut found: Vec<(usize, usize)> = Vec::new();
        for (at, it) in self.open(0) {
            let key = (it.name, it.module, it.position, it.file);
            let alike = without_one(it.path).flat_map(|rest| {
                let alike = by_key.get(&(key, rest)).into_iter().flatten();
                alike
                    .copied()
                    .filter(|at| self.candidates[*at].path != it.path)
            });
            let mut alike = alike.take(2);
            if let (Some(only), None) = (alike.next(), alike.next()) {
                found.push((at, only));
            }
        }
        let mut of_one: BTreeMap<usize, usize> = BTreeMap::new();
        for (_, experiment) in &found {
            *of_one.entry(*experiment).or_default() += 1;
        }
        for (base, experiment) in found {
            if of_one.get(&experiment) == Some(&1) {
                self.take(base, experiment);
            }
        }
    }

    /// Matches functions of which one is left on each side with the same key.
    fn by_key<K: Ord>(
        &mut self,
        key: impl Fn(&Candidate<'a>) -> K,
        is_known: impl Fn(&Candidate) -> bool,
    ) {
        let mut left: BTreeMap<K, [Vec<usize>; 2]> = BTreeMap::new();
        for side in [0, 1] {
            for (at, it) in self.open(side).filter(|(_, it)| is_known(it)) {
                left.entry(key(it)).or_default()[side].push(at);
            }
        }
        let found: Vec<_> = (left.into_values())
            .filter_map(|sides| match sides.each_ref().map(Vec::as_slice) {
                [[base], [experiment]] => Some((*base, *experiment)),
                _ => None,
            })
            .collect();
        for (base, experiment) in found {
            self.take(base, experiment);
        }
    }
}

/// A function in more parts than this is no evidence for any of them.
const MOST_PARTS: usize = 100;

/// Returns false for names that any two programs or files may have in common.
fn is_evidence(name: &str) -> bool {
    let is_general = matches!(
        name,
        "" | "main" | "_start" | "_init" | "_fini" | "__init__"
    );
    !is_general && !name.starts_with(['<', '('])
}

impl Candidate<'_> {
    /// Returns true if a program, a file or a folder of this name holds it.
    fn lies_in(&self, name: &str) -> bool {
        self.module == name
            || self.file == name
            || [self.path, self.name]
                .into_iter()
                .any(|text| folder(text, name).is_some())
    }
}

/// The position of a folder, or several, in a path, or in a name that holds a path, as those of Go
/// do.
fn folder(text: &str, folder: &str) -> Option<usize> {
    let mut places = text.match_indices(folder).map(|(at, _)| at);
    places.find(|at| {
        let (before, after) = (&text[..*at], &text[at + folder.len()..]);
        let begins = before.chars().next_back();
        !folder.is_empty()
            && begins.is_none_or(|sign| !sign.is_alphanumeric() && !"._-".contains(sign))
            && after.starts_with(['/', '\\'])
    })
}

fn with_folder(text: &str, old: &str, new: &str) -> String {
    match folder(text, old) {
        Some(at) => format!("{}{new}{}", &text[..at], &text[at + old.len()..]),
        None => text.to_owned(),
    }
}

fn with_base(path: &str, file: &str) -> String {
    match path.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/{file}"),
        None => file.to_owned(),
    }
}

fn common_ending(a: &str, b: &str) -> usize {
    let parts = a.rsplit('/').zip(b.rsplit('/'));
    parts.take_while(|(a, b)| a == b).count()
}

/// A path without each of its parts: the place of the part, and the text before and after it.
fn without_one(path: &str) -> impl Iterator<Item = (usize, &str, &str)> {
    let ends = path.match_indices('/').map(|(at, _)| at);
    let starts = std::iter::once(0).chain(ends.clone().map(|at| at + 1));
    let parts = starts.zip(ends.chain([path.len()])).enumerate();
    parts.map(|(place, (start, end))| (place, &path[..start], &path[end..]))
}
