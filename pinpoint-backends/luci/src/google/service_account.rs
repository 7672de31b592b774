//! Tokens for the key of a service account: an assertion, signed with the key, is exchanged
//! for a token ([RFC 7523], as [Google describes it]).
//!
//! [RFC 7523]: https://www.rfc-editor.org/rfc/rfc7523
//! [Google describes it]: https://developers.google.com/identity/protocols/oauth2/service-account

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::Request;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde::Deserialize;
use serde_json::json;

use super::address::check;
use super::tokens::TokenError;

/// An assertion is good for this time, the longest that is allowed.
const LIFE: Duration = Duration::from_secs(3600);

/// The key of a service account, read from the JSON file of Google Cloud's console.
#[derive(Clone)]
pub struct ServiceAccountKey {
    /// The account.
    email: String,
    key_id: Option<String>,
    token_uri: String,
    key: Arc<RsaKeyPair>,
}

impl fmt::Debug for ServiceAccountKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ServiceAccountKey")
            .field("email", &self.email)
            .finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct File {
    r#type: String,
    client_email: String,
    private_key: String,
    #[serde(default)]
    private_key_id: Option<String>,
    token_uri: String,
}

impl ServiceAccountKey {
    /// Reads the JSON file of a key.
    ///
    /// # Errors
    ///
    /// [`TokenError::Key`] when it holds none. No error shows its contents.
    pub fn read(json: &[u8]) -> Result<Self, TokenError> {
        // The message of serde would quote the file.
        let file: File = serde_json::from_slice(json).map_err(|error| {
            TokenError::Key(match error.is_data() {
                true => "the JSON is not that of a service account's key",
                false => "the key is not written in JSON",
            })
        })?;
        if file.r#type != "service_account" {
            return Err(TokenError::Key("it is not the key of a service account"));
        }
        check(&file.token_uri, true).map_err(|_| {
            TokenError::Key(
                "`token_uri` is not an HTTPS address, and the key is good for a token there",
            )
        })?;
        let key = PrivatePkcs8KeyDer::from_pem_slice(file.private_key.as_bytes())
            .map_err(|_| TokenError::Key("`private_key` is not a PKCS #8 key in PEM"))?;
        let key = RsaKeyPair::from_pkcs8(key.secret_pkcs8_der())
            .map_err(|_| TokenError::Key("`private_key` is not an RSA key of 2048 bits or more"))?;
        Ok(Self {
            email: file.client_email,
            key_id: file.private_key_id,
            token_uri: file.token_uri,
            key: Arc::new(key),
        })
    }

    /// The account's address.
    pub fn email(&self) -> &str {
        &self.email
    }

    /// The request that exchanges an assertion, made at this time since 1970, for a token.
    pub(super) fn request(
        &self,
        scopes: &[String],
        now: Duration,
    ) -> Result<Request<Vec<u8>>, TokenError> {
        let assertion = self.assertion(scopes, now.as_secs())?;
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer")
            .append_pair("assertion", &assertion);
        Request::post(&self.token_uri)
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(form.finish().into_bytes())
            .map_err(TokenError::Request)
    }

    fn assertion(&self, scopes: &[String], now: u64) -> Result<String, TokenError> {
        let mut header = json!({"alg": "RS256", "typ": "JWT"});
        if let (Some(id), Some(header)) = (&self.key_id, header.as_object_mut()) {
            header.insert("kid".into(), json!(id));
        }
        let claims = json!({
            "iss": self.email,
            "scope": scopes.join(" "),
            "aud": self.token_uri,
            "iat": now,
            "exp": now + LIFE.as_secs(),
        });
        let [header, claims] =
            [header, claims].map(|part| BASE64_URL_SAFE_NO_PAD.encode(part.to_string()));
        let signed = format!("{header}.{claims}");
        let mut signature = vec![0; self.key.public().modulus_len()];
        let random = SystemRandom::new();
        self.key
            .sign(
                &RSA_PKCS1_SHA256,
                &random,
                signed.as_bytes(),
                &mut signature,
            )
            .map_err(|_| TokenError::Key("it can't sign"))?;
        let signature = BASE64_URL_SAFE_NO_PAD.encode(signature);
        Ok(format!("{signed}.{signature}"))
    }
}

#[cfg(test)]
mod tests {
    use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};

    use super::*;

    /// Made for this test with `openssl genrsa 2048`; it opens nothing.
    const FILE: &[u8] = include_bytes!("testdata/service_account.json");

    #[test]
    fn an_assertion_is_signed_and_says_what_is_asked() {
        let key = ServiceAccountKey::read(FILE).unwrap();
        let scopes = ["scope/a", "scope/b"].map(str::to_owned);
        let assertion = key.assertion(&scopes, 1_700_000_000).unwrap();
        let (signed, signature) = assertion.rsplit_once('.').unwrap();
        let decode = |text| BASE64_URL_SAFE_NO_PAD.decode(text).unwrap();
        UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.key.public().as_ref())
            .verify(signed.as_bytes(), &decode(signature))
            .unwrap();
        let (header, claims) = signed.split_once('.').unwrap();
        let read = |text| serde_json::from_slice::<serde_json::Value>(&decode(text)).unwrap();
        let header_expected = json!({"alg": "RS256", "typ": "JWT", "kid": "k1"});
        assert_eq!(read(header), header_expected);
        let expected = json!({
            "iss": "pinpoint@example.iam.gserviceaccount.com",
            "scope": "scope/a scope/b",
            "aud": "https://oauth2.example.org/token",
            "iat": 1_700_000_000,
            "exp": 1_700_003_600,
        });
        assert_eq!(read(claims), expected);
    }

    #[test]
    fn what_is_no_key_is_refused_and_not_shown() {
        let whole = String::from_utf8(FILE.to_vec()).unwrap();
        for (json, expected) in [
            ("secret-text".to_owned(), "not written in JSON"),
            (r#"{"type": "secret-text"}"#.into(), "not that of"),
            (
                whole.replace("service_account", "secret-text"),
                "not the key of",
            ),
            (whole.replace("BEGIN", "secret-text"), "not a PKCS #8"),
            (whole.replace("MII", "AAA"), "not a"),
            (
                whole.replace("https://", "http://secret-text."),
                "`token_uri`",
            ),
            (
                whole.replace("https://", "https://secret-text@"),
                "`token_uri`",
            ),
        ] {
            let error = ServiceAccountKey::read(json.as_bytes())
                .unwrap_err()
                .to_string();
            assert!(
                error.contains(expected) && !error.contains("secret"),
                "{error}"
            );
        }
        let key = ServiceAccountKey::read(FILE).unwrap();
        assert!(!format!("{key:?}").contains("token"), "{key:?}");
    }
}
