//! The columns of a job that version 6 added and that follow from others.

use super::super::commits::hashes;
use super::super::database::{Row, Value};
use super::super::job::Request;
use super::super::job_answer::JobAnswer;
use super::super::order::{NameKeys, set_runs_key};
use super::super::text::{Names, words};

/// The jobs after a number: few, since each may have a long outcome.
pub(super) const NEXT: &str = "SELECT number, name, title, benchmark, bot, username, config, outcome, \
     spec, repository, error FROM jobs WHERE number > $1 ORDER BY number LIMIT 20";

/// The columns of a line of values.
const COLUMNS: usize = 9;

/// The statement that sets the columns of these jobs.
pub(super) fn update(jobs: &[Row]) -> Result<(String, Vec<Value>), sqlx::Error> {
    let mut values: Vec<Value> = Vec::with_capacity(COLUMNS * jobs.len());
    for job in jobs {
        let text = |column| job.text(column);
        let (name, title, benchmark, bot, user) =
            (text(1)?, text(2)?, text(3)?, text(4)?, text(5)?);
        let keys = NameKeys::new(&name, &title, &benchmark, &bot, &user);
        let request = Request::of(&mut serde_json::Deserializer::from_str(&text(6)?));
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
        values.extend([
            job.int(0)?.into(),
            keys.name.into(),
            keys.benchmark.into(),
            keys.bot.into(),
            keys.user.into(),
            request.story.into(),
            request.bug.into(),
            outcome.as_deref().and_then(JobAnswer::written).into(),
            words(names, texts).into(),
        ]);
    }
    let lines = (0..jobs.len()).map(|line| {
        let places = (1..=COLUMNS).map(|column| format!("${}", line * COLUMNS + column));
        format!("({})", places.collect::<Vec<_>>().join(", "))
    });
    let sql = format!(
        "UPDATE jobs SET name_key = column2, benchmark_key = column3, bot_key = column4, \
         user_key = column5, story = column6, bug = column7, answer = column8, \
         words = column9, {} \
         FROM (VALUES {}) AS derived WHERE number = column1",
        set_runs_key("state"),
        lines.collect::<Vec<_>>().join(", ")
    );
    Ok((sql, values))
}

/// Sets them in all jobs, a few at a time.
macro_rules! set_derived {
    ($connection:expr) => {{
        let mut last = i64::MIN;
        loop {
            let jobs = bound!(derived::NEXT, [Value::from(last)]);
            let jobs = jobs.fetch_all(&mut *$connection).await?;
            let jobs: Vec<Row> = jobs.into_iter().map(Row::from).collect();
            let Some(job) = jobs.last() else { break };
            last = job.int(0)?;
            let (sql, values) = derived::update(&jobs)?;
            bound!(sql, values).execute(&mut *$connection).await?;
        }
    }};
}
pub(super) use set_derived;
