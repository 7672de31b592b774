//! The claims of a token with a valid signature: whether it is for this service and for now, and
//! whom it names.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::Person;
use super::jwt::{Algorithm, Fault};

/// The tolerated difference of clocks, in seconds.
const LEEWAY: f64 = 30.0;

/// The claims of a token.
pub(super) type Claims = Map<String, Json>;

/// The claims that identify a user.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Names {
    /// The claim with the user: `email`, which its issuer must have verified, or another that
    /// users can't choose themselves.
    pub user: String,
    /// The claim with the names of groups.
    pub groups: String,
    /// Accepts addresses that the issuer does not claim to have verified: for issuers that never
    /// say so, and have no others.
    pub unverified_email: bool,
}

impl Default for Names {
    fn default() -> Self {
        Self {
            user: "email".into(),
            groups: "groups".into(),
            unverified_email: false,
        }
    }
}

impl Names {
    /// Returns true if these claims lack one that the provider may add elsewhere.
    pub(super) fn lacks(&self, claims: &Claims) -> bool {
        let is_to_be_verified = self.user == "email" && !self.unverified_email;
        let verified = is_to_be_verified.then_some("email_verified");
        let mut names = [&*self.user, &*self.groups].into_iter().chain(verified);
        names.any(|name| !claims.contains_key(name))
    }

    /// The person that these claims name.
    pub(super) fn person(&self, claims: &Claims) -> Result<Person, Fault> {
        let user = text(claims, &self.user)?;
        let is_verified = match claims.get("email_verified") {
            Some(Json::Bool(verified)) => *verified,
            Some(Json::String(verified)) => verified == "true",
            _ => false,
        };
        if self.user == "email" && !is_verified && !self.unverified_email {
            return Err(Fault::Unverified);
        }
        let unreadable = || Fault::Unreadable(self.groups.clone());
        let groups = match claims.get(&self.groups) {
            None | Some(Json::Null) => Vec::new(),
            Some(Json::String(group)) => vec![group.clone()],
            Some(Json::Array(groups)) => {
                let groups = groups.iter().map(|group| group.as_str().map(str::to_owned));
                groups.collect::<Option<_>>().ok_or_else(unreadable)?
            }
            Some(_) => return Err(unreadable()),
        };
        Person::new(user, groups).ok_or_else(|| Fault::Unreadable(self.user.clone()))
    }
}

/// Checks that a token is from this issuer, for this audience, and valid now. A claim of the wrong
/// type is as bad as a wrong one.
pub(super) fn check(
    claims: &Claims,
    issuer: &str,
    audience: &str,
    now: SystemTime,
) -> Result<(), Fault> {
    if text(claims, "iss")? != issuer {
        return Err(Fault::Issuer);
    }
    let is_for_us = match claims.get("aud") {
        Some(Json::String(only)) => only == audience,
        Some(Json::Array(several)) => several.iter().any(|one| one == audience),
        _ => return Err(Fault::Unreadable("aud".into())),
    };
    if !is_for_us {
        return Err(Fault::Audience);
    }
    let now = now
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs_f64();
    let time = |name: &str| match claims.get(name) {
        None => Ok(None),
        Some(time) => match time.as_f64() {
            Some(time) => Ok(Some(time)),
            None => Err(Fault::Unreadable(name.to_owned())),
        },
    };
    let expires = time("exp")?.ok_or_else(|| Fault::Unreadable("exp".into()))?;
    if expires + LEEWAY <= now {
        return Err(Fault::Expired);
    }
    match time("nbf")? {
        Some(begins) if begins - LEEWAY > now => Err(Fault::Early),
        _ => Ok(()),
    }
}

/// Checks the further claims of an ID token: that it answers this sign-in, and belongs to the
/// access token that came with it.
pub(super) fn check_sign_in(
    claims: &Claims,
    client: &str,
    nonce: &str,
    algorithm: Algorithm,
    access_token: &str,
) -> Result<(), Fault> {
    if claims.get("nonce").and_then(Json::as_str) != Some(nonce) {
        return Err(Fault::Nonce);
    }
    let is_shared = matches!(claims.get("aud"), Some(Json::Array(several)) if several.len() > 1);
    match claims.get("azp") {
        Some(party) if party != client => return Err(Fault::Audience),
        None if is_shared => return Err(Fault::Audience),
        _ => {}
    }
    match claims.get("at_hash") {
        Some(hash) if *hash != algorithm.half_hash(access_token) => Err(Fault::AccessToken),
        _ => Ok(()),
    }
}

