//! The caller of a request, and what may be done in whose name.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use pinpoint_backends::job::TraceParent;
use pinpoint_backends::store::AuditEntry;
use tonic::{Code, Extensions, Status};

use crate::api::access::{Access, Right};
use crate::api::grpc::errors;
use crate::auth::users::user_name;

/// The caller of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The name of the user: an e-mail address, mostly.
    pub user: String,
    /// The rights of the user.
    pub rights: BTreeSet<Right>,
}

/// The circumstances of a request, which the outermost layer puts into its extensions.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    /// Absent where nobody has signed in.
    pub(crate) caller: Option<Caller>,
    /// The reason why nobody has, where a request names its sender. Public operations are answered
    /// nevertheless.
    pub(crate) failure: Option<Status>,
    /// The address that it came from.
    pub(crate) from: Option<IpAddr>,
    /// The id of the request, for logs.
    pub(crate) request: String,
    /// The span that it belongs to.
    pub(crate) trace: Option<TraceParent>,
    /// The RPC that it asks for.
    pub(crate) operation: &'static str,
    /// The person to ask for a role.
    pub(crate) ask: Option<Arc<str>>,
    /// The token that each form has to send, where a cookie identifies the caller.
    pub(crate) form_token: Option<Arc<str>>,
    /// True if a token identifies the caller: a program sends it.
    pub(crate) by_token: bool,
}

impl Context {
    /// The circumstances of a call.
    pub(crate) fn from_extensions(extensions: &Extensions) -> Result<&Self, Status> {
        extensions.get().ok_or_else(errors::no_context)
    }

    /// Refuses callers without the right that an operation needs.
    pub(crate) fn allow(&self, access: Access) -> Result<(), Status> {
        let Some(right) = access.right() else {
            return Ok(());
        };
        match &self.caller {
            None => Err(self.stranger()),
            Some(caller) if caller.rights.contains(&right) => Ok(()),
            Some(caller) if caller.rights.is_empty() => {
                let ask = self.ask.as_deref().unwrap_or("an administrator of it");
                Err(Status::permission_denied(format!(
                    "{} has no role in this service; ask {ask} for one",
                    caller.user
                )))
            }
            Some(caller) => Err(denied(&caller.user, right)),
        }
    }

    /// The user, or the address of an anonymous client.
    pub(crate) fn name(&self) -> Cow<'_, str> {
        match (&self.caller, self.from) {
            (Some(caller), _) => caller.user.as_str().into(),
            (None, Some(from)) => from.to_string().into(),
            (None, None) => "".into(),
        }
    }

    fn stranger(&self) -> Status {
        let failure = self.failure.clone();
        failure.unwrap_or_else(|| Status::unauthenticated("sign in first"))
    }

    /// The row of the audit log about this request.
    pub(crate) fn entry(&self, result: Code) -> AuditEntry {
        AuditEntry {
            user: self
                .caller
                .as_ref()
                .map(|caller| caller.user.clone())
                .unwrap_or_default(),
            address: self.from.map(|from| from.to_string()).unwrap_or_default(),
            operation: self.operation.to_owned(),
            job: None,
            result: code_name(result).to_owned(),
            request: self.request.clone(),
            details: serde_json::Map::new(),
        }
    }

    /// The caller.
    pub(crate) fn caller(&self) -> Result<&Caller, Status> {
        self.caller.as_ref().ok_or_else(|| self.stranger())
    }
}

impl Caller {
    /// The user for whom a job is made, where the request names this one.
    pub(crate) fn name_for(&self, named: &str) -> Result<String, Status> {
        if named.trim().is_empty() || is_same(named, &self.user) {
            return Ok(self.user.clone());
        }
        let nobody =
            || Status::invalid_argument("the name of the user has characters that do not show");
        let named = user_name(named).ok_or_else(nobody)?;
        match self.rights.contains(&Right::ActForOthers) {
            true => Ok(named),
            false => Err(denied(&self.user, Right::ActForOthers)),
        }
    }

    /// Rejects callers who may not end jobs of this user.
    pub(crate) fn may_end(&self, user: &str) -> Result<(), Status> {
        match is_same(user, &self.user) || self.rights.contains(&Right::EndOthers) {
            true => Ok(()),
            false => Err(denied(&self.user, Right::EndOthers)),
        }
    }
}

/// Returns true if two names belong to one user: the case of addresses does not count.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    one == other || user_name(one).is_some_and(|one| user_name(other) == Some(one))
}

/// A code, as gRPC names it.
pub(crate) fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "ok",
        Code::Cancelled => "cancelled",
        Code::Unknown => "unknown",
        Code::InvalidArgument => "invalid_argument",
        Code::DeadlineExceeded => "deadline_exceeded",
        Code::NotFound => "not_found",
        Code::AlreadyExists => "already_exists",
        Code::PermissionDenied => "permission_denied",
        Code::ResourceExhausted => "resource_exhausted",
        Code::FailedPrecondition => "failed_precondition",
        Code::Aborted => "aborted",
        Code::OutOfRange => "out_of_range",
        Code::Unimplemented => "unimplemented",
        Code::Internal => "internal",
        Code::Unavailable => "unavailable",
        Code::DataLoss => "data_loss",
        Code::Unauthenticated => "unauthenticated",
    }
}

pub(crate) fn denied(user: &str, right: Right) -> Status {
    Status::permission_denied(format!("user {user} may not {}", right.in_words()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ada(rights: &[Right]) -> Caller {
        Caller {
            user: "ada@example.org".into(),
            rights: rights.iter().copied().collect(),
        }
    }

    #[test]
    fn a_caller_acts_in_her_own_name() {
        let (plain, may) = (ada(&[Right::Create]), ada(&[Right::ActForOthers]));
        for named in ["", " ada@example.org ", "Ada@Example.ORG"] {
            assert_eq!(plain.name_for(named).unwrap(), "ada@example.org");
        }
        let refused = plain.name_for("bo@example.org").unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied);
        assert_eq!(may.name_for(" Bo@Example.org").unwrap(), "bo@example.org");
        let nobody = may.name_for("bo\0@example.org").unwrap_err();
        assert_eq!(nobody.code(), Code::InvalidArgument);
        assert!(plain.may_end("ada@example.org").is_ok());
        assert!(plain.may_end("ADA@example.org").is_ok());
        assert!(plain.may_end("bo@example.org").is_err());
        // In lower case, the sign of the unit Kelvin is the letter.
        let kate = Caller {
            user: "kate@example.org".into(),
            ..plain.clone()
        };
        assert!(kate.may_end("\u{212a}ate@example.org").is_err());
        assert!(ada(&[Right::EndOthers]).may_end("bo@example.org").is_ok());
    }

    #[test]
    fn nothing_is_allowed_to_nobody() {
        let context = |caller| Context {
            caller,
            failure: None,
            from: None,
            request: String::new(),
            trace: None,
            operation: "",
            ask: Some("root@example.org".into()),
            form_token: None,
            by_token: false,
        };
        let needs = Access::With(Right::See);
        assert_eq!(
            context(None).allow(needs).unwrap_err().code(),
            Code::Unauthenticated
        );
        assert!(context(None).allow(Access::Anyone).is_ok());
        let refused = context(Some(ada(&[Right::End]))).allow(needs).unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied);
        assert!(context(Some(ada(&[Right::See]))).allow(needs).is_ok());
        let without_role = context(Some(ada(&[]))).allow(needs).unwrap_err();
        assert_eq!(
            without_role.message(),
            "ada@example.org has no role in this service; ask root@example.org for one"
        );
    }
}
