//! The repository of a job: a directory, or a URL. Both are stored as one text.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The location of a job's repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, from = "String")]
pub enum RepositoryLocation {
    /// Any directory in it, on the machine that made the job.
    Path(PathBuf),
    /// The URL from which workers fetch it, as it was given.
    Url(String),
}

impl RepositoryLocation {
    /// The directory, unless it is a URL.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Path(path) => Some(path),
            Self::Url(_) => None,
        }
    }
}

impl fmt::Display for RepositoryLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.display().fmt(formatter),
            Self::Url(url) => url.fmt(formatter),
        }
    }
}

impl From<PathBuf> for RepositoryLocation {
    fn from(path: PathBuf) -> Self {
        // Stored as `a:b`, it would be read as a host and a path there.
        Self::Path(match path.to_str().is_some_and(is_url) {
            true => Path::new(".").join(path),
            false => path,
        })
    }
}

impl From<String> for RepositoryLocation {
    fn from(text: String) -> Self {
        match is_url(&text) {
            true => Self::Url(text),
            false => Self::Path(text.into()),
        }
    }
}

/// Returns true for a URL and for `HOST:PATH` as ssh takes it, and false for a path. As for git, a
/// `/` before the first colon makes it a path.
fn is_url(text: &str) -> bool {
    let before = match text.split_once("://") {
        Some((scheme, _)) => scheme,
        None => text.split_once(':').map_or("", |(host, _)| host),
    };
    !before.is_empty() && !before.contains('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_stored_as_its_text_as_in_earlier_versions() {
        for (text, is_url) in [
            ("/src/app", false),
            ("/src/a:b", false),
            ("./a:b", false),
            ("app", false),
            ("/src/http://x", false),
            ("https://example.org/app.git", true),
            ("file:///src/app", true),
            ("git@example.org:app", true),
            ("example.org:app", true),
        ] {
            let stored = serde_json::json!(text);
            let read: RepositoryLocation = serde_json::from_value(stored.clone()).unwrap();
            assert_eq!(read.path().is_none(), is_url, "{text}");
            assert_eq!(read.to_string(), text);
            assert_eq!(serde_json::to_value(&read).unwrap(), stored);
        }
    }

    #[test]
    fn a_path_is_read_as_one_whatever_its_name() {
        for (path, expected) in [
            ("app", "app"),
            ("a:b", "./a:b"),
            ("a:b/c", "./a:b/c"),
            ("a/b:c", "a/b:c"),
            ("/src/a:b", "/src/a:b"),
        ] {
            let location = RepositoryLocation::from(PathBuf::from(path));
            let stored = serde_json::to_value(&location).unwrap();
            assert_eq!(stored, expected);
            let read: RepositoryLocation = serde_json::from_value(stored).unwrap();
            assert_eq!(read, location);
        }
    }
}
