//! Names of functions, modules and files without the parts that change from build to build.

use std::borrow::Cow;
use std::fmt;

/// The longest mangled name that is demangled: those of real programs are shorter, and the
/// demangled name can grow faster than the mangled one.
const LONGEST_MANGLED: usize = 4096;

/// Suffixes of a function that the compiler has split or copied; a number may follow.
const CLONES: [&str; 7] = [
    ".cold",
    ".part",
    ".constprop",
    ".isra",
    ".llvm",
    ".lto_priv",
    ".localalias",
];

/// A function's name: demangled, and without hashes, clones and symbol versions.
///
/// ```text
/// _ZN4core3ptr13drop_in_place17h0123456789abcdefE    core::ptr::drop_in_place
/// parse.constprop.0.cold                             parse
/// memcpy@@GLIBC_2.14                                 memcpy
/// step+0x51                                          step
/// process 4711:"python3 bench.py"                    process "python3 bench.py"
/// ```
pub(super) fn function(name: &str) -> Cow<'_, str> {
    if let Some(command) = command_of_process(name) {
        return Cow::Owned(format!("process {command}"));
    }
    let plain = without_clones(without_offset(name));
    let demangled = if plain.len() <= LONGEST_MANGLED {
        demangle(plain)
    } else {
        None
    };
    match demangled {
        Some(name) => Cow::Owned(without_hash(&name).to_owned()),
        None => Cow::Borrowed(without_hash(plain)),
    }
}

/// py-spy has a frame for each process, with its number.
fn command_of_process(name: &str) -> Option<&str> {
    let (number, command) = name.strip_prefix("process ")?.split_once(':')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && command.starts_with('"')).then_some(command)
}

fn demangle(name: &str) -> Option<String> {
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        // The alternate form leaves out the hash.
        return Some(format!("{rust:#}"));
    }
    if !name.starts_with("_Z") {
        return None;
    }
    cpp_demangle::Symbol::new(name).ok()?.demangle().ok()
}

/// A symbol without the place in it at which a sample was taken, `step+0x51`.
pub(super) fn without_offset(name: &str) -> &str {
    match name.rsplit_once("+0x") {
        Some((symbol, offset)) if !symbol.is_empty() && !offset.is_empty() && is_hex(offset) => {
            symbol
        }
        _ => name,
    }
}

fn without_clones(name: &str) -> &str {
    let mut name = name.split_once("@@").map_or(name, |(name, _)| name);
    loop {
        if let Some((before, _)) = name
            .strip_suffix(']')
            .and_then(|n| n.rsplit_once(" [clone "))
        {
            name = before;
            continue;
        }
        // A number, which belongs to the word before it.
        let word_end = match name.rsplit_once('.') {
            Some((before, digits)) if !digits.is_empty() && is_hex(digits) => before,
            _ => name,
        };
        let clone = CLONES.iter().find_map(|clone| word_end.strip_suffix(clone));
        match clone {
            Some(before) if !before.is_empty() => name = before,
            _ => return name,
        }
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Rust's legacy names end in `::h` and 16 digits.
fn without_hash(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((name, hash)) if hash.len() == 16 && is_hex(hash) => name,
        _ => name,
    }
}

/// The name of the kernel, which has several as a module.
pub(super) const KERNEL: &str = "[kernel]";

/// A module's base name, without version and hash.
///
/// ```text
/// /usr/lib/libc.so.6                libc.so
/// /target/deps/words-0123456789abcdef    words
/// [kernel.kallsyms]                 [kernel]
/// /tmp/perf-4711.map                [jit]
/// ```
pub(super) fn module(path: &str) -> Cow<'_, str> {
    let base = base(path);
    if base.starts_with("[kernel")
        || base.starts_with("vmlinux")
        || base.starts_with("[guest.kernel")
    {
        return KERNEL.into();
    }
    let map = base
        .strip_prefix("perf-")
        .and_then(|rest| rest.strip_suffix(".map"));
    if map.is_some_and(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()))
        || matches!(base, "anon" | "[anon]" | "//anon")
    {
        return "[jit]".into();
    }
    if let Some((stem, _)) = base.split_once(".so.") {
        return format!("{}.so", without_version(stem)).into();
    }
    if let Some(stem) = base.strip_suffix(".so") {
        return format!("{}.so", without_version(stem)).into();
    }
    match base.rsplit_once('-') {
        Some((name, hash)) if hash.len() == 16 && is_hex(hash) => name.into(),
        _ => base.into(),
    }
}

