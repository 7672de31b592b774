//! Signatures of JSON Web Tokens (RFC 7515, 7517 and 7518): those by private keys alone.
//! Tokens without a signature, or with one by a secret that both sides know, have no name
//! here, so that neither can be configured nor accepted.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest::{self, digest};
use ring::signature::{self, UnparsedPublicKey, VerificationAlgorithm};
use serde::Deserialize;
use serde_json::{Map, Value as Json};

/// A signature algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub enum Algorithm {
    /// RSA with SHA-256.
    RS256,
    /// RSA with SHA-384.
    RS384,
    /// RSA with SHA-512.
    RS512,
    /// RSA-PSS with SHA-256.
    PS256,
    /// RSA-PSS with SHA-384.
    PS384,
    /// RSA-PSS with SHA-512.
    PS512,
    /// ECDSA on the curve P-256 with SHA-256.
    ES256,
    /// ECDSA on the curve P-384 with SHA-384.
    ES384,
    /// Ed25519.
    EdDSA,
}

use Algorithm::{ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512};

impl Algorithm {
    /// The half of a token's hash that an ID token carries as `at_hash`.
    pub(super) fn half_hash(self, token: &str) -> String {
        let hash = match self {
            RS256 | PS256 | ES256 => &digest::SHA256,
            RS384 | PS384 | ES384 => &digest::SHA384,
            RS512 | PS512 | EdDSA => &digest::SHA512,
        };
        let whole = digest(hash, token.as_bytes());
        let whole = whole.as_ref();
        BASE64_URL_SAFE_NO_PAD.encode(&whole[..whole.len() / 2])
    }
}

/// A token that is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    #[error("it is not a signed JSON Web Token")]
    NotSigned,
    #[error("it is signed by an algorithm that is not allowed here")]
    Algorithm,
    #[error("it is signed by a key that its issuer does not show")]
    Key,
    #[error("its signature is wrong")]
    Signature,
    #[error("its claim `{0}` is missing or not of its kind")]
    Unreadable(String),
    #[error("its issuer is another")]
    Issuer,
    #[error("it is for another audience")]
    Audience,
    #[error("it has expired")]
    Expired,
    #[error("it is not valid yet")]
    Early,
    #[error("it belongs to another sign-in")]
    Nonce,
    #[error("it belongs to another access token")]
    AccessToken,
    #[error("its issuer has not verified the e-mail address")]
    Unverified,
}

/// A public key of an issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    id: Option<String>,
    /// The only algorithm that it is for, if it names one.
    algorithm: Option<String>,
    material: Material,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl Key {
    /// Reads a JSON Web Key; returns none for one that is not for signatures, or of another type.
    pub(super) fn read(jwk: &Json) -> Option<Self> {
        let text = |name: &str| jwk.get(name).and_then(Json::as_str);
        let bytes = |name: &str| decode(text(name)?);
        if text("use").is_some_and(|it| it != "sig") {
            return None;
        }
        // An uncompressed point, whose coordinates must have all their bytes.
        let point = |size: usize| {
            let (x, y) = (bytes("x")?, bytes("y")?);
            let is_whole = x.len() == size && y.len() == size;
            is_whole.then(|| [&[4][..], &x, &y].concat())
        };
        let material = match (text("kty")?, text("crv")) {
            ("RSA", _) => Material::Rsa {
                n: bytes("n")?,
                e: bytes("e")?,
            },
            ("EC", Some("P-256")) => Material::P256(point(32)?),
            ("EC", Some("P-384")) => Material::P384(point(48)?),
            ("OKP", Some("Ed25519")) => Material::Ed25519(bytes("x")?),
            _ => return None,
        };
        Some(Self {
            id: text("kid").map(str::to_owned),
            algorithm: text("alg").map(str::to_owned),
            material,
        })
    }

    /// Returns true if the key could have signed a token with this header.
    fn may_sign(&self, algorithm: Algorithm, name: &str, id: Option<&str>) -> bool {
        let is_kind = matches!(
            (&self.material, algorithm),
            (
                Material::Rsa { .. },
                RS256 | RS384 | RS512 | PS256 | PS384 | PS512
            ) | (Material::P256(_), ES256)
                | (Material::P384(_), ES384)
                | (Material::Ed25519(_), EdDSA)
        );
        let is_named = id.is_none() || self.id.as_deref() == id;
        let is_meant = self.algorithm.as_deref().is_none_or(|only| only == name);
        is_kind && is_named && is_meant
    }

    fn has_signed(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        let plain = |kind: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(kind, key).verify(message, signature)
        };
        let done = match &self.material {
            Material::Rsa { n, e } => {
                let kind = match algorithm {
                    RS256 => &signature::RSA_PKCS1_2048_8192_SHA256,
                    RS384 => &signature::RSA_PKCS1_2048_8192_SHA384,
                    RS512 => &signature::RSA_PKCS1_2048_8192_SHA512,
                    PS256 => &signature::RSA_PSS_2048_8192_SHA256,
                    PS384 => &signature::RSA_PSS_2048_8192_SHA384,
                    PS512 => &signature::RSA_PSS_2048_8192_SHA512,
                    ES256 | ES384 | EdDSA => return false,
                };
                signature::RsaPublicKeyComponents { n, e }.verify(kind, message, signature)
            }
            Material::P256(point) => plain(&signature::ECDSA_P256_SHA256_FIXED, point),
            Material::P384(point) => plain(&signature::ECDSA_P384_SHA384_FIXED, point),
            Material::Ed25519(key) => plain(&signature::ED25519, key),
        };
        done.is_ok()
    }
}

