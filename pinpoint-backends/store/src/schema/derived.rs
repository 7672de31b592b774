//! The columns of a job that versions added and that derive from others.

use super::super::commits::hashes;
use super::super::database::{Row, Value};
use super::super::job::Request;
use super::super::job_answer::JobAnswer;
use super::super::order::{NameKeys, name_key, set_runs_key};
use super::super::text::{Names, words};

/// The columns that a version added.
pub(super) struct Derived {
    pub(super) version: u32,
    /// The jobs after a number that have them, with the columns that they derive from.
    pub(super) next: &'static str,
    /// The columns of a line of values.
    columns: usize,
    /// The columns and their values by the columns of a line, as SQL.
    assignments: fn() -> String,
    values: fn(&Row) -> Result<Vec<Value>, sqlx::Error>,
}

pub(super) const DERIVED: [Derived; 2] = [
    Derived {
        version: 6,
        // Few at once, since each may have a long outcome.
        next: "SELECT number, name, title, benchmark, bot, username, config, outcome, \
               spec, repository, error FROM jobs WHERE number > $1 ORDER BY number LIMIT 20",
        columns: 9,
        assignments: || {
            format!(
                "name_key = column2, benchmark_key = column3, bot_key = column4, \
                 user_key = column5, story = column6, bug = column7, answer = column8, \
                 words = column9, {}",
                set_runs_key("state")
            )
        },
        values: of_6,
    },
    Derived {
        version: 7,
        next: "SELECT number, story, answer FROM jobs \
               WHERE number > $1 AND (story <> '' OR answer IS NOT NULL) \
               ORDER BY number LIMIT 500",
        columns: 3,
        assignments: || "story_key = column2, answer_key = column3".to_owned(),
        values: of_7,
    },
];

impl Derived {
    /// The statement that sets the columns of these jobs.
    pub(super) fn update(&self, jobs: &[Row]) -> Result<(String, Vec<Value>), sqlx::Error> {
        let mut values = Vec::with_capacity(self.columns * jobs.len());
        for job in jobs {
            values.extend((self.values)(job)?);
        }
        let lines = (0..jobs.len()).map(|line| {
            let places =
                (1..=self.columns).map(|column| format!("${}", line * self.columns + column));
            format!("({})", places.collect::<Vec<_>>().join(", "))
        });
        let sql = format!(
            "UPDATE jobs SET {} FROM (VALUES {}) AS derived WHERE number = column1",
            (self.assignments)(),
            lines.collect::<Vec<_>>().join(", ")
        );
        Ok((sql, values))
    }
}

fn of_6(job: &Row) -> Result<Vec<Value>, sqlx::Error> {
    let text = |column| job.text(column);
    let (name, title, benchmark, bot, user) = (text(1)?, text(2)?, text(3)?, text(4)?, text(5)?);
    let keys = NameKeys::new(&name, &title, &benchmark, &bot, &user);
    let request = Request::from_text(&text(6)?).unwrap_or_default();
    let outcome = job.optional_text(7)?;
    let mut texts = hashes(&text(8)?);
    texts.extend(outcome.as_deref().map(hashes).into_iter().flatten());
    texts.extend([text(9)?, job.optional_text(10)?.unwrap_or_default()]);
    let names = Names {
        name: &name,
        benchmark: &benchmark,
        bot: &bot,
        user: &user,
    };
    let texts = texts.iter().chain([&title]).map(String::as_str);
    Ok(vec![
        job.int(0)?.into(),
        keys.name.into(),
        keys.benchmark.into(),
        keys.bot.into(),
        keys.user.into(),
        request.story.into(),
        request.bug.into(),
        JobAnswer::columns(outcome.as_deref()).0.into(),
        words(names, texts).into(),
    ])
}

fn of_7(job: &Row) -> Result<Vec<Value>, sqlx::Error> {
    let answer = job.optional_text(2)?;
    let answer: Option<JobAnswer> = answer.and_then(|it| serde_json::from_str(&it).ok());
    Ok(vec![
        job.int(0)?.into(),
        name_key(&job.text(1)?).into(),
        answer.map_or(0, |answer| answer.sort_key()).into(),
    ])
}

/// Sets the columns that versions after this one added, in all jobs, a few at a time.
macro_rules! set_derived {
    ($connection:expr, $found:expr) => {{
        for derived in DERIVED.iter().filter(|it| it.version > $found) {
            let mut last = i64::MIN;
            loop {
                let jobs = bound!(derived.next, [Value::from(last)]);
                let jobs = jobs.fetch_all(&mut *$connection).await?;
                let jobs: Vec<Row> = jobs.into_iter().map(Row::from).collect();
                let Some(job) = jobs.last() else { break };
                last = job.int(0)?;
                let (sql, values) = derived.update(&jobs)?;
                bound!(sql, values).execute(&mut *$connection).await?;
            }
        }
    }};
}
pub(super) use set_derived;
