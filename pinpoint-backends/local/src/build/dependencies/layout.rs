//! The manifests of a state, one after the other, and the checkouts that they name.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use pinpoint_core::{Commit, ModifiedDependency};
use pinpoint_midpoint::manifest::{
    Deps, GoMod, MAX_FILE, Manifest, ManifestError, Source, Submodules, all, resolve_url,
};

use super::inside::inside;
use super::{cargo_lock, go_mod};
use crate::blocking::blocking;
use crate::build::build_dir::LaidOut;
use crate::build::build_steps::{BuildStepError, BuildSteps};
use crate::error::LocalError;
use crate::git::git_command;

/// Manifests of dependencies of dependencies are read this deep. A branch named
/// in `DEPS` may name itself.
const MOST_LEVELS: usize = 32;

impl BuildSteps<'_> {
    /// Lays out the dependencies of a commit whose own work tree is filled.
    ///
    /// Checks just four files when none of them names a repository that is available locally.
    pub(crate) async fn place_dependencies(&self) -> Result<LaidOut, BuildStepError> {
        let commit = self.commit;
        let mut layout = Layout {
            steps: self,
            held: commit.modified_deps.iter().collect(),
            named: vec![false; commit.modified_deps.len()],
            placed: BTreeSet::new(),
            made: LaidOut::default(),
            modules: 0,
            open: VecDeque::from([Holder {
                repository: commit.main.repository.clone(),
                tree: self.dir.tree.clone(),
                manifests: all()
                    .map(|manifest| (manifest.file(), manifest.file().into()))
                    .into(),
                solution: None,
                level: 0,
            }]),
        };
        while let Some(holder) = layout.open.pop_front() {
            layout.place_named_by(&holder).await?;
        }
        let unnamed = layout.named.iter().position(|named| !named);
        match unnamed.map(|index| layout.held[index]) {
            None => Ok(layout.made),
            Some(held) => Err(BuildStepError::Build(format!(
                "it holds {} at {}, but no manifest of {} in this state names that repository",
                held.commit.repository,
                held.commit.revision(),
                held.named_by,
            ))),
        }
    }
}

/// The dependencies of a build while they are laid out.
struct Layout<'a> {
    steps: &'a BuildSteps<'a>,
    held: Vec<&'a ModifiedDependency>,
    /// True for each one that a manifest names.
    named: Vec<bool>,
    placed: BTreeSet<PathBuf>,
    made: LaidOut,
    /// The number of modules checked out for Go.
    modules: usize,
    /// Holders whose manifests are still to be read, the outermost first.
    open: VecDeque<Holder>,
}

/// A repository with a work tree here, whose manifests count.
struct Holder {
    repository: String,
    tree: PathBuf,
    /// The format, by the name of its usual file, and the name of this one.
    manifests: Vec<(&'static str, String)>,
    /// The name of gclient's solution, where an outer `DEPS` settled it.
    solution: Option<Solution>,
    level: usize,
}

/// A checkout, and its name in the paths of `DEPS`.
#[derive(Clone)]
struct Solution {
    tree: PathBuf,
    name: Option<String>,
}

/// A dependency that is checked out in the work tree, as a manifest names it.
struct Entry<'a> {
    /// The manifest.
    file: &'a str,
    path: &'a str,
    /// A work tree and a path in it; absent for a place outside the outermost one.
    place: Option<(&'a Path, &'a Path)>,
    url: String,
    revision: &'a str,
    /// Left to the build command when the clone lacks the revision.
    may_be_missing: bool,
    manifests: Vec<(&'static str, String)>,
    solution: Option<Solution>,
}

impl<'a> Layout<'a> {
    async fn place_named_by(&mut self, holder: &Holder) -> Result<(), BuildStepError> {
        for (format, file) in &holder.manifests {
            let path = holder.tree.join(file);
            // Git does not read a `.gitmodules` through a link either.
            let Some(metadata) = fs::symlink_metadata(&path)
                .ok()
                .filter(|metadata| metadata.is_file())
            else {
                continue;
            };
            // A commit may hold one of a gigabyte: its size is checked first.
            if metadata.len() > MAX_FILE as u64 {
                self.unreadable(
                    holder,
                    file,
                    format!("{file} has more than {MAX_FILE} bytes"),
                )?;
                continue;
            }
            let text = match fs::read_to_string(&path) {
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    self.unreadable(holder, file, format!("{file} is not UTF-8"))?;
                    continue;
                }
                other => other.map_err(LocalError::io("read", &path))?,
            };
            match *format {
                "Cargo.lock" => self.hold_in_cargo_lock(holder, &path, text)?,
                "go.mod" => self.hold_in_go_mod(holder, &path, text).await?,
                "DEPS" => self.place_deps(holder, file, &text).await?,
                _ => self.place_submodules(holder, file, &text).await?,
            }
        }
        Ok(())
    }

