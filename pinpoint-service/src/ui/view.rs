//! The person who looks at a page.

use axum::extract::FromRequestParts;
use http::request::Parts;

use crate::Service;
use crate::caller::Context;
use crate::grpc::errors;
use crate::operations::Right;
use crate::rest::Problem;

/// A request for a page.
pub(super) struct View {
    context: Context,
}

impl FromRequestParts<Service> for View {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Service) -> Result<Self, Problem> {
        let context = parts.extensions.get::<Context>().cloned();
        Ok(Self {
            context: context.ok_or_else(errors::no_context)?,
        })
    }
}

impl View {
    /// The user who looks at it.
    pub(super) fn user(&self) -> &str {
        let caller = self.context.caller.as_ref();
        caller.map_or("", |caller| &caller.user)
    }

    /// Whether the user may do this.
    pub(super) fn may(&self, right: Right) -> bool {
        let caller = self.context.caller.as_ref();
        caller.is_some_and(|caller| caller.rights.contains(&right))
    }

    /// Whether the user may end the jobs of this one.
    pub(super) fn may_end(&self, user: &str) -> bool {
        let caller = self.context.caller.as_ref();
        self.may(Right::End) && caller.is_some_and(|caller| caller.may_end(user).is_ok())
    }

    /// What each form that changes something has to send, where the user has a session.
    pub(super) fn form_token(&self) -> Option<&str> {
        self.context.form_token.as_deref()
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
