//! `go.mod`.
//!
//! Its grammar, pseudo-versions, and the mapping of module paths and versions to repositories and
//! tags are defined in the Go Modules Reference (<https://go.dev/ref/mod>).

use std::collections::BTreeMap;

use super::dependency::{Dependency, Source};
use super::error::{ManifestError, Problem};
use super::interface::{Manifest, check_size};

/// Reads `go.mod`.
///
/// The path of a dependency is the path of its module, even if replaced. Where the reference
/// determines the repository of a module path (GitHub, Bitbucket, GitLab, `golang.org/x`,
/// `gopkg.in`, and paths with `.git` in them), the dependency is followed: its revision is the hash
/// of a pseudo-version, 12 digits long, or the tag of a version, `v1.2.3` or `directory/v1.2.3`.
/// Elsewhere only a request to the host could determine it, and the module is a [`Source::Package`]
/// of the registry `go`, like a replacement by a local directory.
///
/// A `replace` without a `require` of the same module is also named: modules that others need may
/// be replaced. A dependency's own `go.mod` is ignored: since Go 1.17 this one lists all modules of
/// the build.
#[derive(Debug, Clone, Copy)]
pub struct GoMod;

/// A token and its offset.
type Token<'a> = (usize, &'a str);
type Fault = (usize, Problem);
/// A module path, and the version; `None` means any version.
type Module<'a> = (&'a str, Option<&'a str>);

impl Manifest for GoMod {
    fn file(&self) -> &'static str {
        "go.mod"
    }

    fn read(
        &self,
        file: &str,
        _gitlinks: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, Dependency>, ManifestError> {
        check_size(self.file(), file)?;
        read(file)
            .map_err(|(offset, problem)| ManifestError::at(self.file(), file, offset, problem))
    }
}

fn read(file: &str) -> Result<BTreeMap<String, Dependency>, Fault> {
    let mut required: BTreeMap<&str, &str> = BTreeMap::new();
    let mut replaced: BTreeMap<Module<'_>, Module<'_>> = BTreeMap::new();
    // The directive whose block is open.
    let mut block: Option<Token<'_>> = None;
    for (start, line) in lines(file) {
        let tokens = tokens(start, line)?;
        let (directive, arguments) = match (block, tokens.as_slice()) {
            (_, []) => continue,
            (Some(_), [(_, ")")]) => {
                block = None;
                continue;
            }
            (Some(directive), arguments) => (directive, arguments),
            (None, [directive, (_, "(")]) => {
                block = Some(*directive);
                continue;
            }
            (None, [directive, arguments @ ..]) => (*directive, arguments),
        };
        match directive.1 {
            "require" => {
                let [(_, path), (offset, version)] = arguments else {
                    return syntax(directive.0, "`require` takes a module path and a version");
                };
                if required
                    .insert(path, version)
                    .is_some_and(|known| known != *version)
                {
                    let problem = format!("`{path}` is required in two versions");
                    return Err((*offset, Problem::Meaning(problem)));
                }
            }
            "replace" => {
                let (from, to) = replacement(directive.0, arguments)?;
                if replaced.insert(from, to).is_some_and(|known| known != to) {
                    let problem = format!("`{}` is replaced twice", from.0);
                    return Err((directive.0, Problem::Meaning(problem)));
                }
            }
            "module" | "go" | "toolchain" | "godebug" | "exclude" | "retract" | "tool"
            | "ignore" => {}
            other => {
                let problem = Problem::Unsupported(format!("the directive `{other}`"));
                return Err((directive.0, problem));
            }
        }
    }
    if let Some((offset, directive)) = block {
        return syntax(offset, format!("the block of `{directive}` does not end"));
    }

    let mut dependencies = BTreeMap::new();
    for (path, version) in &required {
        let (path_taken, version_taken) = replaced
            .get(&(*path, Some(*version)))
            .or_else(|| replaced.get(&(*path, None)))
            .copied()
            .unwrap_or((*path, Some(*version)));
        dependencies.insert((*path).to_owned(), source(path_taken, version_taken).into());
    }
    for ((path, version), (path_taken, version_taken)) in replaced {
        if !required.contains_key(path) {
            let key = match version {
                None => path.to_owned(),
                Some(version) => format!("{path}@{version}"),
            };
            dependencies.insert(key, source(path_taken, version_taken).into());
        }
    }
    Ok(dependencies)
}

fn syntax<T>(offset: usize, what: impl Into<String>) -> Result<T, Fault> {
    Err((offset, Problem::Syntax(what.into())))
}

/// The lines of a file, with their offsets.
fn lines(file: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    file.split_inclusive('\n').map(move |line| {
        let offset = start;
        start += line.len();
        (offset, line)
    })
}

/// The tokens of a line, without its comment.
fn tokens(start: usize, line: &str) -> Result<Vec<Token<'_>>, Fault> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(next) = line[at..].chars().next() {
        let rest = &line[at..];
        let length = match next {
            ' ' | '\t' | '\r' | '\n' => {
                at += 1;
                continue;
            }
            _ if rest.starts_with("//") => break,
            '(' | ')' | '[' | ']' | '{' | '}' | ',' => 1,
            '"' | '`' => {
                let Some(end) = rest[1..].find(next) else {
                    return syntax(start + at, "this string does not end on its line");
                };
                let text = &rest[1..=end];
                if next == '"' && text.contains('\\') {
                    let problem = Problem::Unsupported("an escape in a string".into());
                    return Err((start + at, problem));
                }
                tokens.push((start + at, text));
                at += end + 2;
                continue;
            }
            _ => {
                let end = rest
                    .find([
                        ' ', '\t', '\r', '\n', '(', ')', '[', ']', '{', '}', ',', '"', '`',
                    ])
                    .unwrap_or(rest.len());
                rest[..end].find("//").unwrap_or(end)
            }
        };
        if rest[..length].contains("/*") {
            return syntax(start + at, "only `//` begins a comment");
        }
        tokens.push((start + at, &rest[..length]));
        at += length;
    }
    Ok(tokens)
}

