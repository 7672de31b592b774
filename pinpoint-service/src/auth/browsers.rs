//! The check of requests from browsers: a page of another site must not act for the person
//! who looks at it.
//!
//! A browser says where a request comes from, in `Sec-Fetch-Site` or in `Origin`; programs say
//! neither. A name of another site that leads to this machine (DNS rebinding) is known by the
//! host that is asked for: a service without sign-in answers to loopback names alone.

use http::header::{HOST, ORIGIN};
use http::request::Parts;
use http::{Method, Uri};
use tonic::Status;

/// Rejects requests that may not be answered. `is_open`: nobody signs in.
pub(crate) fn check(parts: &Parts, is_open: bool) -> Result<(), Status> {
    let header = |name: &str| {
        parts
            .headers
            .get(name)
            .and_then(|value| value.to_str().ok())
    };
    let host = parts.uri.authority().map(|authority| authority.as_str());
    let host = host.or_else(|| header(HOST.as_str()));
    // A proxy may ask in anyone's name.
    let forwarded = ["forwarded", "via", "x-forwarded-for", "x-forwarded-host"];
    let is_forwarded = forwarded
        .iter()
        .any(|name| parts.headers.contains_key(*name));
    if is_open && (is_forwarded || host.is_some_and(|host| !is_loopback(host))) {
        return Err(Status::permission_denied(
            "this service has no sign-in, and answers to localhost, 127.0.0.1 and [::1] alone, without a proxy",
        ));
    }
    if matches!(parts.method, Method::GET | Method::HEAD) {
        return Ok(());
    }
    let is_ours = match (header("sec-fetch-site"), header(ORIGIN.as_str())) {
        (Some(site), _) => matches!(site, "same-origin" | "none"),
        (None, Some(origin)) => {
            let origin = origin.parse::<Uri>().ok();
            let origin = origin.as_ref().and_then(Uri::authority);
            origin.is_some_and(|origin| Some(origin.as_str()) == host)
        }
        (None, None) => true,
    };
    match is_ours {
        true => Ok(()),
        false => Err(Status::permission_denied(
            "a page of another site can't change anything here",
        )),
    }
}

pub(crate) fn is_loopback(host: &str) -> bool {
    let Ok(host) = host.parse::<http::uri::Authority>() else {
        return false;
    };
    let name = host.host().trim_start_matches('[').trim_end_matches(']');
    let address = name.parse::<std::net::IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn checked(method: Method, headers: &[(&str, &str)], is_open: bool) -> bool {
        let mut request = Request::builder()
            .method(method)
            .uri("/pinpoint/v1/bisection");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        check(&request.body(()).unwrap().into_parts().0, is_open).is_ok()
    }

    #[test]
    fn another_site_changes_nothing() {
        let post = |headers: &[(&str, &str)]| checked(Method::POST, headers, false);
        let host = ("host", "pinpoint.example.org");
        assert!(post(&[host]));
        assert!(post(&[host, ("origin", "https://pinpoint.example.org")]));
        assert!(post(&[host, ("sec-fetch-site", "same-origin")]));
        assert!(!post(&[host, ("origin", "https://evil.example")]));
        assert!(!post(&[
            host,
            ("origin", "https://pinpoint.example.org.evil.example")
        ]));
        assert!(!post(&[host, ("origin", "null")]));
        for site in ["cross-site", "same-site"] {
            assert!(!post(&[host, ("sec-fetch-site", site)]));
            // Following a link is harmless.
            assert!(checked(
                Method::GET,
                &[host, ("sec-fetch-site", site)],
                false
            ));
        }
    }

    #[test]
    fn a_service_without_sign_in_is_local() {
        let get = |host: &str| checked(Method::GET, &[("host", host)], true);
        for host in [
            "localhost:7467",
            "127.0.0.1:7467",
            "[::1]:7467",
            "LOCALHOST",
        ] {
            assert!(get(host), "{host}");
        }
        assert!(!checked(
            Method::GET,
            &[("host", "localhost"), ("via", "1.1 proxy")],
            true
        ));
        for host in [
            "evil.example:7467",
            "localhost.evil.example",
            "",
            "10.0.0.1",
        ] {
            assert!(!get(host), "{host}");
        }
    }
}
