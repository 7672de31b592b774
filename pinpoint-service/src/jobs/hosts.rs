//! The hosts of other services that an operator trusts.

/// Returns true if the host is this one, or below it. Both are plain names: other parts of a URL (a
/// user, a port, a dot at the end) make it another host.
pub(crate) fn is_at_or_below(host: &str, trusted: &str) -> bool {
    if !is_name(host) || !is_name(trusted) {
        return false;
    }
    let (host, trusted) = (host.to_ascii_lowercase(), trusted.to_ascii_lowercase());
    let below = host.strip_suffix(&trusted);
    below.is_some_and(|below| below.is_empty() || below.ends_with('.'))
}

/// Returns true if this is the plain name of a host.
pub(crate) fn is_name(name: &str) -> bool {
    let is_part = |part: &str| {
        let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !part.is_empty() && !part.starts_with('-') && part.bytes().all(is_fit)
    };
    name.split('.').all(is_part)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_a_whole_name_counts() {
        let trusted = "googlesource.com";
        for host in [
            "googlesource.com",
            "x.googlesource.com",
            "a-b.c.GoogleSource.com",
        ] {
            assert!(is_at_or_below(host, trusted), "{host}");
        }
        for host in [
            "x.googlesource.com.evil.example",
            "evil-googlesource.com",
            "evilgooglesource.com",
            "user:pass@googlesource.com",
            "user@x.googlesource.com",
            "googlesource.com:8443",
            "googlesource.com.",
            ".googlesource.com",
            "x..googlesource.com",
            "x/.googlesource.com",
            "evil.example/googlesource.com",
            "evil.example#.googlesource.com",
            "evil.example\\.googlesource.com",
            "googlesource",
            "com",
            "",
        ] {
            assert!(!is_at_or_below(host, trusted), "{host}");
        }
        assert!(!is_at_or_below("", ""));
        assert!(!is_at_or_below("x.example", ""));
    }

    proptest! {
        /// A trusted host ends with the trusted name, after a dot or nothing, and a URL with it
        /// names no other host.
        #[test]
        fn a_trusted_host_is_the_host_of_its_url(host in "[a-z@:/\\\\.#?%-]{0,12}(a\\.b)?[a-z@:/.]{0,3}") {
            if is_at_or_below(&host, "a.b") {
                let url: http::Uri = format!("https://{host}/path").parse().unwrap();
                prop_assert_eq!(url.host(), Some(&*host));
                prop_assert_eq!(url.authority().unwrap().as_str(), &*host);
                prop_assert!(host == "a.b" || host.ends_with(".a.b"));
            }
        }

        #[test]
        fn each_name_below_is_trusted(below in "([a-z0-9][a-z0-9-]{0,5}\\.){0,3}") {
            let host = format!("{below}a.b");
            prop_assert!(is_at_or_below(&host, "a.b"), "{}", host);
        }
    }
}
