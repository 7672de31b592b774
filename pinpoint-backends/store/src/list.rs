//! Lists of jobs, page by page.
//!
//! Every page is one walk along an index from the end of the last page, so that the thousandth
//! costs as much as the first. Lists in other orders than by age walk along the index of their
//! order where many jobs match; few are collected and sorted.

use super::database::{Dialect, Value};
use super::jobs::{SUMMARY, summary};
use super::order::SortValue;
use super::query::{Query, WORDS_AND_JOBS};
use super::views::Jobs;
use super::{
    JobFilter, JobId, JobSummary, ListOrder, Page, PagePosition, SortBy, SortKey, StoreError, Total,
};

/// The most jobs that are counted one by one.
const COUNTED: i64 = 10_000;

impl Jobs<'_> {
    /// A page of at most `limit` jobs that match the filter, in this order.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    #[tracing::instrument(name = "store::list", level = "debug", skip_all)]
    pub async fn list(
        self,
        filter: &JobFilter,
        order: ListOrder,
        place: &PagePosition,
        limit: u32,
    ) -> Result<Page, StoreError> {
        let (key, backwards) = match place {
            PagePosition::First => (None, false),
            PagePosition::After(key) => (Some(key), false),
            PagePosition::Before(key) => (Some(key), true),
        };
        // Jobs that all have the same value are sorted by their age.
        let by = match order.by.value_in(filter) {
            same @ Some(_) if key.is_none_or(|key| key.value == same) => SortBy::Created,
            _ => order.by,
        };
        let walk = Walk {
            by,
            is_sorted: by == SortBy::Created || self.are_many(filter).await?,
            ascending: order.ascending != backwards,
            from: match key {
                Some(key) => Some((key.clone(), self.number(&key.id).await?)),
                None => None,
            },
            // One more shows that the list continues.
            limit: u64::from(limit) + 1,
        };
        let (sql, values) = walk.statement(self.database.dialect(), filter);
        let rows = self.database.unhurried().fetch(&sql, values).await?;
        let limit = limit as usize;
        let more = rows.len() > limit;
        let jobs = rows.iter().take(limit);
        let mut jobs = jobs
            .map(|row| summary(self.database, row))
            .collect::<Result<Vec<_>, _>>()?;
        if backwards {
            jobs.reverse();
        }
        Ok(Page { jobs, more })
    }

    /// Returns whether so many jobs match that a page of them is found sooner along the index of an
    /// order than by sorting them. Those of a user have separate indices.
    async fn are_many(self, filter: &JobFilter) -> Result<bool, StoreError> {
        let of_any_user = JobFilter {
            user: None,
            ..filter.clone()
        };
        Ok(of_any_user == JobFilter::default()
            || matches!(self.count(filter).await?, Total::MoreThan(_)))
    }

    /// At most `limit` jobs that match the filter, after the newest `skipped` of them. For
    /// interfaces that count: a job that is added in between moves the others, and jobs that are
    /// skipped are walked.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    #[tracing::instrument(name = "store::list_skipping", level = "debug", skip_all)]
    pub async fn list_skipping(
        self,
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
            // No database has more jobs.
            skipped.min(i64::MAX.unsigned_abs()),
        );
        let rows = self.database.unhurried().fetch(&sql, query.values).await?;
        let jobs = rows.iter().map(|row| summary(self.database, row));
        jobs.collect()
    }

    /// The number of jobs that match the filter: exact up to 10,000.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    #[tracing::instrument(name = "store::count", level = "debug", skip_all)]
    pub async fn count(self, filter: &JobFilter) -> Result<Total, StoreError> {
        let query = Query::new(self.database.dialect(), filter);
        let but_words = JobFilter {
            text: None,
            since: None,
            until: None,
            ..filter.clone()
        };
        // The index of words contains every job, so jobs are not needed here.
        let from = match but_words == JobFilter::default() && query.from == WORDS_AND_JOBS {
            true => "jobs_words",
            false => &query.from,
        };
        let sql = format!(
            "SELECT count(*) FROM (SELECT 1 FROM {from} WHERE {} LIMIT {}) AS found",
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
    async fn number(self, id: &JobId) -> Result<i64, StoreError> {
        let sql = "SELECT number FROM jobs WHERE id = $1";
        let rows = self.database.fetch(sql, [id.as_str().into()]).await?;
        match rows.first() {
            Some(row) => row.int(0).map_err(|source| self.database.failed(source)),
            None => Ok(id.number()),
        }
    }
}

/// A page of a list to read.
struct Walk {
    by: SortBy,
    /// Along the index of the order.
    is_sorted: bool,
    ascending: bool,
    /// The job after which it begins, and its number.
    from: Option<(SortKey, i64)>,
    limit: u64,
}

impl Walk {
    fn statement(&self, dialect: Dialect, filter: &JobFilter) -> (String, Vec<Value>) {
        let Some((name, column, is_text)) = column(self.by) else {
            return self.by_age(Query::new(dialect, filter));
        };
        let index = match (self.by, &filter.user) {
            (SortBy::Kind | SortBy::State, None) => format!("jobs_by_{name}"),
            (_, None) => format!("jobs_sorted_by_{name}"),
            (_, Some(_)) => format!("jobs_of_user_by_{name}"),
        };
        let mut query = Query::along(dialect, filter, self.is_sorted.then_some(&*index));
        // Databases take no index for the order of an expression.
        let no_index = match (self.is_sorted, is_text) {
            (true, _) => "",
            (false, true) => " || ''",
            (false, false) => " + 0",
        };
        let from = self.from.as_ref().map(|(key, number)| {
            let value: Value = match (&key.value, is_text) {
                (Some(SortValue::Text(value)), true) => value.as_str().into(),
                (Some(SortValue::Number(value)), false) => (*value).into(),
                // Of another order.
                (_, true) => "".into(),
                (_, false) => 0.into(),
            };
            query.values.extend([value, (*number).into()]);
            (query.values.len() - 1, query.values.len())
        });
        let (number, direction, limit) = (query.key, self.direction(), self.limit);
        let part = |column: &str, same: bool, conditions: Vec<String>| {
            let all = [&query.conditions[..], &conditions].concat();
            // SQLite sorts by an expression, even if it has one value.
            let first = match same {
                true => String::new(),
                false => format!("{column} {direction}, "),
            };
            format!(
                "SELECT {SUMMARY}, {column} AS sorted, {number} AS number FROM {} WHERE {} \
                 ORDER BY {first}{number} {direction} LIMIT {limit}",
                query.from,
                all.join(" AND "),
            )
        };
        // The runs of running jobs are in a column that has no index.
        let running = "runs_key = -1".to_owned();
        let others = (self.by == SortBy::Runs).then(|| "runs_key >= 0".to_owned());
        let mut columns = vec![(column, None, others)];
        if self.by == SortBy::Runs {
            columns.push(("runs", Some(running), None));
        }
        let mut parts = Vec::new();
        for (column, condition, least) in columns {
            let column = format!("{column}{no_index}");
            let Some((value, place)) = from else {
                let conditions = condition.into_iter().chain(least).collect();
                parts.push(part(&column, false, conditions));
                continue;
            };
            // SQLite does not compare a pair with a row number in it along an index.
            let than = if self.ascending { '>' } else { '<' };
            let same = format!("{column} = ${value} AND {number} {than} ${place}");
            let beyond = format!("{column} {than} ${value}");
            // An upward walk begins at the value, and not at the least.
            let least = least.filter(|_| !self.ascending);
            parts.push(part(
                &column,
                true,
                condition.iter().cloned().chain([same]).collect(),
            ));
            parts.push(part(
                &column,
                false,
                condition.into_iter().chain(least).chain([beyond]).collect(),
            ));
        }
        let sql = match &parts[..] {
            [only] => only.clone(),
            _ => {
                let parts = parts.iter().enumerate();
                let parts =
                    parts.map(|(place, part)| format!("SELECT * FROM ({part}) AS part_{place}"));
                let parts: Vec<_> = parts.collect();
                format!(
                    "{} ORDER BY sorted {direction}, number {direction} LIMIT {limit}",
                    parts.join(" UNION ALL ")
                )
            }
        };
        (sql, query.values)
    }

    fn by_age(&self, mut query: Query) -> (String, Vec<Value>) {
        match self.from {
            Some((_, from)) if self.ascending => query.above(from),
            Some((_, from)) => query.below(from),
            None => {}
        }
        let sql = format!(
            "SELECT {SUMMARY} FROM {} WHERE {} ORDER BY {} {} LIMIT {}",
            query.from,
            query.conditions.join(" AND "),
            query.key,
            self.direction(),
            self.limit,
        );
        (sql, query.values)
    }

    fn direction(&self) -> &'static str {
        if self.ascending { "ASC" } else { "DESC" }
    }
}

