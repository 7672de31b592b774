//! Lists, page by page.

use pinpoint_backends::store::{
    AuditFilter, Job, JobFilter, JobId, ListOrder, NameParts, PagePosition, SortBy, SortKey, Total,
};
use pinpoint_core::api::{self, Timestamp};
use pinpoint_core::bots::Workers;
use pinpoint_core::{Answers, JobState, Report};
use prost::Message;
use serde::{Deserialize, Serialize};
use tonic::Status;

use super::super::errors;
use super::super::fields::{MOST_NAME, filtered_user, too_long};
use super::arguments::text;
use super::cursors::{Cursors, page_size};
use super::messages::{
    self, AuditRow, Bot, CountJobsRequest, CountJobsResponse, GetAuditRequest, GetAuditResponse,
    GetQuotaResponse, JobOrder, Kind, ListBotsResponse, ListBuildsRequest, ListBuildsResponse,
    ListJobsRequest, ListJobsResponse, ListRunsRequest, ListRunsResponse, ListWorkersResponse,
    State, Worker,
};
use super::{journal, show};
use crate::jobs::replays::replayed;
use crate::state::Service;

/// The place of a page, as a cursor holds it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Cursor {
    After(SortKey),
    Before(SortKey),
}

impl From<Cursor> for PagePosition {
    fn from(cursor: Cursor) -> Self {
        match cursor {
            Cursor::After(key) => Self::After(key),
            Cursor::Before(key) => Self::Before(key),
        }
    }
}

/// The most bots of a filter.
const MOST_BOTS: usize = 100;

/// Milliseconds.
const HOUR: i64 = 60 * 60 * 1000;

impl Service {
    pub(super) async fn jobs(&self, request: ListJobsRequest) -> Result<ListJobsResponse, Status> {
        let size = page_size(request.page_size, 50, 500)?;
        let plain = ListJobsRequest {
            page_size: None,
            page_token: String::new(),
            ..request.clone()
        };
        let cursors = Cursors {
            key: self.caches.cursor_key.of(&self.store).await?,
            list: "jobs",
            filter: &plain.encode_to_vec(),
        };
        let place = match cursors.place(&request.page_token)? {
            None => PagePosition::First,
            Some(place) => serde_json::from_str::<Cursor>(&place)
                .map(PagePosition::from)
                .map_err(|_| Status::internal("a cursor of ours can't be read"))?,
        };
        let order = order(&request)?;
        let filter = self.filter(request.filter.unwrap_or_default())?;
        let page = self.store.jobs().list(&filter, order, &place, size).await;
        let page = page.map_err(errors::store)?;
        let (before, after) = match place {
            PagePosition::First => (false, page.more),
            PagePosition::After(_) => (true, page.more),
            PagePosition::Before(_) => (page.more, true),
        };
        let token = |cursor: fn(SortKey) -> Cursor,
                     job: Option<&pinpoint_backends::store::JobSummary>| {
            let cursor = job.map(|job| serde_json::to_string(&cursor(order.key_of(job))));
            match cursor.transpose() {
                Ok(cursor) => Ok(cursor.map_or_else(String::new, |it| cursors.token(&it))),
                Err(error) => Err(Status::internal(error.to_string())),
            }
        };
        Ok(ListJobsResponse {
            next_page_token: token(Cursor::After, page.jobs.last().filter(|_| after))?,
            previous_page_token: token(Cursor::Before, page.jobs.first().filter(|_| before))?,
            jobs: page.jobs.iter().map(show::summary).collect(),
        })
    }

    pub(super) async fn count(
        &self,
        request: CountJobsRequest,
    ) -> Result<CountJobsResponse, Status> {
        let filter = self.filter(request.filter.unwrap_or_default())?;
        let (jobs, more) = match self
            .store
            .jobs()
            .count(&filter)
            .await
            .map_err(errors::store)?
        {
            Total::Exactly(jobs) => (jobs, false),
            Total::MoreThan(jobs) => (jobs, true),
        };
        Ok(CountJobsResponse { jobs, more })
    }

