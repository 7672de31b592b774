//! Names in messages.

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
