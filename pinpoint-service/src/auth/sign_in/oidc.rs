//! People with browsers: OpenID Connect's authorization code flow with PKCE.
//!
//! The pages are in [`handlers`](super::handlers).
//!
//! `/sign-in` keeps a state in the store, and sends the browser to the provider. The provider sends
//! it back to `/sign-in/callback` with a code. The code is exchanged for an ID token, which
//! identifies the user, and a session begins. Any process of the same store can finish a sign-in
//! that another began.

use std::time::Duration;

use reqwest::Url;
use serde_json::Value as Json;
use tonic::Status;

use super::claims::{self, Claims, Names};
use super::issuer::{refused, verified};
use super::jwt::{Algorithm, Token};
use super::provider::Provider;
use super::{Person, SignInError};
use crate::config;

/// The path that the provider sends browsers back to.
const CALLBACK: &str = "/sign-in/callback";

/// The provider whose users may sign in, with this service's registration there.
pub(super) struct Oidc {
    pub(super) provider: Provider,
    pub(super) client: String,
    secret: String,
    /// The public address of the path above.
    pub(super) callback: Url,
    pub(super) scopes: String,
    algorithms: Vec<Algorithm>,
    names: Names,
    pub(super) session: Duration,
}

/// Without the secret.
impl std::fmt::Debug for Oidc {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Oidc");
        shown.field("provider", &self.provider);
        shown.field("client", &self.client).finish_non_exhaustive()
    }
}

impl Oidc {
    pub(super) fn new(config: &config::Oidc) -> Result<Self, SignInError> {
        let (place, secret) = match &config.client_secret {
            config::ClientSecret::File(path) => (
                path.display().to_string(),
                std::fs::read_to_string(path).map_err(Into::into),
            ),
            config::ClientSecret::Environment(name) => (
                format!("the environment variable {name}"),
                std::env::var(name).map_err(Into::into),
            ),
        };
        let secret = secret.and_then(|secret: String| match secret.trim() {
            "" => Err("it is empty".into()),
            secret => Ok(secret.to_owned()),
        });
        let secret = secret.map_err(|source| SignInError::Secret { place, source })?;
        let mut callback = config.url.url().clone();
        callback.set_path(CALLBACK);
        callback.set_query(None);
        callback.set_fragment(None);
        Ok(Self {
            provider: Provider::new(config.issuer.as_str(), None)?,
            client: config.client_id.clone(),
            secret,
            callback,
            scopes: config.scopes.join(" "),
            algorithms: config.algorithms.clone(),
            names: config.claims.clone(),
            session: config.session,
        })
    }

    /// The person for whom the provider has given this code.
    pub(super) async fn person(
        &self,
        verifier: &str,
        nonce: &str,
        code: &str,
    ) -> Result<Person, Status> {
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", self.callback.as_str()),
            ("code_verifier", verifier),
        ];
        let client = (&*self.client, &*self.secret);
        let tokens = self.provider.exchange(client, &fields).await?;
        let text = |name: &str| tokens[name].as_str().unwrap_or_default();
        let access = text("access_token");
        let token = Token::read(text("id_token"), &self.algorithms).map_err(refused)?;
        let mut claims = verified(&self.provider, &token, &self.client).await?;
        let checked = claims::check_sign_in(&claims, &self.client, nonce, token.algorithm, access);
        checked.map_err(refused)?;
        if self.names.lacks(&claims) {
            self.add_user_info(&mut claims, access).await?;
        }
        self.names.person(&claims).map_err(refused)
    }

    /// Adds claims that many providers give outside of the ID token.
    async fn add_user_info(&self, claims: &mut Claims, access: &str) -> Result<(), Status> {
        if !self.provider.metadata().await?.has("userinfo_endpoint") {
            return Ok(());
        }
        let Json::Object(mut user) = self.provider.user(access).await? else {
            return Ok(());
        };
        let subject = claims::text(claims, "sub").map_err(refused)?;
        if claims::text(&user, "sub") != Ok(subject) {
            return Err(strange());
        }
        // It vouches only for the address that it names.
        if (claims.get("email")).is_some_and(|email| user.get("email") != Some(email)) {
            user.remove("email_verified");
        }
        for (name, value) in user {
            // Signed claims take precedence.
            claims.entry(name).or_insert(value);
        }
        Ok(())
    }
}

/// The answer to a callback that belongs to no sign-in of this browser.
pub(super) fn strange() -> Status {
    Status::unauthenticated(
        "this sign-in was not started in this browser, or it took too long; begin again at /sign-in",
    )
}