    pub(crate) fn filter(&self, filter: messages::JobFilter) -> Result<JobFilter, Status> {
        let kind = match Kind::try_from(filter.kind) {
            Ok(Kind::Unspecified) => None,
            Ok(Kind::Bisection) => Some("bisection"),
            Ok(Kind::Pairwise) => Some("pairwise"),
            Ok(Kind::CulpritFinder) => Some("culprit_finder"),
            Err(_) => return Err(errors::field("filter.kind", "there is no such kind of job")),
        };
        let state = match State::try_from(filter.state) {
            Ok(State::Unspecified) => None,
            Ok(State::Pending) => Some(JobState::Pending),
            Ok(State::Running) => Some(JobState::Running),
            Ok(State::Completed) => Some(JobState::Completed),
            Ok(State::Failed) => Some(JobState::Failed),
            Ok(State::Canceled) => Some(JobState::Canceled),
            Err(_) => return Err(errors::field("filter.state", "there is no such state")),
        };
        let texts = [
            ("name", &filter.name),
            ("benchmark", &filter.benchmark),
            ("user", &filter.user),
            ("text", &filter.text),
        ];
        for (field, text) in texts {
            if let Some(problem) = too_long(text, MOST_NAME) {
                return Err(errors::field(&format!("filter.{field}"), &problem));
            }
        }
        if filter.bots.len() > MOST_BOTS {
            let problem = format!("name at most {MOST_BOTS}");
            return Err(errors::field("filter.bots", &problem));
        }
        let bots = filter.bots.into_iter().filter(|name| !name.is_empty());
        Ok(JobFilter {
            name: text(&filter.name),
            benchmark: text(&filter.benchmark),
            bots: bots.map(|name| self.configured(name)).collect(),
            by_workers: filter.by_workers,
            user: filtered_user("filter.user", &filter.user)?,
            kinds: kind.map(str::to_owned).into_iter().collect(),
            state,
            since: filter.since.as_ref().map(milliseconds),
            until: filter.until.as_ref().map(milliseconds),
            text: text(&filter.text),
            parts: NameParts::default(),
        })
    }

    pub(super) async fn runs(&self, request: ListRunsRequest) -> Result<ListRunsResponse, Status> {
        let size = page_size(request.page_size, 100, 1000)?;
        let (page, next_page_token) = self
            .answered(
                &request.job_id,
                "runs",
                &request.page_token,
                size,
                |answers| {
                    let names = answers.engine.names();
                    let runs = answers.answers.iter().flat_map(|it| {
                        journal::runs(names, Some(&it.task), &it.report, Some(&it.event))
                    });
                    runs.collect()
                },
            )
            .await?;
        Ok(ListRunsResponse {
            runs: page,
            next_page_token,
        })
    }

    pub(super) async fn builds(
        &self,
        request: ListBuildsRequest,
    ) -> Result<ListBuildsResponse, Status> {
        let size = page_size(request.page_size, 100, 1000)?;
        let (page, next_page_token) = self
            .answered(
                &request.job_id,
                "builds",
                &request.page_token,
                size,
                |answers| {
                    let builds = answers.answers.iter().filter_map(|it| match &it.report {
                        Report::Built(report) => Some(journal::build(report)),
                        _ => None,
                    });
                    builds.collect()
                },
            )
            .await?;
        Ok(ListBuildsResponse {
            builds: page,
            next_page_token,
        })
    }

