-- What version 2 adds: alerts, and the watch over a data set.

-- Alerts, numbered from 1. None is ever removed: events name them.
CREATE TABLE alerts (
    dataset BIGINT NOT NULL,
    number BIGINT NOT NULL,
    -- JSON; see `alert.rs`.
    content TEXT NOT NULL,
    PRIMARY KEY (dataset, number)
);

-- The watch over each data set that has one.
CREATE TABLE watches (
    dataset BIGINT PRIMARY KEY,
    -- The events of its log.
    events BIGINT NOT NULL DEFAULT 0,
    -- Those of them that somebody was told of.
    told BIGINT NOT NULL DEFAULT 0,
    -- 0: values that come are not noted; 1: they are, and all before are new, too; 2: only those that
    -- are noted are new.
    stage BIGINT NOT NULL DEFAULT 0,
    -- Numbers of arrivals given out.
    arrivals BIGINT NOT NULL DEFAULT 0,
    -- The state after some of the events, as JSON, and their number; see `state.rs`.
    snapshot TEXT,
    snapshot_events BIGINT NOT NULL DEFAULT 0
);

-- The log of a watch, numbered from 0. Only ever appended to.
CREATE TABLE watch_events (
    dataset BIGINT NOT NULL,
    number BIGINT NOT NULL,
    -- JSON; see `event.rs`.
    content TEXT NOT NULL,
    PRIMARY KEY (dataset, number)
);

-- The values that came and that the watch has not seen: the traces of a file at a commit, as a
-- roaring bitmap. They go when it has.
CREATE TABLE arrivals (
    dataset BIGINT NOT NULL,
    number BIGINT NOT NULL,
    commit_number BIGINT NOT NULL,
    traces BYTEA NOT NULL,
    PRIMARY KEY (dataset, number)
);