/// The name of a column in the names of its indices, its values as SQL, and whether they are texts;
/// `None` for the one that the number of a job stands for.
fn column(by: SortBy) -> Option<(&'static str, &'static str, bool)> {
    Some(match by {
        SortBy::Created => return None,
        SortBy::Name => ("name", "name_key", true),
        SortBy::Benchmark => ("benchmark", "benchmark_key", true),
        SortBy::Bot => ("bot", "bot_key", true),
        SortBy::Kind => ("kind", "kind", true),
        SortBy::User => ("user", "user_key", true),
        SortBy::State => ("state", "state", true),
        SortBy::Story => ("story", "story_key", true),
        SortBy::Bug => ("bug", "coalesce(bug, -1)", false),
        SortBy::Result => ("result", "answer_key", false),
        SortBy::Runs => ("runs", "runs_key", false),
        SortBy::Duration => ("duration", "coalesce(duration, -1)", false),
    })
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    use sqlx::Row as _;

    use super::*;
    use crate::JobStore;
    use crate::database::{Pool, bound};

    /// The plan of a statement, a line for each step.
    async fn plan(store: &JobStore, walk: &Walk, filter: &JobFilter) -> Vec<String> {
        let Pool::Sqlite(pool) = &store.database.pool else {
            unreachable!("the store was opened as a file")
        };
        let (sql, values) = walk.statement(Dialect::Sqlite, filter);
        let sql = format!("EXPLAIN QUERY PLAN {sql}");
        let rows = bound!(sql, values).fetch_all(pool).await;
        let rows = rows.expect("the statement can be explained");
        rows.iter().map(|row| row.get("detail")).collect()
    }

    /// Only jobs on the page are read.
    #[tokio::test]
    async fn a_list_in_any_order_is_a_walk_along_its_index() {
        let directory = tempfile::tempdir().unwrap();
        let store = JobStore::open(directory.path()).await.unwrap();
        let id = store
            .jobs()
            .create(&crate::NewJob::default())
            .await
            .unwrap();
        let job = crate::JobSummary::from(&store.jobs().get(&id).await.unwrap());
        let user = JobFilter {
            user: Some("ada".into()),
            ..JobFilter::default()
        };
        for filter in [JobFilter::default(), user] {
            for by in SortBy::ALL {
                // Jobs of one user are sorted by age then.
                if by == SortBy::Created || (by == SortBy::User && filter.user.is_some()) {
                    continue;
                }
                for (ascending, is_further) in
                    [(true, false), (false, false), (true, true), (false, true)]
                {
                    let order = ListOrder { by, ascending };
                    let walk = Walk {
                        by,
                        is_sorted: true,
                        ascending,
                        from: is_further.then(|| (order.key_of(&job), id.number())),
                        limit: 51,
                    };
                    let plan = plan(&store, &walk, &filter).await;
                    let steps: Vec<_> = plan.iter().filter(|step| step.contains("jobs")).collect();
                    assert!(!steps.is_empty(), "{plan:?}");
                    for step in steps {
                        let name = column(by).unwrap().0;
                        let index = match (&filter.user, by) {
                            (Some(_), _) => format!("INDEX jobs_of_user_by_{name}"),
                            (None, SortBy::Kind | SortBy::State) => format!("INDEX jobs_by_{name}"),
                            (None, _) => format!("INDEX jobs_sorted_by_{name}"),
                        };
                        assert!(step.contains(&index), "{order:?}: {plan:?}");
                        // From the place on, and not up to it.
                        let is_search = step.starts_with("SEARCH");
                        assert!(is_search || !is_further, "{order:?}: {plan:?}");
                    }
                    // Of runs, those of running jobs are sorted, and parts of the list are put
                    // together.
                    let sorts = plan.iter().zip(&plan[1.min(plan.len())..]);
                    let sorts = sorts.filter(|(step, next)| {
                        step.contains(" jobs ") && next.contains("TEMP B-TREE")
                    });
                    for (step, _) in sorts {
                        assert!(step.contains("runs_key=?"), "{order:?}: {plan:?}");
                    }
                }
            }
        }
    }
}
