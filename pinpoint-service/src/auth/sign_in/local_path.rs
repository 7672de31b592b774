//! Paths of this service that a sign-in or a page may lead to.

/// The longest path to return to: in the head of a request it leaves room for the rest.
pub(crate) const LONGEST_PATH: usize = 12_000;

/// Returns true if this is a path of this service, for every browser: some take `\` for `/`, leave
/// control characters out, and go to another host at `//`.
pub(crate) fn is_local(path: &str) -> bool {
    let rest = path.strip_prefix('/');
    rest.is_some_and(|rest| !rest.starts_with('/'))
        && path.len() <= LONGEST_PATH
        && path
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_in_leads_to_this_service_alone() {
        for good in [
            "/",
            "/a",
            "/jobs/1?tab=runs#top",
            "/a//b",
            "/a?to=https://b",
        ] {
            assert!(is_local(good), "{good}");
        }
        for bad in [
            "",
            "a",
            "//evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "/a\\..\\b",
            "/\t/evil.example",
            "/\n/evil.example",
            " //evil.example",
            "https://evil.example",
            "https:/evil.example",
            "javascript:alert(1)",
            "/ü",
        ] {
            assert!(!is_local(bad), "{bad}");
        }
        assert!(!is_local(&format!("/{}", "a".repeat(LONGEST_PATH))));
    }
}
