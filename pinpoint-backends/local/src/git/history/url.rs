//! Equality of the names of repositories.
//!
//! | equal | |
//! | --- | --- |
//! | `https://host/a/b.git/` | `HTTPS://Host/a/b` |
//! | `https://user@host:443/a` | `https://host/a` |
//! | `git@host:a/b` | `ssh://git@host/a/b.git` |
//! | `file:///src/a` | `/src/a` |
//!
//! No others are equal: the same path by `https` and by `ssh` may be two repositories, and so may
//! `http` and `https`. `git@host:a` is relative to the user's home, and `git@host:/a` to the root.

use std::path::{Path, PathBuf};

/// The path of a `file://` URL or an absolute path.
pub(crate) fn local_path(name: &str) -> Option<PathBuf> {
    let path = match name.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file") => {
            rest.strip_prefix("localhost").unwrap_or(rest)
        }
        _ => name,
    };
    path.starts_with('/').then(|| path.into())
}

/// A path without symbolic links, as far as it exists.
pub(crate) fn without_links(path: &Path) -> PathBuf {
    let real = path.ancestors().find_map(|existing| {
        let rest = path.strip_prefix(existing).ok()?;
        let real = existing.canonicalize().ok()?;
        // Joining an empty rest would add a separator.
        let is_whole = rest.as_os_str().is_empty();
        Some(if is_whole { real } else { real.join(rest) })
    });
    real.unwrap_or_else(|| path.to_owned())
}

/// Checks whether these URLs mean the same repository.
#[doc(hidden)]
pub fn same_repository(url: &str, other: &str) -> bool {
    normal_form(url) == normal_form(other)
}

/// Returns the same text for all names of a repository.
pub(crate) fn normal_form(name: &str) -> String {
    if let Some(path) = local_path(name) {
        return trimmed(&without_links(&path).to_string_lossy()).to_owned();
    }
    let (scheme, authority, path) = match name.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
            (scheme.to_ascii_lowercase(), authority, path)
        }
        // `user@host:path`, as ssh takes it.
        None => match name.split_once(':') {
            Some((authority, path)) if !authority.contains('/') => ("ssh".into(), authority, path),
            _ => return trimmed(name).to_owned(),
        },
    };
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    let host = host.to_ascii_lowercase();
    let port = match &*scheme {
        "https" => ":443",
        "http" => ":80",
        "ssh" => ":22",
        _ => ":9418",
    };
    let host = host.strip_suffix(port).unwrap_or(&host);
    // On the web, the user only logs in; for ssh, the user determines whose files are meant.
    let user = user.filter(|_| scheme == "ssh");
    let user = user.map(|login| login.split_once(':').map_or(login, |(user, _)| user));
    let user = user.map(|user| format!("{user}@")).unwrap_or_default();
    let below = trimmed(path.trim_start_matches('/'));
    let root = match scheme == "ssh" && path.starts_with('/') && !below.is_empty() {
        true => "/",
        false => "",
    };
    format!("{scheme}://{user}{host}/{root}{below}")
}

fn trimmed(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.strip_suffix(".git")
        .unwrap_or(path)
        .trim_end_matches('/')
}

/// Resolves a submodule's relative URL (`../other.git`) against its superproject's; an absolute one
/// stays unchanged.
pub(super) fn resolve(superproject: &str, url: &str) -> String {
    if !is_relative(url) {
        return url.to_owned();
    }
    let mut base = superproject.trim_end_matches('/');
    let mut rest = url;
    let mut separator = '/';
    loop {
        if let Some(below) = rest.strip_prefix("./") {
            rest = below;
        } else if let Some(beside) = rest.strip_prefix("../") {
            rest = beside;
            let Some(end) = base.rfind(['/', ':']) else {
                break;
            };
            separator = if base[end..].starts_with(':') {
                ':'
            } else {
                '/'
            };
            base = &base[..end];
        } else {
            break;
        }
    }
    format!("{base}{separator}{rest}")
}

pub(super) fn is_relative(url: &str) -> bool {
    url.starts_with("./") || url.starts_with("../")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_repository_are_equal() {
        for names in [
            &[
                "https://host.example/a/B",
                "HTTPS://Host.Example/a/B.git",
                "https://host.example:443/a/B/",
                "https://ada:secret@host.example/a/B.git/",
            ][..],
            &[
                "git@host.example:a/b",
                "git@HOST.example:a/b.git",
                "ssh://git@host.example/a/b",
                "ssh://git@host.example:22/a/b.git",
                "ssh://git:secret@host.example/a/b",
            ],
            &[
                "/missing/a",
                "/missing/a/",
                "/missing/a/.git",
                "file:///missing/a",
            ],
        ] {
            for name in names {
                assert_eq!(normal_form(name), normal_form(names[0]), "{name}");
            }
        }
    }

    #[test]
    fn names_of_several_repositories_differ() {
        let names = [
            "https://host.example/a",
            "http://host.example/a",
            "https://host.example:8443/a",
            "https://host.example/A",
            "https://other.example/a",
            "ssh://host.example/a",
            "ada@host.example:a",
            "ada@host.example:/a",
            "git://host.example/a",
            "/host.example/a",
            "host.example/a",
            "",
        ];
        for (index, one) in names.iter().enumerate() {
            for other in &names[..index] {
                assert_ne!(normal_form(one), normal_form(other), "{one} {other}");
            }
        }
    }

    #[test]
    fn relative_urls_are_resolved_as_git_submodule_does() {
        for (superproject, url, expected) in [
            ("https://host/a/b", "../c.git", "https://host/a/c.git"),
            ("https://host/a/b/", "../../c", "https://host/c"),
            ("https://host/a/b", "./c", "https://host/a/b/c"),
            ("git@host:a/b", "../../c", "git@host:c"),
            ("git@host:b", "../c", "git@host:c"),
            ("/src/b", "../c", "/src/c"),
            ("https://host/a", "ssh://other/c", "ssh://other/c"),
        ] {
            assert_eq!(
                resolve(superproject, url),
                expected,
                "{url} from {superproject}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn any_name_has_a_normal_form(name in "[a-z@:/.]{0,20}", relative in "[./a]{0,8}") {
            let normal = normal_form(&name);
            proptest::prop_assert_eq!(normal_form(&format!("{}/", normal)), normal.clone());
            let _ = resolve(&normal, &relative);
        }
    }
}
