-- The additions of version 5 to the tables of version 4, in the same form.

-- No worker takes it until it is resumed.
ALTER TABLE jobs ADD COLUMN paused BIGINT NOT NULL DEFAULT 0;

-- The secrets by which the processes of a store sign.
CREATE TABLE shared_secrets (
    name   TEXT PRIMARY KEY,
    secret TEXT NOT NULL
);
