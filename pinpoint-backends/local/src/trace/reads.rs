//! The paths of a build that a command accessed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::access::{Access, Trace};
use super::elf::Elf;

/// The most links in a path, as in Linux.
const MOST_LINKS: u32 = 40;

/// The longest first line of a script that names its interpreter.
const LONGEST_LINE: u64 = 4096;

/// The paths of a build that a command accessed, relative to its directory.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    pub(super) places: BTreeMap<String, Access>,
    /// The files elsewhere that it read and did not make.
    pub(super) outside: BTreeMap<String, Outside>,
    /// The paths elsewhere that it accessed, with links resolved.
    pub(super) seen: BTreeSet<PathBuf>,
    /// The paths elsewhere at which it put files or links.
    pub(super) placed: BTreeSet<PathBuf>,
    /// The reason why these may be incomplete.
    pub(crate) doubt: Option<String>,
}

impl Reads {
    /// The reads in a trace of the build's directory, one of several in `builds`; git keeps its
    /// data of all of them in `repositories`.
    pub(super) fn from_trace(trace: Trace, directory: &Path, repositories: &Path) -> Self {
        let mut reads = Self {
            doubt: trace.doubt,
            ..Self::default()
        };
        let state = State {
            directory,
            builds: directory.parent().unwrap_or(directory),
            repositories,
        };
        for link in &trace.links {
            if !fs::symlink_metadata(link).is_ok_and(|it| it.is_symlink()) {
                reads.doubt(format!(
                    "it removes the symbolic link {} that it made",
                    link.display()
                ));
            }
        }
        for path in &trace.placed {
            let name = path.file_name().unwrap_or_default();
            let directory_of = path.parent().and_then(|above| above.canonicalize().ok());
            let place = directory_of.map_or_else(|| path.clone(), |above| above.join(name));
            if !place.starts_with(directory) && !is_of_system(&place) {
                reads.placed.insert(place);
            }
        }
        let mut open: VecDeque<(PathBuf, Access, bool)> = (trace.paths.into_iter())
            .map(|(path, access)| {
                let is_executed = trace.executed.contains(&path);
                (path, access, is_executed)
            })
            .collect();
        while let Some((path, access, is_executed)) = open.pop_front() {
            let at = reads.follow(&path, access, &state);
            let is_inside = at.starts_with(directory);
            if !is_inside && !is_of_system(&at) {
                reads.seen.insert(at.clone());
            }
            if !access.read {
                continue;
            }
            let metadata = fs::metadata(&at).ok();
            let has_made = trace.made.contains(&path) || trace.made.contains(&at);
            if metadata.as_ref().is_some_and(|it| it.file_type().is_fifo()) && !has_made {
                reads.doubt(format!(
                    "it opens {}, a pipe that it did not make",
                    at.display()
                ));
            }
            if !is_inside && !has_made && !is_of_system(&at) {
                let outside = metadata.filter(|it| it.is_file());
                reads.note_outside(&at, outside.as_ref());
            }
            if !is_inside && !is_executed {
                continue;
            }
            // The kernel itself reads the interpreter of a program.
            if let Some(interpreter) = interpreter(&at) {
                if is_executed && !interpreter.is_absolute() {
                    reads.doubt(format!(
                        "the interpreter of {} depends on the working directory",
                        at.display()
                    ));
                } else if interpreter.is_absolute() && !reads.has(&interpreter, directory) {
                    let is_executed = is_executed && interpreter.starts_with(directory);
                    // The kernel loads it: one that is a script is read by its own.
                    open.push_back((interpreter, Access::LOADED, is_executed));
                }
            }
            if let Some(loader) = is_executed.then(|| loader(&at)).flatten() {
                let behind = reads.follow(&loader, Access::READ, &state);
                if loader.is_relative() || behind.starts_with(directory) {
                    reads.doubt(format!("{} brings its own loader", at.display()));
                } else {
                    open.push_back((loader, Access::LOADED, false));
                }
            }
        }
        reads
    }

