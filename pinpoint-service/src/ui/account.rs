//! The account of the user: rights, quotas, and tokens.

use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderValue, StatusCode, Uri, header};
use maud::{Markup, html};
use pinpoint_backends::store::{NewToken, StoreError, Token};
use pinpoint_core::api::Timestamp;
use pinpoint_report::{Foreign, clean};
use tonic::{Code, Status};

use super::dates::{ago, at, now};
use super::frame::{self, Section};
use super::view::{Form, THEME, THEMES, View};
use crate::api::access::Right;
use crate::api::grpc::errors;
use crate::api::grpc::v2::messages::pinpoint_server::Pinpoint;
use crate::api::grpc::v2::messages::{GetQuotaRequest, GetQuotaResponse};
use crate::api::query::Query;
use crate::api::rest::Problem;
use crate::auth::caller::{denied, is_same};
use crate::auth::users::user_name;
use crate::state::Service;

/// The theme of the system.
const SYSTEM: &str = "system";

/// The days after which a token may end; the second unless another is chosen.
const DAYS: [u32; 4] = [7, 30, 90, 365];

/// The most characters of the name of a token.
const LONGEST_NAME: usize = 100;

/// The most tokens of a user that have not ended.
const MOST_TOKENS: usize = 50;

/// The form for a new token, as it was sent.
struct NewTokenForm {
    name: String,
    rights: Vec<Right>,
    days: Option<u32>,
    /// The problem of each field that has one.
    problems: Vec<(&'static str, String)>,
}

impl NewTokenForm {
    /// As a form has it, or the address of a filled one.
    fn read(form: &mut Query) -> Self {
        let days = form.take("days").and_then(|days| days.parse().ok());
        let rights = Right::ALL.into_iter();
        Self {
            name: form.take("name").unwrap_or_default(),
            rights: rights
                .filter(|right| form.take(&field_of(*right)).is_some())
                .collect(),
            days: days.filter(|days| DAYS.contains(days)),
            problems: Vec::new(),
        }
    }

    fn problem(&self, field: &str) -> Option<&str> {
        let found = self.problems.iter().find(|(name, _)| *name == field);
        found.map(|(_, problem)| &**problem)
    }
}

/// GET `/account`.
pub(super) async fn page(
    State(service): State<Service>,
    uri: Uri,
    view: View,
) -> Result<Response, Problem> {
    let wanted = NewTokenForm::read(&mut Query::from_uri(&uri)?);
    shown(&service, &view, &wanted).await
}

async fn shown(service: &Service, view: &View, wanted: &NewTokenForm) -> Result<Response, Problem> {
    let request = view.call("pinpoint.v2.Pinpoint/GetQuota", GetQuotaRequest::default());
    let quota = service.get_quota(request).await?.into_inner();
    let own = own_tokens(service, view).await?;
    let main = html! {
        h1 { "Account" }
        (person(view))
        (quotas(&quota))
        (preferences(view))
        h2 { "API tokens" }
        p.soft {
            "Programs send a token as " code { "Authorization: Bearer pinpoint_…" }
            " to act on your behalf. The secret is shown only once."
        }
        (tokens(view, &own))
        (form(view, wanted))
    };
    let mut page = frame::page(view, Section::Account, "Account", &main);
    if !wanted.problems.is_empty() {
        *page.status_mut() = StatusCode::BAD_REQUEST;
    }
    Ok(page)
}

fn person(view: &View) -> Markup {
    html! {
        table.facts {
            tbody {
                tr { th scope="row" { "User" } td { (Foreign(view.user())) } }
                tr {
                    th scope="row" { "Permissions" }
                    td {
                        @for (at, right) in view.rights().enumerate() {
                            @if at > 0 { ", " }
                            (right.in_words())
                        }
                    }
                }
            }
        }
    }
}

fn quotas(quota: &GetQuotaResponse) -> Markup {
    let row = |name: &str, used: u64, most: Option<u32>| {
        html! {
            tr {
                th scope="row" { (name) }
                td.number { (used) }
                td.number { @match most { Some(most) => (most), None => "no limit" } }
                td {
                    @if let Some(most) = most {
                        meter min="0" max=(most) value=(used.min(most.into()))
                            aria-label=(format!("{name}: {used} of {most}")) {}
                    }
                }
            }
        }
    };
    html! {
        h2 { "Quotas" }
        div.wide tabindex="0" role="region" aria-label="Quotas" {
            table.narrow {
                thead {
                    tr {
                        th scope="col" { "Quota" }
                        th.number scope="col" { "Used" }
                        th.number scope="col" { "Limit" }
                        th scope="col" { "Share" }
                    }
                }
                tbody {
                    (row("Jobs in the last hour", quota.jobs_last_hour, quota.most_jobs_an_hour))
                    (row("Jobs under way", quota.jobs_under_way, quota.most_jobs_under_way))
                    (row("Runs in the last day", quota.runs_last_day, quota.most_runs_a_day))
                }
            }
        }
    }
}

fn preferences(view: &View) -> Markup {
    html! {
        h2 { "Preferences" }
        form.bar method="post" action="/account/preferences" {
            (view.form_token())
            label for="theme" { "Theme" }
            select #theme name="theme" {
                option value=(SYSTEM) { "same as the system" }
                @for theme in THEMES {
                    option value=(theme) selected[view.theme() == Some(theme)] { (theme) }
                }
            }
            button { "Save" }
        }
    }
}

