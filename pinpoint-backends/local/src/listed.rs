//! Names in messages.

/// Names for a message, in backquotes: not all of thousands.
#[doc(hidden)]
pub fn listed(names: &[String]) -> String {
    const MOST: usize = 20;
    let mut text = names
        .iter()
        .take(MOST)
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > MOST {
        text += &format!(" and {} more", names.len() - MOST);
    }
    text
}
