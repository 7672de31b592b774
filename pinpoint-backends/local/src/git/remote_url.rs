//! URLs from which repositories are fetched, and patterns that permit them.
//!
//! A URL comes from a job, and anyone who can write to the job store can write any. So it is parsed
//! and put together again: no part of it can be an option of git or name a command, and no
//! credentials stay in it.
//!
//! | written | result |
//! | --- | --- |
//! | `https://ada:secret@Host:443/a/b.git` | `https://host/a/b.git` |
//! | `ssh://ada:secret@host:22/a` | `ssh://ada@host/a` |
//! | `git@host:a/b` | itself |
//! | `file:///src/a`, `/src/a` | `/src/a`, without symbolic links |
//! | `ext::sh -c …`, `-u…:a`, `https://host/a/../b` | refused |

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use glob::{MatchOptions, Pattern};

use crate::git::history::url::{local_path, normal_form, without_links};

/// The transports that git may use: none of them runs a command that a URL names.
pub(crate) const TRANSPORTS: &str = "file:git:http:https:ssh";

/// The URL of a repository: valid, and without credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteUrl(String);

/// The text is not the URL of a repository that can be fetched. The message does not repeat the
/// text, which may hold a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteUrlError {
    /// Empty, or with a control character, or a `-` at the beginning.
    #[error("it is empty, begins with `-`, or has a control character")]
    Text,
    /// Another transport, such as one that runs a command.
    #[error(
        "it is neither a URL of https, http, ssh, git or file, nor HOST:PATH, nor an absolute path"
    )]
    Transport,
    /// The name of the host, the user or the port.
    #[error("its host, user or port is not valid")]
    Authority,
    /// No path, or one with `.` or `..`.
    #[error("its path is empty, or has `.`, `..` or an encoded `/` in it")]
    Path,
    /// Git would continue from the path to another place.
    #[error("its `.git` is not a directory but leads to another place; name that place")]
    Link,
    /// A query or a fragment, which may hold tokens.
    #[error("it has a query (`?`) or a fragment (`#`)")]
    Query,
}

impl RemoteUrl {
    /// The same text for all URLs that mean the same repository.
    pub(crate) fn normal_form(&self) -> String {
        normal_form(&self.0)
    }

    /// The URL in the form for git.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RemoteUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for RemoteUrl {
    type Err = RemoteUrlError;

    fn from_str(text: &str) -> Result<Self, RemoteUrlError> {
        if text.is_empty() || text.starts_with('-') || text.chars().any(char::is_control) {
            return Err(RemoteUrlError::Text);
        }
        if let Some(path) = local_path(text) {
            let written = path.to_str().ok_or(RemoteUrlError::Path)?;
            check_path(written, false)?;
            let real = without_links(&path).into_os_string().into_string();
            let real = real.map_err(|_| RemoteUrlError::Path)?;
            // Git looks there first, or if the path itself does not exist.
            let places = ["/.git", ".git/.git", ".git"].map(|end| format!("{real}{end}"));
            return match places.iter().any(|place| leads_away(Path::new(place))) {
                true => Err(RemoteUrlError::Link),
                false => Ok(Self(real)),
            };
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            // `user@host:path`, as ssh takes it. A second colon would name a program that
            // git starts (`ext::…`).
            let (authority, path) = text.split_once(':').ok_or(RemoteUrlError::Transport)?;
            if authority.contains('/') || path.starts_with(':') {
                return Err(RemoteUrlError::Transport);
            }
            let authority = Authority::parse(authority, true)?;
            if authority.port.is_some() {
                return Err(RemoteUrlError::Authority);
            }
            check_path(path, false)?;
            return Ok(Self(format!("{authority}:{path}")));
        };
        let scheme = scheme.to_ascii_lowercase();
        let is_web = match &*scheme {
            "https" | "http" => true,
            "ssh" | "git" => false,
            _ => return Err(RemoteUrlError::Transport),
        };
        if is_web && rest.contains(['?', '#']) {
            return Err(RemoteUrlError::Query);
        }
        let (authority, path) = rest.split_once('/').ok_or(RemoteUrlError::Path)?;
        let authority = Authority::parse(authority, scheme == "ssh")?;
        check_path(path, true)?;
        Ok(Self(format!("{scheme}://{authority}/{path}")))
    }
}

struct Authority {
    user: Option<String>,
    host: String,
    port: Option<u16>,
}