/// POST `/account/preferences`.
pub(super) async fn prefer(
    State(service): State<Service>,
    view: View,
    Form(mut form): Form,
) -> Result<Response, Problem> {
    let mut preferences = view.preferences().clone();
    let theme = form.take(THEME).unwrap_or_default();
    match THEMES.into_iter().find(|known| *known == theme) {
        Some(theme) => preferences.insert(THEME.into(), theme.into()),
        None if theme == SYSTEM => preferences.remove(THEME),
        None => {
            let problem = "choose one of system, light, dark";
            return Err(errors::field(THEME, problem).into());
        }
    };
    let entry = view.preferred(THEME);
    let kept = (service.store)
        .preferences()
        .set(view.user(), &preferences, Some(&entry));
    kept.await.map_err(errors::store)?;
    Ok(Redirect::to("/account").into_response())
}

/// The tokens, with buttons that revoke them.
pub(super) fn tokens(view: &View, tokens: &[Token]) -> Markup {
    let with_user = tokens
        .iter()
        .any(|token| !is_same(&token.user, view.user()));
    let time = |milliseconds| Timestamp::of_milliseconds(milliseconds);
    html! {
        @if tokens.is_empty() {
            p.empty { "No tokens yet." }
        } @else {
            div.wide tabindex="0" role="region" aria-label="Tokens" {
                table {
                    thead {
                        tr {
                            th scope="col" { "Token" }
                            @if with_user { th scope="col" { "User" } }
                            th scope="col" { "Permissions" }
                            th scope="col" { "State" }
                            th scope="col" { "Created" }
                            th scope="col" { "Expires" }
                            th scope="col" { "Last used" }
                            th scope="col" { span.unseen { "Actions" } }
                        }
                    }
                    tbody {
                        @for token in tokens {
                            tr {
                                th scope="row" { (Foreign(&token.name)) }
                                @if with_user { td { (Foreign(&token.user)) } }
                                td { (Foreign(&token.rights.join(", "))) }
                                td {
                                    @if token.revoked.is_some() {
                                        span.tone.bad { "Revoked" }
                                    } @else if has_ended(token) {
                                        span.tone.bad { "Expired" }
                                    } @else {
                                        span.tone.good { "Valid" }
                                    }
                                }
                                td { (ago(time(token.created).as_ref())) }
                                td {
                                    @match token.expires {
                                        Some(end) => (at(time(end).as_ref())),
                                        None => "never",
                                    }
                                }
                                td {
                                    @match token.used {
                                        Some(used) => (ago(time(used).as_ref())),
                                        None => "never",
                                    }
                                }
                                td.actions {
                                    @if !has_ended(token) {
                                        form method="post" action="/account/tokens/revoke" {
                                            (view.form_token())
                                            input type="hidden" name="name" value=(token.name);
                                            button.link aria-label=(format!("Revoke {}", clean(&token.name))) { "Revoke" }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn form(view: &View, wanted: &NewTokenForm) -> Markup {
    let problem = |field: &str| {
        html! {
            @if let Some(problem) = wanted.problem(field) {
                p.wrong id=(format!("{field}-problem")) { (Foreign(problem)) }
            }
        }
    };
    let described = |field: &str| {
        let id = || format!("{field}-problem");
        wanted.problem(field).map(|_| id())
    };
    html! {
        h3 { "New token" }
        @if view.is_by_token() {
            p { (NOT_BY_TOKEN) }
        } @else {
            form.stacked method="post" action="/account/tokens" {
                (view.typed_form())
                label for="name" { "Name (not used by another token, past or present)" }
                input #name name="name" required maxlength=(LONGEST_NAME) value=(clean(&wanted.name)) autocomplete="off"
                    aria-invalid=[wanted.problem("name").map(|_| "true")] aria-describedby=[described("name")];
                (problem("name"))
                fieldset aria-describedby=[described("may")] {
                    legend { "Permissions" }
                    @for right in view.rights() {
                        label.choice {
                            input type="checkbox" name=(field_of(right)) checked[wanted.rights.contains(&right)];
                            " " (right.in_words())
                        }
                    }
                }
                (problem("may"))
                label for="days" { "Expires after" }
                select #days name="days" aria-describedby=[described("days")] {
                    @for days in DAYS {
                        option value=(days) selected[days == wanted.days.unwrap_or(DAYS[1])] { (days) " days" }
                    }
                }
                (problem("days"))
                p { button.primary { "Create token" } }
            }
        }
    }
}

const NOT_BY_TOKEN: &str =
    "A token can't create other tokens. Sign in with a browser, or ask an administrator for one.";

/// The field of a right in the form.
fn field_of(right: Right) -> String {
    format!("may_{}", right.as_str())
}

/// POST `/account/tokens`: makes a token, and shows its secret this once.
pub(super) async fn create_token(
    State(service): State<Service>,
    view: View,
    Form(mut form): Form,
) -> Result<Response, Problem> {
    if view.is_by_token() {
        // A token that ends could make one that ends later.
        return Err(Status::permission_denied(NOT_BY_TOKEN).into());
    }
    let mut wanted = NewTokenForm::read(&mut form);
    let mut wrong = |field, problem: &str| wanted.problems.push((field, problem.to_owned()));
    if user_name(&wanted.name).is_none() {
        wrong("name", "The name must contain visible characters.");
    } else if wanted.name.chars().count() > LONGEST_NAME {
        wrong(
            "name",
            &format!("The name must have at most {LONGEST_NAME} characters."),
        );
    }
    if wanted.rights.is_empty() {
        wrong("may", "Choose at least one permission.");
    }
    let Some(days) = wanted.days.filter(|_| wanted.problems.is_empty()) else {
        if wanted.days.is_none() {
            wanted
                .problems
                .push(("days", "Choose when the token expires.".into()));
        }
        return shown(&service, &view, &wanted).await;
    };
    let operation = "tokens create";
    if let Some(right) = wanted.rights.iter().find(|right| !view.may(**right)) {
        let entry = view.entry(operation, &wanted.name, Code::PermissionDenied);
        service.log_refusal(entry).await?;
        return Err(denied(view.user(), *right).into());
    }
    let own = own_tokens(&service, &view).await?;
    if own.iter().filter(|token| !has_ended(token)).count() >= MOST_TOKENS {
        let problem =
            format!("You already have {MOST_TOKENS} tokens, the maximum. Revoke one first.");
        wanted.problems.push(("name", problem));
        return shown(&service, &view, &wanted).await;
    }
    let token = NewToken {
        name: wanted.name.clone(),
        user: view.user().to_owned(),
        rights: wanted
            .rights
            .iter()
            .map(|right| right.as_str().to_owned())
            .collect(),
        expires: Some(now() + i64::from(days) * 24 * 60 * 60 * 1000),
    };
    let entry = view.entry(operation, &token.name, Code::Ok);
    let secret = match service.store.tokens().create(&token, Some(&entry)).await {
        Err(StoreError::TokenExists { .. }) => {
            let problem = "This name has been used before. Choose another.";
            wanted.problems.push(("name", problem.into()));
            return shown(&service, &view, &wanted).await;
        }
        made => made.map_err(errors::store)?,
    };
    let end = Timestamp::of_milliseconds(token.expires.unwrap_or_default());
    let main = html! {
        h1 { "Token " (Foreign(&token.name)) }
        p { "Copy the secret now. It will not be shown again." }
        pre { code { (secret.as_str()) } }
        p { "It expires on " (at(end.as_ref())) "." }
        p { a.button href="/account" { "Done" } }
    };
    let mut page = frame::page(&view, Section::Account, "New token", &main);
    let nowhere = HeaderValue::from_static("no-store");
    page.headers_mut().insert(header::CACHE_CONTROL, nowhere);
    Ok(page)
}

/// POST `/account/tokens/revoke`: one's own, or, for users who may end the jobs of others, any.
pub(super) async fn revoke_token(
    State(service): State<Service>,
    view: View,
    Form(mut form): Form,
) -> Result<Response, Problem> {
    let missing = || errors::field("name", "enter the name of the token");
    let name = form.take("name").ok_or_else(missing)?;
    let tokens = service.store.tokens().list().await.map_err(errors::store)?;
    let token = tokens.iter().find(|token| token.name == name);
    let unheard = || Status::not_found(format!("there is no token {name:?}"));
    let token = token.ok_or_else(unheard)?;
    let is_own = is_same(&token.user, view.user());
    let operation = "tokens revoke";
    if !is_own && !view.may(Right::EndOthers) {
        let entry = view.entry(operation, &name, Code::PermissionDenied);
        service.log_refusal(entry).await?;
        let problem = format!("user {} may not revoke the tokens of others", view.user());
        return Err(Status::permission_denied(problem).into());
    }
    let entry = view.entry(operation, &name, Code::Ok);
    let revoked = service.store.tokens().revoke(&name, Some(&entry)).await;
    revoked.map_err(errors::store)?;
    let back = if is_own { "/account" } else { "/admin" };
    Ok(Redirect::to(back).into_response())
}

async fn own_tokens(service: &Service, view: &View) -> Result<Vec<Token>, Status> {
    let tokens = service.store.tokens().list().await.map_err(errors::store)?;
    let tokens = tokens.into_iter();
    Ok(tokens
        .filter(|token| is_same(&token.user, view.user()))
        .collect())
}

fn has_ended(token: &Token) -> bool {
    token.revoked.is_some() || token.expires.is_some_and(|end| end <= now())
}