/// `libc-2.31` without its version.
fn without_version(stem: &str) -> &str {
    match stem.rsplit_once('-') {
        Some((name, version)) if is_version(version) => name,
        _ => stem,
    }
}

fn is_version(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
}

fn base(path: &str) -> &str {
    path.rsplit(['/', '\\'])
        .find(|part| !part.is_empty())
        .unwrap_or(path)
}

/// A source's path or URL: its parts, the base name last, without query, fragment,
/// versions of packages and hashes of bundles.
pub(super) fn file(path: &str) -> String {
    let path = path.split(['?', '#']).next().unwrap_or(path);
    // Neither host nor port is part of the file.
    let path = match path.split_once("://") {
        Some((_, rest)) => rest.split_once('/').map_or(rest, |(_, path)| path),
        None => path,
    };
    let parts = path
        .split(['/', '\\'])
        .filter(|part| !part.is_empty() && *part != ".");
    let mut parts: Vec<&str> = parts.collect();
    let base = parts.pop().unwrap_or_default();
    let mut clean: Vec<String> = parts
        .into_iter()
        .map(|part| without_package_version(part).into())
        .collect();
    clean.push(without_content_hash(base));
    clean.join("/")
}

/// `memchr-2.7.4` and `pkg@v1.2.3` without their versions.
fn without_package_version(part: &str) -> &str {
    if let Some((name, version)) = part.split_once("@v")
        && is_version(version.split(['-', '+']).next().unwrap_or_default())
    {
        return name;
    }
    match part.rsplit_once('-') {
        Some((name, version)) if version.contains('.') && is_version(version) => name,
        _ => part,
    }
}

/// `main.3f2a9c1b.js` and `index-BxS3kq9a.js` without the hash.
fn without_content_hash(base: &str) -> String {
    let mut kept = String::with_capacity(base.len());
    for piece in base.split_inclusive(['.', '-']) {
        let word = piece.trim_end_matches(['.', '-']);
        if !kept.is_empty() && is_content_hash(word) {
            // The mark before it goes, and the one after it stays.
            kept.pop();
            kept.push_str(&piece[word.len()..]);
        } else {
            kept.push_str(piece);
        }
    }
    kept
}

fn is_content_hash(word: &str) -> bool {
    let has = |is: fn(&u8) -> bool| word.bytes().any(|byte| is(&byte));
    let digit = has(u8::is_ascii_digit);
    let mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    word.len() >= 8
        && digit
        && (is_hex(word) || (mixed && word.bytes().all(|b| b.is_ascii_alphanumeric())))
}

/// The folders into which Python's packages are installed.
pub(super) const PYTHON_PACKAGES: [&str; 2] = ["site-packages", "dist-packages"];

/// A package, as its package manager names it.
#[derive(Debug, PartialEq)]
pub(super) struct Package<'a> {
    pub(super) name: Cow<'a, str>,
    /// The version, where the path shows it.
    version: Option<&'a str>,
}

/// `memchr 2.7.4`, or the name alone.
impl fmt::Display for Package<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)?;
        match self.version {
            Some(version) => write!(formatter, " {version}"),
            None => Ok(()),
        }
    }
}

impl<'a> Package<'a> {
    fn named(name: &'a str) -> Self {
        let name = name.into();
        Self {
            name,
            version: None,
        }
    }
}

/// The package of a source or library, by the folders of package managers.
pub(super) fn package(path: &str) -> Option<Package<'_>> {
    let parts: Vec<&str> = path.split(['/', '\\']).collect();
    let after = |name: &str| parts.iter().rposition(|part| *part == name);
    let part = |at: usize| parts.get(at).copied().filter(|part| !part.is_empty());
    if let Some(at) = after("node_modules") {
        let name = part(at + 1)?;
        let scoped = name.starts_with('@').then(|| part(at + 2)).flatten();
        return Some(match scoped {
            Some(inner) => Package {
                name: format!("{name}/{inner}").into(),
                version: None,
            },
            None => Package::named(name),
        });
    }
    if let Some(at) = PYTHON_PACKAGES.iter().find_map(|folder| after(folder)) {
        return Some(Package::named(part(at + 1)?.trim_end_matches(".py")));
    }
    if let Some(at) = after("registry")
        && part(at + 1) == Some("src")
    {
        let crate_ = part(at + 3)?;
        return Some(versioned(crate_));
    }
    let module = parts.iter().position(|part| part.contains("@v"))?;
    let start = after("mod").map_or(0, |at| at + 1);
    let (last, _) = parts.get(module)?.split_once('@')?;
    let version = parts.get(module)?.get(last.len() + 1..);
    let folders = parts.get(start..module)?.iter().copied();
    let name = folders.chain([last]).collect::<Vec<_>>().join("/").into();
    Some(Package { name, version })
}