    /// A page of the answers in a job's journal, and the cursor of the next.
    async fn answered<T: Send + 'static>(
        &self,
        job_id: &str,
        list: &str,
        token: &str,
        size: u32,
        of: fn(&Answers) -> Vec<T>,
    ) -> Result<(Vec<T>, String), Status> {
        let job = self.job(job_id, &[]).await?;
        let id = job.id.clone();
        let cursors = Cursors {
            key: self.caches.cursor_key.of(&self.store).await?,
            list,
            filter: id.as_str().as_bytes(),
        };
        let first = cursors.place(token)?.unwrap_or_default();
        let first: usize = first.parse().unwrap_or_default();
        let all = replayed(&self.store, job, move |_, answers| Ok(of(&answers))).await?;
        let end = first.saturating_add(size as usize);
        let next = (all.len() > end).then(|| cursors.token(&end.to_string()));
        let page = all.into_iter().skip(first).take(size as usize);
        Ok((page.collect(), next.unwrap_or_default()))
    }

    /// The answers in the journal of a job.
    pub(super) async fn answers(&self, job: Job) -> Result<Answers, Status> {
        replayed(&self.store, job, |_, answers| Ok(answers)).await
    }

    pub(super) async fn workers(&self) -> Result<ListWorkersResponse, Status> {
        let workers = self.store.workers().list().await.map_err(errors::store)?;
        let workers = workers.into_iter().map(|worker| Worker {
            name: worker.name,
            machine: worker.machine,
            bots: worker.bots,
            version: worker.version,
            started: Timestamp::of_milliseconds(worker.started),
            seen: Timestamp::of_milliseconds(worker.seen),
            gone: worker.gone,
            job_id: worker.job.map(|id| id.to_string()).unwrap_or_default(),
            activity: worker.activity,
        });
        Ok(ListWorkersResponse {
            workers: workers.collect(),
        })
    }

    pub(super) async fn listed_bots(&self) -> Result<ListBotsResponse, Status> {
        let workers = self.store.workers().list().await.map_err(errors::store)?;
        let mut bots = Vec::new();
        for bot in self.bots.iter() {
            if matches!(bot.workers, Workers::Swarming(_)) {
                continue;
            }
            let filter = JobFilter {
                bots: vec![bot.configured_as.to_owned()],
                state: Some(JobState::Pending),
                ..JobFilter::default()
            };
            let pending = match self
                .store
                .jobs()
                .count(&filter)
                .await
                .map_err(errors::store)?
            {
                Total::Exactly(jobs) | Total::MoreThan(jobs) => jobs,
            };
            let serves = workers.iter().filter(|worker| {
                !worker.gone && worker.bots.iter().any(|name| name == bot.configured_as)
            });
            bots.push(Bot {
                name: bot.name.to_owned(),
                alias_of: match bot.configured_as == bot.name {
                    true => String::new(),
                    false => bot.configured_as.to_owned(),
                },
                repository: bot.repository.unwrap_or_default().to_owned(),
                workers: u32::try_from(serves.count()).unwrap_or(u32::MAX),
                pending,
                out_of_resources: bot.out_of_resources,
            });
        }
        bots.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(ListBotsResponse { bots })
    }

    pub(super) async fn quota(&self, user: String) -> Result<GetQuotaResponse, Status> {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = i64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(i64::MAX);
        let jobs_last_hour = self.store.quotas().jobs_created(&user, now - HOUR).await;
        let jobs_under_way = self.store.quotas().jobs_under_way(&user).await;
        let runs_last_day = self
            .store
            .quotas()
            .runs_recorded(&user, now - 24 * HOUR)
            .await;
        let most = self.limits.quota(&user);
        Ok(GetQuotaResponse {
            user,
            most_jobs_an_hour: most.jobs_an_hour,
            most_jobs_under_way: most.jobs_under_way,
            most_runs_a_day: most.runs_a_day,
            jobs_last_hour: jobs_last_hour.map_err(errors::store)?,
            jobs_under_way: jobs_under_way.map_err(errors::store)?,
            runs_last_day: runs_last_day.map_err(errors::store)?,
        })
    }

    pub(super) async fn audit(&self, request: GetAuditRequest) -> Result<GetAuditResponse, Status> {
        let size = page_size(request.page_size, 100, 1000)?;
        let plain = GetAuditRequest {
            page_size: None,
            page_token: String::new(),
            ..request.clone()
        };
        let cursors = Cursors {
            key: self.caches.cursor_key.of(&self.store).await?,
            list: "audit",
            filter: &plain.encode_to_vec(),
        };
        let after = cursors.place(&request.page_token)?.unwrap_or_default();
        let job = match request.job_id.trim() {
            "" => None,
            id => {
                let id = api::job_id(id).map_err(|found| errors::violations(&found))?;
                let unheard = |_| errors::field("job_id", "it is not the id of a job");
                Some(JobId::parse(&id.simple().to_string()).map_err(unheard)?)
            }
        };
        let filter = AuditFilter {
            user: filtered_user("user", &request.user)?,
            job,
            operation: text(&request.operation),
            since: request.since.as_ref().map(milliseconds),
            until: request.until.as_ref().map(milliseconds),
        };
        // One more shows whether there are more.
        let after = after.parse().unwrap_or_default();
        let rows = self.store.audit().list(&filter, after, size + 1).await;
        let mut rows = rows.map_err(errors::store)?;
        let more = rows.len() > size as usize;
        rows.truncate(size as usize);
        let last = rows.last().filter(|_| more);
        let next_page_token =
            last.map_or_else(String::new, |row| cursors.token(&row.number.to_string()));
        let rows = rows.into_iter().map(|row| AuditRow {
            number: row.number,
            time: Timestamp::of_milliseconds(row.time),
            user: row.entry.user,
            address: row.entry.address,
            operation: row.entry.operation,
            job_id: row.entry.job.map(|id| id.to_string()).unwrap_or_default(),
            result: row.entry.result,
            request: row.entry.request,
            hash: row.hash,
            details: match row.entry.details.is_empty() {
                true => String::new(),
                false => serde_json::Value::Object(row.entry.details).to_string(),
            },
        });
        Ok(GetAuditResponse {
            rows: rows.collect(),
            next_page_token,
        })
    }
}

fn order(request: &ListJobsRequest) -> Result<ListOrder, Status> {
    let by = match JobOrder::try_from(request.order) {
        Ok(JobOrder::Unspecified | JobOrder::Created) => SortBy::Created,
        Ok(JobOrder::Name) => SortBy::Name,
        Ok(JobOrder::Benchmark) => SortBy::Benchmark,
        Ok(JobOrder::Bot) => SortBy::Bot,
        Ok(JobOrder::Kind) => SortBy::Kind,
        Ok(JobOrder::User) => SortBy::User,
        Ok(JobOrder::State) => SortBy::State,
        Ok(JobOrder::Runs) => SortBy::Runs,
        Ok(JobOrder::RunningTime) => SortBy::Duration,
        Ok(JobOrder::Story) => SortBy::Story,
        Ok(JobOrder::Bug) => SortBy::Bug,
        Ok(JobOrder::Result) => SortBy::Result,
        Err(_) => return Err(errors::field("order", "jobs can't be sorted by that")),
    };
    let ascending = request.ascending;
    Ok(ListOrder { by, ascending })
}

/// A time in milliseconds since 1970.
fn milliseconds(time: &Timestamp) -> i64 {
    (time.seconds.saturating_mul(1000)).saturating_add(i64::from(time.nanos) / 1_000_000)
}
