-- The additions of version 3 to the tables of version 2, in the same form.

-- The workers that serve the store, and those that did until lately.
CREATE TABLE workers (
    id       TEXT   PRIMARY KEY,  -- of a place on a machine: the next worker there gets it again
    name     TEXT   NOT NULL,
    machine  TEXT   NOT NULL,
    bots     TEXT   NOT NULL,     -- a JSON array of names
    host     TEXT   NOT NULL,     -- JSON
    version  TEXT   NOT NULL,
    started  BIGINT NOT NULL,
    seen     BIGINT NOT NULL,     -- the last sign of life
    expires  BIGINT NOT NULL,     -- gone, unless there is another one until then
    job      TEXT,
    activity TEXT   NOT NULL
);

-- The files that belong to jobs, in compressed pieces, oldest first.
CREATE TABLE job_files (
    job      BIGINT NOT NULL,
    name     TEXT   NOT NULL,
    sequence BIGINT NOT NULL,
    size     BIGINT NOT NULL,     -- of the file up to here, before compression
    content  BYTEA  NOT NULL,
    PRIMARY KEY (job, name, sequence),
    FOREIGN KEY (job) REFERENCES jobs (number) ON DELETE CASCADE
);

-- 1 if the workers of its bot carry it out; earlier jobs were carried out by the processes
-- that made them.
ALTER TABLE jobs ADD COLUMN by_workers BIGINT NOT NULL DEFAULT 0;

-- Times in a row that its worker has died before it recorded anything.
ALTER TABLE jobs ADD COLUMN deaths BIGINT NOT NULL DEFAULT 0;
