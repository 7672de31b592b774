//! A module taken from a directory, in `go.mod`.
//!
//! The file is described in <https://go.dev/ref/mod#go-mod-file>. A `replace`
//! without a version holds for every version of the module, but one with the
//! version that is used goes first, and two of the same kind are an error: existing ones
//! for the module are removed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::LocalError;
use crate::git::git_command;

/// A larger file is not read into memory, and names no module.
const MAX_GO_MOD_BYTES: u64 = 16 << 20;

/// The file with `module` replaced by a directory, given by its absolute path.
pub(super) fn replace(file: &str, module: &str, directory: &Path) -> String {
    let mut text = String::with_capacity(file.len());
    let mut in_block = false;
    for line in file.lines() {
        let words = words(line);
        let replaced = match words.as_slice() {
            [first, second, ..] if *first == "replace" && *second == "(" => {
                in_block = true;
                None
            }
            [first, name, ..] if !in_block && *first == "replace" => Some(*name),
            [first, ..] if *first == ")" => {
                in_block = false;
                None
            }
            [name, ..] if in_block => Some(*name),
            _ => None,
        };
        if replaced.map(unquoted) != Some(module) {
            text.extend([line, "\n"]);
        }
    }
    let directory = directory.to_string_lossy();
    let quoted = directory.replace('\\', "\\\\").replace('"', "\\\"");
    text.extend(["replace ", module, " => \"", &quoted, "\"\n"]);
    text
}

/// The directory of a module in a checkout: a repository may hold several.
///
/// One from before modules has no `go.mod`; a directory needs one to replace a
/// module, so it is written.
pub(super) fn directory_of(checkout: &Path, name: &str) -> Result<Option<PathBuf>, LocalError> {
    for path in git_command::files(checkout, &["go.mod", "*/go.mod"])? {
        let path = checkout.join(path);
        // Files that Go could not read either are not modules.
        let is_fit =
            |metadata: &fs::Metadata| metadata.is_file() && metadata.len() <= MAX_GO_MOD_BYTES;
        if !fs::symlink_metadata(&path).is_ok_and(|metadata| is_fit(&metadata)) {
            continue;
        }
        let file = fs::read(&path).map_err(LocalError::io("read", &path))?;
        if str::from_utf8(&file).is_ok_and(|file| module(file) == Some(name)) {
            return Ok(path.parent().map(Path::to_owned));
        }
    }
    let path = checkout.join("go.mod");
    // A link would be written through, wherever it leads.
    if fs::symlink_metadata(&path).is_ok() {
        return Ok(None);
    }
    fs::write(&path, format!("module {name}\n")).map_err(LocalError::io("write", &path))?;
    Ok(Some(checkout.to_owned()))
}

/// The name of the module whose file this is.
fn module(file: &str) -> Option<&str> {
    file.lines().find_map(|line| match words(line).as_slice() {
        [first, name, ..] if *first == "module" => Some(unquoted(name)),
        _ => None,
    })
}

/// The words of a line, up to a comment. A `(` need not stand apart.
fn words(line: &str) -> Vec<&str> {
    let code = line.split_once("//").map_or(line, |(code, _comment)| code);
    let code = code.trim();
    if let Some(word) = code.strip_suffix('(') {
        return vec![word.trim(), "("];
    }
    code.split_ascii_whitespace().collect()
}

fn unquoted(word: &str) -> &str {
    word.trim_matches(['"', '`'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replacement_is_added() {
        let file = "module example.org/main // the name\n\ngo 1.21\n\nrequire example.org/a v1.0.0";
        assert_eq!(module(file), Some("example.org/main"));
        assert_eq!(
            replace(file, "example.org/a", Path::new("/with blank/\"a\"")),
            format!("{file}\nreplace example.org/a => \"/with blank/\\\"a\\\"\"\n")
        );
    }

    #[test]
    fn replacements_that_are_there_make_way() {
        let file = "module \"m\"
require (
\texample.org/a v1.0.0
)
replace example.org/a v1.0.0 => ./a
replace \"example.org/a\" => example.org/fork v1.2.3 // a while
replace example.org/ab => ./ab
replace(
\texample.org/a v1.1.0 => ../a
\texample.org/c => ../c
)
exclude example.org/a v1.3.0
";
        assert_eq!(module(file), Some("m"));
        assert_eq!(
            replace(file, "example.org/a", Path::new("/x")),
            "module \"m\"
require (
\texample.org/a v1.0.0
)
replace example.org/ab => ./ab
replace(
\texample.org/c => ../c
)
exclude example.org/a v1.3.0
replace example.org/a => \"/x\"
"
        );
    }

    #[test]
    fn a_file_without_a_name_has_none() {
        assert_eq!(module(""), None);
        assert_eq!(module("go 1.21\nmodule\n"), None);
    }
}
