//! The lines that a commit changes, matched with functions.
//!
//! ```text
//! diff --git a/src/lexer.rs b/src/lexer.rs
//! --- a/src/lexer.rs
//! +++ b/src/lexer.rs
//! @@ -88,2 +88,3 @@ fn next_token(&mut self) -> Token {
//! ```
//!
//! A profile has the beginning of a function, at best, and never its end. So a change is in a
//! function when it lies between its first line and that of the next function of the file, or when
//! git names the function in the head of the change, or a changed line does. Where a profile has no
//! files, like those of perf, only names are left; they may be those of another function of the
//! same name.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Explanation, FunctionChange};

/// The shortest name that is looked for in the text of changes: a shorter one is found
/// everywhere.
const SHORTEST_NAME: usize = 3;

/// The changes of a commit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceDiff {
    files: Vec<File>,
}

/// The changes in a file.
#[derive(Clone, Debug, Default, PartialEq)]
struct File {
    /// The path from the top of the repository; the last one of a file that is removed.
    path: String,
    /// Lines before the change and after it.
    hunks: Vec<[Range<u32>; 2]>,
    /// Every identifier in the changed lines, and in the lines by which git names them.
    words: BTreeSet<String>,
}

/// The match of a function in a diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DiffMatch {
    /// The certainty of the match.
    pub kind: DiffMatchKind,
    /// The file in the repository.
    pub file: String,
}

/// The certainty that a diff changes a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DiffMatchKind {
    /// It changes lines of the function.
    Lines,
    /// It changes lines in which the function's name stands, and the profile has no file.
    Name,
    /// It changes other lines of the function's file.
    File,
}

impl SourceDiff {
    /// Reads the output of `git diff --unified=0` and `git log --patch`. Other text is passed over:
    /// a text without a diff gives an empty one.
    ///
    /// ```
    /// use pinpoint_profile::SourceDiff;
    ///
    /// let text = "--- a/x.c\n+++ b/x.c\n@@ -7 +7,2 @@ int hash(int n)\n-  a();\n+  a();\n+  b();\n";
    /// assert_eq!(SourceDiff::parse(text).paths().collect::<Vec<_>>(), ["x.c"]);
    /// ```
    pub fn parse(text: &str) -> Self {
        let mut files: Vec<File> = Vec::new();
        let mut before = None;
        // Lines of the hunk that are still to come: they may look like anything.
        let mut left = 0;
        for line in text.lines() {
            if left > 0 {
                if let (Some(file), Some(changed)) =
                    (files.last_mut(), line.strip_prefix(['-', '+']))
                {
                    left -= 1;
                    file.words.extend(identifiers(changed).map(str::to_owned));
                } else if !line.starts_with('\\') {
                    left = 0;
                }
                continue;
            }
            if let Some(path) = line.strip_prefix("--- ") {
                before = path_of(path);
            } else if let Some(path) = line.strip_prefix("+++ ") {
                if let Some(path) = path_of(path).or(before.take()) {
                    files.push(File {
                        path,
                        ..File::default()
                    });
                }
            } else if let Some((hunk, context)) = hunk(line)
                && let Some(file) = files.last_mut()
            {
                left = hunk.iter().map(|lines| lines.len()).sum();
                file.hunks.push(hunk);
                file.words.extend(identifiers(context).map(str::to_owned));
            }
        }
        Self { files }
    }

