-- The tables of version 1, from which both databases get theirs.
--
-- Everything is of a data set, whose number is the first column of each table.

CREATE TABLE datasets (
    number BIGINT PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    -- How many traces have a number.
    traces BIGINT NOT NULL DEFAULT 0,
    -- Numbers of sources given out.
    sources BIGINT NOT NULL DEFAULT 0,
    -- Numbers of annotations given out.
    annotations BIGINT NOT NULL DEFAULT 0,
    -- Tiles before this one were removed.
    first_tile BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE commits (
    dataset BIGINT NOT NULL,
    number BIGINT NOT NULL,
    hash TEXT COLLATE "C" NOT NULL,
    -- Seconds since 1970.
    time BIGINT NOT NULL,
    author TEXT NOT NULL,
    subject TEXT NOT NULL,
    PRIMARY KEY (dataset, number)
);

CREATE UNIQUE INDEX commits_by_hash ON commits (dataset, hash);

-- The keys of parameters. A key is never removed, nor is a value of one: their numbers stay.
CREATE TABLE param_keys (
    dataset BIGINT NOT NULL,
    number BIGINT NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (dataset, number)
);

CREATE UNIQUE INDEX param_keys_by_text ON param_keys (dataset, text);

-- The values of each key, numbered from 0 for each.
CREATE TABLE param_values (
    dataset BIGINT NOT NULL,
    param_key BIGINT NOT NULL,
    number BIGINT NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (dataset, param_key, number)
);

CREATE UNIQUE INDEX param_values_by_text ON param_values (dataset, param_key, text);

-- The traces, numbered from 0. Their parameters are in `param_columns`.
CREATE TABLE traces (
    dataset BIGINT NOT NULL,
    hash BYTEA NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (dataset, hash)
);

-- For each key and 65,536 traces: the value that each trace has; see `column.rs`.
CREATE TABLE param_columns (
    dataset BIGINT NOT NULL,
    param_key BIGINT NOT NULL,
    segment BIGINT NOT NULL,
    content BYTEA NOT NULL,
    PRIMARY KEY (dataset, param_key, segment)
);

-- Files of results that were taken, tries among them. The later of two has the greater rank; see
-- `source.rs`.
CREATE TABLE sources (
    dataset BIGINT NOT NULL,
    number BIGINT NOT NULL,
    -- The SHA-256 of all that follows.
    digest BYTEA NOT NULL,
    rank BYTEA NOT NULL,
    path TEXT NOT NULL,
    -- Milliseconds since 1970.
    modified BIGINT NOT NULL,
    -- JSON.
    links TEXT NOT NULL,
    PRIMARY KEY (dataset, number)
);

CREATE UNIQUE INDEX sources_by_digest ON sources (dataset, digest);

-- The links of single values, as JSON.
CREATE TABLE value_links (
    dataset BIGINT NOT NULL,
    source BIGINT NOT NULL,
    trace BIGINT NOT NULL,
    links TEXT NOT NULL,
    PRIMARY KEY (dataset, source, trace)
);

-- What files say of commits that are not known yet, as JSON.
CREATE TABLE waiting (
    dataset BIGINT NOT NULL,
    source BIGINT NOT NULL,
    hash TEXT COLLATE "C" NOT NULL,
    content BYTEA NOT NULL,
    PRIMARY KEY (dataset, source)
);

CREATE INDEX waiting_by_hash ON waiting (dataset, hash);

-- The tiles with values.
CREATE TABLE tiles (
    dataset BIGINT NOT NULL,
    tile BIGINT NOT NULL,
    -- How often its blocks changed.
    version BIGINT NOT NULL DEFAULT 0,
    -- The values that are not in blocks yet.
    appended BIGINT NOT NULL DEFAULT 0,
    -- The number of the commit with the last value.
    last BIGINT NOT NULL,
    PRIMARY KEY (dataset, tile)
);

-- For each tile and 65,536 traces: those that have values, as a roaring bitmap.
CREATE TABLE tile_traces (
    dataset BIGINT NOT NULL,
    tile BIGINT NOT NULL,
    segment BIGINT NOT NULL,
    content BYTEA NOT NULL,
    PRIMARY KEY (dataset, tile, segment)
);

-- Values as they came, of one commit from one file, for 16,384 traces; see `part.rs`.
CREATE TABLE parts (
    dataset BIGINT NOT NULL,
    tile BIGINT NOT NULL,
    section BIGINT NOT NULL,
    commit_number BIGINT NOT NULL,
    source BIGINT NOT NULL,
    content BYTEA NOT NULL,
    PRIMARY KEY (dataset, tile, section, commit_number, source)
);

-- Values trace by trace, for 32 traces; see `block.rs`.
-- only: sqlite
CREATE TABLE blocks (
    dataset BIGINT NOT NULL,
    tile BIGINT NOT NULL,
    slot BIGINT NOT NULL,
    content BYTEA NOT NULL,
    PRIMARY KEY (dataset, tile, slot)
);

-- only: postgres
CREATE TABLE blocks (
    dataset BIGINT NOT NULL,
    tile BIGINT NOT NULL,
    slot BIGINT NOT NULL,
    content BYTEA NOT NULL,
    PRIMARY KEY (dataset, tile, slot)
) PARTITION BY RANGE (dataset, tile);

-- Tries: what a file says of a patch, apart from the history.
CREATE TABLE tries (
    dataset BIGINT NOT NULL,
    issue TEXT COLLATE "C" NOT NULL,
    patchset TEXT COLLATE "C" NOT NULL,
    source BIGINT NOT NULL,
    content BYTEA NOT NULL,
    PRIMARY KEY (dataset, issue, patchset, source)
);

CREATE TABLE shortcuts (
    dataset BIGINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    -- JSON, sorted.
    ids TEXT NOT NULL,
    PRIMARY KEY (dataset, name)
);

CREATE TABLE annotations (
    dataset BIGINT NOT NULL,
    number BIGINT NOT NULL,
    commit_number BIGINT NOT NULL,
    -- JSON; see `annotation.rs`.
    content TEXT NOT NULL,
    PRIMARY KEY (dataset, number)
);

CREATE INDEX annotations_by_commit ON annotations (dataset, commit_number, number);

-- only: postgres
CREATE TABLE pinpoint_traces_schema (
    version BIGINT NOT NULL
);
