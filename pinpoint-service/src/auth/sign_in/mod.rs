//! Sign-in: the ways in which callers identify themselves, and their rights.

mod cached_document;
mod claims;
mod cookies;
mod error;
mod forms;
mod handlers;
mod issuer;
mod jwt;
mod local_path;
mod oidc;
mod person;
mod provider;
mod proxy;
mod roles;
mod tokens;

use http::request::Parts;
use pinpoint_backends::store::JobStore;
use tonic::Status;

pub use self::claims::Names;
pub use self::error::SignInError;
pub use self::forms::form_token;
pub(crate) use self::forms::{EarlierSession, check as check_form};
pub(crate) use self::handlers::{begin, begin_from_form, end, finish};
pub use self::jwt::Algorithm;
pub(crate) use self::local_path::{LONGEST_PATH, is_local};
pub(crate) use self::provider::address;
pub use self::proxy::ClientCertificate;
pub use self::roles::{Member, MemberError, Roles};

use self::cookies::SESSION;
use self::issuer::Issuer;
use self::oidc::Oidc;
use self::person::Person;
use self::proxy::Proxy;
use crate::api::access::rights_of;
use crate::api::grpc::errors;
use crate::auth::caller::Caller;
use crate::config;

/// The ways in which callers identify themselves.
#[derive(Debug)]
#[non_exhaustive]
pub enum SignIn {
    /// Everybody who reaches the service is this user, an administrator: for one machine, on its
    /// loopback address.
    Nobody(String),
    /// Programs send a token of the store, as `Authorization: Bearer pinpoint_…`.
    Tokens,
    /// The tokens of the store, and other ways.
    Ways(Box<Ways>),
}

/// The ways to sign in besides the tokens of the store.
#[derive(Debug)]
pub struct Ways {
    bearer: Option<Issuer>,
    oidc: Option<Oidc>,
    proxy: Option<Proxy>,
    roles: Roles,
}

/// The sender of a request.
#[derive(Debug, Default)]
pub(crate) struct Sender {
    /// Absent for anonymous requests.
    pub(crate) caller: Option<Caller>,
    /// The secret of the session, where a cookie identifies the sender: a browser sends that for
    /// pages of others, too.
    pub(crate) session: Option<String>,
    /// True if a token identifies the sender: a program sends it.
    pub(crate) by_token: bool,
}

impl From<Caller> for Sender {
    fn from(caller: Caller) -> Self {
        Self {
            caller: Some(caller),
            session: None,
            by_token: false,
        }
    }
}

impl SignIn {
    /// The ways that a configuration names. `nobody`: the user of a service without sign-in.
    ///
    /// # Errors
    ///
    /// When a secret can't be read, or identity providers can't be asked.
    pub fn new(config: &config::SignInConfig, nobody: &str) -> Result<Self, SignInError> {
        Ok(match config {
            config::SignInConfig::None => Self::Nobody(nobody.to_owned()),
            config::SignInConfig::Tokens => Self::Tokens,
            config::SignInConfig::Ways(ways) => Self::Ways(Box::new(Ways {
                bearer: ways.bearer.as_ref().map(Issuer::new).transpose()?,
                oidc: ways.oidc.as_ref().map(Oidc::new).transpose()?,
                proxy: ways.proxy.as_ref().map(Proxy::new).transpose()?,
                roles: ways.roles.clone(),
            })),
        })
    }

    /// The person to ask for a role.
    pub(crate) fn ask(&self) -> Option<&str> {
        match self {
            Self::Ways(ways) => ways.roles.ask.as_deref(),
            _ => None,
        }
    }

    /// Returns true if people sign in with a browser.
    pub(crate) fn has_page(&self) -> bool {
        self.oidc().is_some()
    }

    /// The roles of people, if configured.
    pub(crate) fn roles(&self) -> Option<&Roles> {
        match self {
            Self::Ways(ways) => Some(&ways.roles),
            _ => None,
        }
    }

    fn oidc(&self) -> Option<&Oidc> {
        match self {
            Self::Ways(ways) => ways.oidc.as_ref(),
            _ => None,
        }
    }

    /// The sender of a request.
    pub(crate) async fn sender(&self, store: &JobStore, parts: &Parts) -> Result<Sender, Status> {
        let ways = match self {
            Self::Nobody(user) => {
                return Ok(Sender::from(Caller {
                    user: user.clone(),
                    rights: rights_of("admin").into_iter().flatten().collect(),
                }));
            }
            Self::Tokens => None,
            Self::Ways(ways) => Some(ways),
        };
        // First, so that an unproven header is always refused.
        if let Some(ways) = ways
            && let Some(proxy) = &ways.proxy
            && let Some(person) = proxy.person(parts).await?
        {
            return Ok(ways.caller(person).into());
        }
        if let Some(secret) = tokens::bearer(&parts.headers)? {
            let caller = match ways.and_then(|ways| Some((ways, ways.bearer.as_ref()?))) {
                // Tokens of the store have no dots, and signed ones have two.
                Some((ways, issuer)) if secret.contains('.') => {
                    Ok(ways.caller(issuer.person(secret).await?))
                }
                _ => tokens::caller(store, secret).await,
            };
            return caller.map(|caller| Sender {
                by_token: true,
                ..caller.into()
            });
        }
        let Some(ways) = ways.filter(|ways| ways.oidc.is_some()) else {
            return Ok(Sender::default());
        };
        let Some(secret) = cookies::read(&parts.headers, SESSION) else {
            return Ok(Sender::default());
        };
        let session = store.sessions().find(secret).await.map_err(errors::store)?;
        let person = session.and_then(|session| Person::new(&session.user, session.groups));
        Ok(person.map_or_else(Sender::default, |person| Sender {
            caller: Some(ways.caller(person)),
            session: Some(secret.to_owned()),
            by_token: false,
        }))
    }
}

impl Ways {
    fn caller(&self, person: Person) -> Caller {
        Caller {
            rights: self.roles.rights(&person),
            user: person.user,
        }
    }
}