/// The crate of `memchr-2.7.4` or `sha-1-0.11.0-pre.2`.
fn versioned(folder: &str) -> Package<'_> {
    let split = folder.match_indices('-').find_map(|(dash, _)| {
        let (name, version) = (folder.get(..dash)?, folder.get(dash + 1..)?);
        let number = version.split(['-', '+']).next().unwrap_or_default();
        (number.contains('.') && is_version(number)).then_some((name, version))
    });
    match split {
        Some((name, version)) => Package {
            name: name.into(),
            version: Some(version),
        },
        None => Package::named(folder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_lose_what_a_build_adds() {
        for (name, expected) in [
            (
                "_ZN4core3ptr13drop_in_place17h0123456789abcdefE",
                "core::ptr::drop_in_place",
            ),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("_ZN3foo3barEi.llvm.123456", "foo::bar(int)"),
            ("lexer::next::h0123456789abcdef", "lexer::next"),
            ("parse.constprop.0.cold", "parse"),
            ("parse.part.3", "parse"),
            ("parse.isra.0 [clone .cold]", "parse"),
            ("memcpy@@GLIBC_2.14", "memcpy"),
            ("step+0x51", "step"),
            ("operator+0x", "operator+0x"),
            ("+0x51", "+0x51"),
            ("process 47:\"python3 x.py\"", "process \"python3 x.py\""),
            ("process 47", "process 47"),
            ("main.main.func1", "main.main.func1"),
            ("strings.Fields", "strings.Fields"),
            ("1.5", "1.5"),
            (".cold", ".cold"),
            ("", ""),
        ] {
            assert_eq!(function(name), expected, "{name}");
        }
    }

    #[test]
    fn modules_are_base_names() {
        for (path, expected) in [
            ("/usr/lib/x86_64-linux-gnu/libc.so.6", "libc.so"),
            ("/lib/libc-2.31.so", "libc.so"),
            ("/t/debug/deps/words-0123456789abcdef", "words"),
            ("[kernel.kallsyms]", "[kernel]"),
            ("/tmp/perf-4711.map", "[jit]"),
            ("//anon", "[jit]"),
            ("/usr/bin/clang-15", "clang-15"),
            ("", ""),
        ] {
            assert_eq!(module(path), expected, "{path}");
        }
    }

    #[test]
    fn files_lose_hosts_queries_hashes_and_versions() {
        for (path, expected) in [
            (
                "http://localhost:8137/js/main.3f2a9c1b.js?v=3#x",
                "js/main.js",
            ),
            (
                "https://example.com/assets/index-BxS3kq9a.js",
                "assets/index.js",
            ),
            (
                "/registry/src/index-1/memchr-2.7.4/src/lib.rs",
                "registry/src/index-1/memchr/src/lib.rs",
            ),
            (
                "/go/pkg/mod/example.com/a@v1.2.3/b.go",
                "go/pkg/mod/example.com/a/b.go",
            ),
            ("file:///bench/words.js", "bench/words.js"),
            (
                "node:internal/main/run_main_module",
                "node:internal/main/run_main_module",
            ),
            ("jquery-3.7.1.min.js", "jquery-3.7.1.min.js"),
            ("words.c", "words.c"),
        ] {
            assert_eq!(file(path), expected, "{path}");
        }
    }

    #[test]
    fn packages_are_where_their_managers_put_them() {
        for (path, expected) in [
            (
                "/h/.cargo/registry/src/index-1/memchr-2.7.4/src/lib.rs",
                Some("memchr 2.7.4"),
            ),
            (
                "/h/.cargo/registry/src/index-1/sha-1-0.11.0-pre.2/src/lib.rs",
                Some("sha-1 0.11.0-pre.2"),
            ),
            (
                "/app/node_modules/@babel/core/lib/a.js",
                Some("@babel/core"),
            ),
            ("/app/node_modules/a/node_modules/b/c.js", Some("b")),
            ("/v/lib/python3.11/site-packages/numpy/a.py", Some("numpy")),
            (
                "/go/pkg/mod/example.com/a@v1.2.3/b.go",
                Some("example.com/a v1.2.3"),
            ),
            ("src/lexer.rs", None),
        ] {
            let package = package(path).map(|package| package.to_string());
            assert_eq!(package.as_deref(), expected, "{path}");
        }
    }
}
