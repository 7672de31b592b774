//! Names in messages.

use std::path::PathBuf;

/// Lists names for a message, in backquotes; shortens long lists.
#[doc(hidden)]
pub fn listed(names: &[String]) -> String {
    const MAX_NAMES: usize = 20;
    let mut text = names
        .iter()
        .take(MAX_NAMES)
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > MAX_NAMES {
        text += &format!(" and {} more", names.len() - MAX_NAMES);
    }
    text
}

/// Lists some files for a sentence; shortens long lists.
pub(crate) fn listed_paths(files: &[PathBuf]) -> String {
    const MAX_NAMED_FILES: usize = 3;
    let mut text = { files.iter().take(MAX_NAMED_FILES) }
        .map(|file| file.display().to_string())
        .collect::<Vec<_>>()
        .join(", ");
    if files.len() > MAX_NAMED_FILES {
        text += &format!(" and {} more", files.len() - MAX_NAMED_FILES);
    }
    text
}
