//! Who calls: the ways in which callers say who they are, and what each may do.

use http::HeaderMap;
use pinpoint_backends::store::JobStore;
use tonic::Status;

use crate::caller::Caller;
use crate::operations::Right;

/// The ways in which callers say who they are.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum SignIn {
    /// Everybody who reaches the service is this user, who may do everything but give
    /// commands: for one machine, on its loopback address.
    Nobody(String),
}

impl SignIn {
    /// The caller; nobody where a request does not say who sends it.
    pub(crate) async fn caller(
        &self,
        _store: &JobStore,
        _headers: &HeaderMap,
    ) -> Result<Option<Caller>, Status> {
        match self {
            Self::Nobody(user) => Ok(Some(Caller {
                user: user.clone(),
                rights: [
                    Right::See,
                    Right::Create,
                    Right::End,
                    Right::EndOthers,
                    Right::ActForOthers,
                    Right::ReadAudit,
                ]
                .into(),
            })),
        }
    }
}
