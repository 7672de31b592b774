//! The names of users.

/// Normalizes the name of a user: without blanks around it, and an address in lower case. Letters
/// beyond ASCII stay as they are: some of them become ASCII in lower case, and the name somebody
/// else's. None for an invisible name.
pub fn user_name(text: &str) -> Option<String> {
    let name = text.trim();
    let is_name = !name.is_empty() && !name.chars().any(char::is_control);
    is_name.then(|| match name.contains('@') {
        true => name.to_ascii_lowercase(),
        false => name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_form() {
        for (text, name) in [
            (" Ada@Example.ORG ", "ada@example.org"),
            ("Root", "Root"),
            // The sign of the unit Kelvin is `k` in lower case.
            ("\u{212a}ate@example.org", "\u{212a}ate@example.org"),
        ] {
            assert_eq!(user_name(text).as_deref(), Some(name));
        }
        for text in ["", " ", "a\tb", "a\0@example.org"] {
            assert_eq!(user_name(text), None, "{text:?}");
        }
    }
}