impl Authority {
    /// Reads `user:password@host:port`. For ssh the user is part of the name; on the web it only
    /// logs in.
    fn parse(text: &str, has_user: bool) -> Result<Self, RemoteUrlError> {
        const WRONG: RemoteUrlError = RemoteUrlError::Authority;
        let (login, place) = match text.rsplit_once('@') {
            Some((login, place)) => (Some(login), place),
            None => (None, text),
        };
        let user = login.filter(|_| has_user);
        let user = user.map(|login| login.split_once(':').map_or(login, |(user, _)| user));
        let (host, port) = match place.rsplit_once(':') {
            // The colons of an address of IPv6 are in brackets.
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (place, None),
        };
        let port = port.filter(|port| !port.is_empty()).map(str::parse);
        let port = port.transpose().map_err(|_| WRONG)?;
        let is_plain = |text: &str, also: &str| {
            let is_fit = |letter: char| letter.is_ascii_alphanumeric() || also.contains(letter);
            !text.is_empty() && !text.starts_with('-') && text.chars().all(is_fit)
        };
        let address = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        let is_host = match address {
            Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
            None => is_plain(host, "-._"),
        };
        if !is_host || user.is_some_and(|user| !is_plain(user, "-._~+")) {
            return Err(WRONG);
        }
        Ok(Self {
            user: user.map(str::to_owned),
            host: host.to_ascii_lowercase(),
            port,
        })
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(user) = &self.user {
            write!(formatter, "{user}@")?;
        }
        formatter.write_str(&self.host)?;
        match self.port {
            Some(port) => write!(formatter, ":{port}"),
            None => Ok(()),
        }
    }
}

/// Checks for anything but a directory: a link, or a file that names another place.
fn leads_away(place: &Path) -> bool {
    place.symlink_metadata().is_ok_and(|found| !found.is_dir())
}

/// Checks that no part of a path leads elsewhere. Git decodes the paths of URLs, and so do servers.
fn check_path(path: &str, is_encoded: bool) -> Result<(), RemoteUrlError> {
    let is_empty = path.chars().all(|letter| letter == '/');
    let is_sound = |part: &str| {
        let part = part.to_ascii_lowercase();
        if is_encoded && ["%2f", "%5c", "%00"].iter().any(|it| part.contains(it)) {
            return false;
        }
        let part = if is_encoded {
            part.replace("%2e", ".")
        } else {
            part
        };
        part != "." && part != ".." && !part.contains('\\')
    };
    match !is_empty && path.split('/').all(is_sound) {
        true => Ok(()),
        false => Err(RemoteUrlError::Path),
    }
}

/// A pattern of repositories that may be fetched: a URL in which `*` stands for any part of a name
/// between two slashes, and `**` for any number of such names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryPattern(Pattern);

/// The text is not a pattern of repositories.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RepositoryPatternError {
    /// The pattern has no transport, or one that is never used.
    #[error(
        "it does not begin with https://, http://, ssh://, git://, file:///, / or HOST:; `https://**` is any repository on the web"
    )]
    Transport,
    /// A wildcard is in the wrong place.
    #[error("{0}")]
    Wildcard(String),
}

impl FromStr for RepositoryPattern {
    type Err = RepositoryPatternError;

    fn from_str(text: &str) -> Result<Self, RepositoryPatternError> {
        let normal = match local_path(text) {
            Some(path) => local_pattern(&path),
            None => normal_form(text),
        };
        let schemes = TRANSPORTS.split(':').map(|scheme| format!("{scheme}://"));
        let is_known =
            normal.starts_with('/') || schemes.into_iter().any(|it| normal.starts_with(&it));
        // `ext::*` would be read as a host and a path.
        if !is_known || text.contains("::") {
            return Err(RepositoryPatternError::Transport);
        }
        let wrong = |error: glob::PatternError| RepositoryPatternError::Wildcard(error.to_string());
        Pattern::new(&normal).map(Self).map_err(wrong)
    }
}

impl RepositoryPattern {
    /// Checks whether it permits a repository.
    pub fn permits(&self, url: &RemoteUrl) -> bool {
        let options = MatchOptions {
            require_literal_separator: true,
            ..MatchOptions::new()
        };
        self.0.matches_with(&url.normal_form(), options)
    }
}

