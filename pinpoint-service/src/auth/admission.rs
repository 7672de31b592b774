//! The check of a caller's right, and the rows of the audit log about refusals.

use pinpoint_backends::store::AuditEntry;
use tonic::Status;

use crate::api::access::Access;
use crate::api::grpc::errors;
use crate::auth::caller::Context;
use crate::state::Service;

impl Service {
    /// Refuses callers without the right that an operation needs. A refusal is a row of the audit
    /// log.
    pub(crate) async fn admit(&self, context: &Context, access: Access) -> Result<(), Status> {
        let Err(refused) = context.allow(access) else {
            return Ok(());
        };
        // Anonymous clients can't fill the log.
        if context.caller.is_some() {
            self.log_refusal(context.entry(refused.code())).await?;
        }
        Err(refused)
    }

    /// Appends a refusal to the audit log, unless it has enough of them: then the next row says how
    /// many there were.
    pub(crate) async fn log_refusal(&self, mut entry: AuditEntry) -> Result<(), Status> {
        let Some(left_out) = self.limits.refusal(&entry.user) else {
            return Ok(());
        };
        if left_out > 0 {
            entry.details.insert("left_out".into(), left_out.into());
        }
        self.store
            .audit()
            .append(&entry)
            .await
            .map_err(errors::store)
    }
}