    async fn place_submodules(
        &mut self,
        holder: &Holder,
        file: &str,
        text: &str,
    ) -> Result<(), BuildStepError> {
        let paths = match Submodules.gitlinks(text) {
            Ok(paths) => paths,
            Err(error) => return self.unreadable(holder, file, error.to_string()),
        };
        let tree = holder.tree.clone();
        let gitlinks = blocking((), move || Ok(git_command::gitlinks(&tree, &paths)?)).await?;
        let submodules = match Submodules.read(text, &gitlinks) {
            Ok(submodules) => submodules,
            Err(error) => return self.unreadable(holder, file, error.to_string()),
        };
        for (path, submodule) in &submodules {
            let Source::Git { url, revision } = &submodule.source else {
                continue;
            };
            let Some(url) = resolve_url(&holder.repository, url) else {
                continue;
            };
            let held = self
                .place(
                    holder,
                    Entry {
                        file,
                        path,
                        place: Some((&holder.tree, Path::new(path))),
                        url,
                        revision,
                        may_be_missing: true,
                        manifests: named_like_their_formats(&submodule.nested),
                        solution: None,
                    },
                )
                .await?;
            if let Some(hash) = held {
                let enter = git_command::enter_gitlink(&holder.tree, &hash, path);
                let ended = self.steps.step(enter, None).await?;
                self.steps.succeeded(ended, "update-index", &holder.tree)?;
            }
        }
        Ok(())
    }

    async fn place_deps(
        &mut self,
        holder: &Holder,
        file: &str,
        text: &str,
    ) -> Result<(), BuildStepError> {
        let read = || {
            let dependencies = Deps.read(text, &BTreeMap::new())?;
            Ok((dependencies, Deps::has_relative_paths(text)?))
        };
        let (dependencies, is_relative) = match read() {
            Ok(answer) => answer,
            Err::<_, ManifestError>(error) => {
                return self.unreadable(holder, file, error.to_string());
            }
        };
        let solution = holder.solution.clone().unwrap_or_else(|| Solution {
            tree: holder.tree.clone(),
            name: (!is_relative).then(|| most_common_first(dependencies.keys())),
        });
        for (path, dependency) in &dependencies {
            let Source::Git { url, revision } = &dependency.source else {
                continue;
            };
            let written = Path::new(path);
            let place = if is_relative {
                Some((holder.tree.as_path(), written))
            } else if let Some(name) = &solution.name
                && let Ok(below) = written.strip_prefix(name)
            {
                (below != Path::new("")).then_some((solution.tree.as_path(), below))
            } else if written
                .components()
                .all(|it| matches!(it, Component::Normal(_)))
            {
                None
            } else {
                // To be rejected.
                Some((solution.tree.as_path(), written))
            };
            let manifests = dependency.nested.iter();
            let entry = Entry {
                file,
                path,
                place,
                url: url.clone(),
                revision,
                may_be_missing: dependency.condition.is_some(),
                manifests: manifests.map(|file| (Deps.file(), file.clone())).collect(),
                solution: Some(solution.clone()),
            };
            self.place(holder, entry).await?;
        }
        Ok(())
    }

    /// Checks a dependency out at its place, if it is available locally. Returns the checked-out
    /// hash if it is held there.
    async fn place(
        &mut self,
        holder: &Holder,
        entry: Entry<'_>,
    ) -> Result<Option<String>, BuildStepError> {
        let held = self.held(holder, &entry.url);
        let Some(clone) = self.steps.located(&entry.url).await? else {
            return match held {
                None => Ok(None),
                Some(_) => Err(LocalError::NotAvailable {
                    repository: entry.url,
                }
                .into()),
            };
        };
        let wrong = |what: &str| {
            BuildStepError::Build(format!(
                "{} of {} puts {} at `{}`, which {what}",
                entry.file, holder.repository, entry.url, entry.path
            ))
        };
        let Some((tree, path)) = entry.place else {
            return match held {
                None => Ok(None),
                Some(_) => Err(wrong("is outside the work tree")),
            };
        };
        // The outer manifest takes precedence.
        if self.placed.contains(&tree.join(path)) {
            return Ok(None);
        }
        let place = inside(tree, path).map_err(|what| wrong(&what))?;
        if holder.level == MOST_LEVELS {
            return Err(wrong("is nested too deeply"));
        }
        let commit = held.map_or_else(
            || Commit::new(&entry.url, entry.revision),
            |held| held.commit.clone(),
        );
        let hash = match self.steps.hash_of(&clone, &commit).await {
            Err(BuildStepError::Build(_)) if held.is_none() && entry.may_be_missing => {
                // Once the revision exists, this build is incomplete.
                let left_out = (entry.url, entry.revision.to_owned());
                self.made.left_out.insert(left_out);
                return Ok(None);
            }
            other => other?,
        };
        let checked_out = self.steps.check_out(&clone.repository, &hash, &place);
        let ours = checked_out.await?;
        self.made.repositories.insert(ours);
        self.note(&place, &entry.url, &hash);
        self.placed.insert(place.clone());
        self.open.push_back(Holder {
            repository: entry.url,
            tree: place,
            manifests: entry.manifests,
            solution: entry.solution,
            level: holder.level + 1,
        });
        Ok(held.map(|_| hash))
    }

