//! The list as it changes: rows of jobs under way, ages, and the number of new jobs. Nothing moves
//! under the pointer: a row stays where it is, and new jobs are announced.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use futures_util::stream;
use http::Uri;
use pinpoint_backends::store::{JobFilter, JobId, JobMark, ListOrder, PagePosition};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tonic::Status;

use super::columns::Column;
use super::job_list_query::JobListQuery;
use super::row;
use crate::api::grpc::errors;
use crate::api::grpc::v2::messages::pinpoint_server::Pinpoint;
use crate::api::grpc::v2::show;
use crate::api::query::Query;
use crate::api::rest::Problem;
use crate::api::rest::events::{HEARTBEAT, stream_of};
use crate::jobs::watching::LIFETIME;
use crate::phase::Phase;
use crate::state::Service;
use crate::ui::assets::path;
use crate::ui::dates;
use crate::ui::view::View;

/// The time between two looks at the store.
const INTERVAL: Duration = Duration::from_secs(1);

/// The most rows of a page.
const MOST_ROWS: usize = 100;

/// Milliseconds by which the clocks of the store and of the service may differ.
const CLOCKS: i64 = 60_000;

/// The most new jobs that are counted.
const MOST_NEW: u32 = 100;

/// GET `/events`: changes of the jobs of a list, with the fields of its address.
pub(in crate::ui) async fn events(
    State(service): State<Service>,
    uri: Uri,
    view: View,
) -> Result<Response, Problem> {
    let mut query = Query::from_uri(&uri)?;
    let shown = JobListQuery::read(&mut query)?;
    let since: Option<i64> = query.take("since").and_then(|since| since.parse().ok());
    let version = query.take("version");
    if version.is_some_and(|version| version != path("page.js")) {
        let newer = Bytes::from_static(b"event: newer\ndata: {}\n\n");
        return Ok(stream_of(stream::iter([newer])));
    }
    // The place is free again when the stream is dropped.
    let place = service.limits.stream(view.user())?;
    // A page names its jobs, whose list may have changed since.
    let listed = match since {
        Some(_) => {
            let jobs = query.take("jobs").unwrap_or_default();
            jobs.split(',').take(MOST_ROWS).map(str::to_owned).collect()
        }
        None => listed(&service, &view, &shown).await?,
    };
    let jobs: Vec<_> = { listed.iter() }
        .filter_map(|id| JobId::parse(id).ok())
        .collect();
    // Only where the newest job comes first does a new one belong to this page.
    let is_newest = shown.page.is_empty() && shown.sort_key().is_none();
    let live = Live {
        newer_than: match is_newest {
            true => Some((service.filter(shown.filter()?)?, jobs.first().cloned())),
            false => None,
        },
        ages: { jobs.iter() }
            .map(|job| (job.clone(), age(job, since.unwrap_or_else(dates::now))))
            .collect(),
        known: jobs.into_iter().map(|job| (job, None)).collect(),
        new_jobs: 0,
        since,
        columns: shown.columns().to_vec(),
        service,
        view,
        said: Instant::now(),
        ends: Instant::now() + LIFETIME,
    };
    let events = stream::unfold((live, place), async |(mut live, place)| {
        let text = live.next().await?;
        Some((text, (live, place)))
    });
    Ok(stream_of(events))
}

/// The jobs of a list as it is.
async fn listed(
    service: &Service,
    view: &View,
    shown: &JobListQuery,
) -> Result<Vec<String>, Status> {
    let request = view.call("pinpoint.v2.Pinpoint/ListJobs", shown.request()?);
    let listed = service.list_jobs(request).await?.into_inner();
    Ok(listed.jobs.into_iter().map(|job| job.job_id).collect())
}

/// The age of a job in words.
fn age(job: &JobId, now: i64) -> String {
    dates::ago_at(job.created(), now)
}

struct Live {
    service: Service,
    view: View,
    columns: Vec<Column>,
    /// The jobs of the page, each with its last mark.
    known: BTreeMap<JobId, Option<JobMark>>,
    /// The age of each, as the page shows it.
    ages: BTreeMap<JobId, String>,
    /// The filter, and the newest job of the page if it has any, where new jobs come first.
    newer_than: Option<(JobFilter, Option<JobId>)>,
    new_jobs: usize,
    /// The time when the page was rendered, in milliseconds since 1970.
    since: Option<i64>,
    said: Instant,
    ends: Instant,
}

impl Live {
    /// The next events; nothing when the stream ends. A browser reconnects without help.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if Instant::now() > self.ends || *self.service.phase.borrow() == Phase::Ending {
                return None;
            }
            sleep(INTERVAL).await;
            let text = match self.look().await {
                Ok(text) => text,
                Err(status) => {
                    tracing::warn!(%status, "a list can't be looked at");
                    return None;
                }
            };
            if !text.is_empty() {
                self.said = Instant::now();
                return Some(text.into());
            }
            if self.said.elapsed() > HEARTBEAT {
                self.said = Instant::now();
                return Some(Bytes::from_static(b":\n\n"));
            }
        }
    }

    async fn look(&mut self) -> Result<String, Status> {
        let mut text = String::new();
        let store = &self.service.store;
        let jobs: Vec<_> = self.known.keys().cloned().collect();
        for mark in store.jobs().marks(&jobs).await.map_err(errors::store)? {
            let before = self.known.insert(mark.id.clone(), Some(mark.clone()));
            let has_changed = match before.flatten() {
                Some(before) => before != mark,
                None => self.may_be_new(&mark),
            };
            if !has_changed {
                continue;
            }
            let found = store.jobs().get_without_outcome(&mark.id).await;
            let job = show::summary(&found.map_err(errors::store)?.0);
            let row = row(&self.view, &self.columns, &job).into_string();
            let event = json!({ "job": job.job_id, "html": row });
            text.push_str(&format!("event: row\ndata: {event}\n\n"));
        }
        let now = dates::now();
        let mut aged = serde_json::Map::new();
        for (job, shown) in &mut self.ages {
            let age = age(job, now);
            if *shown != age {
                aged.insert(job.to_string(), age.as_str().into());
                *shown = age;
            }
        }
        if !aged.is_empty() {
            let event = Value::Object(aged);
            text.push_str(&format!("event: ages\ndata: {event}\n\n"));
        }
        let new_jobs = self.count_new().await?;
        if new_jobs != self.new_jobs {
            self.new_jobs = new_jobs;
            let words = match new_jobs {
                1 => "1 new job".to_owned(),
                number if number >= MOST_NEW as usize => format!("{number} new jobs or more"),
                number => format!("{number} new jobs"),
            };
            let event = json!({ "jobs": new_jobs, "text": words });
            text.push_str(&format!("event: new\ndata: {event}\n\n"));
        }
        Ok(text)
    }

    /// Returns true if the page may lack this state: it was rendered earlier, perhaps much earlier
    /// if its connection was lost.
    fn may_be_new(&self, mark: &JobMark) -> bool {
        self.since.is_some_and(|since| {
            !mark.state.has_ended() || mark.updated.saturating_add(CLOCKS) >= since
        })
    }

    /// The number of jobs that come before the first of the page.
    async fn count_new(&self) -> Result<usize, Status> {
        let Some((filter, newest)) = &self.newer_than else {
            return Ok(0);
        };
        let place = match newest {
            Some(newest) => PagePosition::Before(newest.clone().into()),
            None => PagePosition::First,
        };
        let store = &self.service.store;
        let page = store
            .jobs()
            .list(filter, ListOrder::default(), &place, MOST_NEW)
            .await;
        Ok(page.map_err(errors::store)?.jobs.len())
    }
}
