//! Checks the addresses of services.

use http::Uri;

use super::transport::is_loopback;

/// The address of a service is invalid. No variant shows a password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It names no host, or an unknown protocol.
    #[error("{0:?} is not the address of a service; write it as https://HOST")]
    NotAnAddress(String),
    /// It has a part that no request would carry.
    #[error("the address of the service at {host} has a {part}; leave that out")]
    Superfluous {
        /// The host.
        host: String,
        /// The part.
        part: &'static str,
    },
    /// Tokens or keys would cross the network unprotected.
    #[error("{0:?} would get a token or key without HTTPS: only addresses of this machine may")]
    Unprotected(String),
}

/// Checks the address of a service: HTTPS, or HTTP where no secret is sent or none leaves this
/// machine, and nothing except a host and a path.
///
/// # Errors
///
/// When it is invalid, has more parts, or a secret would cross the network without HTTPS.
pub(crate) fn check(address: &str, gets_secrets: bool) -> Result<(), AddressError> {
    let none = || AddressError::NotAnAddress(without_user(address));
    let uri: Uri = address.parse().map_err(|_| none())?;
    let host = uri.host().filter(|host| !host.is_empty());
    let host = host.ok_or_else(none)?;
    let has_user = uri.authority().is_some_and(|it| it.as_str().contains('@'));
    let parts = [
        ("user name", has_user),
        ("query", uri.query().is_some()),
        ("fragment", address.contains('#')),
    ];
    if let Some((part, _)) = parts.into_iter().find(|(_, is_there)| *is_there) {
        let host = host.to_owned();
        return Err(AddressError::Superfluous { host, part });
    }
    match uri.scheme_str() {
        Some("https") => Ok(()),
        Some("http") if !gets_secrets || is_loopback(host) => Ok(()),
        Some("http") => Err(AddressError::Unprotected(address.into())),
        _ => Err(none()),
    }
}

/// An address without the part before its host, which may be a password.
fn without_user(address: &str) -> String {
    match address.rsplit_once('@') {
        Some((_, rest)) => format!("…@{rest}"),
        None => address.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_host_and_a_path_are_an_address() {
        for good in [
            "https://a",
            "https://a.example:443/b/c",
            "http://127.0.0.1:80",
        ] {
            assert!(check(good, true).is_ok(), "{good}");
        }
        assert!(check("http://a.example", false).is_ok());
        for (wrong, expected) in [
            ("", "\"\" is not the address"),
            ("a.example", "write it as https://HOST"),
            ("ftp://a", "write it as https://HOST"),
            ("https://", "write it as https://HOST"),
            ("https://me:hidden@a.example", "a.example has a user name"),
            ("https://me:hid den@a", "\"…@a\" is not the address"),
            ("https://a?b=hidden", "at a has a query"),
            ("https://a#hidden", "at a has a fragment"),
            ("http://a.example", "without HTTPS"),
            ("http://me:hidden@127.0.0.1", "has a user name"),
        ] {
            let error = check(wrong, true).unwrap_err().to_string();
            assert!(error.contains(expected), "{wrong}: {error}");
            assert!(!error.contains("hid"), "{error}");
        }
    }
}
