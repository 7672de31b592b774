//! Repositories of real local git, read whole.

use std::collections::{HashMap, HashSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// A commit.
#[derive(Debug, Clone)]
pub struct Commit {
    /// The full hash.
    pub hash: String,
    /// The hash of its tree.
    pub tree: String,
    /// The first one first.
    pub parents: Vec<String>,
    /// Name, address and time of author and committer.
    pub people: [[String; 3]; 2],
    /// The whole message.
    pub message: String,
}

/// An entry of a folder: mode, type, hash, name.
pub type Entry = (String, String, String, String);

/// A bare repository. Its commits are read once; its files when they are asked for.
#[derive(Debug)]
pub struct Repository {
    path: PathBuf,
    commits: HashMap<String, Commit>,
    /// Newest first, no commit before its children.
    order: Vec<String>,
    trees: Mutex<HashMap<String, Vec<Entry>>>,
    blobs: Mutex<HashMap<String, Vec<u8>>>,
    names: Mutex<HashMap<String, Option<String>>>,
}

const FORMAT: &str = "--format=%H%x1f%T%x1f%P%x1f%an%x1f%ae%x1f%ad%x1f%cn%x1f%ce%x1f%cd%x1f%B%x1e";

/// Runs git and gives what it prints.
#[expect(clippy::disallowed_methods, reason = "tests wait for git")]
fn git(path: &Path, arguments: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    let mut child = Command::new("git")
        .arg("-C")
        .arg(path)
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(input).ok()?;
    let output = child.wait_with_output().ok()?;
    output.status.success().then_some(output.stdout)
}

impl Repository {
    /// Makes a bare repository of a stream of `git fast-import`, and reads it.
    ///
    /// # Panics
    ///
    /// When git does not take the stream.
    pub fn import(path: &Path, stream: &str) -> Self {
        std::fs::create_dir_all(path).expect("the folder of a repository");
        git(
            path,
            &["init", "--quiet", "--bare", "--initial-branch=main", "."],
            b"",
        )
        .expect("git makes a repository");
        git(path, &["fast-import", "--quiet"], stream.as_bytes()).expect("git takes the commits");
        Self::open(path)
    }

    /// Reads the commits of a repository.
    ///
    /// # Panics
    ///
    /// When git can't read it.
    pub fn open(path: &Path) -> Self {
        let log = [
            "log",
            "--all",
            "--topo-order",
            "--date=format:%a %b %d %H:%M:%S %Y %z",
            FORMAT,
        ];
        let log = git(path, &log, b"").expect("git reads the commits");
        let log = String::from_utf8_lossy(&log);
        let (mut commits, mut order) = (HashMap::new(), Vec::new());
        for record in log.split('\x1e') {
            let fields: Vec<&str> = record.trim_start_matches('\n').split('\x1f').collect();
            let [hash, tree, parents, an, ae, ad, cn, ce, cd, message] = fields[..] else {
                continue;
            };
            order.push(hash.to_owned());
            let commit = Commit {
                hash: hash.into(),
                tree: tree.into(),
                parents: parents.split_whitespace().map(str::to_owned).collect(),
                people: [[an, ae, ad], [cn, ce, cd]].map(|person| person.map(str::to_owned)),
                message: message.trim_end_matches('\n').to_owned() + "\n",
            };
            commits.insert(hash.into(), commit);
        }
        Self {
            path: path.into(),
            commits,
            order,
            trees: Mutex::default(),
            blobs: Mutex::default(),
            names: Mutex::default(),
        }
    }

    /// A commit by its full hash.
    pub fn commit(&self, hash: &str) -> Option<&Commit> {
        self.commits.get(hash)
    }

    /// The commit that a name means.
    pub fn resolve(&self, name: &str) -> Option<&Commit> {
        if let Some(commit) = self.commits.get(name) {
            return Some(commit);
        }
        let mut names = self.names.lock().expect("nobody panics");
        let hash = names.entry(name.to_owned()).or_insert_with(|| {
            let name = format!("{name}^{{commit}}");
            let hash = git(
                &self.path,
                &["rev-parse", "--verify", "--end-of-options", &name],
                b"",
            )?;
            Some(String::from_utf8_lossy(&hash).trim().to_owned())
        });
        self.commits.get(hash.as_deref()?)
    }

    /// The line of first parents of a commit, the commit first.
    pub fn line(&self, hash: &str) -> Vec<&Commit> {
        let next = |commit: &&Commit| self.commits.get(commit.parents.first()?);
        std::iter::successors(self.commits.get(hash), next).collect()
    }

    /// As JGit's log shows them, newest first: with first parents alone, it follows those of both
    /// ends, so that what the lower one merged is not left out.
    pub fn log(&self, without: Option<&str>, of: &str, first_parent: bool) -> Vec<&Commit> {
        let without: HashSet<&str> = match without {
            Some(hash) if first_parent => self.line(hash).iter().map(|it| &*it.hash).collect(),
            Some(hash) => self.reached(hash),
            None => HashSet::new(),
        };
        let is_left = |commit: &&Commit| !without.contains(&*commit.hash);
        if first_parent {
            return self.line(of).into_iter().take_while(is_left).collect();
        }
        let of = self.reached(of);
        let commits = self.order.iter().filter_map(|hash| self.commits.get(hash));
        commits
            .filter(|commit| of.contains(&*commit.hash))
            .filter(is_left)
            .collect()
    }

    fn reached(&self, hash: &str) -> HashSet<&str> {
        let mut reached = HashSet::new();
        let mut open: Vec<&Commit> = self.commits.get(hash).into_iter().collect();
        while let Some(commit) = open.pop() {
            if reached.insert(&*commit.hash) {
                open.extend(
                    commit
                        .parents
                        .iter()
                        .filter_map(|hash| self.commits.get(hash)),
                );
            }
        }
        reached
    }

    /// The entries of a tree.
    pub fn tree(&self, hash: &str) -> Vec<Entry> {
        let mut trees = self.trees.lock().expect("nobody panics");
        let list = || {
            let list = git(&self.path, &["ls-tree", "-z", hash], b"").unwrap_or_default();
            let list = String::from_utf8_lossy(&list).into_owned();
            let entries = list.split('\0').filter_map(|entry| {
                let (facts, name) = entry.split_once('\t')?;
                let mut facts = facts.split(' ').map(str::to_owned);
                Some((facts.next()?, facts.next()?, facts.next()?, name.to_owned()))
            });
            entries.collect()
        };
        trees.entry(hash.to_owned()).or_insert_with(list).clone()
    }

    /// The entry at a path of a commit.
    pub fn entry(&self, commit: &Commit, path: &str) -> Option<Entry> {
        let root = ["040000", "tree", &commit.tree, ""]
            .map(str::to_owned)
            .into();
        let parts = path.split('/').filter(|part| !part.is_empty());
        parts.into_iter().try_fold(root, |(_, _, hash, _), part| {
            self.tree(&hash)
                .into_iter()
                .find(|(_, _, _, name)| name == part)
        })
    }

    /// The bytes of a blob.
    pub fn blob(&self, hash: &str) -> Vec<u8> {
        let mut blobs = self.blobs.lock().expect("nobody panics");
        let read = || git(&self.path, &["cat-file", "blob", hash], b"").unwrap_or_default();
        blobs.entry(hash.to_owned()).or_insert_with(read).clone()
    }

    /// A file of a commit, as text.
    pub fn text(&self, commit: &Commit, path: &str) -> Option<String> {
        let (_, kind, hash, _) = self.entry(commit, path)?;
        (kind == "blob").then(|| String::from_utf8_lossy(&self.blob(&hash)).into_owned())
    }
}