/// A token whose signature is still to be checked.
#[derive(Debug)]
pub(super) struct Token<'a> {
    /// The key that it names.
    pub(super) key: Option<String>,
    /// The algorithm that it names.
    pub(super) algorithm: Algorithm,
    name: String,
    /// Header and claims, as they were signed.
    message: &'a str,
    signature: Vec<u8>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    /// Extensions that have to be understood: we know none.
    crit: Option<Json>,
}

impl<'a> Token<'a> {
    /// Reads a token in the compact form.
    pub(super) fn read(text: &'a str, allowed: &[Algorithm]) -> Result<Self, Fault> {
        let (message, signature) = text.rsplit_once('.').ok_or(Fault::NotSigned)?;
        let (header, claims) = message.split_once('.').ok_or(Fault::NotSigned)?;
        let header = decode(header).ok_or(Fault::NotSigned)?;
        let header: Header = serde_json::from_slice(&header).map_err(|_| Fault::NotSigned)?;
        if claims.contains('.') || header.crit.is_some() {
            return Err(Fault::NotSigned);
        }
        let algorithm = Algorithm::deserialize(Json::from(&*header.alg)).ok();
        let algorithm = algorithm.filter(|algorithm| allowed.contains(algorithm));
        Ok(Self {
            key: header.kid,
            algorithm: algorithm.ok_or(Fault::Algorithm)?,
            name: header.alg,
            message,
            signature: decode(signature).ok_or(Fault::NotSigned)?,
        })
    }

    /// Returns true if one of these keys could have signed it.
    pub(super) fn is_of(&self, keys: &[Key]) -> bool {
        let (name, id) = (&self.name, self.key.as_deref());
        keys.iter()
            .any(|key| key.may_sign(self.algorithm, name, id))
    }

    /// Returns the claims, if one of these keys has signed them.
    pub(super) fn claims(&self, keys: &[Key]) -> Result<Map<String, Json>, Fault> {
        let (name, id) = (&self.name, self.key.as_deref());
        let mut candidates = keys
            .iter()
            .filter(|key| key.may_sign(self.algorithm, name, id))
            .peekable();
        candidates.peek().ok_or(Fault::Key)?;
        let message = self.message.as_bytes();
        if !candidates.any(|key| key.has_signed(self.algorithm, message, &self.signature)) {
            return Err(Fault::Signature);
        }
        let claims = self.message.split_once('.').map(|(_, claims)| claims);
        let claims = claims.and_then(decode).ok_or(Fault::NotSigned)?;
        serde_json::from_slice(&claims).map_err(|_| Fault::NotSigned)
    }
}

