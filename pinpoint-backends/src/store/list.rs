//! Lists of jobs, page by page.
//!
//! Every page is one walk along an index from where the last one ended, so that the
//! thousandth costs as much as the first.

use std::collections::BTreeMap;

use super::database::{Dialect, Value};
use super::job::first_number;
use super::jobs::{JobStore, SUMMARY, summary};
use super::journal::parsed;
use super::text::{self, Names, Wanted};
use super::{JobFilter, JobId, JobSummary, NameParts, Page, Place, StoreError, Total};

/// The most jobs that are counted one by one.
const COUNTED: i64 = 10_000;

/// The most jobs that one query names.
const AT_ONCE: usize = 500;

impl JobStore {
    /// A page of at most `limit` jobs that match the filter.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    #[tracing::instrument(name = "store::list", level = "debug", skip_all)]
    pub async fn list(
        &self,
        filter: &JobFilter,
        place: &Place,
        limit: u32,
    ) -> Result<Page, StoreError> {
        let mut query = Query::new(self.database.dialect(), filter);
        let (order, backwards) = match place {
            Place::Newest => ("DESC", false),
            Place::After(id) => {
                query.below(self.number(id).await?);
                ("DESC", false)
            }
            Place::Before(id) => {
                query.above(self.number(id).await?);
                ("ASC", true)
            }
        };
        let (key, from) = (query.key, &query.from);
        // One more shows whether there are more.
        let sql = format!(
            "SELECT {SUMMARY} FROM {from} WHERE {} ORDER BY {key} {order} LIMIT {}",
            query.conditions.join(" AND "),
            u64::from(limit) + 1,
        );
        let rows = self.database.unhurried().fetch(&sql, query.values).await?;
        let limit = limit as usize;
        let more = rows.len() > limit;
        let jobs = rows.iter().take(limit);
        let mut jobs = jobs
            .map(|row| summary(&self.database, row))
            .collect::<Result<Vec<_>, _>>()?;
        if backwards {
            jobs.reverse();
        }
        Ok(Page { jobs, more })
    }

    /// At most `limit` jobs that match the filter, after the newest `skipped` of them. For
    /// interfaces that count: a job that is added meanwhile moves the others, and jobs that
    /// are skipped are walked.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    #[tracing::instrument(name = "store::list_skipping", level = "debug", skip_all)]
    pub async fn list_skipping(
        &self,
        filter: &JobFilter,
        skipped: u64,
        limit: u32,
    ) -> Result<Vec<JobSummary>, StoreError> {
        let query = Query::new(self.database.dialect(), filter);
        let sql = format!(
            "SELECT {SUMMARY} FROM {} WHERE {} ORDER BY {} DESC LIMIT {limit} OFFSET {}",
            query.from,
            query.conditions.join(" AND "),
            query.key,
            // Beyond what a database counts there is no job.
            skipped.min(i64::MAX.unsigned_abs()),
        );
        let rows = self.database.unhurried().fetch(&sql, query.values).await?;
        let jobs = rows.iter().map(|row| summary(&self.database, row));
        jobs.collect()
    }

    /// The configurations of these jobs, which a list does not carry; those that are gone have
    /// none.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, or is damaged.
    #[tracing::instrument(name = "store::configs", level = "debug", skip_all)]
    pub async fn configs(
        &self,
        jobs: &[JobId],
    ) -> Result<BTreeMap<JobId, serde_json::Value>, StoreError> {
        let failed = |source| self.database.failed(source);
        let mut configs = BTreeMap::new();
        for jobs in jobs.chunks(AT_ONCE) {
            let places: Vec<_> = (1..=jobs.len()).map(|place| format!("${place}")).collect();
            let sql = format!(
                "SELECT id, config FROM jobs WHERE id IN ({})",
                places.join(", ")
            );
            let ids = jobs.iter().map(|id| Value::from(id.as_str()));
            for row in self.database.fetch(&sql, ids).await? {
                let id = JobId(row.text(0).map_err(failed)?);
                let place = || format!("config of job {id}");
                let config = parsed(&self.database.name, place, &row.text(1).map_err(failed)?)?;
                configs.insert(id, config);
            }
        }
        Ok(configs)
    }

    /// The number of jobs that match the filter: exact up to 10,000.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    #[tracing::instrument(name = "store::count", level = "debug", skip_all)]
    pub async fn count(&self, filter: &JobFilter) -> Result<Total, StoreError> {
        let query = Query::new(self.database.dialect(), filter);
        let sql = format!(
            "SELECT count(*) FROM (SELECT 1 FROM {} WHERE {} LIMIT {}) AS found",
            query.from,
            query.conditions.join(" AND "),
            COUNTED + 1,
        );
        let rows = self.database.unhurried().fetch(&sql, query.values).await?;
        let found = rows.first().map_or(Ok(0), |row| row.int(0));
        let found = found.map_err(|source| self.database.failed(source))?;
        Ok(match found {
            many if many > COUNTED => Total::MoreThan(COUNTED as u64),
            found => Total::Exactly(u64::try_from(found).unwrap_or_default()),
        })
    }