/// A required claim.
pub(super) fn text<'a>(claims: &'a Claims, name: &str) -> Result<&'a str, Fault> {
    let value = claims.get(name).and_then(Json::as_str);
    value.ok_or_else(|| Fault::Unreadable(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn claims(json: Json) -> Claims {
        serde_json::from_value(json).unwrap()
    }

    fn with(name: &str, value: Json) -> Claims {
        let mut all = claims(json!({ "iss": "https://a", "aud": "us", "exp": NOW + 60 }));
        match value {
            Json::Null => all.remove(name),
            value => all.insert(name.to_owned(), value),
        };
        all
    }

    #[test]
    fn a_token_is_for_one_service_and_one_time() {
        let now = UNIX_EPOCH + Duration::from_secs(NOW);
        let checked = |name: &str, value: Json| check(&with(name, value), "https://a", "us", now);
        let unreadable = |name: &str| Err(Fault::Unreadable(name.to_owned()));
        assert_eq!(checked("iss", json!("https://a")), Ok(()));
        for other in ["https://a/", "https://A", "https://a.evil.example", ""] {
            assert_eq!(checked("iss", json!(other)), Err(Fault::Issuer), "{other}");
        }
        assert_eq!(checked("iss", Json::Null), unreadable("iss"));
        assert_eq!(checked("iss", json!(["https://a"])), unreadable("iss"));

        assert_eq!(checked("aud", json!(["them", "us"])), Ok(()));
        for other in [json!("them"), json!(["them"]), json!([]), json!("u")] {
            assert_eq!(checked("aud", other), Err(Fault::Audience));
        }
        assert_eq!(checked("aud", Json::Null), unreadable("aud"));

        // Clocks may differ by half a minute.
        assert_eq!(checked("exp", json!(NOW - 29)), Ok(()));
        assert_eq!(checked("exp", json!(NOW - 30)), Err(Fault::Expired));
        assert_eq!(checked("exp", json!(-1)), Err(Fault::Expired));
        for other in [Json::Null, json!("never"), json!((NOW + 60).to_string())] {
            assert_eq!(checked("exp", other), unreadable("exp"));
        }
        assert_eq!(checked("nbf", json!(NOW + 30)), Ok(()));
        assert_eq!(checked("nbf", json!(NOW + 31)), Err(Fault::Early));
        assert_eq!(checked("nbf", json!("99999999999")), unreadable("nbf"));
    }

    #[test]
    fn an_id_token_is_the_answer_to_one_sign_in() {
        let checked = |claims: Json| {
            let claims = self::claims(claims);
            check_sign_in(&claims, "us", "n", Algorithm::ES256, "access")
        };
        assert_eq!(checked(json!({ "nonce": "n" })), Ok(()));
        for nonce in [json!("m"), json!(""), Json::Null, json!(["n"])] {
            assert_eq!(checked(json!({ "nonce": nonce })), Err(Fault::Nonce));
        }
        assert_eq!(checked(json!({})), Err(Fault::Nonce));

        let shared = json!({ "nonce": "n", "aud": ["us", "them"] });
        assert_eq!(checked(shared), Err(Fault::Audience));
        let ours = json!({ "nonce": "n", "aud": ["us", "them"], "azp": "us" });
        assert_eq!(checked(ours), Ok(()));
        let theirs = json!({ "nonce": "n", "aud": "us", "azp": "them" });
        assert_eq!(checked(theirs), Err(Fault::Audience));

        let hash = Algorithm::ES256.half_hash("access");
        assert_eq!(checked(json!({ "nonce": "n", "at_hash": hash })), Ok(()));
        let other = json!({ "nonce": "n", "at_hash": Algorithm::ES256.half_hash("other") });
        assert_eq!(checked(other), Err(Fault::AccessToken));
    }

    #[test]
    fn an_address_counts_once_it_is_verified() {
        let person = |names: &Names, claims: Json| names.person(&self::claims(claims));
        let names = Names::default();
        let ada = json!({ "email": "Ada@Example.org", "email_verified": true, "groups": ["perf"] });
        let ada = person(&names, ada).unwrap();
        assert_eq!(
            (&*ada.user, &*ada.groups),
            ("ada@example.org", &["perf".into()][..])
        );
        for verified in [json!(false), json!("false"), json!(1), Json::Null] {
            let claims = json!({ "email": "ada@example.org", "email_verified": verified });
            assert_eq!(person(&names, claims), Err(Fault::Unverified));
        }
        let bare = json!({ "email": "ada@example.org" });
        assert_eq!(person(&names, bare.clone()), Err(Fault::Unverified));
        let trusting = Names {
            unverified_email: true,
            ..Names::default()
        };
        assert!(person(&trusting, bare).is_ok());

        let other = Names {
            user: "upn".into(),
            groups: "roles".into(),
            ..Names::default()
        };
        let bo = person(&other, json!({ "upn": "bo", "roles": "perf" })).unwrap();
        assert_eq!((&*bo.user, &*bo.groups), ("bo", &["perf".into()][..]));
        for bad in [
            json!({}),
            json!({ "upn": "" }),
            json!({ "upn": " " }),
            json!({ "upn": 7 }),
            json!({ "upn": "a\nb" }),
            json!({ "upn": "bo", "roles": [1] }),
            json!({ "upn": "bo", "roles": { "perf": true } }),
        ] {
            assert!(matches!(person(&other, bad), Err(Fault::Unreadable(_))));
        }
    }
}