    /// The files that it changes.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| file.path.as_str())
    }

    /// Marks the functions of an explanation that this changes.
    ///
    /// Cost: the functions times the files.
    pub fn mark(&self, explanation: &mut Explanation) {
        let functions = &explanation.functions;
        let matches: Vec<_> = (functions.iter())
            .map(|function| self.find(function, functions))
            .collect();
        for (function, found) in explanation.functions.iter_mut().zip(matches) {
            function.in_diff = found;
        }
    }

    fn find(&self, change: &FunctionChange, all: &[FunctionChange]) -> Option<DiffMatch> {
        let function = &change.function;
        let name = short_name(&function.name).filter(|name| name.len() >= SHORTEST_NAME);
        let is_named = |file: &&File| name.is_some_and(|name| file.words.contains(name));
        let found = |kind, file: &File| {
            let file = file.path.clone();
            Some(DiffMatch { kind, file })
        };
        let Some(path) = &function.file else {
            let file = self.files.iter().find(is_named)?;
            return found(DiffMatchKind::Name, file);
        };
        let file = { self.files.iter() }.find(|file| is_same_file(path, &file.path))?;
        let lines = function.line.and_then(|line| {
            let starts = all
                .iter()
                .filter(|it| it.function.file.as_ref() == Some(path));
            let next = starts
                .filter_map(|it| it.function.line)
                .filter(|it| *it > line);
            Some(line..next.min()?)
        });
        // A line is that of the base where the function is in both.
        let side = usize::from(change.own.base == 0.0);
        let is_within = lines.is_some_and(|lines| {
            let mut hunks = file.hunks.iter();
            hunks.any(|hunk| {
                hunk[side].start < lines.end
                    && lines.start < hunk[side].end.max(hunk[side].start + 1)
            })
        });
        match is_within || is_named(&file) {
            true => found(DiffMatchKind::Lines, file),
            false => found(DiffMatchKind::File, file),
        }
    }
}

/// `a/src/lexer.rs`; absent for `/dev/null`. Git quotes paths with unusual signs: those
/// match no function.
fn path_of(text: &str) -> Option<String> {
    let text = text.split('\t').next().unwrap_or(text);
    let path = text
        .strip_prefix("a/")
        .or_else(|| text.strip_prefix("b/"))?;
    Some(path.to_owned())
}

/// `@@ -88,2 +88,3 @@ fn next_token(…`: the lines on both sides, and git's name for them.
fn hunk(line: &str) -> Option<([Range<u32>; 2], &str)> {
    let (places, context) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (before, after) = places.split_once(" +")?;
    let range = |text: &str| {
        let (start, length) = text.split_once(',').unwrap_or((text, "1"));
        let start: u32 = start.parse().ok()?;
        Some(start..start.checked_add(length.parse().ok()?)?)
    };
    Some(([range(before)?, range(after)?], context))
}

fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !is_part(c))
        .filter(|word| word.starts_with(|c: char| !c.is_numeric()))
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

fn ends_a_name(text: &str) -> bool {
    text.ends_with(|c: char| is_part(c) || c == '>')
}

