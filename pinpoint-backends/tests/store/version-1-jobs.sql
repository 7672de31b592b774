INSERT INTO jobs VALUES
    (1, '01900000000170008000000000000001', 'bisection', 'completed', 1717986918401, 1717986918500,
     '/src/tool', 'pinpoint bisect v1 v2 -- make', '{"seed":18446744073709551615}',
     '{"local":{"command":["make"]}}', '{"status":"culprit_found"}', NULL, 1, '0.1.0', 0),
    (2, '01900000000270008000000000000002', 'bisection', 'failed', 1717986918402, 1717986918600,
     '/src/tool', 'pinpoint bisect v1 v2 -- ./b/bench.sh', '{}',
     '{"local":{"command":["./b/bench.sh","x"]}}', NULL, 'exit code 3', 1, '0.1.0', 0),
    (3, '01900000000270008000000000000003', 'pairwise', 'running', 1717986918402, 1717986918700,
     '/src/tool', 'pinpoint pairwise v1 v2 -- true', '{}', '{}', NULL, NULL, 1, '0.1.0', 1);

INSERT INTO records VALUES
    (1, 0, 5, 'built', '{"built":{"action":1}}', NULL, 0),
    (1, 1, 6, 'run_failed', '{"run_failed":{"action":2,"started":0,"reason":"x"}}', NULL, 0),
    (1, 2, 7, 'ran', '{"ran":{"action":3,"started":0,"values":{"v":[0.1]}}}', NULL, 0),
    (2, 0, 8, 'ran', '{"ran":{"action":1,"started":0,"values":{"v":[0.1]}}}', NULL, 0),
    (2, 1, 9, 'cancel_requested', '"cancel_requested"', NULL, 1),
    (2, 2, 9, 'ran', '{"ran":{"action":2,"started":0,"values":{"v":[0.1]}}}', NULL, 1),
    (3, 0, 9, 'ran_pair', '{"ran_pair":{"action":1,"first":{"started":0,"values":{}},"second":{"started":0,"values":{}}}}', NULL, 0);