    fn has(&self, path: &Path, directory: &Path) -> bool {
        let place = path.strip_prefix(directory).ok().and_then(Path::to_str);
        place.is_some_and(|place| self.places.get(place).is_some_and(|access| access.read))
    }

    fn note_outside(&mut self, at: &Path, metadata: Option<&Metadata>) {
        let Some(metadata) = metadata else { return };
        match at.to_str() {
            Some(path) => {
                self.outside
                    .insert(path.to_owned(), Outside::from_metadata(metadata));
            }
            None => self.doubt(format!("it reads {}, which is not UTF-8", at.display())),
        }
    }

    /// Follows a path as the kernel does, and notes each link and directory on the way. A link
    /// elsewhere that leads into a build is a doubt: another build may change it.
    fn follow(&mut self, path: &Path, access: Access, state: &State<'_>) -> PathBuf {
        let mut at = PathBuf::from("/");
        let mut left: VecDeque<OsString> = parts(path).collect();
        let mut links = 0;
        let mut elsewhere: Option<PathBuf> = None;
        while let Some(part) = left.pop_front() {
            if part == ".." {
                at.pop();
                continue;
            }
            at.push(part);
            let is_inside = at.starts_with(state.directory);
            if let Some(link) = &elsewhere
                && at.starts_with(state.builds)
                && state.is_in_a_build(&at)
            {
                self.doubt(format!(
                    "it looks at files of a build through {}, a link outside of the work tree",
                    link.display()
                ));
            }
            if !is_inside && is_of_system(&at) {
                continue;
            }
            match fs::read_link(&at) {
                Ok(target) if links < MOST_LINKS => {
                    links += 1;
                    match is_inside {
                        true => self.note(&at, Access::READ, state),
                        false => {
                            elsewhere.get_or_insert_with(|| at.clone());
                        }
                    }
                    at.pop();
                    if target.is_absolute() {
                        at = PathBuf::from("/");
                    }
                    parts(&target).rev().for_each(|part| left.push_front(part));
                }
                _ if left.is_empty() || !is_inside => {}
                _ => self.note(&at, Access::LOOKED_UP, state),
            }
        }
        self.note(&at, access, state);
        at
    }

    fn note(&mut self, at: &Path, access: Access, state: &State<'_>) {
        let looks_inside = access.read || access.listed;
        if let Ok(place) = at.strip_prefix(state.directory) {
            if place.file_name().is_some_and(|name| name == ".git") && looks_inside {
                self.doubt_git();
            }
            match place.to_str() {
                // The directory itself is ours.
                Some("") => {}
                Some(place) => self.places.entry(place.to_owned()).or_default().add(access),
                None => self.doubt(format!(
                    "it looks at {}, which is not UTF-8",
                    place.display()
                )),
            }
        } else if looks_inside && at.starts_with(state.repositories) {
            self.doubt_git();
        } else if looks_inside && state.is_in_a_build(at) {
            self.doubt("it reads another build".into());
        }
    }

    fn doubt_git(&mut self) {
        self.doubt("it asks git, which knows the commit".into());
    }

    fn doubt(&mut self, reason: String) {
        self.doubt.get_or_insert(reason);
    }
}

/// The directories of builds.
struct State<'a> {
    directory: &'a Path,
    builds: &'a Path,
    repositories: &'a Path,
}

impl State<'_> {
    /// Programs also look for their configuration in parent directories.
    fn is_in_a_build(&self, at: &Path) -> bool {
        let name = at.strip_prefix(self.builds).ok();
        let name = name.and_then(|rest| rest.components().next());
        name.is_some_and(|name| self.builds.join(name).is_dir())
    }
}

