//! The address of a database.

/// The address in a form that is safe to show.
pub fn without_password(url: &str) -> String {
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), url),
    };
    // Any text between a colon and the last @ may be a password, or a part of one.
    let (user, place) = match rest.rfind('@') {
        Some(at) => (
            rest[..at].split(':').next().unwrap_or_default(),
            &rest[at..],
        ),
        None => ("", rest),
    };
    let place = match place.split_once('?') {
        // The options may hold a password, too.
        Some((place, query)) if query.contains("password") => place,
        _ => place,
    };
    format!("{scheme}{user}{place}")
}

#[cfg(test)]
mod tests {
    use super::without_password;

    #[test]
    fn no_message_shows_a_password() {
        for (url, shown) in [
            ("postgres://ada:secret@db/jobs", "postgres://ada@db/jobs"),
            (
                "postgres://ada:se@cret@db:1/jobs",
                "postgres://ada@db:1/jobs",
            ),
            (
                "postgres://db/jobs?host=/run",
                "postgres://db/jobs?host=/run",
            ),
            ("postgres://db/jobs?password=secret", "postgres://db/jobs"),
            ("postgres://ada:se/cret@db", "postgres://ada@db"),
            ("postgres://ada:se?cret@db/jobs", "postgres://ada@db/jobs"),
            ("ada:secret@db/jobs", "ada@db/jobs"),
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
