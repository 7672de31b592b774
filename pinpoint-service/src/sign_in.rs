//! Who calls: the ways in which callers say who they are, and what each may do.

use http::{HeaderMap, header};
use pinpoint_backends::store::{JobStore, TokenCheck};
use tonic::Status;

use crate::caller::Caller;
use crate::grpc::errors;
use crate::operations::rights_of;

/// The ways in which callers say who they are.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignIn {
    /// Everybody who reaches the service is this user, an administrator: for one machine, on
    /// its loopback address.
    Nobody(String),
    /// Programs send a token of the store, as `Authorization: Bearer pinpoint_…`.
    Tokens,
}

impl SignIn {
    /// The caller; nobody where a request does not say who sends it.
    pub(crate) async fn caller(
        &self,
        store: &JobStore,
        headers: &HeaderMap,
    ) -> Result<Option<Caller>, Status> {
        match self {
            Self::Nobody(user) => Ok(Some(Caller {
                user: user.clone(),
                rights: rights_of("admin").into_iter().flatten().collect(),
            })),
            Self::Tokens => match bearer(headers)? {
                Some(secret) => of_token(store, secret).await.map(Some),
                None => Ok(None),
            },
        }
    }
}

/// The secret that a request carries.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Status> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let unreadable =
        || Status::unauthenticated("send one header `Authorization: Bearer pinpoint_…`");
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

async fn of_token(store: &JobStore, secret: &str) -> Result<Caller, Status> {
    let ended = |reason| {
        Err(Status::unauthenticated(format!(
            "the token {reason}; ask an administrator for another"
        )))
    };
    match store.find_token(secret).await.map_err(errors::store)? {
        TokenCheck::Valid(token) => Ok(Caller {
            // A right that this version does not know can't be used with it.
            rights: token
                .rights
                .iter()
                .filter_map(|name| rights_of(name))
                .flatten()
                .collect(),
            user: token.user,
        }),
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
