//! The ways in which callers say who they are, as the configuration names them.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use http::HeaderName;
use reqwest::Url;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::error::{ConfigError, NO_TIME};
use super::seconds;
use crate::auth::sign_in::address;
pub use crate::auth::sign_in::{Algorithm, Member, MemberError, Names, Roles};

/// The ways in which callers say who they are: `"none"`, `"tokens"`, or a table with the ways
/// besides tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignInConfig {
    /// Without sign-in: everybody is the user that runs the service. For a loopback address.
    #[default]
    None,
    /// By tokens that `pinpoint-service tokens create` makes.
    Tokens,
    /// By those tokens, and in other ways.
    Ways(Box<Ways>),
}

impl<'de> Deserialize<'de> for SignInConfig {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = SignInConfig;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("\"none\", \"tokens\" or a table")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<SignInConfig, E> {
                match text {
                    "none" => Ok(SignInConfig::None),
                    "tokens" => Ok(SignInConfig::Tokens),
                    other => Err(E::unknown_variant(other, &["none", "tokens"])),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SignInConfig, A::Error> {
                let ways = Ways::deserialize(MapAccessDeserializer::new(map))?;
                Ok(SignInConfig::Ways(Box::new(ways)))
            }
        }

        reader.deserialize_any(Either)
    }
}

/// The ways besides tokens of the store, and the roles of the users that they sign in.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ways {
    /// People with browsers.
    #[serde(default)]
    pub oidc: Option<Oidc>,
    /// Programs with a token that an issuer signs, as `Authorization: Bearer …`.
    #[serde(default)]
    pub bearer: Option<Issuer>,
    /// A proxy that signs people in and says in a header who they are.
    #[serde(default)]
    pub proxy: Option<Proxy>,
    /// The roles of users.
    #[serde(default)]
    pub roles: Roles,
}

/// An OpenID Connect provider whose users may sign in.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Oidc {
    /// The provider, as its discovery names itself.
    pub issuer: Address,
    /// The public address of this service. `/sign-in/callback` at it is what the provider
    /// must know.
    pub url: Address,
    /// The name of this service at the provider.
    pub client_id: String,
    /// The place of its secret there.
    pub client_secret: ClientSecret,
    /// The scopes that are asked for; with another one, many providers name groups.
    #[serde(default = "scopes")]
    pub scopes: Vec<String>,
    /// The algorithms by which it may sign.
    #[serde(default = "algorithms")]
    pub algorithms: Vec<Algorithm>,
    /// The claims that identify a user.
    #[serde(default)]
    pub claims: Names,
    /// The length of a session.
    #[serde(default = "session", with = "seconds")]
    pub session: Duration,
}

/// The place of a secret.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientSecret {
    /// A file with nothing else.
    File(PathBuf),
    /// An environment variable.
    Environment(String),
}

/// An issuer of signed tokens.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Issuer {
    /// The issuer that a token has to name.
    pub issuer: Address,
    /// The audience that a token has to name.
    pub audience: String,
    /// The address of its keys, where OpenID Connect's discovery does not say it.
    #[serde(default)]
    pub jwks_url: Option<Address>,
    /// The algorithms by which it may sign.
    #[serde(default = "algorithms")]
    pub algorithms: Vec<Algorithm>,
    /// The claims that identify a user.
    #[serde(default)]
    pub claims: Names,
}

/// A proxy that signs people in.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proxy {
    /// The header that identifies the user, such as X-WEBAUTH-USER.
    pub header: String,
    /// The proof that the header is the proxy's.
    pub proof: Proof,
}

/// The proof that a header is a proxy's.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// By the certificate that the proxy shows as a client of TLS. The header is the name of
    /// the user.
    Certificate(ProxyCertificate),
    /// By a signature: the header is a token.
    Assertion(Box<Issuer>),
}

/// The certificate that a proxy shows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProxyCertificate {
    /// The file with the certificates, in PEM, of the authorities that sign it.
    pub authority: PathBuf,
    /// The name of a host, among its subject's alternative names.
    pub name: String,
}

/// An address over HTTPS, or one of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Address {
    text: String,
    url: Url,
}

impl Address {
    /// The address as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }
}