fn decode(text: &str) -> Option<Vec<u8>> {
    BASE64_URL_SAFE_NO_PAD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use ring::hmac;
    use ring::rand::SystemRandom;
    use ring::signature::{EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
    use serde_json::json;

    use super::*;

    const ALL: &[Algorithm] = &[
        RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, EdDSA,
    ];

    fn encode(bytes: impl AsRef<[u8]>) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(bytes)
    }

    fn message(header: &Json) -> String {
        let claims = json!({ "sub": "ada" });
        format!(
            "{}.{}",
            encode(header.to_string()),
            encode(claims.to_string())
        )
    }

    fn checked(token: &str, allowed: &[Algorithm], keys: &[Key]) -> Result<Json, Fault> {
        let claims = Token::read(token, allowed)?.claims(keys)?;
        Ok(claims["sub"].clone())
    }

    /// A key on the curve P-256, as it signs and as it is shown.
    fn p256(id: &str) -> (EcdsaKeyPair, Json) {
        let kind = &signature::ECDSA_P256_SHA256_FIXED_SIGNING;
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).unwrap();
        let point = pair.public_key().as_ref();
        let (x, y) = (encode(&point[1..33]), encode(&point[33..]));
        let shown = json!({ "kty": "EC", "crv": "P-256", "kid": id, "x": x, "y": y });
        (pair, shown)
    }

    fn signed(pair: &EcdsaKeyPair, header: &Json) -> String {
        let message = message(header);
        let signature = pair.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
        format!("{message}.{}", encode(signature))
    }

    /// Signed by another program.
    #[test]
    fn every_algorithm_is_checked_with_its_own_hash() {
        let file: Json = serde_json::from_str(include_str!("signed.json")).unwrap();
        let keys = file["keys"].as_array().unwrap();
        let keys: Vec<_> = keys.iter().map(|key| Key::read(key).unwrap()).collect();
        let tokens = file["tokens"].as_object().unwrap();
        assert_eq!(tokens.len(), 7);
        for (name, token) in tokens {
            let token = token.as_str().unwrap();
            assert_eq!(checked(token, ALL, &keys).unwrap(), "ada", "{name}");
            let mut other = token.to_owned();
            let last = if token.ends_with('A') { 'Q' } else { 'A' };
            other.pop();
            other.push(last);
            assert!(checked(&other, ALL, &keys).is_err(), "{name}");
            // Its signature under the header of each of the others.
            for another in tokens.keys().filter(|another| *another != name) {
                let signature = token.rsplit('.').next().unwrap();
                let moved = format!("{}.{signature}", message(&json!({ "alg": another })));
                assert_eq!(checked(&moved, ALL, &keys), Err(Fault::Signature));
            }
        }
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
        let x = encode(pair.public_key());
        let key = Key::read(&json!({ "kty": "OKP", "crv": "Ed25519", "x": x })).unwrap();
        let message = message(&json!({ "alg": "EdDSA" }));
        let token = format!("{message}.{}", encode(pair.sign(message.as_bytes())));
        assert_eq!(checked(&token, ALL, &[key]).unwrap(), "ada");
    }

    #[test]
    fn a_token_says_neither_how_nor_by_what_it_is_checked() {
        let (one, shown) = p256("one");
        let (_, other) = p256("other");
        let keys: Vec<_> = [&shown, &other].map(|key| Key::read(key).unwrap()).into();
        let good = signed(&one, &json!({ "alg": "ES256", "kid": "one" }));
        assert_eq!(checked(&good, &[ES256], &keys).unwrap(), "ada");
        let nameless = signed(&one, &json!({ "alg": "ES256" }));
        assert_eq!(checked(&nameless, &[ES256], &keys).unwrap(), "ada");

        let pinned = checked(&good, &[RS256], &keys);
        assert_eq!(pinned, Err(Fault::Algorithm));
        let borrowed = signed(&one, &json!({ "alg": "ES256", "kid": "other" }));
        assert_eq!(checked(&borrowed, ALL, &keys), Err(Fault::Signature));
        let unknown = signed(&one, &json!({ "alg": "ES256", "kid": "none of them" }));
        assert_eq!(checked(&unknown, ALL, &keys), Err(Fault::Key));
        let critical = json!({ "alg": "ES256", "kid": "one", "crit": ["b64"], "b64": false });
        assert_eq!(
            checked(&signed(&one, &critical), ALL, &keys),
            Err(Fault::NotSigned)
        );
        // A key that the token carries counts for nothing.
        let (stranger, jwk) = p256("one");
        let brought =
            json!({ "alg": "ES256", "kid": "one", "jwk": jwk, "jku": "https://evil.example" });
        assert_eq!(
            checked(&signed(&stranger, &brought), ALL, &keys),
            Err(Fault::Signature)
        );

        for name in ["none", "None", "NONE", ""] {
            let bare = message(&json!({ "alg": name }));
            for token in [format!("{bare}."), format!("{bare}.AAAA"), bare] {
                assert!(checked(&token, ALL, &keys).is_err(), "{token}");
            }
        }
        // The public key, in each of its forms, taken for a secret.
        let point = one.public_key().as_ref().to_vec();
        let forms = [
            point.clone(),
            point[1..].to_vec(),
            shown.to_string().into(),
            shown["x"].as_str().unwrap().into(),
        ];
        for secret in forms {
            let message = message(&json!({ "alg": "HS256", "kid": "one" }));
            let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
            let token = format!("{message}.{}", encode(hmac::sign(&key, message.as_bytes())));
            assert_eq!(checked(&token, ALL, &keys), Err(Fault::Algorithm));
        }
    }

    #[test]
    fn keys_that_are_not_for_this_are_left_out() {
        let (_, shown) = p256("one");
        assert!(Key::read(&shown).is_some());
        let with = |name: &str, value: &str| {
            let mut key = shown.clone();
            key[name] = value.into();
            Key::read(&key)
        };
        assert_eq!(with("use", "enc"), None);
        assert_eq!(with("kty", "oct"), None);
        assert_eq!(with("crv", "secp256k1"), None);
        assert_eq!(with("x", "AAAA"), None);
        assert_eq!(with("x", "not base64!"), None);
        assert!(with("use", "sig").is_some());
        let (pair, _) = p256("one");
        let token = signed(&pair, &json!({ "alg": "ES256", "kid": "one" }));
        let key = with("alg", "ES384").unwrap();
        assert_eq!(checked(&token, ALL, &[key]), Err(Fault::Key));
    }

    /// The example of OpenID Connect Core, appendix A.3.
    #[test]
    fn half_a_hash_is_that_of_the_specification() {
        let token = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y";
        assert_eq!(RS256.half_hash(token), "77QmUPtjPfzWtF2AnpK9RQ");
    }
}
