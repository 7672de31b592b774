//! An identity provider on a loopback port, whose tokens are signed as a test likes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use http::{HeaderMap, StatusCode, Uri};
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The service's secret at the provider, with characters that a header has to escape.
pub(crate) const SECRET: &str = "hunter:2%+";

/// The seconds since 1970.
pub(crate) fn now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(now.unwrap().as_secs()).unwrap()
}

pub(crate) fn encode(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// A key on the curve P-256.
pub(crate) struct Key {
    id: String,
    pair: EcdsaKeyPair,
}

impl Key {
    pub(crate) fn new(id: &str) -> Self {
        let kind = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        Self {
            id: id.to_owned(),
            pair: EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).unwrap(),
        }
    }

    /// The bytes of the public key.
    pub(crate) fn point(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }

    /// The public key, as a provider shows it.
    pub(crate) fn shown(&self) -> Value {
        let (x, y) = (encode(&self.point()[1..33]), encode(&self.point()[33..]));
        json!({ "kty": "EC", "crv": "P-256", "use": "sig", "kid": self.id, "x": x, "y": y })
    }

    /// A token with these claims.
    pub(crate) fn sign(&self, claims: &Value) -> String {
        self.sign_as(&json!({ "alg": "ES256", "kid": self.id }), claims)
    }

    pub(crate) fn sign_as(&self, header: &Value, claims: &Value) -> String {
        let message = message(header, claims);
        let signed = self.pair.sign(&SystemRandom::new(), message.as_bytes());
        format!("{message}.{}", encode(signed.unwrap()))
    }
}

/// The part of a token that is signed.
pub(crate) fn message(header: &Value, claims: &Value) -> String {
    let (header, claims) = (header.to_string(), claims.to_string());
    format!("{}.{}", encode(header), encode(claims))
}

#[derive(Default)]
struct Inner {
    issuer: String,
    shown: Vec<Value>,
    asked: BTreeMap<String, u32>,
    /// The results of codes: PKCE's challenge, and the answer.
    codes: BTreeMap<String, (String, Value)>,
    user: Value,
    mood: Mood,
}

/// The behavior of a provider.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Mood {
    #[default]
    Sound,
    /// Its metadata differs from the defaults.
    Particular,
    /// With errors.
    Away,
    /// With an answer too long to be read.
    Endless,
    /// Never.
    Silent,
}

/// A provider; one that is dropped does not answer any more.
pub(crate) struct Provider {
    pub(crate) issuer: String,
    pub(crate) key: Key,
    inner: Arc<Mutex<Inner>>,
    task: JoinHandle<()>,
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Provider {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let key = Key::new("first");
        let inner = Arc::new(Mutex::new(Inner {
            issuer: issuer.clone(),
            shown: vec![key.shown()],
            ..Inner::default()
        }));
        let routes = Router::new().fallback(answer).with_state(inner.clone());
        let task = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self {
            issuer,
            key,
            inner,
            task,
        }
    }

    /// Shows these keys, from now on.
    pub(crate) fn show(&self, keys: &[&Key]) {
        self.inner.lock().unwrap().shown = keys.iter().map(|key| key.shown()).collect();
    }

    pub(crate) fn set(&self, mood: Mood) {
        self.inner.lock().unwrap().mood = mood;
    }

    /// The user's claims, besides those in ID tokens.
    pub(crate) fn set_user(&self, user: Value) {
        self.inner.lock().unwrap().user = user;
    }

    /// The number of requests for a path.
    pub(crate) fn asked(&self, path: &str) -> u32 {
        let inner = self.inner.lock().unwrap();
        inner.asked.get(path).copied().unwrap_or_default()
    }

    /// The claims about a user that are right, for an audience.
    pub(crate) fn claims(&self, audience: &str, user: &str) -> Value {
        json!({
            "iss": self.issuer, "aud": audience, "sub": user, "iat": now(), "exp": now() + 300,
            "email": user, "email_verified": true,
        })
    }

    /// A code for a user who agrees to the service's request.
    pub(crate) fn grant(&self, challenge: &str, id_token: &str) -> String {
        let mut inner = self.inner.lock().unwrap();
        let code = format!("code/{}+", inner.codes.len());
        let tokens =
            json!({ "access_token": "access", "token_type": "Bearer", "id_token": id_token });
        inner
            .codes
            .insert(code.clone(), (challenge.to_owned(), tokens));
        code
    }
}

async fn answer(
    State(inner): State<Arc<Mutex<Inner>>>,
    uri: Uri,
    headers: HeaderMap,
    body: String,
) -> Response {
    let mood = {
        let mut inner = inner.lock().unwrap();
        *inner.asked.entry(uri.path().to_owned()).or_default() += 1;
        inner.mood
    };
    match mood {
        Mood::Away => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        Mood::Endless => Json(json!({ "keys": [" ".repeat(256 << 10)] })).into_response(),
        Mood::Silent => std::future::pending().await,
        Mood::Sound | Mood::Particular => {
            sound(&mut inner.lock().unwrap(), uri.path(), &headers, &body)
        }
    }
}

fn sound(inner: &mut Inner, path: &str, headers: &HeaderMap, body: &str) -> Response {
    let is_particular = inner.mood == Mood::Particular;
    let authorization = headers.get("authorization");
    let authorization = authorization.map_or("", |value| value.to_str().unwrap());
    let issuer = &inner.issuer;
    match path {
        "/.well-known/openid-configuration" => {
            let mut metadata = json!({
                "issuer": issuer,
                "authorization_endpoint": format!("{issuer}/authorize?tenant=1"),
                "token_endpoint": format!("{issuer}/token"),
                "userinfo_endpoint": format!("{issuer}/user"),
                "jwks_uri": format!("{issuer}/keys"),
            });
            if is_particular {
                let methods = "token_endpoint_auth_methods_supported";
                metadata[methods] = json!(["client_secret_post"]);
                metadata["authorization_response_iss_parameter_supported"] = true.into();
            }
            Json(metadata).into_response()
        }
        "/keys" => Json(json!({ "keys": inner.shown })).into_response(),
        "/user" if authorization == "Bearer access" => Json(inner.user.clone()).into_response(),
        "/token" => {
            let fields = form_urlencoded::parse(body.as_bytes()).into_owned();
            let fields: BTreeMap<_, _> = fields.collect();
            let field = |name: &str| fields.get(name).map_or("", String::as_str);
            let secret: String = form_urlencoded::byte_serialize(SECRET.as_bytes()).collect();
            let basic = BASE64_STANDARD.encode(format!("pinpoint:{secret}"));
            let is_client = match is_particular {
                true => field("client_id") == "pinpoint" && field("client_secret") == SECRET,
                false => authorization == format!("Basic {basic}"),
            };
            if !is_client {
                let error = json!({ "error": "invalid_client" });
                return (StatusCode::UNAUTHORIZED, Json(error)).into_response();
            }
            let challenge = encode(digest(&SHA256, field("code_verifier").as_bytes()));
            let is_whole = field("grant_type") == "authorization_code"
                && field("redirect_uri") == "https://pinpoint.example.org/sign-in/callback";
            match inner.codes.remove(field("code")) {
                Some((expected, tokens)) if is_whole && expected == challenge => {
                    Json(tokens).into_response()
                }
                _ => {
                    let error = json!({ "error": "invalid_grant" });
                    (StatusCode::BAD_REQUEST, Json(error)).into_response()
                }
            }
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}
