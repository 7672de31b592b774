-- Marks the file as ours: "PINP" in ASCII.
PRAGMA application_id = 0x50494e50;

-- Times are milliseconds since 1970. What is filtered or sorted by has a
-- column of its own; what evolves is JSON.
CREATE TABLE jobs (
    number           INTEGER PRIMARY KEY, -- short, for the records to refer to; rises with time
    id               TEXT    NOT NULL UNIQUE,
    kind             TEXT    NOT NULL,
    state            TEXT    NOT NULL
                     CHECK (state IN ('pending', 'running', 'completed', 'failed', 'canceled')),
    created          INTEGER NOT NULL,
    updated          INTEGER NOT NULL,
    repository       TEXT    NOT NULL,
    title            TEXT    NOT NULL,
    spec             TEXT    NOT NULL,
    config           TEXT    NOT NULL,
    outcome          TEXT,
    error            TEXT,
    journal_version  INTEGER NOT NULL,
    written_by       TEXT    NOT NULL,    -- the version of pinpoint that created the job
    cancel_requested INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX jobs_by_state ON jobs (state, number);

-- One row is one record of a journal. The sequence is unique in a job, so that
-- of two writers one is refused.
CREATE TABLE records (
    job       INTEGER NOT NULL REFERENCES jobs (number) ON DELETE CASCADE,
    sequence  INTEGER NOT NULL,
    recorded  INTEGER NOT NULL,
    kind      TEXT    NOT NULL,           -- the name of the event, for counting
    event     TEXT    NOT NULL,
    detail    TEXT,
    withdrawn INTEGER NOT NULL DEFAULT 0, -- kept, and not replayed any more
    PRIMARY KEY (job, sequence)
) STRICT;

CREATE INDEX records_by_kind ON records (job, kind) WHERE withdrawn = 0;

PRAGMA user_version = 1;