/// `old [version] => new [version]`.
fn replacement<'a>(
    offset: usize,
    arguments: &[Token<'a>],
) -> Result<(Module<'a>, Module<'a>), Fault> {
    let module = |tokens: &[Token<'a>]| match tokens {
        [(_, path)] => Some((*path, None)),
        [(_, path), (_, version)] => Some((*path, Some(*version))),
        _ => None,
    };
    let arrow = arguments.iter().position(|(_, token)| *token == "=>");
    let Some((Some(from), Some(to))) =
        arrow.map(|arrow| (module(&arguments[..arrow]), module(&arguments[arrow + 1..])))
    else {
        return syntax(
            offset,
            "`replace` takes a module path, `=>`, and a module path or a directory",
        );
    };
    let directory = to.0.starts_with(['.', '/']);
    if to.1.is_some() == directory {
        return syntax(
            offset,
            "a replacement is a module path with a version, or a directory without",
        );
    }
    Ok((from, to))
}

/// The source of a module. Without a version it is a local directory.
fn source(path: &str, version: Option<&str>) -> Source {
    let git = version.and_then(|version| {
        let (url, directory) = repository(path)?;
        Some(Source::Git {
            url,
            revision: revision(version, directory)?,
        })
    });
    git.unwrap_or_else(|| Source::Package {
        registry: "go".into(),
        name: path.into(),
        version: version.unwrap_or("local").into(),
    })
}

/// The URL of the repository of a module, and the directory in it that holds the module. `None`
/// where only the host knows it.
fn repository(path: &str) -> Option<(String, &str)> {
    let path = without_major(path);
    if let Some(name) = path.strip_prefix("golang.org/x/") {
        let (name, directory) = name.split_once('/').unwrap_or((name, ""));
        return Some((format!("https://go.googlesource.com/{name}"), directory));
    }
    if let Some(name) = path.strip_prefix("gopkg.in/") {
        let (name, _major) = name.rsplit_once(".v")?;
        return Some(match name.contains('/') {
            true => (format!("https://github.com/{name}"), ""),
            false => (format!("https://github.com/go-{name}/{name}"), ""),
        });
    }
    let host = path.split('/').next()?;
    let end = if matches!(host, "github.com" | "bitbucket.org" | "gitlab.com") {
        // Two names follow the host.
        let mut slashes = path.match_indices('/').map(|(at, _)| at);
        let second = slashes.nth(1)?;
        let end = slashes.next();
        if host == "gitlab.com" && end.is_some() {
            // A directory, or a repository in a group of a group.
            return None;
        }
        if path.len() == second + 1 {
            return None;
        }
        end.unwrap_or(path.len())
    } else {
        let git = path.find(".git/").map(|at| at + 4);
        git.or_else(|| path.ends_with(".git").then_some(path.len()))?
    };
    let directory = path[end..].strip_prefix('/').unwrap_or("");
    Some((format!("https://{}", &path[..end]), directory))
}

/// A module path without the `/v2` at its end.
fn without_major(path: &str) -> &str {
    match path.rsplit_once("/v") {
        Some((before, major))
            if !major.is_empty() && major.bytes().all(|digit| digit.is_ascii_digit()) =>
        {
            before
        }
        _ => path,
    }
}

/// The commit or tag of a version. `None` for a branch or a query, which floats.
fn revision(version: &str, directory: &str) -> Option<String> {
    let version = version.split('+').next()?;
    let (numbers, suffix) = match version.split_once('-') {
        Some((numbers, suffix)) => (numbers, Some(suffix)),
        None => (version, None),
    };
    let numbers: Vec<&str> = numbers.strip_prefix('v')?.split('.').collect();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if numbers.len() != 3 || !numbers.iter().all(|number| is_number(number)) {
        return None;
    }
    if let Some(hash) = suffix.and_then(|suffix| pseudo_hash(suffix, &numbers)) {
        return Some(hash.to_owned());
    }
    Some(match directory {
        "" => version.to_owned(),
        directory => format!("{directory}/{version}"),
    })
}

/// The hash in the suffix of a pseudo-version. Its three forms are
/// `vX.0.0-time-hash`, `vX.Y.Z-pre.0.time-hash` and `vX.Y.Z-0.time-hash`.
fn pseudo_hash<'a>(suffix: &'a str, numbers: &[&str]) -> Option<&'a str> {
    let (before, hash) = suffix.rsplit_once('-')?;
    let time_start = before.len().checked_sub(14)?;
    let (base, time) = before.split_at_checked(time_start)?;
    let form = match base {
        "" => numbers[1..] == ["0", "0"],
        "0." => true,
        base => base.ends_with(".0."),
    };
    let is_hash = hash.len() == 12 && hash.bytes().all(|b| b.is_ascii_hexdigit());
    (form && is_hash && time.bytes().all(|b| b.is_ascii_digit())).then_some(hash)
}
