//! A store full of jobs, made by the database itself.

use std::path::Path;

use clap::ValueEnum;
use sqlx::postgres::PgConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};

/// A database that jobs are kept in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Which {
    Sqlite,
    Postgres,
}

type Filled<T> = Result<T, sqlx::Error>;

/// 2024-01-01, in milliseconds since 1970.
const BEGIN: u64 = 1_704_067_200_000;
/// Between two jobs, in milliseconds: a million in two and a half years.
const STEP: u64 = 79_000;

/// The time at which a job was created.
pub(crate) fn created(job: u64) -> i64 {
    (BEGIN + job * STEP) as i64
}

/// The id of a job.
pub(crate) fn id(job: u64) -> String {
    format!("{:012x}70008000{job:012x}", BEGIN + job * STEP)
}

/// The jobs `i` of a table `n`. All names are spread evenly and independently: the
/// numbers of them have no factor in common.
fn jobs(hexadecimal: fn(&str) -> String) -> String {
    let created = format!("({BEGIN} + i * {STEP})");
    let text = |what: &str| format!("CAST({what} AS TEXT)");
    let (benchmark, topic, rare) = (text("i % 97"), text("i % 50"), text("i * 31 % 4999"));
    let filler = "0123456789abcdef".repeat(30);
    let state = "CASE WHEN i % 101 < 90 THEN 'completed' WHEN i % 101 < 97 THEN 'failed' \
                 WHEN i % 101 < 100 THEN 'canceled' ELSE 'pending' END";
    let name = format!(
        "CASE WHEN i % 1009 = 0 THEN 'release-' || {} ELSE '' END",
        text("i % 10")
    );
    let title = format!(
        "'pinpoint bisect v1 main -- ./benchmark-' || {benchmark} || ' --mode=topic' || {topic} \
         || ' --input=rare' || {rare}"
    );
    format!(
        "INSERT INTO jobs (number, id, kind, state, created, updated, duration, name, benchmark, \
         bot, username, repository, title, runs, builds, journal_version, written_by, words, \
         spec, config, outcome, name_key, benchmark_key, bot_key, user_key, runs_key, answer) \
         SELECT {created} * 262144, {id} || '70008000' || {low}, \
         CASE WHEN i % 10 < 6 THEN 'bisection' WHEN i % 10 < 9 THEN 'pairwise' \
         ELSE 'culprit_finder' END, \
         {state}, {created}, {created} + 60000, i % 5003 * 1000, {name}, \
         'benchmark-' || {benchmark}, 'bot-' || {bot}, 'user-' || {user}, '/src/tool', \
         {title}, 20, 2, 2, '0.1.0', \
         'pinpoint bisect v1 main src tool mode input bot user benchmark ' || {benchmark} \
         || ' topic' || {topic} || ' rare' || {rare} \
         || ' benchmark＝benchmark＿' || {benchmark} || ' bot＝bot＿' || {bot} \
         || ' user＝user＿' || {user}, \
         '{{\"spec\":\"{filler}\"}}', '{{\"config\":\"{filler}{filler}\"}}', \
         '{{\"outcome\":\"{filler}{filler}\"}}', \
         CASE {name} WHEN '' THEN substr({title}, 1, 100) ELSE {name} END, \
         'benchmark-' || {benchmark}, 'bot-' || {bot}, 'user-' || {user}, \
         20, \
         '{{\"status\":\"culprit_found\",\"commit\":\"0123456789abcdef0123456789abcdef01234567\"}}' \
         FROM n",
        id = hexadecimal(&created),
        low = hexadecimal("i"),
        bot = text("i % 23"),
        user = text("i % 211"),
    )
}

/// Two builds and this many runs of each job.
fn records(runs: u64, series: &str) -> String {
    let action = "CAST(r AS TEXT)";
    let commit = "0123456789abcdef0123456789abcdef01234567";
    format!(
        "INSERT INTO records (job, sequence, recorded, kind, event) \
         SELECT number, r, created + r, CASE WHEN r < 2 THEN 'built' ELSE 'ran' END, \
         '{{\"reported\":{{\"action\":' || {action} || ',\"report\":{{' || \
         CASE WHEN r < 2 THEN '\"built\":{{\"commit\":{{\"main\":{{\"repository\":\"/src/tool\",\
\"git_hash\":\"{commit}\"}},\"modified_deps\":[],\"patch\":null}},\"failure\":null,\
\"cached\":false,\"duration\":60,\"log\":\"builds/7.log\"}}' \
         ELSE '\"ran\":{{\"bot\":null,\"started\":1704067260000,\"chart\":\"wall\",\
\"failure\":null,\"charts\":{{\"wall\":{{\"values\":[0.05123456],\"unit\":\"s\"}},\
\"user\":{{\"values\":[0.043],\"unit\":\"s\"}}}},\"usage\":null,\"exit_code\":0,\
\"log\":\"runs/{commit}/7.log\"}}' END || '}}}}}}' \
         FROM jobs, {series} ORDER BY number, r",
        series = series.replace("LAST", &(runs + 1).to_string()),
    )
}

