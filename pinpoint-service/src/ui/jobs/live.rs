//! The list as it changes: rows of jobs under way, and how many jobs are new. What is shown does
//! not move under the pointer: a row stays where it is, and new jobs are announced.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use futures_util::stream;
use http::Uri;
use pinpoint_backends::store::{JobFilter, JobId, JobMark, JobSummary as Stored, Order, Place};
use serde_json::json;
use tokio::time::{Instant, sleep};
use tonic::Status;

use super::columns::Column;
use super::row;
use super::shown::Shown;
use crate::grpc::errors;
use crate::grpc::v2::messages::pinpoint_server::Pinpoint;
use crate::grpc::v2::show;
use crate::rest::Problem;
use crate::rest::events::{HEARTBEAT, stream_of};
use crate::ui::view::View;
use crate::watching::LIFETIME;
use crate::{Phase, Service};

/// The time between two looks at the store.
const INTERVAL: Duration = Duration::from_secs(1);

/// The most new jobs that are counted.
const MOST_NEW: u32 = 100;

/// GET `/events`: what happens to the jobs of a list, with the fields of its address.
pub(in crate::ui) async fn events(
    State(service): State<Service>,
    uri: Uri,
    view: View,
) -> Result<Response, Problem> {
    let shown = Shown::of(&uri)?;
    // The place is free again when the stream is dropped.
    let place = service.limits.stream(view.user())?;
    let listed = service.list_jobs(view.call("pinpoint.v2.Pinpoint/ListJobs", shown.request()?));
    let listed = listed.await?.into_inner().jobs;
    let jobs: Vec<_> = { listed.iter() }
        .filter_map(|job| JobId::parse(&job.job_id).ok())
        .collect();
    // Only where the newest job comes first does a new one belong to this page.
    let is_newest = shown.page.is_empty() && shown.sort_key().is_none();
    let newest = jobs.first().filter(|_| is_newest);
    let live = Live {
        newer_than: match newest {
            Some(newest) => Some((service.filter(shown.filter()?)?, newest.clone())),
            None => None,
        },
        known: jobs.into_iter().map(|job| (job, None)).collect(),
        new_jobs: 0,
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

struct Live {
    service: Service,
    view: View,
    columns: Vec<Column>,
    /// The jobs of the page, each with its last mark.
    known: BTreeMap<JobId, Option<JobMark>>,
    /// The filter, and the newest job of the page, where new jobs come before it.
    newer_than: Option<(JobFilter, JobId)>,
    new_jobs: usize,
    said: Instant,
    ends: Instant,
}

impl Live {
    /// The next events; nothing when the stream ends. A browser comes again by itself.
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
        for mark in store.marks(&jobs).await.map_err(errors::store)? {
            let before = self.known.insert(mark.id.clone(), Some(mark.clone()));
            // The page has just been rendered.
            if before.is_none_or(|before| before.is_none_or(|before| before == mark)) {
                continue;
            }
            let job = store.get(mark.id.as_str()).await.map_err(errors::store)?;
            let job = show::summary(&Stored::from(&job));
            let row = row(&self.view, &self.columns, &job).into_string();
            let event = json!({ "job": job.job_id, "html": row });
            text.push_str(&format!("event: row\ndata: {event}\n\n"));
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

    /// The number of jobs that come before the first of the page.
    async fn count_new(&self) -> Result<usize, Status> {
        let Some((filter, newest)) = &self.newer_than else {
            return Ok(0);
        };
        let place = Place::Before(newest.clone().into());
        let store = &self.service.store;
        let page = store.list(filter, Order::default(), &place, MOST_NEW).await;
        Ok(page.map_err(errors::store)?.jobs.len())
    }
}