/// A text that is not an address for secrets.
#[derive(Debug, thiserror::Error)]
#[error("the address {text:?} {problem}")]
pub struct AddressError {
    text: String,
    problem: &'static str,
}

impl TryFrom<String> for Address {
    type Error = AddressError;

    fn try_from(text: String) -> Result<Self, AddressError> {
        match address(&text) {
            Ok(url) => Ok(Self { text, url }),
            Err(problem) => Err(AddressError { text, problem }),
        }
    }
}

fn scopes() -> Vec<String> {
    vec!["openid".into(), "email".into()]
}

fn algorithms() -> Vec<Algorithm> {
    vec![Algorithm::RS256, Algorithm::ES256]
}

fn session() -> Duration {
    Duration::from_secs(12 * 60 * 60)
}

impl SignInConfig {
    /// The certificate that a proxy has to show.
    pub fn proxy_certificate(&self) -> Option<&ProxyCertificate> {
        match self {
            Self::Ways(ways) => match &ways.proxy.as_ref()?.proof {
                Proof::Certificate(certificate) => Some(certificate),
                Proof::Assertion(_) => None,
            },
            _ => None,
        }
    }

    /// Rejects settings that can't be meant. `has_tls`: the service has its own certificate.
    pub(super) fn check(&self, has_tls: bool) -> Result<(), ConfigError> {
        let Self::Ways(ways) = self else {
            return Ok(());
        };
        let signs_in = ways.oidc.is_some() || ways.bearer.is_some() || ways.proxy.is_some();
        if signs_in && ways.roles.is_empty() {
            return Err(ConfigError::NoRoles);
        }
        if self.proxy_certificate().is_some() && !has_tls {
            return Err(ConfigError::ProxyWithoutTls);
        }
        if let Some(oidc) = &ways.oidc {
            oidc.check()?;
        }
        if let Some(issuer) = &ways.bearer {
            issuer.check("sign_in.bearer")?;
        }
        if let Some(Proof::Assertion(issuer)) = ways.proxy.as_ref().map(|proxy| &proxy.proof) {
            issuer.check("sign_in.proxy.proof.assertion")?;
        }
        match &ways.proxy {
            Some(proxy) if HeaderName::try_from(&proxy.header).is_err() => {
                Err(ConfigError::Header(proxy.header.clone()))
            }
            _ => Ok(()),
        }
    }
}

impl Oidc {
    fn check(&self) -> Result<(), ConfigError> {
        let section = "sign_in.oidc";
        check(section, &self.algorithms, "client_id", &self.client_id)?;
        if !self.scopes.iter().any(|scope| scope == "openid") {
            let problem = "lacks \"openid\", without which providers say nobody's name";
            return Err(ConfigError::field("sign_in.oidc.scopes", problem));
        }
        match self.session.is_zero() {
            true => Err(ConfigError::field("sign_in.oidc.session", NO_TIME)),
            false => Ok(()),
        }
    }
}

impl Issuer {
    fn check(&self, section: &str) -> Result<(), ConfigError> {
        check(section, &self.algorithms, "audience", &self.audience)
    }
}

