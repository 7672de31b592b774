//! The form of a new job: its fields, look-ups of typed values, the cost of the job, and the same
//! as a command. A script keeps the input in the address, so that a reload, a sign-in or a message
//! to somebody else preserves it.

mod commands;
mod estimate;
mod fields;
mod form;
mod look_up;
mod patch_name;
mod typed;

use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::uri::Scheme;
use http::{StatusCode, Uri, header};
use maud::{Markup, html};
use tonic::{Code, Status};
use tonic_types::StatusExt;

use self::form::FormContext;
use self::typed::{FieldProblem, Typed, name_in_form};
use super::actions::back_to;
use super::frame::{self, Section, fragment};
use super::view::{Form, View, once};
use crate::api::grpc::errors;
use crate::api::grpc::v2::messages::pinpoint_server::Pinpoint;
use crate::api::grpc::v2::messages::{CloneJobRequest, Kind};
use crate::api::query::Query;
use crate::api::rest::Problem;
use crate::auth::browsers::is_loopback;
use crate::state::Service;

/// The longest that the form waits for look-ups of commits in its address.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(1);

/// GET `/new`: the form, filled in by the address, by a preset or by another job.
pub(super) async fn page(
    State(service): State<Service>,
    uri: Uri,
    view: View,
) -> Result<Response, Problem> {
    let mut query = Query::from_uri(&uri)?;
    let typed = match (query.take("from"), query.take("preset")) {
        (Some(job_id), _) => {
            let request = CloneJobRequest { job_id };
            let request = view.call("pinpoint.v2.Pinpoint/CloneJob", request);
            Typed::of_request(service.clone_job(request).await?.get_ref())
        }
        (None, Some(name)) => {
            let preset = service.presets.iter().find(|preset| preset.name == name);
            let unknown = || errors::field("preset", "there is no preset with this name");
            Typed::of_preset(preset.ok_or_else(unknown)?)
        }
        (None, None) => Typed::default(),
    };
    let typed = read(typed, &mut query)?;
    let builds = look_up::builds(&service, typed.get("bot")).await?;
    // A script looks up the rest.
    let found = tokio::time::timeout(LOOKUP_TIMEOUT, found(&service, &typed)).await;
    let told = FormContext {
        problems: &[],
        problem: None,
        found: &found.unwrap_or_default(),
        estimate: not_yet(),
        commands: not_yet(),
        builds,
    };
    let main = form::page(&service, &view, &typed, &told);
    Ok(frame::page(&view, Section::New, "New job", &main))
}

/// POST `/new`: makes the job, or only looks up and estimates.
pub(super) async fn sent(
    State(service): State<Service>,
    view: View,
    parts: Parts,
    Form(mut form): Form,
) -> Result<Response, Problem> {
    let makes = form.take("do").as_deref() == Some("make");
    let typed = read(Typed::default(), &mut form)?;
    let (request, mut problems) = typed.request(service.gerrit_hosts());
    let refused = if makes && problems.is_empty() {
        let mut call = view.call("pinpoint.v2.Pinpoint/CreateJob", request);
        once(&mut form, &mut call)?;
        match service.create_job(call).await {
            Ok(job) => {
                let summary = job.into_inner().summary.unwrap_or_default();
                return Ok(back_to(&summary.job_id));
            }
            // The key of the form is of an earlier job; the new form has another.
            Err(status) if status.code() == Code::AlreadyExists => {
                let problem =
                    "this form has already started a job; press Start again to start another one";
                Some(Status::already_exists(problem))
            }
            Err(status) => Some(status),
        }
    } else if makes {
        // Other problems are reported at once.
        service.asked(request, None, None).await.err()
    } else {
        problems.clear();
        None
    };
    let (status, problem) = match refused {
        Some(refused) => of_fields(&mut problems, refused),
        None => (None, None),
    };
    let told = FormContext {
        problems: &problems,
        problem: problem.as_deref(),
        found: &found(&service, &typed).await,
        estimate: match makes {
            true => not_yet(),
            false => estimate::shown(&service, &view, &typed).await,
        },
        commands: match makes {
            true => not_yet(),
            false => commands::shown(&service, &origin(&parts), &typed).await,
        },
        builds: look_up::builds(&service, typed.get("bot")).await?,
    };
    let main = form::page(&service, &view, &typed, &told);
    let mut response = frame::page(&view, Section::New, "New job", &main);
    if let Some((status, wait)) = status {
        *response.status_mut() = status;
        if let Some(wait) = wait {
            response.headers_mut().insert(header::RETRY_AFTER, wait);
        }
    } else if !problems.is_empty() {
        *response.status_mut() = StatusCode::BAD_REQUEST;
    }
    Ok(response)
}

fn read(typed: Typed, query: &mut Query) -> Result<Typed, Status> {
    typed
        .and(query)
        .map_err(|(field, problem)| errors::field(&field, &problem))
}

/// The status of an answer, and the seconds to wait where that helps.
type Refusal = (StatusCode, Option<http::HeaderValue>);

/// Adds the problems of fields to those of the form; returns any other refusal.
fn of_fields(
    problems: &mut Vec<FieldProblem>,
    refused: Status,
) -> (Option<Refusal>, Option<String>) {
    let details = refused.get_error_details();
    if let Some(bad) = details.bad_request() {
        for violation in &bad.field_violations {
            let field = name_in_form(&violation.field);
            if !problems.iter().any(|(known, _)| known == field) {
                problems.push((field.to_owned(), violation.description.clone()));
            }
        }
        return (None, None);
    }
    let message = refused.message().to_owned();
    let answer = Problem::from(refused).into_response();
    let wait = answer.headers().get(header::RETRY_AFTER).cloned();
    (Some((answer.status(), wait)), Some(message))
}

