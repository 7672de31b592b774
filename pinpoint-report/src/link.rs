//! Links to commits on the web.

/// The page of a commit, if the host of its repository's URL is known.
pub fn commit_page(repository: &str, hash: &str) -> Option<String> {
    let (host, path) = host_and_path(repository)?;
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let is_plain = |character: char| {
        character.is_ascii_alphanumeric() || matches!(character, '/' | '-' | '_' | '.' | '~' | '+')
    };
    if path.is_empty() || !path.chars().all(is_plain) {
        return None;
    }
    if hash.is_empty() || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let between = match &*host {
        "github.com" | "codeberg.org" | "git.sr.ht" => "commit",
        "bitbucket.org" => "commits",
        host if host == "gitlab.com" || host.starts_with("gitlab.") => "-/commit",
        host if host.ends_with(".googlesource.com") => "+",
        _ => return None,
    };
    Some(format!("https://{host}/{path}/{between}/{hash}"))
}

/// The host and the path of `https://user@host:port/path`, or of `user@host:path` as ssh takes it.
fn host_and_path(url: &str) -> Option<(String, &str)> {
    let (authority, path) = match url.split_once("://") {
        Some(("https" | "http" | "ssh" | "git" | "git+ssh", rest)) => rest.split_once('/')?,
        Some(_) => return None,
        None => url
            .split_once(':')
            .filter(|(host, _)| !host.contains('/'))?,
    };
    let host = authority.rsplit('@').next()?.split(':').next()?;
    let host = host.to_ascii_lowercase();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    (!host.is_empty() && host.bytes().all(is_name)).then_some((host, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_hosts_have_pages() {
        for (repository, page) in [
            (
                "https://github.com/o/r.git",
                "https://github.com/o/r/commit/ab12",
            ),
            (
                "git@github.com:o/r.git",
                "https://github.com/o/r/commit/ab12",
            ),
            (
                "ssh://git@GitHub.com:22/o/r",
                "https://github.com/o/r/commit/ab12",
            ),
            (
                "https://gitlab.example.org/a/b/c/",
                "https://gitlab.example.org/a/b/c/-/commit/ab12",
            ),
            (
                "https://skia.googlesource.com/skia",
                "https://skia.googlesource.com/skia/+/ab12",
            ),
            (
                "https://user:secret@bitbucket.org/o/r",
                "https://bitbucket.org/o/r/commits/ab12",
            ),
            (
                "https://git.sr.ht/~o/r",
                "https://git.sr.ht/~o/r/commit/ab12",
            ),
        ] {
            assert_eq!(commit_page(repository, "ab12").as_deref(), Some(page));
        }
    }

    #[test]
    fn nothing_else_becomes_a_link() {
        for repository in [
            "/src/github.com/o/r",
            "file://github.com/o/r",
            "https://example.org/o/r",
            "javascript://github.com/%0aalert(1)",
            "https://github.com/\"onclick=alert(1)",
            "https://github.com",
            "https://github.com/",
            "",
        ] {
            assert_eq!(commit_page(repository, "ab12"), None, "{repository}");
        }
        assert_eq!(commit_page("https://github.com/o/r", "refs/heads/x"), None);
    }
}
