//! Another revision of a git dependency in `Cargo.lock`.
//!
//! A package of a git repository has the source `git+URL?QUERY#HASH`, where the query is the
//! branch, tag or revision that `Cargo.toml` asks for. Cargo takes the commit after the `#`, and
//! ignores the query: `cargo update --precise` writes `?rev=OLD#NEW`, and `--locked` accepts it. So
//! nothing else changes, neither in this file nor in any `Cargo.toml`.

/// The file with `hash` as the commit of every source whose URL satisfies `is_it`; `None` without
/// such a source.
///
/// Sources are in the entry of a package and, in older files, in lists of dependencies, too.
pub(super) fn hold(file: &str, is_it: impl Fn(&str) -> bool, hash: &str) -> Option<String> {
    let mut text = String::with_capacity(file.len());
    let mut rest = file;
    let mut found = false;
    while let Some(at) = rest.find("git+") {
        let (before, from) = rest.split_at(at);
        let end = from.find(['"', ')', '\n']).unwrap_or(from.len());
        let (source, after) = from.split_at(end);
        text.push_str(before);
        match source.rsplit_once('#') {
            Some((name, _)) if is_it(url(name)) => {
                found = true;
                text.extend([name, "#", hash]);
            }
            _ => text.push_str(source),
        }
        rest = after;
    }
    text.push_str(rest);
    found.then_some(text)
}

/// The URL in `git+URL?QUERY`.
fn url(name: &str) -> &str {
    let url = name.trim_start_matches("git+");
    url.split_once('?').map_or(url, |(url, _query)| url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_of_the_repository_is_held_and_no_other() {
        let file = r#"
version = 4
[[package]]
name = "a"
source = "git+https://example.org/a?rev=0ld#0ld1"
dependencies = [
 "b 1.0.0 (git+https://example.org/a?rev=0ld#0ld1)",
 "c 1.0.0 (git+https://example.org/c?branch=main)",
]
[[package]]
name = "c"
source = "git+https://example.org/c?branch=main#cc"
[[package]]
name = "d"
source = "git+https://example.org/a#0ld1"
[[package]]
name = "e"
source = "registry+https://github.com/rust-lang/crates.io-index"
"#;
        let held = hold(file, |url| url == "https://example.org/a", "new");
        assert_eq!(held, Some(file.replace("0ld1", "new")));
        assert_eq!(
            hold(file, |url| url == "https://example.org/b", "new"),
            None
        );
        assert_eq!(hold("git+", |_| true, "new"), None);
    }
}