pub(crate) async fn sqlite(file: &Path, count: u64, runs: u64) -> Filled<()> {
    let mut connection = SqliteConnectOptions::new()
        .filename(file)
        .journal_mode(SqliteJournalMode::Off)
        .synchronous(SqliteSynchronous::Off)
        .connect()
        .await?;
    let later: Vec<(String, String, String)> = sqlx::query_as(
        "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL \
         AND (type = 'trigger' OR type = 'index')",
    )
    .fetch_all(&mut connection)
    .await?;
    let mut run = async |sql: String| -> Filled<()> {
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&mut connection)
            .await?;
        Ok(())
    };
    run("PRAGMA cache_size = -500000".into()).await?;
    for (kind, name, _) in &later {
        run(format!("DROP {kind} {name}")).await?;
    }
    let series = |last: u64| {
        format!("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {last})")
    };
    let jobs = jobs(|what| format!("printf('%012x', {what})"));
    run(jobs.replacen("SELECT", &format!("{} SELECT", series(count)), 1)).await?;
    run("CREATE TEMP TABLE s (r INTEGER)".into()).await?;
    run(format!(
        "INSERT INTO s {} SELECT i - 1 FROM n",
        series(runs + 2)
    ))
    .await?;
    // CROSS JOIN keeps the order of the tables: no sorting.
    let records = records(runs, "s").replace("jobs, s", "jobs CROSS JOIN s");
    run(records.replace(" ORDER BY number, r", "")).await?;
    run("INSERT INTO jobs_words (rowid, words) SELECT number, words FROM jobs".into()).await?;
    for (_, _, sql) in later {
        run(sql).await?;
    }
    connection.close().await?;
    let back = SqliteConnectOptions::new()
        .filename(file)
        .journal_mode(SqliteJournalMode::Wal);
    back.connect().await?.close().await
}

/// Returns the size in bytes.
pub(crate) async fn postgres(url: &str, count: u64, runs: u64) -> Filled<i64> {
    let mut connection = PgConnection::connect(url).await?;
    sqlx::query("SET search_path = pinpoint")
        .execute(&mut connection)
        .await?;
    let later: Vec<(String, String)> = sqlx::query_as(
        "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'jobs' \
         AND indexname <> 'jobs_pkey'",
    )
    .fetch_all(&mut connection)
    .await?;
    let mut run = async |sql: String| -> Filled<()> {
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&mut connection)
            .await?;
        Ok(())
    };
    for (name, _) in &later {
        run(format!("DROP INDEX {name}")).await?;
    }
    run("ALTER TABLE records DROP CONSTRAINT records_job_fkey".into()).await?;
    run("ALTER TABLE records DROP CONSTRAINT records_pkey".into()).await?;
    let jobs = jobs(|what| format!("lpad(to_hex({what}), 12, '0')"));
    let jobs = jobs.replace(
        " FROM n",
        &format!(" FROM generate_series(1, {count}::bigint) AS n (i)"),
    );
    run(jobs).await?;
    let records = records(runs, "generate_series(0, LAST) AS s (r)");
    run(records.replace(" ORDER BY number, r", "")).await?;
    run("SET maintenance_work_mem = '1GB'".into()).await?;
    run("ALTER TABLE records ADD PRIMARY KEY (job, sequence)".into()).await?;
    run(
        "ALTER TABLE records ADD FOREIGN KEY (job) REFERENCES jobs (number) ON DELETE CASCADE"
            .into(),
    )
    .await?;
    for (_, sql) in later {
        run(sql).await?;
    }
    // As the server does by itself sooner or later.
    run("VACUUM ANALYZE".into()).await?;
    let size = "SELECT pg_database_size(current_database())";
    let size = sqlx::query_scalar(size).fetch_one(&mut connection).await?;
    connection.close().await?;
    Ok(size)
}
