//! Tokens that an issuer signs, as programs and proxies bring them.

use std::time::SystemTime;

use tonic::Status;

use super::Person;
use super::claims::{self, Claims, Names};
use super::jwt::{Algorithm, Fault, Token};
use super::provider::Provider;
use crate::config;

/// An issuer, and the requirements for its tokens.
#[derive(Debug)]
pub(super) struct Issuer {
    provider: Provider,
    audience: String,
    algorithms: Vec<Algorithm>,
    names: Names,
}

impl Issuer {
    pub(super) fn new(config: &config::Issuer) -> Result<Self, reqwest::Error> {
        Ok(Self {
            provider: Provider::new(
                config.issuer.as_str(),
                config.jwks_url.as_ref().map(config::Address::as_str),
            )?,
            audience: config.audience.clone(),
            algorithms: config.algorithms.clone(),
            names: config.claims.clone(),
        })
    }

    /// The person whom a token names.
    pub(super) async fn person(&self, token: &str) -> Result<Person, Status> {
        let token = Token::read(token, &self.algorithms).map_err(refused)?;
        let claims = verified(&self.provider, &token, &self.audience).await?;
        self.names.person(&claims).map_err(refused)
    }
}

/// The claims of a token that its issuer has signed for this audience, and that is valid.
pub(super) async fn verified(
    provider: &Provider,
    token: &Token<'_>,
    audience: &str,
) -> Result<Claims, Status> {
    let keys = provider.keys(|keys| !token.is_of(keys)).await?;
    let claims = token.claims(&keys).map_err(refused)?;
    let now = SystemTime::now();
    claims::check(&claims, provider.issuer(), audience, now).map_err(refused)?;
    Ok(claims)
}

/// The answer to a refused token.
pub(super) fn refused(fault: Fault) -> Status {
    Status::unauthenticated(format!("the token can't be used: {fault}"))
}