/// Looks up the typed values.
async fn found(service: &Service, typed: &Typed) -> Vec<(&'static str, Markup)> {
    let bot = typed.get("bot");
    let names = match typed.kind {
        Kind::Pairwise => ["base", "experiment"],
        _ => ["good", "bad"],
    };
    let [one, other] = names.map(|name| look_up::commit(service, bot, typed.get(name)));
    let patches = ["base_patch", "experiment_patch"];
    let [first, second] = patches.map(|name| look_up::patch(service, typed.get(name)));
    let (one, other, first, second) = tokio::join!(one, other, first, second);
    vec![
        (names[0], one),
        (names[1], other),
        (patches[0], first),
        (patches[1], second),
    ]
}

/// The address of this service, as the client reaches it: beyond this machine always with TLS.
fn origin(parts: &Parts) -> String {
    let text = |name| parts.headers.get(name).and_then(|it| it.to_str().ok());
    if let Some(origin) = text(header::ORIGIN).filter(|origin| origin.starts_with("http")) {
        return origin.to_owned();
    }
    let host = parts.uri.authority().map(|it| it.as_str());
    let host = host.or_else(|| text(header::HOST)).unwrap_or("localhost");
    let has_tls = parts.extensions.get() == Some(&Scheme::HTTPS);
    match is_loopback(host) && !has_tls {
        true => format!("http://{host}"),
        false => format!("https://{host}"),
    }
}

/// Replaces the parts that only a filled form has; a script fills them at once.
fn not_yet() -> Markup {
    html! { p.soft { "Fill in the form, and press “Look up and estimate”." } }
}

/// GET `/new/commit`: a commit, looked up.
pub(super) async fn commit(State(service): State<Service>, uri: Uri) -> Result<Response, Problem> {
    let mut query = Query::from_uri(&uri)?;
    let (bot, name) = (query.take("bot"), query.take("name"));
    let (bot, name) = (bot.unwrap_or_default(), name.unwrap_or_default());
    Ok(fragment(&look_up::commit(&service, &bot, &name).await))
}

/// GET `/new/patch`: a change at Gerrit, looked up.
pub(super) async fn patch(State(service): State<Service>, uri: Uri) -> Result<Response, Problem> {
    let name = Query::from_uri(&uri)?.take("name").unwrap_or_default();
    Ok(fragment(&look_up::patch(&service, &name).await))
}

/// GET `/new/builds`: the commits that a field suggests.
pub(super) async fn builds(State(service): State<Service>, uri: Uri) -> Result<Response, Problem> {
    let bot = Query::from_uri(&uri)?.take("bot").unwrap_or_default();
    Ok(fragment(&look_up::builds(&service, &bot).await?))
}

/// GET `/new/bots`: the bots that a field suggests.
pub(super) async fn bots(State(service): State<Service>, uri: Uri) -> Result<Response, Problem> {
    let typed = Query::from_uri(&uri)?.take("typed").unwrap_or_default();
    Ok(fragment(&look_up::bots(&service, &typed)))
}

/// GET `/new/benchmarks`: the benchmarks that a field suggests.
pub(super) async fn benchmarks(
    State(service): State<Service>,
    uri: Uri,
) -> Result<Response, Problem> {
    let typed = Query::from_uri(&uri)?.take("typed").unwrap_or_default();
    Ok(fragment(&look_up::benchmarks(&service, &typed)))
}

/// GET `/new/stories`: the stories that a field suggests.
pub(super) async fn stories(State(service): State<Service>, uri: Uri) -> Result<Response, Problem> {
    let benchmark = Query::from_uri(&uri)?.take("benchmark").unwrap_or_default();
    Ok(fragment(&look_up::stories(&service, &benchmark)))
}

/// GET `/new/estimate`: the cost of the job in the address.
pub(super) async fn estimated(
    State(service): State<Service>,
    uri: Uri,
    view: View,
) -> Result<Response, Problem> {
    let typed = read(Typed::default(), &mut Query::from_uri(&uri)?)?;
    Ok(fragment(&estimate::shown(&service, &view, &typed).await))
}

/// GET `/new/commands`: the same job as a command.
pub(super) async fn commanded(
    State(service): State<Service>,
    parts: Parts,
) -> Result<Response, Problem> {
    let typed = read(Typed::default(), &mut Query::from_uri(&parts.uri)?)?;
    let origin = origin(&parts);
    Ok(fragment(&commands::shown(&service, &origin, &typed).await))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_the_service_has_the_scheme_of_the_request() {
        let of = |host: &str, scheme: Option<Scheme>| {
            let request = http::Request::get("/new/commands").header("host", host);
            let mut request = request.body(()).unwrap();
            if let Some(scheme) = scheme {
                request.extensions_mut().insert(scheme);
            }
            origin(&request.into_parts().0)
        };
        assert_eq!(of("localhost:8470", None), "http://localhost:8470");
        let tls = Some(Scheme::HTTPS);
        assert_eq!(of("localhost:8470", tls), "https://localhost:8470");
        // A proxy ends TLS.
        assert_eq!(
            of("pinpoint.example.org", None),
            "https://pinpoint.example.org"
        );
    }
}
