//! The address of a database.

/// The address as it may be shown to everybody.
pub fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.into();
    };
    let (place, query) = match rest.split_once('?') {
        // The options may hold a password, too.
        Some((place, query)) if !query.contains("password") => (place, format!("?{query}")),
        Some((place, _)) => (place, String::new()),
        None => (rest, String::new()),
    };
    let place = match place.rfind('@') {
        Some(at) => {
            let user = place[..at].split(':').next().unwrap_or_default();
            format!("{user}{}", &place[at..])
        }
        None => place.into(),
    };
    format!("{scheme}://{place}{query}")
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
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
