-- The tables of version 2, for every database. A statement ends with a line that
-- ends with a semicolon and is followed by an empty one. `-- only:` names the
-- databases that a statement is for; the other differences are in `schema.rs`.
--
-- Times are milliseconds since 1970. Values for filtering or sorting have separate
-- columns; evolving data are JSON, kept as the text that was written: the binary form
-- of some databases changes numbers.

-- only: postgres
CREATE TABLE pinpoint_schema (
    version BIGINT PRIMARY KEY
);

CREATE TABLE jobs (
    number           BIGINT PRIMARY KEY, -- rises with the time of creation; see `JobId::number`
    id               TEXT   NOT NULL,
    kind             TEXT   NOT NULL,
    state            TEXT   NOT NULL
                     CHECK (state IN ('pending', 'running', 'completed', 'failed', 'canceled')),
    created          BIGINT NOT NULL,
    updated          BIGINT NOT NULL,
    duration         BIGINT,             -- spent running, once it has been
    name             TEXT   NOT NULL,
    benchmark        TEXT   NOT NULL,
    bot              TEXT   NOT NULL,
    username         TEXT   NOT NULL,
    repository       TEXT   NOT NULL,
    title            TEXT   NOT NULL,
    error            TEXT,
    runs             BIGINT NOT NULL DEFAULT 0,
    builds           BIGINT NOT NULL DEFAULT 0,
    journal_version  BIGINT NOT NULL,
    written_by       TEXT   NOT NULL,    -- the version of pinpoint that created the job
    cancel_requested BIGINT NOT NULL DEFAULT 0,
    lease            BIGINT NOT NULL DEFAULT 0, -- rises whenever the job changes hands
    lease_owner      TEXT,
    lease_expires    BIGINT NOT NULL DEFAULT 0,
    words            TEXT   NOT NULL,    -- for the search in text; see `text.rs`
    spec             TEXT   NOT NULL,
    config           TEXT   NOT NULL,
    outcome          TEXT
);

CREATE UNIQUE INDEX jobs_by_id ON jobs (id);

-- Each finds the jobs with one value, newest first. The columns behind `number` let
-- a further filter be tried without a look at the job.
CREATE INDEX jobs_by_benchmark ON jobs (benchmark, number, state, kind, bot, username, name);

CREATE INDEX jobs_by_bot ON jobs (bot, number, state, kind, benchmark, username, name);

CREATE INDEX jobs_by_user ON jobs (username, number, state, kind, benchmark, bot, name);

CREATE INDEX jobs_by_state ON jobs (state, number, kind, benchmark, bot, username, name);

CREATE INDEX jobs_by_kind ON jobs (kind, number, state, benchmark, bot, username, name);

CREATE INDEX jobs_by_name ON jobs (name, number);

-- One row is one record of a journal. The sequence is unique in a job, so that
-- of two writers one is refused.
CREATE TABLE records (
    job       BIGINT NOT NULL,
    sequence  BIGINT NOT NULL,
    recorded  BIGINT NOT NULL,
    kind      TEXT   NOT NULL,           -- what is recorded, for counting
    event     TEXT   NOT NULL,
    detail    TEXT,
    withdrawn BIGINT NOT NULL DEFAULT 0, -- kept, and not replayed any more
    PRIMARY KEY (job, sequence),
    FOREIGN KEY (job) REFERENCES jobs (number) ON DELETE CASCADE
);

-- only: sqlite
CREATE VIRTUAL TABLE jobs_words USING fts5 (
    words, content = '', contentless_delete = 1, tokenize = 'ascii', detail = 'none'
);

-- only: sqlite
CREATE TRIGGER jobs_inserted AFTER INSERT ON jobs BEGIN
    INSERT INTO jobs_words (rowid, words) VALUES (new.number, new.words); END;

-- only: sqlite
CREATE TRIGGER jobs_updated AFTER UPDATE OF words ON jobs WHEN new.words <> old.words BEGIN
    UPDATE jobs_words SET words = new.words WHERE rowid = new.number; END;

-- only: sqlite
CREATE TRIGGER jobs_deleted AFTER DELETE ON jobs BEGIN
    DELETE FROM jobs_words WHERE rowid = old.number; END;

-- only: postgres
ALTER TABLE jobs ADD COLUMN words_vector tsvector
    GENERATED ALWAYS AS (array_to_tsvector(string_to_array(words, ' '))) STORED;

-- Enough to tell rare words from common ones: those are looked up in the index, and
-- for these the jobs are walked. With the default of 100 a rare word takes seconds.
-- only: postgres
ALTER TABLE jobs ALTER COLUMN words_vector SET STATISTICS 1000;

-- only: postgres
CREATE INDEX jobs_by_words ON jobs USING gin (words_vector);
