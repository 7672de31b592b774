//! Bearer tokens: those of the store, and those that an issuer signs.

use http::{HeaderMap, header};
use pinpoint_backends::store::{JobStore, TokenCheck};
use tonic::Status;

use crate::api::access::rights_of;
use crate::api::grpc::errors;
use crate::auth::caller::Caller;
use crate::auth::users::user_name;

/// The secret that a request carries.
pub(super) fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Status> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let unreadable = || Status::unauthenticated("send one header `Authorization: Bearer TOKEN`");
    let text = value.to_str().map_err(|_| unreadable())?;
    match text.split_once(' ') {
        Some((scheme, secret))
            if scheme.eq_ignore_ascii_case("bearer") && values.next().is_none() =>
        {
            Ok(Some(secret.trim()))
        }
        _ => Err(unreadable()),
    }
}

/// The caller with a token of the store.
pub(super) async fn caller(store: &JobStore, secret: &str) -> Result<Caller, Status> {
    let ended = |reason| {
        Err(Status::unauthenticated(format!(
            "the token {reason}; ask an administrator for another"
        )))
    };
    match store.tokens().find(secret).await.map_err(errors::store)? {
        TokenCheck::Valid(token) => {
            let Some(user) = user_name(&token.user) else {
                return ended("names no user");
            };
            // A right that this version does not know can't be used.
            let rights = token.rights.iter().filter_map(|name| rights_of(name));
            let rights = rights.flatten().collect();
            Ok(Caller { user, rights })
        }
        TokenCheck::Expired(_) => ended("has expired"),
        TokenCheck::Revoked(_) => ended("was revoked"),
        TokenCheck::Unknown => ended("is not known"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_from_one_header() {
        let headers = |values: &[&'static str]| {
            let values = values
                .iter()
                .map(|value| (header::AUTHORIZATION, value.parse().unwrap()));
            values.collect::<HeaderMap>()
        };
        assert_eq!(bearer(&headers(&[])).unwrap(), None);
        assert_eq!(bearer(&headers(&["bearer  a"])).unwrap(), Some("a"));
        for bad in [&["Basic YTpi"][..], &["Bearer"], &["Bearer a", "Bearer b"]] {
            assert!(bearer(&headers(bad)).is_err(), "{bad:?}");
        }
    }
}