    /// The place of a job in the list, even if it is gone.
    async fn number(&self, id: &JobId) -> Result<i64, StoreError> {
        let sql = "SELECT number FROM jobs WHERE id = $1";
        let rows = self.database.fetch(sql, [id.as_str().into()]).await?;
        match rows.first() {
            Some(row) => row.int(0).map_err(|source| self.database.failed(source)),
            None => Ok(id.number()),
        }
    }
}

/// The part of a query that finds jobs.
pub(super) struct Query {
    pub(super) from: String,
    /// The column that gives the place of a job in the list.
    key: &'static str,
    pub(super) conditions: Vec<String>,
    pub(super) values: Vec<Value>,
}

impl Query {
    pub(super) fn new(dialect: Dialect, filter: &JobFilter) -> Self {
        let mut query = Self {
            from: "jobs".into(),
            key: "jobs.number",
            // There is always one.
            conditions: vec!["1 = 1".into()],
            values: Vec::new(),
        };
        let exact = [
            ("name", filter.name.as_deref()),
            ("benchmark", filter.benchmark.as_deref()),
            ("username", filter.user.as_deref()),
            ("state", filter.state.map(pinpoint_core::JobState::as_str)),
        ];
        for (column, value) in exact {
            if let Some(value) = value {
                query.add(&format!("{column} ="), value);
            }
        }
        if filter.by_workers {
            query.conditions.push("by_workers = 1".into());
        }
        query.add_any("bot", &filter.bots);
        query.add_any("kind", &filter.kinds);
        let NameParts {
            name,
            benchmark,
            bot,
            user,
        } = &filter.parts;
        for (text, part) in [
            ("CASE WHEN name = '' THEN title ELSE name END", name),
            ("benchmark", benchmark),
            ("bot", bot),
            ("username", user),
        ] {
            if !part.is_empty() {
                query.add_part(dialect, text, part);
            }
        }
        let wanted = text::wanted(filter.text.as_deref().unwrap_or_default());
        if !wanted.is_empty() {
            query.add_words(dialect, wanted, filter);
        }
        if let Some(since) = filter.since {
            query.above(first_number(since).saturating_sub(1));
        }
        if let Some(until) = filter.until {
            query.below(first_number(until));
        }
        query
    }

    /// Adds a condition, which ends with the place of its value.
    fn add(&mut self, condition: &str, value: impl Into<Value>) {
        self.values.push(value.into());
        self.conditions
            .push(format!("{condition} ${}", self.values.len()));
    }

    /// Adds that a column has one of these values, or any where there are none.
    fn add_any(&mut self, column: &str, values: &[String]) {
        if values.is_empty() {
            return;
        }
        let first = self.values.len() + 1;
        self.values
            .extend(values.iter().map(|value| Value::from(&**value)));
        let places: Vec<_> = (first..=self.values.len())
            .map(|place| format!("${place}"))
            .collect();
        let places = places.join(", ");
        self.conditions.push(format!("{column} IN ({places})"));
    }

    /// Adds that a text has this part.
    fn add_part(&mut self, dialect: Dialect, text: &str, part: &str) {
        self.values.push(part.into());
        self.conditions.push(format!(
            "{}({text}, ${}) > 0",
            dialect.place_of_part(),
            self.values.len()
        ));
    }

    /// Finds this job, and no other.
    pub(super) fn only(&mut self, id: &str) {
        self.add("jobs.id =", id);
    }

    fn above(&mut self, number: i64) {
        self.add(&format!("{} >", self.key), number);
    }

    fn below(&mut self, number: i64) {
        self.add(&format!("{} <", self.key), number);
    }

    fn add_words(&mut self, dialect: Dialect, mut wanted: Vec<Wanted>, filter: &JobFilter) {
        match dialect {
            Dialect::Sqlite => {
                // The index of words is walked, and the jobs are checked one by one:
                // other conditions narrow the walk, where they have words.
                let names = Names {
                    name: filter.name.as_deref().unwrap_or_default(),
                    benchmark: filter.benchmark.as_deref().unwrap_or_default(),
                    bot: match &filter.bots[..] {
                        [only] => only,
                        _ => "",
                    },
                    user: filter.user.as_deref().unwrap_or_default(),
                };
                wanted.extend(names.tags().map(|word| Wanted {
                    word,
                    prefix: false,
                }));
                self.from =
                    "jobs_words CROSS JOIN jobs ON jobs.number = jobs_words.rowid".to_owned();
                self.key = "jobs_words.rowid";
                self.add("jobs_words MATCH", dialect.text_query(&wanted));
            }
            Dialect::Postgres => {
                self.add("words_vector @@ CAST(", dialect.text_query(&wanted));
                if let Some(last) = self.conditions.last_mut() {
                    last.push_str(" AS tsquery)");
                }
            }
        }
    }
}
