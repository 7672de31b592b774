CREATE TABLE pinpoint_schema (
    version BIGINT PRIMARY KEY
);

CREATE TABLE jobs (
    number           BIGINT PRIMARY KEY,
    id               TEXT   NOT NULL,
    kind             TEXT   NOT NULL,
    state            TEXT   NOT NULL
                     CHECK (state IN ('pending', 'running', 'completed', 'failed', 'canceled')),
    created          BIGINT NOT NULL,
    updated          BIGINT NOT NULL,
    duration         BIGINT,
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
    written_by       TEXT   NOT NULL,
    cancel_requested BIGINT NOT NULL DEFAULT 0,
    lease            BIGINT NOT NULL DEFAULT 0,
    lease_owner      TEXT,
    lease_expires    BIGINT NOT NULL DEFAULT 0,
    words            TEXT   NOT NULL,
    spec             TEXT   NOT NULL,
    config           TEXT   NOT NULL,
    outcome          TEXT
);

CREATE UNIQUE INDEX jobs_by_id ON jobs (id);

CREATE INDEX jobs_by_benchmark ON jobs (benchmark, number, state, kind, bot, username, name);

CREATE INDEX jobs_by_bot ON jobs (bot, number, state, kind, benchmark, username, name);

CREATE INDEX jobs_by_user ON jobs (username, number, state, kind, benchmark, bot, name);

CREATE INDEX jobs_by_state ON jobs (state, number, kind, benchmark, bot, username, name);

CREATE INDEX jobs_by_kind ON jobs (kind, number, state, benchmark, bot, username, name);

CREATE INDEX jobs_by_name ON jobs (name, number);

CREATE TABLE records (
    job       BIGINT NOT NULL,
    sequence  BIGINT NOT NULL,
    recorded  BIGINT NOT NULL,
    kind      TEXT   NOT NULL,
    event     TEXT   NOT NULL,
    detail    TEXT,
    withdrawn BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (job, sequence),
    FOREIGN KEY (job) REFERENCES jobs (number) ON DELETE CASCADE
);

ALTER TABLE jobs ADD COLUMN words_tokens spanner.tokenlist
    GENERATED ALWAYS AS (spanner.tokenize_fulltext(words)) VIRTUAL HIDDEN;

CREATE SEARCH INDEX jobs_by_words ON jobs (words_tokens);
