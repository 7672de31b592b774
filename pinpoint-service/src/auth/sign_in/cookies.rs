//! The cookies of browsers. Their names begin with `__Host-`, so that only this service, over
//! HTTPS, can set them.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, header};

/// The cookie with the secret of a session.
pub(super) const SESSION: &str = "__Host-pinpoint";

/// The cookie that binds sign-ins under way to a browser.
pub(super) const BROWSER: &str = "__Host-pinpoint-sign-in";

/// The value of a cookie; none if it is missing, or there twice.
pub(super) fn read<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let headers = headers.get_all(header::COOKIE).iter();
    let pairs = headers
        .filter_map(|header| header.to_str().ok())
        .flat_map(|header| header.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    let mut values = pairs
        .filter(|(found, _)| *found == name)
        .map(|(_, value)| value);
    match (values.next(), values.next()) {
        (Some(only), None) if !only.is_empty() => Some(only),
        _ => None,
    }
}

/// The header that sets a cookie for some time; zero ends the cookie.
pub(super) fn set(name: &str, value: &str, length: Duration) -> HeaderValue {
    let text = format!(
        "{name}={value}; Path=/; Max-Age={}; HttpOnly; Secure; SameSite=Lax",
        length.as_secs()
    );
    text.try_into()
        .expect("names are constants, and secrets are written in Base64")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_there_once() {
        let of = |values: &[&'static str]| {
            let values = values
                .iter()
                .map(|value| (header::COOKIE, HeaderValue::from_static(value)));
            let headers = values.collect::<HeaderMap>();
            read(&headers, SESSION).map(str::to_owned)
        };
        assert_eq!(
            of(&["a=b; __Host-pinpoint=s=1;c=d"]).as_deref(),
            Some("s=1")
        );
        assert_eq!(of(&["a=b", "__Host-pinpoint=s"]).as_deref(), Some("s"));
        for other in [
            &[][..],
            &["a=b"],
            &["__Host-pinpoint="],
            &["__Host-pinpoint"],
            &["__host-pinpoint=s"],
            &["__Host-pinpoint-sign-in=s"],
            &["__Host-pinpoint=s; __Host-pinpoint=t"],
            &["__Host-pinpoint=s", "__Host-pinpoint=t"],
        ] {
            assert_eq!(of(other), None, "{other:?}");
        }
    }
}
