//! The files that the commits of a range touch.

use std::collections::HashMap;
use std::io::Read;
use std::process::Stdio;
use std::thread;

use pinpoint_core::suspicion::{FileKind, Touched};

use crate::git::commit_diff::{ALL_PARENTS, FIRST_PARENT};
use crate::git::git_command::failed;
use crate::git::repository::Repository;
use crate::git::repository_error::RepositoryError;

/// The most that git may answer, in bytes: some 250,000 files, in five seconds.
const MAX_ANSWER_BYTES: u64 = 32 << 20;
/// The mode of a submodule.
const GITLINK: &str = "160000";

impl Repository {
    /// The files that each commit between two touches against its first parent, oldest first, the
    /// commit `bad` last: of the commits that [`steps_between`](Self::steps_between) names for
    /// these paths. Absent when there are too many files.
    ///
    /// It reads directories, not files: among 10,000 commits it takes half a second.
    ///
    /// # Errors
    ///
    /// As [`steps_between`](Self::steps_between); [`RepositoryError::Git`] also when a partial
    /// clone lacks directories.
    pub fn touched_between(
        &self,
        good: &str,
        bad: &str,
        paths: &[String],
    ) -> Result<Option<Vec<Touched>>, RepositoryError> {
        let commits = self.steps_between(good, bad, paths)?;
        let mut joints = Vec::new();
        match &self.range_check(good, bad)?[..] {
            [base] => {
                joints.extend(self.joints(base, good)?);
                joints.extend(self.joints(base, bad)?);
            }
            _ => joints.extend(self.joints(good, bad)?),
        }
        // Most lines follow first parents alone; for others every commit is examined.
        for options in [&FIRST_PARENT[..], &ALL_PARENTS] {
            let Some(answer) = self.raw_log(options, good, bad)? else {
                return Ok(None);
            };
            let by_commit = read(&answer).ok_or_else(|| RepositoryError::Answer {
                command: "log --raw".into(),
                path: self.path().into(),
                answer: answer.chars().take(200).collect(),
            })?;
            let touched = commits.iter().map(|commit| {
                let mut touched = by_commit.get(&**commit).copied()?;
                // It joins its history with the past of the line.
                if joints.contains(commit) {
                    touched.add(FileKind::Code);
                }
                Some(touched)
            });
            if let Some(touched) = touched.collect() {
                return Ok(Some(touched));
            }
        }
        Ok(None)
    }

    /// The commits of a range, each with the files it changes; absent when it is longer than
    /// [`MAX_ANSWER_BYTES`].
    #[expect(clippy::disallowed_methods, reason = "git, which ends by itself")]
    fn raw_log(
        &self,
        options: &[&str],
        good: &str,
        bad: &str,
    ) -> Result<Option<String>, RepositoryError> {
        let bases = self.merge_bases(good, bad)?;
        let excluded: Vec<String> = bases.iter().map(|base| format!("^{base}")).collect();
        let mut arguments = options.to_vec();
        arguments.extend([
            "--raw",
            "--abbrev=4",
            "-z",
            "--format=%H",
            "--no-renames",
            "--ignore-submodules=none",
            "--no-show-signature",
            good,
            bad,
        ]);
        arguments.extend(excluded.iter().map(String::as_str));
        arguments.push("--");
        let mut child = (self.git().args(&arguments))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(RepositoryError::not_started)?;
        // Read concurrently: git waits until its errors are read.
        let errors = child.stderr.take().map(|mut stderr| {
            thread::spawn(move || {
                let mut errors = Vec::new();
                let _ = stderr.read_to_end(&mut errors);
                errors
            })
        });
        let mut answer = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            (stdout.take(MAX_ANSWER_BYTES).read_to_end(&mut answer))
                .map_err(RepositoryError::NotStarted)?;
        }
        let is_too_long = answer.len() as u64 == MAX_ANSWER_BYTES;
        if is_too_long {
            // It would end anyway: the rest is not read.
            let _ = child.kill();
        }
        let mut output = (child.wait_with_output()).map_err(RepositoryError::NotStarted)?;
        output.stderr = (errors.and_then(|errors| errors.join().ok())).unwrap_or_default();
        match (is_too_long, output.status.success()) {
            (true, _) => Ok(None),
            (false, true) => Ok(Some(String::from_utf8_lossy(&answer).into_owned())),
            (false, false) => Err(failed(&["log", "--raw"], self.path(), &output)),
        }
    }
}

/// Reads a hash, and for each file `:MODE MODE HASH HASH STATUS` and its path, all of them with a
/// NUL after them and some with a line break before. Absent for other formats.
fn read(answer: &str) -> Option<HashMap<&str, Touched>> {
    let mut by_commit = HashMap::new();
    let mut touched = &mut Touched::default();
    let mut fields = answer.split_terminator('\0').map(str::trim_start);
    while let Some(field) = fields.next() {
        match field.strip_prefix(':') {
            Some(file) => {
                let mut modes = file.split(' ').take(2);
                let path = fields.next()?;
                touched.add(match modes.any(|mode| mode == GITLINK) {
                    true => FileKind::Build,
                    false => FileKind::of(path),
                });
            }
            None if field.bytes().all(|digit| digit.is_ascii_hexdigit()) => {
                touched = by_commit.entry(field).or_default();
            }
            None => return None,
        }
    }
    Some(by_commit)
}