fn parts(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    path.components().filter_map(|part| match part {
        Component::Normal(part) => Some(part.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}

/// The interpreter that a script names, if it is one.
fn interpreter(path: &Path) -> Option<PathBuf> {
    if !fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        return None;
    }
    let mut begin = Vec::new();
    (File::open(path)
        .ok()?
        .take(LONGEST_LINE)
        .read_to_end(&mut begin))
    .ok()?;
    let line = begin.strip_prefix(b"#!")?;
    let line = line.split(|byte| *byte == b'\n').next()?.trim_ascii();
    let program = line.split(u8::is_ascii_whitespace).next()?;
    let program = Path::new(std::ffi::OsStr::from_bytes(program));
    (!program.as_os_str().is_empty()).then(|| program.to_owned())
}

/// The program that loads an executable, if it names one.
fn loader(path: &Path) -> Option<PathBuf> {
    let file = fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    let file = file.then(|| File::open(path).ok())??;
    Elf::open(&file)?.interpreter()
}

/// Checks whether it is a file generated by the system, whose time means nothing.
fn is_of_system(path: &Path) -> bool {
    ["/proc", "/sys", "/dev"]
        .iter()
        .any(|it| path.starts_with(it))
}

/// Identifies the state of a file outside of the builds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Outside {
    size: u64,
    modified: (i64, i64),
}

impl Outside {
    fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }

    pub(super) fn is_still(self, path: &str) -> bool {
        fs::metadata(path).is_ok_and(|metadata| Self::from_metadata(&metadata) == self)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// The directory of a build whose work tree has a few files.
    fn build(root: &Path) -> PathBuf {
        let directory = root.join("builds/one");
        let tree = directory.join("tree");
        fs::create_dir_all(tree.join("real/deep")).unwrap();
        fs::create_dir_all(root.join("builds/other/tree")).unwrap();
        fs::write(tree.join("real/data"), "1").unwrap();
        symlink("real", tree.join("link")).unwrap();
        symlink(tree.join("link/data"), tree.join("alias")).unwrap();
        symlink("loop", tree.join("loop")).unwrap();
        let interpreter = tree.join("real/interpreter");
        let script = format!("#! {} -x\n", interpreter.display());
        fs::write(tree.join("script"), script).unwrap();
        directory
    }

    fn reads(root: &Path, paths: &[(PathBuf, Access)]) -> Reads {
        let trace = Trace {
            paths: paths.iter().cloned().collect(),
            ..Trace::default()
        };
        Reads::from_trace(trace, &root.join("builds/one"), &root.join("repositories"))
    }

    #[test]
    fn every_link_and_directory_on_the_way_is_noted() {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().canonicalize().unwrap();
        let tree = build(&root).join("tree");
        let follow = |path: &str| {
            let found = reads(&root, &[(tree.join(path), Access::READ)]);
            assert_eq!(found.doubt, None);
            let places = found.places.into_iter();
            let place = |(place, access): (String, Access)| {
                format!("{place}{}", if access.read { " r" } else { "" })
            };
            places.map(place).collect::<Vec<_>>()
        };
        let way = ["tree", "tree/link r", "tree/real", "tree/real/data r"];
        assert_eq!(follow("link/data"), way);
        assert_eq!(follow("link/deep/../data")[..3], way[..3]);
        assert_eq!(
            follow("alias"),
            [
                "tree",
                "tree/alias r",
                "tree/link r",
                "tree/real",
                "tree/real/data r"
            ]
        );
        assert_eq!(
            follow("absent/x"),
            ["tree", "tree/absent", "tree/absent/x r"]
        );
        assert_eq!(follow("loop"), ["tree", "tree/loop r"]);
        // The kernel runs the interpreter of a script.
        assert!(follow("script").contains(&"tree/real/interpreter r".to_owned()));
        // Files elsewhere are the same for all commits.
        assert_eq!(
            reads(&root, &[("/etc/passwd".into(), Access::READ)])
                .places
                .len(),
            0
        );
    }

    #[test]
    fn a_link_elsewhere_that_leads_into_a_build_is_in_doubt() {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().canonicalize().unwrap();
        let tree = build(&root).join("tree");
        symlink(&tree, root.join("current")).unwrap();
        symlink(tree.join("real/data"), root.join("data")).unwrap();
        symlink(root.join("current"), root.join("again")).unwrap();
        symlink(root.join("builds/other"), root.join("other")).unwrap();
        symlink("/usr", root.join("usr")).unwrap();
        for path in [
            "current/real/data",
            "current",
            "data",
            "again/missing",
            "other/tree/x",
        ] {
            for access in [
                Access::LOOKED_UP,
                Access::SIZED,
                Access::LOADED,
                Access::READ,
            ] {
                let doubt = reads(&root, &[(root.join(path), access)]).doubt;
                let doubt = doubt.unwrap_or_default();
                assert!(doubt.contains("a link outside"), "{path}: {doubt}");
            }
        }
        let found = reads(&root, &[(root.join("usr/bin/env"), Access::LOOKED_UP)]);
        assert_eq!(found.doubt, None);
        let real = Path::new("/usr/bin/env").canonicalize().unwrap();
        assert!(found.seen.contains(&real), "{:?}", found.seen);
    }

    #[test]
    fn what_tells_commits_apart_is_in_doubt() {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().canonicalize().unwrap();
        let tree = build(&root).join("tree");
        let doubt = |path: PathBuf, access| reads(&root, &[(path, access)]).doubt;
        let head = root.join("repositories/r/worktrees/tree/HEAD");
        for path in [tree.join(".git"), tree.join("real/.git"), head] {
            assert!(doubt(path.clone(), Access::READ).unwrap().contains("git"));
            assert_eq!(doubt(path, Access::LOOKED_UP), None);
        }
        let other = root.join("builds/other/tree/bench");
        assert!(
            doubt(other, Access::READ)
                .unwrap()
                .contains("another build")
        );
        assert_eq!(doubt(tree.join("real/data"), Access::READ), None);
        // Cargo looks there for a workspace.
        assert_eq!(doubt(root.join("builds/Cargo.toml"), Access::READ), None);
    }

    #[test]
    fn what_the_kernel_follows_by_itself_is_in_doubt() {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().canonicalize().unwrap();
        let tree = build(&root).join("tree");
        let doubt = |change: &dyn Fn(&mut Trace)| {
            let mut trace = Trace::default();
            change(&mut trace);
            Reads::from_trace(trace, &root.join("builds/one"), &root.join("repositories")).doubt
        };
        let script = tree.join("relative");
        fs::write(&script, "#!real/interpreter\n").unwrap();
        let execute = |trace: &mut Trace| {
            trace.paths.insert(script.clone(), Access::READ);
            trace.executed.insert(script.clone());
        };
        assert!(doubt(&execute).unwrap().contains("interpreter"));
        // A crate in Rust may begin so, and is only read.
        let read = |trace: &mut Trace| {
            trace.paths.insert(script.clone(), Access::READ);
        };
        assert_eq!(doubt(&read), None);

        let gone = |trace: &mut Trace| {
            trace.links.insert(tree.join("gone"));
        };
        assert!(doubt(&gone).unwrap().contains("symbolic link"));
        let stays = |trace: &mut Trace| {
            trace.links.insert(tree.join("link"));
        };
        assert_eq!(doubt(&stays), None);
    }

    #[test]
    fn a_file_elsewhere_is_known_by_its_size_and_time() {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().canonicalize().unwrap();
        build(&root);
        let script = root.join("script");
        fs::write(&script, "1").unwrap();
        let outside = reads(&root, &[(script.clone(), Access::READ)]).outside;
        assert!(outside[script.to_str().unwrap()].is_still(script.to_str().unwrap()));
        fs::write(&script, "12").unwrap();
        assert!(!outside[script.to_str().unwrap()].is_still(script.to_str().unwrap()));
        fs::remove_file(&script).unwrap();
        assert!(!outside[script.to_str().unwrap()].is_still(script.to_str().unwrap()));
    }
}
