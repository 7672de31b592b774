-- Before the tables of version 2 are made: those of version 1 step aside.
DROP INDEX jobs_by_state;
DROP INDEX records_by_kind;
ALTER TABLE jobs RENAME TO jobs_1;
ALTER TABLE records RENAME TO records_1;
-- then: the tables of version 2

-- The configuration that the command line stored names the benchmark.
INSERT INTO jobs (number, id, kind, state, created, updated, name, benchmark, bot, username,
                  repository, title, error, runs, builds, journal_version, written_by,
                  cancel_requested, words, spec, config, outcome)
SELECT created * 262144 + number % 262144, id, kind, state, created, updated, '',
       coalesce(replace(program, rtrim(program, replace(program, '/', '')), ''), ''), '', '',
       repository, title, error,
       (SELECT count(*) + coalesce(sum(kind = 'ran_pair'), 0) FROM records_1
        WHERE job = number AND withdrawn = 0 AND kind IN ('ran', 'run_failed', 'ran_pair')),
       (SELECT count(*) FROM records_1
        WHERE job = number AND withdrawn = 0 AND kind = 'built'),
       journal_version, written_by, cancel_requested, '', spec, config, outcome
FROM (SELECT *, iif(json_valid(config), config ->> '$.local.command[0]', NULL) AS program
      FROM jobs_1);
INSERT INTO records (job, sequence, recorded, kind, event, detail, withdrawn)
SELECT jobs.number, sequence, recorded, records_1.kind, event, detail, withdrawn
FROM records_1 JOIN jobs_1 ON jobs_1.number = records_1.job JOIN jobs ON jobs.id = jobs_1.id
ORDER BY jobs.number, sequence;
DROP TABLE records_1;
DROP TABLE jobs_1;