/// Rejects an issuer that no token could satisfy.
fn check(
    section: &str,
    algorithms: &[Algorithm],
    name: &str,
    value: &str,
) -> Result<(), ConfigError> {
    let field = |name, problem| Err(ConfigError::field(&format!("{section}.{name}"), problem));
    if algorithms.is_empty() {
        return field("algorithms", "is empty, so that no token would count");
    }
    match value.trim().is_empty() {
        true => field(name, "is empty"),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    fn read(sign_in: &str) -> Result<SignInConfig, String> {
        let text = format!("listen = '127.0.0.1:80'\nstate_dir = '/s'\nbots = []\n{sign_in}");
        let config = Config::read(&text).map_err(|error| error.to_string())?;
        Ok(config.sign_in)
    }

    const OIDC: &str = "
        [sign_in.oidc]
        issuer = 'https://accounts.example.org'
        url = 'https://pinpoint.example.org'
        client_id = 'pinpoint'
        client_secret = { file = '/etc/pinpoint/client-secret' }
    ";

    #[test]
    fn ways_are_combined() {
        assert_eq!(read("").unwrap(), SignInConfig::None);
        assert_eq!(read("sign_in = 'none'").unwrap(), SignInConfig::None);
        assert_eq!(read("sign_in = 'tokens'").unwrap(), SignInConfig::Tokens);
        let text = format!(
            "{OIDC}
            [sign_in.bearer]
            issuer = 'https://accounts.example.org'
            audience = 'pinpoint-api'
            jwks_url = 'https://accounts.example.org/keys'
            algorithms = ['EdDSA']
            [sign_in.proxy]
            header = 'X-Assertion'
            proof.assertion = {{ issuer = 'https://proxy.example.org', audience = 'a' }}
            [sign_in.roles]
            viewer = ['domain:example.org']"
        );
        let SignInConfig::Ways(ways) = read(&text).unwrap() else {
            panic!("no ways");
        };
        let oidc = ways.oidc.unwrap();
        assert_eq!(oidc.session, Duration::from_secs(43_200));
        assert_eq!(oidc.algorithms, [Algorithm::RS256, Algorithm::ES256]);
        assert_eq!(oidc.claims, Names::default());
        assert_eq!(ways.bearer.unwrap().algorithms, [Algorithm::EdDSA]);
    }

    #[test]
    fn what_would_let_strangers_in_is_refused() {
        let roles = "[sign_in.roles]\nadmin = ['ada@example.org']";
        let oidc = |old: &str, new: &str| format!("{}{roles}", OIDC.replacen(old, new, 1));
        assert!(read(&oidc("", "")).is_ok());
        let secret = "{ file = '/etc/pinpoint/client-secret' }";
        let proxy = "[sign_in.proxy]\nheader = 'X-WEBAUTH-USER'\n";
        for (text, expected) in [
            ("sign_in = 'open'".to_owned(), "unknown variant `open`"),
            (OIDC.into(), "`[sign_in.roles]` names nobody"),
            (oidc("https://a", "http://a"), "must begin with https://"),
            (oidc("https://p", "http://p"), "must begin with https://"),
            (oidc(secret, "'hunter2'"), "client_secret"),
            (oidc("client_id", "client"), "unknown field `client`"),
            (
                oidc("client_id", "algorithms = ['HS256']\nclient_id"),
                "unknown variant `HS256`",
            ),
            (
                oidc("client_id", "algorithms = ['none']\nclient_id"),
                "unknown variant `none`",
            ),
            (
                oidc("client_id", "algorithms = []\nclient_id"),
                "`sign_in.oidc.algorithms` is empty",
            ),
            (
                oidc("client_id", "session = '0s'\nclient_id"),
                "`sign_in.oidc.session` must be longer than zero",
            ),
            (
                oidc("client_id", "scopes = ['email']\nclient_id"),
                "`sign_in.oidc.scopes` lacks",
            ),
            (
                oidc("'pinpoint'", "' '"),
                "`sign_in.oidc.client_id` is empty",
            ),
            (oidc("https://accounts.example.org", ""), "issuer"),
            (
                format!("[sign_in.bearer]\nissuer = 'https://a'\naudience = ''\n{roles}"),
                "`sign_in.bearer.audience` is empty",
            ),
            (
                format!("[sign_in.bearer]\nissuer = ''\naudience = 'a'\n{roles}"),
                "issuer",
            ),
            (
                format!(
                    "{proxy}proof.assertion = {{ issuer = 'https://a', audience = 'a', algorithms = [] }}\n{roles}"
                ),
                "`sign_in.proxy.proof.assertion.algorithms` is empty",
            ),
            (format!("{proxy}{roles}"), "missing field `proof`"),
            (
                format!("{proxy}proof.certificate = {{ authority = '/a', name = 'p' }}\n{roles}"),
                "needs `[tls]`",
            ),
            (
                format!(
                    "[sign_in.proxy]\nheader = 'a b'\nproof.assertion = {{ issuer = 'https://a', audience = 'a' }}\n{roles}"
                ),
                "is not a name of a header",
            ),
            (
                "[sign_in.roles]\nadmin = ['everybody:']".into(),
                "names nobody",
            ),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
