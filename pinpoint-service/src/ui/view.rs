//! The visitor of a page, and the forms that are sent.

use std::time::Duration;

use axum::extract::{FromRequest, FromRequestParts, Request};
use http::Extensions;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use maud::{Markup, html};
use pinpoint_backends::store::AuditEntry;
use pinpoint_report::clean;
use serde_json::{Map, Value};
use tonic::{Code, Status};
use uuid::Uuid;

use crate::api::access::Right;
use crate::api::grpc::errors;
use crate::api::query::Query;
use crate::api::rest::Problem;
use crate::auth::caller::Context;
use crate::state::Service;
use crate::transport::arriving;

/// The field with the user who was given the form.
pub(crate) const FORM_USER: &str = "form_user";

/// The preference of a theme.
pub(super) const THEME: &str = "theme";

/// The themes apart from that of the system.
pub(super) const THEMES: [&str; 2] = ["light", "dark"];

/// The longest that an error waits for the preferences of its reader.
const PREFERENCES_TIMEOUT: Duration = Duration::from_secs(1);

/// A request for a page.
pub(crate) struct View {
    context: Context,
    preferences: Map<String, Value>,
}

/// The theme of the caller.
pub(crate) async fn theme(service: &Service, extensions: &Extensions) -> Option<&'static str> {
    View::from_extensions(service, extensions).await?.theme()
}

impl FromRequestParts<Service> for View {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Self, Problem> {
        let context = parts.extensions.get::<Context>().cloned();
        let context = context.ok_or_else(errors::no_context)?;
        let preferences = match &context.caller {
            Some(caller) => service.store.preferences().get(&caller.user).await,
            None => Ok(Map::new()),
        };
        Ok(Self {
            preferences: preferences.map_err(errors::store)?,
            context,
        })
    }
}

impl View {
    /// The view of a caller; none for anonymous requests. Preferences are left out if the store
    /// does not return them at once: it may be the reason for an error.
    pub(super) async fn from_extensions(
        service: &Service,
        extensions: &Extensions,
    ) -> Option<Self> {
        let context = extensions.get::<Context>()?.clone();
        let user = &context.caller.as_ref()?.user;
        let preferences =
            tokio::time::timeout(PREFERENCES_TIMEOUT, service.store.preferences().get(user)).await;
        Some(Self {
            preferences: preferences.ok().and_then(Result::ok).unwrap_or_default(),
            context,
        })
    }

    /// The user who looks at it.
    pub(super) fn user(&self) -> &str {
        let caller = self.context.caller.as_ref();
        caller.map_or("", |caller| &caller.user)
    }

    /// The user's preferences: a document in which each page knows its own fields.
    pub(super) fn preferences(&self) -> &Map<String, Value> {
        &self.preferences
    }

    /// The theme, if the user prefers another than the system's.
    pub(super) fn theme(&self) -> Option<&'static str> {
        let theme = self.preferences.get(THEME)?;
        THEMES.into_iter().find(|known| theme == known)
    }

    /// All that the user may do.
    pub(super) fn rights(&self) -> impl Iterator<Item = Right> {
        Right::ALL.into_iter().filter(|right| self.may(*right))
    }

    /// Returns true if a token identifies the caller: no person looks.
    pub(super) fn is_by_token(&self) -> bool {
        self.context.by_token
    }

    /// The row of the audit log about an action on a token.
    pub(super) fn entry(&self, operation: &str, token: &str, result: Code) -> AuditEntry {
        let details = [("token".to_owned(), token.into())];
        AuditEntry {
            operation: operation.to_owned(),
            details: details.into_iter().collect(),
            ..self.context.entry(result)
        }
    }

    /// The row of the audit log about a preference that the user has changed.
    pub(super) fn preferred(&self, preference: &str) -> AuditEntry {
        let details = [("preference".to_owned(), preference.into())];
        AuditEntry {
            operation: "preferences".to_owned(),
            details: details.into_iter().collect(),
            ..self.context.entry(Code::Ok)
        }
    }

    /// Returns true if the user may do this.
    pub(super) fn may(&self, right: Right) -> bool {
        let caller = self.context.caller.as_ref();
        caller.is_some_and(|caller| caller.rights.contains(&right))
    }

    /// Returns true if the user may end jobs of this one.
    pub(super) fn may_end(&self, user: &str) -> bool {
        let caller = self.context.caller.as_ref();
        self.may(Right::End) && caller.is_some_and(|caller| caller.may_end(user).is_ok())
    }

    /// The field that each form which changes something has to send, if the user has a session.
    pub(super) fn form_token(&self) -> Markup {
        html! {
            @if let Some(token) = &self.context.form_token {
                input type="hidden" name="form_token" value=(token);
            }
        }
    }

    /// Like [`View::form_token`], for forms with input, which comes back if the form is refused.
    pub(super) fn typed_form(&self) -> Markup {
        html! {
            (self.form_token())
            input type="hidden" name=(FORM_USER) value=(clean(self.user()));
        }
    }

    /// Returns true if the user has a session, which can be ended.
    pub(super) fn has_session(&self) -> bool {
        self.context.form_token.is_some()
    }

    /// A call of a method of `pinpoint.v2` in the name of the user.
    pub(super) fn call<T>(&self, rpc: &'static str, message: T) -> tonic::Request<T> {
        let mut request = tonic::Request::new(message);
        request.extensions_mut().insert(Context {
            operation: rpc,
            ..self.context.clone()
        });
        request
    }
}

/// The fields of a form that was sent.
pub(super) struct Form(pub(super) Query);

impl<S: Sync> FromRequest<S> for Form {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let kind = request.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            let problem = "this address takes a form from a web page; programs use /api/v2";
            return Err(Status::invalid_argument(problem).into());
        }
        let body = arriving::whole(request.into_body()).await?;
        Ok(Self(Query::read(&body)?))
    }
}

/// The field with the name of a request that is carried out once.
pub(super) const KEY: &str = "key";

/// The field of a form that makes a job: sent twice, it makes one.
pub(super) fn key() -> Markup {
    html! { input type="hidden" name=(KEY) value=(Uuid::now_v7().simple()); }
}

/// Takes that field, and makes the request one that is carried out once.
pub(super) fn once<T>(form: &mut Query, request: &mut tonic::Request<T>) -> Result<(), Status> {
    let unheard = || Status::invalid_argument("the form has no key; reload the page");
    let key = form.take(KEY).ok_or_else(unheard)?;
    let key = key.parse().map_err(|_| unheard())?;
    request.metadata_mut().insert("idempotency-key", key);
    Ok(())
}