impl fmt::Display for RepositoryPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// A pattern of paths in which the part before the first wildcard has its symbolic links resolved,
/// as in local URLs.
fn local_pattern(path: &Path) -> String {
    let has_wildcard = |part: &std::path::Component<'_>| {
        part.as_os_str().to_string_lossy().contains(['*', '?', '['])
    };
    let plain: std::path::PathBuf = path
        .components()
        .take_while(|it| !has_wildcard(it))
        .collect();
    let rest = path.strip_prefix(&plain).unwrap_or(Path::new(""));
    let plain = normal_form(&plain.to_string_lossy());
    match rest == Path::new("") {
        true => plain,
        false => format!("{plain}/{}", rest.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<String, RemoteUrlError> {
        text.parse().map(|url: RemoteUrl| url.to_string())
    }

    #[test]
    fn a_url_is_put_together_again_without_what_is_secret() {
        for (text, expected) in [
            (
                "https://Host.Example/a/B.git",
                "https://host.example/a/B.git",
            ),
            ("HTTPS://ada:secret@host:8443/a/", "https://host:8443/a/"),
            ("http://token@host/a", "http://host/a"),
            ("https://[::1]:8080/a", "https://[::1]:8080/a"),
            ("ssh://ada:secret@host:22/a", "ssh://ada@host:22/a"),
            ("ssh://host/~ada/a", "ssh://host/~ada/a"),
            ("git://host/a", "git://host/a"),
            ("git@HOST:a/b.git", "git@host:a/b.git"),
            ("git@host:/srv/a", "git@host:/srv/a"),
            ("host:a", "host:a"),
            ("/missing/a.git", "/missing/a.git"),
            ("file:///missing/a", "/missing/a"),
            ("file://localhost/missing/a", "/missing/a"),
        ] {
            assert_eq!(parsed(text).as_deref(), Ok(expected), "{text}");
            // It is a fixed point, and no part of it is an option.
            assert_eq!(parsed(expected).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn what_runs_commands_or_leads_elsewhere_is_refused() {
        use RemoteUrlError::{Authority, Path, Query, Text, Transport};
        for (text, expected) in [
            ("", Text),
            ("-u./evil:a", Text),
            ("--upload-pack=touch /tmp/x", Text),
            ("https://host/a\nb", Text),
            ("https://host/a\u{0}", Text),
            ("ext::sh -c touch% /tmp/x", Transport),
            ("ext::sh -c 'x' https://host/a", Transport),
            ("fd::17", Transport),
            ("EXT::sh", Transport),
            ("host::path", Transport),
            ("ftp://host/a", Transport),
            ("git+ssh://host/a", Transport),
            ("file://server/share/a", Transport),
            ("a/b", Transport),
            ("../a", Transport),
            ("./a:b", Transport),
            ("ssh://-oProxyCommand=x/a", Authority),
            ("ssh://-x@host/a", Authority),
            ("git@-oProxyCommand=x:a", Authority),
            ("ssh://host:70000/a", Authority),
            ("ssh://ho st/a", Authority),
            ("https:///a", Authority),
            ("https://host\\evil/a", Authority),
            ("https://host#evil/a", Query),
            ("https://host/a?token=1", Query),
            ("https://host/a#1", Query),
            ("https://host", Path),
            ("https://host/", Path),
            ("git@host:", Path),
            ("https://host/a/../b", Path),
            ("https://host/a/%2e%2E/b", Path),
            ("https://host/a%2f..%2fb", Path),
            ("https://host/a\\..\\b", Path),
            ("git@host:../b", Path),
            ("file:///a/../b", Path),
            ("/a/./b", Path),
        ] {
            assert_eq!(parsed(text), Err(expected), "{text:?}");
        }
        let error = parsed("https://ada:secret@host/?").unwrap_err();
        assert!(!format!("{error} {error:?}").contains("secret"));
    }

    #[test]
    fn a_pattern_permits_what_it_names_however_that_is_written() {
        for (pattern, permitted, refused) in [
            (
                "https://host.example/acme/*",
                &[
                    "https://host.example/acme/a",
                    "HTTPS://ada:x@Host.Example:443/acme/a.git/",
                ][..],
                &[
                    "https://host.example/acme/a/b",
                    "https://host.example/other/a",
                    "https://host.example.evil/acme/a",
                    "https://host.example:8443/acme/a",
                    "http://host.example/acme/a",
                    "ssh://host.example/acme/a",
                    "https://evil/host.example/acme/a",
                ][..],
            ),
            (
                "https://Host/**",
                &["https://host/a", "https://host/a/b/c.git"],
                &["https://hosts/a", "https://evil/https://host/a"],
            ),
            (
                "https://*.example.org/**",
                &["https://git.example.org/a"],
                &["https://evil.org/x.example.org/a", "https://example.org/a"],
            ),
            (
                "git@host:acme/*",
                &["git@HOST:acme/a.git", "ssh://git@host:22/acme/a"],
                &[
                    "root@host:acme/a",
                    "host:acme/a",
                    "git@host:a",
                    "git@host:/acme/a",
                    "ssh://git@host//acme/a",
                ],
            ),
            (
                "git@host:/acme/*",
                &["git@host:/acme/a.git"],
                &["git@host:acme/a", "git@host:/a"],
            ),
            (
                "/missing/git/*.git",
                &[],
                &["/missing/git/a", "/missing/other/a.git"],
            ),
            (
                "file:///missing/git/*",
                &["/missing/git/a", "file:///missing/git/a.git"],
                &["/missing/git/a/b", "/missing/a"],
            ),
            (
                "https://host/acme/tool",
                &["https://host/acme/tool.git"],
                &["https://host/acme/tools"],
            ),
        ] {
            let pattern: RepositoryPattern = pattern.parse().unwrap();
            let permits = |url: &&str| pattern.permits(&url.parse().unwrap());
            assert!(permitted.iter().all(permits), "{pattern} {permitted:?}");
            assert!(!refused.iter().any(permits), "{pattern} {refused:?}");
        }
        for wrong in [
            "",
            "*",
            "host/a",
            "ext::*",
            "ftp://host/*",
            "https://host/a**",
        ] {
            assert!(wrong.parse::<RepositoryPattern>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_link_is_permitted_where_it_leads() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        for name in ["open", "closed"] {
            std::fs::create_dir_all(root.join(name).join("a")).unwrap();
        }
        let link = root.join("open/link");
        std::os::unix::fs::symlink(root.join("closed/a"), &link).unwrap();
        let pattern = format!("{}/open/*", root.display());
        let pattern: RepositoryPattern = pattern.parse().unwrap();
        let permits = |name: &str| {
            let url = root.join(name).display().to_string();
            pattern.permits(&url.parse().unwrap())
        };
        assert!(permits("open/a"));
        assert!(!permits("open/link") && !permits("closed/a"));
        // Git also tries other endings than the given one.
        let link = |from: &str, to: &str| {
            std::os::unix::fs::symlink(root.join(to), root.join(from)).unwrap();
        };
        let below = format!("{}/open/**", root.display());
        let below: RepositoryPattern = below.parse().unwrap();
        let parsed = |name: &str| root.join(name).display().to_string().parse::<RemoteUrl>();
        std::fs::create_dir_all(root.join("closed/b.git")).unwrap();
        link("open/all", "closed");
        let b = parsed("open/all/b").unwrap();
        assert!(!below.permits(&b), "{b}");
        assert!(below.permits(&parsed("open/missing/b").unwrap()));
        link("open/b.git", "closed/b.git");
        assert_eq!(parsed("open/b"), Err(RemoteUrlError::Link));
        assert!(!below.permits(&parsed("open/b.git").unwrap()));
        link("open/a/.git", "closed/b.git");
        assert_eq!(parsed("open/a"), Err(RemoteUrlError::Link));
        std::fs::remove_file(root.join("open/a/.git")).unwrap();
        std::fs::write(root.join("open/a/.git"), "gitdir: ../../closed/b.git").unwrap();
        assert_eq!(parsed("open/a"), Err(RemoteUrlError::Link));
        std::fs::remove_file(root.join("open/a/.git")).unwrap();
        // The directory of the pattern may itself be reached by a link.
        std::os::unix::fs::symlink(root.join("open"), root.join("entry")).unwrap();
        let entry = format!("{}/entry/*", root.display());
        let entry: RepositoryPattern = entry.parse().unwrap();
        let url = root.join("open/a").display().to_string();
        assert!(entry.permits(&url.parse().unwrap()));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_sound_url_or_none(text in "[-a-z@:/.%?#\\[\\] ]{0,24}") {
            if let Ok(url) = text.parse::<RemoteUrl>() {
                proptest::prop_assert!(!url.as_str().starts_with('-'));
                // Git would start a program of this name.
                let is_plain = |name: &str| name.chars().all(|it| it.is_ascii_alphanumeric() || "+-.".contains(it));
                let helper = url.as_str().split_once("::");
                proptest::prop_assert!(!helper.is_some_and(|(name, _)| is_plain(name)), "{url}");
                proptest::prop_assert_eq!(url.as_str().parse::<RemoteUrl>(), Ok(url.clone()));
            }
        }
    }
}
