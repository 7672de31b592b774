-- The additions of version 6 to the tables of version 5, in the same form: lists in other
-- orders than by age, their contents, and the preferences of users.

-- The sort keys of names; see `order.rs`.
ALTER TABLE jobs ADD COLUMN name_key TEXT COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE jobs ADD COLUMN benchmark_key TEXT COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE jobs ADD COLUMN bot_key TEXT COLLATE "C" NOT NULL DEFAULT '';

ALTER TABLE jobs ADD COLUMN user_key TEXT COLLATE "C" NOT NULL DEFAULT '';

-- The runs of a job that is not running, and -1 of one that is: PostgreSQL writes all index
-- entries of a row again for a change in a column that has an index, and runs come one by one.
ALTER TABLE jobs ADD COLUMN runs_key BIGINT NOT NULL DEFAULT 0;

ALTER TABLE jobs ADD COLUMN story TEXT NOT NULL DEFAULT '';

ALTER TABLE jobs ADD COLUMN bug BIGINT;

-- The outcome in short; see `job_answer.rs`.
ALTER TABLE jobs ADD COLUMN answer TEXT;

-- Sorted by bytes everywhere.
-- only: postgres
ALTER TABLE jobs
    ALTER COLUMN kind TYPE TEXT COLLATE "C",
    ALTER COLUMN state TYPE TEXT COLLATE "C";

-- Each is a list in an order; those by kind and by state are there.
CREATE INDEX jobs_sorted_by_name ON jobs (name_key, number);

CREATE INDEX jobs_sorted_by_benchmark ON jobs (benchmark_key, number);

CREATE INDEX jobs_sorted_by_bot ON jobs (bot_key, number);

CREATE INDEX jobs_sorted_by_user ON jobs (user_key, number);

CREATE INDEX jobs_sorted_by_runs ON jobs (runs_key, number);

CREATE INDEX jobs_sorted_by_duration ON jobs (coalesce(duration, -1), number);

-- The same of a user's jobs.
CREATE INDEX jobs_of_user_by_name ON jobs (username, name_key, number);

CREATE INDEX jobs_of_user_by_benchmark ON jobs (username, benchmark_key, number);

CREATE INDEX jobs_of_user_by_bot ON jobs (username, bot_key, number);

CREATE INDEX jobs_of_user_by_kind ON jobs (username, kind, number);

CREATE INDEX jobs_of_user_by_state ON jobs (username, state, number);

CREATE INDEX jobs_of_user_by_runs ON jobs (username, runs_key, number);

CREATE INDEX jobs_of_user_by_duration ON jobs (username, coalesce(duration, -1), number);

CREATE TABLE preferences (
    username TEXT PRIMARY KEY,
    document TEXT NOT NULL        -- a JSON object
);
