//! Errors of the libraries as those of gRPC.

use std::collections::BTreeSet;

use pinpoint_backends::job::{JobError, RequestError};
use pinpoint_backends::store::StoreError;
use pinpoint_core::SpecError;
use pinpoint_core::api::Violations;
use pinpoint_report::ReportError;
use tonic::Status;
use tonic_types::{ErrorDetails, FieldViolation, StatusExt};

use crate::auth::reached::quota_reached;
use crate::transport::metrics::METRICS;

/// The answer of a method.
pub(crate) type GrpcResult<T> = Result<tonic::Response<T>, Status>;

/// The problems of a request that is to be a job.
#[derive(Debug)]
pub(crate) enum Problems {
    /// Of fields: the name of each, and its problem.
    Fields(Vec<(String, String)>),
    /// Of anything else.
    Other(Status),
}

impl Problems {
    /// The status with the names that the fields have in the request that was sent.
    pub(crate) fn status(self, name: fn(&str) -> String) -> Status {
        match self {
            Self::Fields(fields) => {
                bad_request(fields.iter().map(|(field, problem)| (name(field), problem)))
            }
            Self::Other(status) => status,
        }
    }
}

impl From<Status> for Problems {
    fn from(status: Status) -> Self {
        Self::Other(status)
    }
}

impl From<RequestError> for Problems {
    fn from(error: RequestError) -> Self {
        let field = match &error {
            RequestError::Invalid(found) => return found.into(),
            RequestError::UnknownBot(_)
            | RequestError::Swarming(_)
            | RequestError::NoRepository(_) => "configuration",
            RequestError::NoCommand { .. } | RequestError::OtherBots { .. } => "benchmark",
            RequestError::Story(_) => "story",
            RequestError::Argument { field, .. } | RequestError::Unsupported { field, .. } => field,
            RequestError::Job(JobError::Spec(error)) => match field_of(error) {
                Some(field) => field,
                None => return Status::invalid_argument(error.to_string()).into(),
            },
            _ => return Status::invalid_argument(error.to_string()).into(),
        };
        let text = error.to_string();
        let problem = text.strip_prefix(&format!("{field}: ")).unwrap_or(&text);
        Self::Fields(vec![(field.to_owned(), problem.to_owned())])
    }
}

impl From<&Violations> for Problems {
    fn from(violations: &Violations) -> Self {
        let fields = violations.iter();
        let fields = fields.map(|found| (found.field.clone(), found.problem.to_string()));
        Self::Fields(fields.collect())
    }
}

/// The field that an engine rejects, if it is one of requests.
fn field_of(error: &SpecError) -> Option<&'static str> {
    match error {
        SpecError::Confidence(_) => Some("confidence"),
        SpecError::Magnitude(_) => Some("magnitude"),
        SpecError::Attempts { .. } => Some("attempts"),
        SpecError::BuildCost(_) => Some("build_cost"),
        SpecError::Budget { what: "builds", .. } => Some("max_builds"),
        SpecError::Budget { .. } => Some("max_runs"),
        SpecError::Pairs { .. } => Some("pairs"),
        SpecError::SameEnds => Some("bad"),
        _ => None,
    }
}

/// A request that is not valid, with all its problems.
pub(super) fn violations(violations: &Violations) -> Status {
    Problems::from(violations).status(str::to_owned)
}

/// Fields that are wrong, and the others in which another check has found problems, under the
/// names that they have there.
pub(crate) fn fields(
    mut fields: Vec<(String, String)>,
    others: Option<Problems>,
    name: fn(&str) -> String,
) -> Status {
    if let Some(Problems::Fields(others)) = others {
        for (field, problem) in others {
            let field = name(&field);
            let is_of = |known: &str| {
                let rest = field.strip_prefix(known);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            if !fields.iter().any(|(known, _)| is_of(known)) {
                fields.push((field, problem));
            }
        }
    }
    bad_request(fields)
}

/// A field that is wrong.
pub(crate) fn field(name: &str, problem: &str) -> Status {
    bad_request([(name.to_owned(), problem)])
}

/// All fields that are wrong, each with its problem.
pub(crate) fn bad_request(fields: impl IntoIterator<Item = (String, impl Into<String>)>) -> Status {
    let mut named = BTreeSet::new();
    let fields: Vec<_> = { fields.into_iter() }
        // Further problems of a field follow from the first.
        .filter(|(field, _)| named.insert(field.clone()))
        .map(|(field, problem)| FieldViolation::new(field, problem))
        .collect();
    let lines = fields
        .iter()
        .map(|found| format!("{}: {}", found.field, found.description));
    let lines = lines.collect::<Vec<_>>().join("\n");
    let message = match fields.len() {
        1 => lines,
        _ => format!("the request is not valid:\n{lines}"),
    };
    let details = ErrorDetails::with_bad_request(fields);
    Status::with_error_details(tonic::Code::InvalidArgument, message, details)
}

/// A call that did not pass the layer that identifies callers.
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
        } => quota_reached(limit, &user, most, until),
        StoreError::NoToken { .. } => Status::not_found(error.to_string()),
        StoreError::PreferencesTooLong => Status::invalid_argument(error.to_string()),
        StoreError::KeyReused { .. } | StoreError::TokenExists { .. } => {
            Status::already_exists(error.to_string())
        }
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
        JobError::InLuci { job } => Status::failed_precondition(format!(
            "job {job} is carried out in LUCI, and no process works on it: `pinpoint jobs cancel` \
             ends its builds and runs there; the request to cancel it is kept"
        )),
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

/// A report that can't be made.
pub(super) fn report(error: ReportError) -> Status {
    match error {
        ReportError::Store(error) => store(error),
        ReportError::Job(error) => job(error),
        error => {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "a report can't be made"
            );
            Status::internal("the report can't be made; the operator finds the reason in the log")
        }
    }
}
