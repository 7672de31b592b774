-- The additions of version 7 to the tables of version 6, in the same form: lists sorted by story,
-- by bug and by result, and names of a thousand letters of any script.

-- Like the keys of version 6.
ALTER TABLE jobs ADD COLUMN story_key TEXT COLLATE "C" NOT NULL DEFAULT '';

-- The place of the answer among others; see `job_answer.rs`.
ALTER TABLE jobs ADD COLUMN answer_key BIGINT NOT NULL DEFAULT 0;

CREATE INDEX jobs_sorted_by_story ON jobs (story_key, number);

CREATE INDEX jobs_sorted_by_bug ON jobs (coalesce(bug, -1), number);

CREATE INDEX jobs_sorted_by_result ON jobs (answer_key, number);

CREATE INDEX jobs_of_user_by_story ON jobs (username, story_key, number);

CREATE INDEX jobs_of_user_by_bug ON jobs (username, coalesce(bug, -1), number);

CREATE INDEX jobs_of_user_by_result ON jobs (username, answer_key, number);

-- PostgreSQL has no index entries of more than 2,704 bytes, which names may have: their first
-- letters, in `jobs_sorted_by_name`, find them.
-- only: postgres
DROP INDEX IF EXISTS jobs_by_benchmark;

-- only: postgres
CREATE INDEX jobs_by_benchmark ON jobs (benchmark, number, state, kind, bot, username);

-- only: postgres
DROP INDEX IF EXISTS jobs_by_bot;

-- only: postgres
CREATE INDEX jobs_by_bot ON jobs (bot, number, state, kind, benchmark, username);

-- only: postgres
DROP INDEX IF EXISTS jobs_by_user;

-- only: postgres
CREATE INDEX jobs_by_user ON jobs (username, number, state, kind, benchmark, bot);

-- only: postgres
DROP INDEX IF EXISTS jobs_by_state;

-- only: postgres
CREATE INDEX jobs_by_state ON jobs (state, number, kind, benchmark, bot, username);

-- only: postgres
DROP INDEX IF EXISTS jobs_by_kind;

-- only: postgres
CREATE INDEX jobs_by_kind ON jobs (kind, number, state, benchmark, bot, username);

-- only: postgres
DROP INDEX IF EXISTS jobs_by_name;
