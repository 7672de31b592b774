//! Errors of the libraries as those of gRPC.

use pinpoint_backends::job::{JobError, RequestError};
use pinpoint_backends::store::StoreError;
use pinpoint_core::api::Violations;
use tonic::Status;
use tonic_types::{ErrorDetails, FieldViolation, StatusExt};

use crate::limits;
use crate::metrics::METRICS;

/// A request that is not valid, with all its problems.
pub(super) fn violations(violations: &Violations) -> Status {
    let fields = violations
        .iter()
        .map(|violation| FieldViolation::new(&violation.field, violation.problem.to_string()));
    let details = ErrorDetails::with_bad_request(fields.collect::<Vec<_>>());
    let message = format!("the request is not valid:\n{violations}");
    Status::with_error_details(tonic::Code::InvalidArgument, message, details)
}

/// A request that is no job.
pub(super) fn request(error: RequestError) -> Status {
    let field = match &error {
        RequestError::Invalid(found) => return violations(found),
        RequestError::UnknownBot(_) | RequestError::Swarming(_) | RequestError::NoRepository(_) => {
            "configuration"
        }
        RequestError::NoCommand(_) | RequestError::OtherBots { .. } => "benchmark",
        RequestError::Story(_) => "story",
        RequestError::Argument { field, .. } | RequestError::Unsupported { field, .. } => field,
        _ => return Status::invalid_argument(error.to_string()),
    };
    let message = error.to_string();
    let details = ErrorDetails::with_bad_request_violation(field, &message);
    Status::with_error_details(tonic::Code::InvalidArgument, message, details)
}

/// A field that is wrong.
pub(crate) fn field(name: &str, problem: &str) -> Status {
    let details = ErrorDetails::with_bad_request_violation(name, problem);
    let message = format!("{name}: {problem}");
    Status::with_error_details(tonic::Code::InvalidArgument, message, details)
}

/// A call that did not pass the layer that finds out who calls.
pub(crate) fn no_context() -> Status {
    Status::internal("the request did not come through the service's router")
}

/// A failure of the store. Its address stays in the log.
pub(crate) fn store(error: StoreError) -> Status {
    match error {
        StoreError::Unknown { .. } | StoreError::Ambiguous { .. } => {
            Status::not_found(error.to_string())
        }
        StoreError::QuotaReached {
            user,
            limit,
            most,
            until,
        } => limits::quota_reached(limit, &user, most, until),
        StoreError::KeyReused { .. } => Status::already_exists(error.to_string()),
        StoreError::Transition { .. } | StoreError::Leased { .. } => {
            Status::failed_precondition(error.to_string())
        }
        StoreError::Damaged { .. } | StoreError::Newer { .. } | StoreError::NotOurs { .. } => {
            METRICS.store_errors.inc();
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "the store is not sound"
            );
            Status::internal("the job store is not sound; its operator finds the reason in the log")
        }
        _ => {
            METRICS.store_errors.inc();
            tracing::warn!(error = &error as &dyn std::error::Error, "the store failed");
            Status::unavailable("the job store can't be used at the moment; try again")
        }
    }
}

/// A job that can't be shown or ended.
pub(crate) fn job(error: JobError) -> Status {
    match error {
        JobError::Store(error) => store(error),
        error => {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "a job can't be used"
            );
            Status::internal(
                "the job can't be shown or ended; the operator finds the reason in the log",
            )
        }
    }
}
