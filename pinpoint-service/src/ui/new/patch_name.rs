//! Changes under review at Gerrit, by the names that people type.

use pinpoint_core::api::GetPatchRequest;

use crate::api::grpc::v2::messages::Patch;
use crate::jobs::hosts::is_at_or_below;

/// The host of `crrev.com`, and of bare numbers if it may be asked.
const CHROMIUM: &str = "chromium-review.googlesource.com";

const FORMS: &str =
    "enter a change as 12345, 12345/6, crrev.com/c/12345/6, or the full https address of its page";

/// The change of this name, at one of the hosts that may be asked.
///
/// # Errors
///
/// A hint about valid names.
pub(super) fn read(text: &str, trusted: &[String]) -> Result<GetPatchRequest, String> {
    let may_ask = |host: &str| trusted.iter().any(|known| is_at_or_below(host, known));
    let text = text.trim();
    let (host, numbers) = match text.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => {
            let rest = rest.split(['?', '#']).next().unwrap_or_default();
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            match host.eq_ignore_ascii_case("crrev.com") {
                true => (CHROMIUM, path.strip_prefix("c/").and_then(whole)),
                false => (host, of_page(path)),
            }
        }
        Some(_) => return Err(FORMS.to_owned()),
        None => {
            let at_chromium = ["crrev.com/c/", "crrev/"].iter();
            let mut at_chromium = at_chromium.filter_map(|start| text.strip_prefix(start));
            match at_chromium.next() {
                Some(numbers) => (CHROMIUM, whole(numbers)),
                None => {
                    let first = trusted.first().map_or(CHROMIUM, |first| first);
                    let host = if may_ask(CHROMIUM) { CHROMIUM } else { first };
                    (host, whole(text))
                }
            }
        }
    };
    if !may_ask(host) {
        let trusted = trusted.join(", ");
        return Err(format!(
            "{host} is not one of the hosts that may be asked: {trusted}"
        ));
    }
    let (change, patchset) = numbers.ok_or(FORMS)?;
    Ok(GetPatchRequest {
        host: host.to_ascii_lowercase(),
        change,
        patchset,
    })
}

/// The address of a change, which [`read`] reads again.
pub(super) fn written(patch: &Patch) -> String {
    let Patch {
        host,
        change,
        patchset,
    } = patch;
    match patchset {
        Some(patchset) => format!("https://{host}/c/{change}/{patchset}"),
        None => format!("https://{host}/c/{change}"),
    }
}

/// `12345` or `12345/6`.
fn whole(text: &str) -> Option<(i64, Option<i64>)> {
    let text = text.strip_suffix('/').unwrap_or(text);
    match text.split_once('/') {
        None => Some((number(text)?, None)),
        Some((change, patchset)) => Some((number(change)?, Some(number(patchset)?))),
    }
}

/// The path of a change's page: `c/PROJECT/+/12345/6`, perhaps with a file after it, or
/// `c/12345/6`, or `12345`.
fn of_page(path: &str) -> Option<(i64, Option<i64>)> {
    let Some((_, rest)) = path.split_once("/+/") else {
        return whole(path.strip_prefix("c/").unwrap_or(path));
    };
    let mut parts = rest.split('/');
    let change = number(parts.next()?)?;
    // `5..6` is the difference between two patch sets.
    let patchset = parts.next().and_then(|it| it.rsplit("..").next());
    Some((change, patchset.and_then(number)))
}

fn number(text: &str) -> Option<i64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_number.then(|| text.parse().ok()).flatten();
    number.filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str, trusted: &[&str]) -> Result<(String, i64, Option<i64>), String> {
        let trusted: Vec<_> = trusted.iter().map(|host| (*host).to_owned()).collect();
        read(text, &trusted).map(|it| (it.host, it.change, it.patchset))
    }

    #[test]
    fn a_change_has_several_names() {
        for (text, patchset) in [
            ("12345", None),
            (" 12345/6 ", Some(6)),
            ("crrev/12345", None),
            ("crrev/12345/6", Some(6)),
            ("crrev.com/c/12345", None),
            ("crrev.com/c/12345/6", Some(6)),
            ("https://crrev.com/c/12345/6", Some(6)),
            ("https://chromium-review.googlesource.com/12345", None),
            (
                "HTTPS://Chromium-Review.googlesource.com/c/12345/6/",
                Some(6),
            ),
            (
                "https://chromium-review.googlesource.com/c/chromium/src/+/12345",
                None,
            ),
            (
                "https://chromium-review.googlesource.com/c/chromium/src/+/12345/6?tab=comments#a",
                Some(6),
            ),
            (
                "https://chromium-review.googlesource.com/c/chromium/src/+/12345/5..6/base/a.cc",
                Some(6),
            ),
            (
                "https://chromium-review.googlesource.com/c/chromium/src/+/12345/comment/ab12_/",
                None,
            ),
        ] {
            let expected = (CHROMIUM.to_owned(), 12345, patchset);
            assert_eq!(named(text, &["googlesource.com"]), Ok(expected), "{text}");
        }
        let own = named("7/2", &["gerrit.example.org"]).unwrap();
        assert_eq!(own, ("gerrit.example.org".into(), 7, Some(2)));
    }

    /// The original asks every host that contains `.googlesource.com`.
    #[test]
    fn a_host_that_only_looks_trusted_is_not_asked() {
        for host in [
            "x.googlesource.com.evil.example",
            "evil-googlesource.com",
            "evil.example",
            "evil.example#.googlesource.com",
            "evil.example\\.googlesource.com",
            "user@x.googlesource.com",
            "x.googlesource.com@evil.example",
            "x.googlesource.com:8443",
            "x.googlesource.com.",
            "127.0.0.1",
            "",
        ] {
            let url = format!("https://{host}/c/chromium/src/+/12345/6");
            let refused = named(&url, &["googlesource.com"]).unwrap_err();
            assert!(refused.contains("may be asked"), "{url}: {refused}");
        }
        // Short names can't bypass the list either.
        assert!(named("crrev/12345", &["gerrit.example.org"]).is_err());
        assert!(named("12345", &[]).is_err());
    }

    #[test]
    fn what_names_no_change_is_refused() {
        for text in [
            "",
            "abc",
            "0",
            "-1",
            "+1",
            "12345/0",
            "12345/6/7",
            "12345/../7",
            "99999999999999999999",
            "http://chromium-review.googlesource.com/c/12345",
            "ftp://chromium-review.googlesource.com/c/12345",
            "https://chromium-review.googlesource.com/",
            "https://chromium-review.googlesource.com/changes/12345",
            "https://chromium-review.googlesource.com/c/src/+/x",
            "crrev.com/12345",
            "crrev.com/c/",
        ] {
            let refused = named(text, &["googlesource.com"]);
            assert_eq!(refused, Err(FORMS.to_owned()), "{text}");
        }
    }
}
