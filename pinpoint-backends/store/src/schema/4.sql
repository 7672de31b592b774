-- The additions of version 4 to the tables of version 3, in the same form: tables of a
-- service with many users. Of tokens, sessions and sign-ins only the SHA-256 of the secret is kept.

-- The user who asked for the end of a job, and the reason, if any.
ALTER TABLE jobs ADD COLUMN cancel_by TEXT;

ALTER TABLE jobs ADD COLUMN cancel_reason TEXT;

-- Few of a user's jobs have not ended. SQLite prefers another index without the second
-- column.
CREATE INDEX jobs_under_way ON jobs (username, state)
    WHERE state IN ('pending', 'running');

-- The runs recorded in an hour for all jobs of a user: for quotas.
CREATE TABLE run_counts (
    username TEXT   NOT NULL,
    hour     BIGINT NOT NULL,     -- since 1970
    runs     BIGINT NOT NULL,
    PRIMARY KEY (username, hour)
);

-- Rows are only added. Each has a hash over its fields and the hash of the row before.
CREATE TABLE audit (
    number    BIGINT PRIMARY KEY, -- from 1, without gaps
    time      BIGINT NOT NULL,
    username  TEXT   NOT NULL,
    address   TEXT   NOT NULL,
    operation TEXT   NOT NULL,
    job       TEXT,
    result    TEXT   NOT NULL,
    request   TEXT   NOT NULL,
    details   TEXT   NOT NULL,    -- a JSON object
    hash      BYTEA  NOT NULL
);

CREATE INDEX audit_by_time ON audit (time);

CREATE INDEX audit_by_user ON audit (username, number);

CREATE INDEX audit_by_job ON audit (job, number);

CREATE INDEX audit_by_operation ON audit (operation, number);

-- The last row. Writers come one after the other by its lock.
CREATE TABLE audit_head (
    one    BIGINT PRIMARY KEY CHECK (one = 1),
    number BIGINT NOT NULL,
    hash   BYTEA  NOT NULL
);

INSERT INTO audit_head (one, number, hash) VALUES (1, 0, CAST('' AS BYTEA));

-- Creations of jobs that are not to be repeated.
CREATE TABLE idempotency_keys (
    username TEXT   NOT NULL,
    name     TEXT   NOT NULL,
    digest   BYTEA  NOT NULL,     -- of the request
    job      TEXT   NOT NULL,
    created  BIGINT NOT NULL,
    PRIMARY KEY (username, name)
);

CREATE INDEX idempotency_keys_by_time ON idempotency_keys (created);

CREATE TABLE tokens (
    name     TEXT   PRIMARY KEY,
    hash     BYTEA  NOT NULL,
    username TEXT   NOT NULL,
    rights   TEXT   NOT NULL,     -- a JSON array
    created  BIGINT NOT NULL,
    expires  BIGINT,
    revoked  BIGINT,
    used     BIGINT               -- last, give or take a minute
);

CREATE UNIQUE INDEX tokens_by_hash ON tokens (hash);

CREATE TABLE sessions (
    hash        BYTEA  PRIMARY KEY,
    username    TEXT   NOT NULL,
    user_groups TEXT   NOT NULL,  -- a JSON array
    created     BIGINT NOT NULL,
    expires     BIGINT NOT NULL
);

CREATE INDEX sessions_by_user ON sessions (username, created);

CREATE INDEX sessions_by_end ON sessions (expires);

CREATE TABLE sign_ins (
    hash    BYTEA  PRIMARY KEY,
    value   TEXT   NOT NULL,      -- JSON
    expires BIGINT NOT NULL
);

CREATE INDEX sign_ins_by_end ON sign_ins (expires);