/// The name of a function without its scope and parameters: `next_token` of
/// `<Lexer as Tokens>::next_token` and of `Lexer::next_token(int) const`. No source has a name like
/// `(garbage collector)`.
fn short_name(name: &str) -> Option<&str> {
    if name.starts_with('(') && name.find(')') == Some(name.len() - 1) {
        return None;
    }
    let mut depth = 0_usize;
    let mut end = name.len();
    // From the left to the first bracket that follows a name, outside of all others.
    for (at, c) in name.char_indices() {
        match c {
            '(' if depth == 0 && name.get(..at).is_some_and(ends_a_name) => {
                end = at;
                break;
            }
            '(' | '<' | '[' => depth += 1,
            ')' | '>' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    let name = name.get(..end).unwrap_or(name);
    // Of a template, without its arguments.
    let name = match (name.strip_suffix('>'), name.find('<')) {
        (Some(_), Some(at)) if at > 0 => name.get(..at).unwrap_or(name),
        _ => name,
    };
    name.rsplit(|c: char| !is_part(c))
        .find(|part| !part.is_empty())
}

/// Returns true if one of the paths is the end of the other, part by part.
fn is_same_file(one: &str, other: &str) -> bool {
    let parts = |path: &str| -> Vec<String> {
        let parts = path
            .rsplit(['/', '\\'])
            .filter(|part| !matches!(*part, "" | "."));
        parts.map(str::to_owned).collect()
    };
    let (one, other) = (parts(one), parts(other));
    let shared = one.len().min(other.len());
    shared > 0 && one[..shared] == other[..shared]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExplainOptions, Profile, explain};

    const DIFF: &str = "\
commit 1
diff --git a/src/words.py b/src/words.py
index 1..2 100644
--- a/src/words.py
+++ b/src/words.py
@@ -12 +12,2 @@ def unrelated():
--- removed
+-- added
+++ twice
@@ -40,0 +42 @@ def tokenize(text):
+    pass
diff --git a/gone.py b/gone.py
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-def old_function(): pass
\\ No newline at end of file
";

    /// The matches of functions in the diff, each by name, file and line.
    fn kinds(functions: &[(&str, &str, u32)]) -> Vec<Option<DiffMatchKind>> {
        let folded: Vec<String> = (functions.iter())
            .map(|(name, file, _)| match *file {
                "" => format!("{name} 1\n"),
                file => format!("{name} ({file}:1) 1\n"),
            })
            .collect();
        let profile = Profile::read(folded.concat().as_bytes()).unwrap();
        let options = ExplainOptions::default();
        let mut explanation = explain(
            std::slice::from_ref(&profile),
            std::slice::from_ref(&profile),
            &options,
        )
        .unwrap();
        let line = |name: &str| functions.iter().find(|it| it.0 == name).map(|it| it.2);
        for function in &mut explanation.functions {
            function.function.line = line(&function.function.name);
        }
        SourceDiff::parse(DIFF).mark(&mut explanation);
        let kind = |name: &str| {
            let mut all = explanation.functions.iter();
            let found = all.find(|it| it.function.name == name).unwrap();
            found.in_diff.as_ref().map(|found| found.kind)
        };
        functions.iter().map(|(name, ..)| kind(name)).collect()
    }

    #[test]
    fn lines_of_a_change_that_look_like_its_head_are_no_head() {
        let diff = SourceDiff::parse(DIFF);
        assert_eq!(
            diff.paths().collect::<Vec<_>>(),
            ["src/words.py", "gone.py"]
        );
        assert_eq!(diff.files[0].hunks, [[12..13, 12..14], [40..40, 42..43]]);
        assert!(diff.files[0].words.contains("twice"));
    }

    #[test]
    fn a_function_is_found_by_lines_by_name_and_by_file() {
        use DiffMatchKind::{File, Lines, Name};
        let found = kinds(&[
            ("alpha", "/w/src/words.py", 10),
            ("beta", "/w/src/words.py", 14),
            ("elsewhere", "/w/src/other.py", 12),
            ("old_function", "", 1),
            ("tokenize", "/w/src/words.py", 30),
            ("ze", "/w/src/words.py", 90),
        ]);
        assert_eq!(
            found,
            [
                Some(Lines),
                Some(File),
                None,
                Some(Name),
                Some(Lines),
                Some(File)
            ]
        );
    }

    #[test]
    fn names_of_all_languages_have_a_short_form() {
        for (name, short) in [
            ("hash", "hash"),
            ("core::iter::Map<I, F>::next", "next"),
            ("<Lexer as Tokens>::next_token", "next_token"),
            ("void std::sort<int*>(int*, int*)", "sort"),
            ("Lexer::next_token(int) const", "next_token"),
            ("main.(*Parser).parse", "parse"),
            ("Words.count", "count"),
            ("$on", "$on"),
            ("(anonymous namespace)::next(int)", "next"),
        ] {
            assert_eq!(short_name(name), Some(short), "{name}");
        }
        for name in ["", "()", "(garbage collector)"] {
            assert_eq!(short_name(name), None, "{name}");
        }
    }

    #[test]
    fn damaged_text_is_no_diff() {
        for text in [
            "",
            "@@ -1 +1 @@",
            "+++ b/x\n@@ -9999999999 +1 @@",
            "--- a/x\n+++",
            "+++ b/x\n@@ -4294967295,9 +1 @@",
        ] {
            assert!(
                SourceDiff::parse(text)
                    .files
                    .iter()
                    .all(|file| file.hunks.is_empty())
            );
        }
    }
}