    /// Records the checkout at a place.
    fn note(&mut self, place: &Path, url: &str, hash: &str) {
        let place = place.strip_prefix(&self.steps.dir.path).unwrap_or(place);
        let checkout = (url.to_owned(), hash.to_owned());
        self.made.checkouts.insert(place.to_owned(), checkout);
    }

    fn hold_in_cargo_lock(
        &mut self,
        holder: &Holder,
        path: &Path,
        mut text: String,
    ) -> Result<(), BuildStepError> {
        let clones = self.steps.clones;
        let mut is_changed = false;
        for (held, named) in self.held.iter().zip(&mut self.named) {
            let Commit {
                repository,
                git_hash,
                merged,
                ..
            } = &held.commit;
            if !clones.same(&held.named_by, &holder.repository) {
                continue;
            }
            let is_it = |url: &str| clones.same(url, repository);
            let Some(changed) = cargo_lock::hold(&text, is_it, git_hash) else {
                continue;
            };
            if !merged.is_empty() {
                return Err(BuildStepError::Build(format!(
                    "Cargo takes {repository} from where it is published, which has no merge {}",
                    held.commit.revision()
                )));
            }
            text = changed;
            *named = true;
            is_changed = true;
        }
        if is_changed {
            fs::write(path, text).map_err(LocalError::io("write", path))?;
        }
        Ok(())
    }

    async fn hold_in_go_mod(
        &mut self,
        holder: &Holder,
        path: &Path,
        mut text: String,
    ) -> Result<(), BuildStepError> {
        // Only held dependencies are checked out for Go.
        if !self.holds_for(holder) {
            return Ok(());
        }
        let modules = match GoMod.read(&text, &BTreeMap::new()) {
            Ok(modules) => modules,
            Err(error) => return self.unreadable(holder, GoMod.file(), error.to_string()),
        };
        // A repository may hold several modules.
        let mut checkouts: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
        for (module, dependency) in &modules {
            let Source::Git { url, .. } = &dependency.source else {
                continue;
            };
            let Some(held) = self.held(holder, url) else {
                continue;
            };
            let Some(clone) = self.steps.located(url).await? else {
                let repository = url.clone();
                return Err(LocalError::NotAvailable { repository }.into());
            };
            let repository = &clone.repository;
            let checkout = match checkouts.get(repository.path()) {
                Some(checkout) => checkout.clone(),
                None => {
                    let hash = self.steps.hash_of(&clone, &held.commit).await?;
                    let number = self.modules.to_string();
                    let checkout = self.steps.dir.path.join("modules").join(number);
                    let ours = self.steps.check_out(repository, &hash, &checkout).await?;
                    self.modules += 1;
                    self.made.repositories.insert(ours);
                    self.note(&checkout, url, &hash);
                    checkouts.insert(repository.path().into(), checkout.clone());
                    checkout
                }
            };
            let module_to_find = module.clone();
            let found = blocking((), move || go_mod::directory_of(&checkout, &module_to_find));
            let directory = found.await?.ok_or_else(|| {
                BuildStepError::Build(format!(
                    "{url} at {} holds no module {module}",
                    held.commit.revision()
                ))
            })?;
            text = go_mod::replace(&text, module, &directory);
        }
        fs::write(path, text).map_err(LocalError::io("write", path))?;
        Ok(())
    }

    /// The revision at which a dependency is held, where this holder names it.
    fn held(&mut self, holder: &Holder, url: &str) -> Option<&'a ModifiedDependency> {
        let clones = self.steps.clones;
        let index = self.held.iter().position(|held| {
            clones.same(&held.commit.repository, url)
                && clones.same(&held.named_by, &holder.repository)
        })?;
        self.named[index] = true;
        Some(self.held[index])
    }

    fn holds_for(&self, holder: &Holder) -> bool {
        let clones = self.steps.clones;
        self.held
            .iter()
            .any(|held| clones.same(&held.named_by, &holder.repository))
    }

    /// The error for a manifest that can't be read: absent if nothing that it names could be laid
    /// out anyway.
    fn unreadable(
        &self,
        holder: &Holder,
        file: &str,
        problem: String,
    ) -> Result<(), BuildStepError> {
        let matters = match file {
            // Submodules have their own file; a held dependency that is named nowhere else is found
            // in the end.
            "DEPS" => self.steps.names_clones,
            _ => self.holds_for(holder) || !self.steps.clones.names().is_empty(),
        };
        if matters {
            let repository = &holder.repository;
            return Err(BuildStepError::Build(format!("in {repository}, {problem}")));
        }
        Ok(())
    }
}

fn named_like_their_formats(files: &[String]) -> Vec<(&'static str, String)> {
    all()
        .into_iter()
        .map(Manifest::file)
        .filter(|format| files.iter().any(|file| file == format))
        .map(|format| (format, format.to_owned()))
        .collect()
}

/// The first component that most paths have; of several, the first in the
/// alphabet.
fn most_common_first<'a>(paths: impl Iterator<Item = &'a String>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for path in paths {
        let first = path.split('/').next().unwrap_or_default();
        *counts.entry(first).or_default() += 1;
    }
    let mut best = ("", 0);
    for (first, count) in counts {
        if count > best.1 {
            best = (first, count);
        }
    }
    best.0.to_owned()
}
