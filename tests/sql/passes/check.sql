-- section: Statements
-- name: a question
SELECT ward, AVG(cost) AS cost FROM visits WHERE urgent GROUP BY ward ORDER BY cost LIMIT 3
-- expected:
-- allowed: Alias, Avg, Column, From, Group, Identifier, Limit, Literal, Order, Ordered, Select, Table, Where

-- name: INSERT
INSERT INTO visits VALUES (1)
-- expected:
-- NotAllowed [P802]: INSERT cannot be answered privately. At line 1, column 13:
--     INSERT INTO visits VALUES (1)
--                 ^^^^^^^^^^^^^^^^
--   A question changes nothing.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: UPDATE
UPDATE visits SET cost = 0
-- expected:
-- NotAllowed [P802]: UPDATE cannot be answered privately. At line 1, column 8:
--     UPDATE visits SET cost = 0
--            ^^^^^^^^^^^^^^^^^^^
--   A question changes nothing.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: DELETE
DELETE FROM visits
-- expected:
-- NotAllowed [P802]: DELETE cannot be answered privately. At line 1, column 13:
--     DELETE FROM visits
--                 ^^^^^^
--   A question changes nothing.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: CREATE TABLE
CREATE TABLE copy AS SELECT * FROM visits
-- expected:
-- NotAllowed [P802]: CREATE cannot be answered privately. At line 1, column 14:
--     CREATE TABLE copy AS SELECT * FROM visits
--                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   A question changes nothing.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: DROP
DROP TABLE visits
-- expected:
-- NotAllowed [P802]: DROP cannot be answered privately. At line 1, column 12:
--     DROP TABLE visits
--                ^^^^^^
--   A question changes nothing.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: PRAGMA
PRAGMA database_list
-- expected:
-- NotAllowed [P802]: PRAGMA cannot be answered privately. At line 1, column 8:
--     PRAGMA database_list
--            ^^^^^^^^^^^^^
--   No setting can be changed from a question.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: ATTACH
ATTACH 'other.db' AS other
-- expected:
-- NotAllowed [P802]: ATTACH cannot be answered privately. At line 1, column 8:
--     ATTACH 'other.db' AS other
--            ^^^^^^^^^^^^^^^^^^^
--   Only declared tables can be read.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: COPY
COPY visits TO 'out.csv'
-- expected:
-- NotAllowed [P802]: COPY cannot be answered privately. At line 1, column 6:
--     COPY visits TO 'out.csv'
--          ^^^^^^^^^^^^^^^^^^^
--   Answers leave as releases alone.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: SET
SET threads = 1
-- expected:
-- NotAllowed [P802]: SET cannot be answered privately. At line 1, column 5:
--     SET threads = 1
--         ^^^^^^^^^^^
--   No setting can be changed from a question.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: LOAD
LOAD httpfs
-- expected:
-- NotAllowed [P802]: the command LOAD cannot be answered privately.
--   Only SELECT reads data here; commands of the engine are never passed on.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: INSTALL
INSTALL httpfs
-- expected:
-- NotAllowed [P802]: INSTALL cannot be answered privately. At line 1, column 9:
--     INSTALL httpfs
--             ^^^^^^
--   Only constructs whose privacy is understood are let through.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: CALL
CALL pragma_version()
-- expected:
-- NotAllowed [P802]: the command CALL cannot be answered privately.
--   Only SELECT reads data here; commands of the engine are never passed on.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: PREPARE
PREPARE q AS SELECT 1
-- expected:
-- NotAllowed [P802]: the command PREPARE cannot be answered privately.
--   Only SELECT reads data here; commands of the engine are never passed on.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: EXECUTE
EXECUTE q
-- expected:
-- NotAllowed [P802]: the command EXECUTE cannot be answered privately.
--   Only SELECT reads data here; commands of the engine are never passed on.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: EXPLAIN ANALYZE
EXPLAIN ANALYZE SELECT COUNT(*) FROM visits
-- expected:
-- NotAllowed [P802]: the command EXPLAIN cannot be answered privately.
--   Only SELECT reads data here; commands of the engine are never passed on.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: EXPLAIN
EXPLAIN SELECT COUNT(*) FROM visits
-- expected:
-- NotAllowed [P802]: the command EXPLAIN cannot be answered privately.
--   Only SELECT reads data here; commands of the engine are never passed on.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: DESCRIBE
DESCRIBE visits
-- expected:
-- NotAllowed [P802]: DESCRIBE cannot be answered privately. At line 1, column 10:
--     DESCRIBE visits
--              ^^^^^^
--   Only constructs whose privacy is understood are let through.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: SHOW TABLES
SHOW TABLES
-- expected:
-- NotAllowed [P802]: SHOW cannot be answered privately.
--   Only constructs whose privacy is understood are let through.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: VALUES
VALUES (1), (2)
-- expected:
-- NotAllowed [P802]: VALUES cannot be answered privately. At line 1, column 9:
--     VALUES (1), (2)
--             ^^^^^^
--   Only constructs whose privacy is understood are let through.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: FROM first
FROM visits
-- expected:
-- allowed: From, Identifier, Select, Star, Table

-- name: PIVOT
PIVOT visits ON ward USING SUM(cost)
-- expected:
-- NotAllowed [P802]: PIVOT cannot be answered privately. At line 1, column 7:
--     PIVOT visits ON ward USING SUM(cost)
--           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Which columns an answer has would depend on rows.
--   Write a column for each value: COUNT(*) FILTER (WHERE channel = 'web') AS web.
--   docs: errors/P802

-- section: Functions
-- name: a file as a table function
SELECT COUNT(*) FROM read_csv('/etc/passwd')
-- expected:
-- NotAllowed [P802]: the function READ_CSV is not one of those that can be used. At line 1, column 22:
--     SELECT COUNT(*) FROM read_csv('/etc/passwd')
--                          ^^^^^^^^^^^^^^^^^^^^^^
--   Only functions that never fail, read nothing and always give the same value are let through.
--   docs/sql-coverage.md lists the functions that can be used.
--   docs: errors/P802

-- name: read_parquet
SELECT COUNT(*) FROM read_parquet('visits.parquet')
-- expected:
-- NotAllowed [P802]: the function READ_PARQUET is not one of those that can be used. At line 1, column 22:
--     SELECT COUNT(*) FROM read_parquet('visits.parquet')
--                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Only functions that never fail, read nothing and always give the same value are let through.
--   docs/sql-coverage.md lists the functions that can be used.
--   docs: errors/P802

-- name: glob
SELECT COUNT(*) FROM glob('*')
-- expected:
-- NotAllowed [P802]: the function GLOB is not one of those that can be used. At line 1, column 22:
--     SELECT COUNT(*) FROM glob('*')
--                          ^^^^^^^^
--   Only functions that never fail, read nothing and always give the same value are let through.
--   docs/sql-coverage.md lists the functions that can be used.
--   docs: errors/P802

-- name: reading a text file inside an expression
SELECT COUNT(*) FROM visits WHERE read_text('/etc/passwd') = 'x'
-- expected:
-- NotAllowed [P802]: the function READ_TEXT is not one of those that can be used. At line 1, column 35:
--     SELECT COUNT(*) FROM visits WHERE read_text('/etc/passwd') = 'x'
--                                       ^^^^^^^^^^^^^^^^^^^^^^^
--   Only functions that never fail, read nothing and always give the same value are let through.
--   docs/sql-coverage.md lists the functions that can be used.
--   docs: errors/P802

-- name: getenv
SELECT COUNT(*) FROM visits WHERE getenv('HOME') = 'x'
-- expected:
-- NotAllowed [P802]: the function GETENV is not one of those that can be used. At line 1, column 35:
--     SELECT COUNT(*) FROM visits WHERE getenv('HOME') = 'x'
--                                       ^^^^^^^^^^^^^
--   Only functions that never fail, read nothing and always give the same value are let through.
--   docs/sql-coverage.md lists the functions that can be used.
--   docs: errors/P802

-- name: RANDOM
SELECT COUNT(*) FROM visits WHERE RANDOM() < 0.5
-- expected:
-- NotAllowed [P802]: a random function cannot be answered privately. At line 1, column 35:
--     SELECT COUNT(*) FROM visits WHERE RANDOM() < 0.5
--                                       ^^^^^^
--   Noise comes from one secure source, and answers must be repeatable.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: now
SELECT COUNT(*) FROM visits WHERE day < NOW()
-- expected:
-- allowed: Anonymous, Column, Count, From, Identifier, LT, Select, Star, Table, Where

-- name: CURRENT_DATE
SELECT COUNT(*) FROM visits WHERE day < CURRENT_DATE
-- expected:
-- allowed: Column, Count, CurrentDate, From, Identifier, LT, Select, Star, Table, Where

-- name: UUID
SELECT COUNT(*) FROM visits WHERE UUID() = 'x'
-- expected:
-- NotAllowed [P802]: the function UUID is not one of those that can be used. At line 1, column 35:
--     SELECT COUNT(*) FROM visits WHERE UUID() = 'x'
--                                       ^^^^
--   Only functions that never fail, read nothing and always give the same value are let through.
--   docs/sql-coverage.md lists the functions that can be used.
--   docs: errors/P802

-- name: nextval
SELECT nextval('seq'), COUNT(*) FROM visits
-- expected:
-- NotAllowed [P802]: the function NEXTVAL is not one of those that can be used. At line 1, column 8:
--     SELECT nextval('seq'), COUNT(*) FROM visits
--            ^^^^^^^^^^^^^
--   Only functions that never fail, read nothing and always give the same value are let through.
--   docs/sql-coverage.md lists the functions that can be used.
--   docs: errors/P802

-- name: a regular expression
SELECT COUNT(*) FROM visits WHERE REGEXP_MATCHES(diagnosis, '(a+)+b')
-- expected:
-- allowed: Column, Count, From, Identifier, Literal, RegexpLike, Select, Star, Table, Where

-- name: SIMILAR TO
SELECT COUNT(*) FROM visits WHERE diagnosis SIMILAR TO 'a+'
-- expected:
-- allowed: Column, Count, From, Identifier, Literal, Select, SimilarTo, Star, Table, Where

-- name: REPEAT
SELECT COUNT(*) FROM visits WHERE REPEAT(diagnosis, 1000000) = 'x'
-- expected:
-- NotAllowed [P802]: the function REPEAT is not one of those that can be used. At line 1, column 35:
--     SELECT COUNT(*) FROM visits WHERE REPEAT(diagnosis, 1000000) = 'x'
--                                       ^^^^^^^^^^^^^^^^^^^^^^^^^
--   Only functions that never fail, read nothing and always give the same value are let through.
--   docs/sql-coverage.md lists the functions that can be used.
--   docs: errors/P802

-- name: a function of nobody
SELECT COUNT(*) FROM visits WHERE frobnicate(cost) > 1
-- expected:
-- NotAllowed [P802]: the function FROBNICATE is not one of those that can be used. At line 1, column 35:
--     SELECT COUNT(*) FROM visits WHERE frobnicate(cost) > 1
--                                       ^^^^^^^^^^^^^^^
--   Only functions that never fail, read nothing and always give the same value are let through.
--   docs/sql-coverage.md lists the functions that can be used.
--   docs: errors/P802

-- name: error()
SELECT COUNT(*) FROM visits WHERE error(diagnosis) = 'x'
-- expected:
-- NotAllowed [P802]: the function ERROR is not one of those that can be used. At line 1, column 35:
--     SELECT COUNT(*) FROM visits WHERE error(diagnosis) = 'x'
--                                       ^^^^^^^^^^^^^^^
--   Only functions that never fail, read nothing and always give the same value are let through.
--   docs/sql-coverage.md lists the functions that can be used.
--   docs: errors/P802

-- section: Aggregates
-- name: ARRAY_AGG
SELECT ARRAY_AGG(cost) FROM visits
-- expected:
-- NotAllowed [P802]: ARRAY_AGG cannot be answered privately. At line 1, column 8:
--     SELECT ARRAY_AGG(cost) FROM visits
--            ^^^^^^^^^^^^^^
--   It would hand out values of single rows.
--   Use COUNT, SUM, AVG, a quantile, or GROUP BY the value.
--   docs: errors/P802

-- name: STRING_AGG
SELECT STRING_AGG(diagnosis, ',') FROM visits
-- expected:
-- NotAllowed [P802]: STRING_AGG cannot be answered privately. At line 1, column 19:
--     SELECT STRING_AGG(diagnosis, ',') FROM visits
--                       ^^^^^^^^^^^^^^
--   It would hand out values of single rows.
--   Use COUNT, SUM, AVG, a quantile, or GROUP BY the value.
--   docs: errors/P802

-- name: ANY_VALUE
SELECT ANY_VALUE(cost) FROM visits
-- expected:
-- NotAllowed [P802]: ANY_VALUE cannot be answered privately. At line 1, column 8:
--     SELECT ANY_VALUE(cost) FROM visits
--            ^^^^^^^^^^^^^^
--   It would hand out the value of a single row.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: ARG_MAX
SELECT ARG_MAX(patient_id, cost) FROM visits
-- expected:
-- NotAllowed [P802]: ARG_MAX cannot be answered privately. At line 1, column 16:
--     SELECT ARG_MAX(patient_id, cost) FROM visits
--                    ^^^^^^^^^^^^^^^^
--   It would hand out the value of a single row.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: FIRST
SELECT FIRST(cost) FROM visits
-- expected:
-- NotAllowed [P802]: FIRST cannot be answered privately. At line 1, column 8:
--     SELECT FIRST(cost) FROM visits
--            ^^^^^^^^^^
--   It would hand out the value of a single row.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: MODE
SELECT MODE(diagnosis) FROM visits
-- expected:
-- NotAllowed [P802]: MODE cannot be answered privately. At line 1, column 8:
--     SELECT MODE(diagnosis) FROM visits
--            ^^^^^^^^^^^^^^
--   The most frequent value of a few people would be told whoever they are.
--   SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis ORDER BY n DESC LIMIT 1
--   docs: errors/P802

-- name: HISTOGRAM
SELECT HISTOGRAM(ward) FROM visits
-- expected:
-- NotAllowed [P802]: the function HISTOGRAM is not one of those that can be used. At line 1, column 8:
--     SELECT HISTOGRAM(ward) FROM visits
--            ^^^^^^^^^^^^^^
--   Only functions that never fail, read nothing and always give the same value are let through.
--   docs/sql-coverage.md lists the functions that can be used.
--   docs: errors/P802

-- name: CORR
SELECT CORR(cost, weight) FROM visits
-- expected:
-- allowed: Column, Corr, From, Identifier, Select, Table

-- section: Clauses
-- name: EXCEPT
SELECT COUNT(*) FROM visits EXCEPT SELECT COUNT(*) FROM patients
-- expected:
-- NotAllowed [P802]: EXCEPT cannot be answered privately. At line 1, column 8:
--     SELECT COUNT(*) FROM visits EXCEPT SELECT COUNT(*) FROM patients
--            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   It compares rows of different people exactly.
--   Count each part, or use NOT EXISTS on the same person's rows.
--   docs: errors/P802

-- name: INTERSECT
SELECT COUNT(*) FROM visits INTERSECT SELECT COUNT(*) FROM patients
-- expected:
-- NotAllowed [P802]: INTERSECT cannot be answered privately. At line 1, column 8:
--     SELECT COUNT(*) FROM visits INTERSECT SELECT COUNT(*) FROM patients
--            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   It compares rows of different people exactly.
--   Count each part, or use EXISTS on the same person's rows.
--   docs: errors/P802

-- name: QUALIFY
SELECT COUNT(*) FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) = 1
-- expected:
-- allowed: Column, Count, EQ, From, Identifier, Literal, Order, Ordered, Qualify, RowNumber, Select, Star, Table, Window

-- name: TABLESAMPLE
SELECT COUNT(*) FROM visits TABLESAMPLE 10%
-- expected:
-- NotAllowed [P802]: TABLESAMPLE is not understood here. At line 1, column 22:
--     SELECT COUNT(*) FROM visits TABLESAMPLE 10%
--                          ^^^^^^^^^^^^^^^^^^^^^
--   A part of a question that is not understood would be silently left out.
--   Leave it out.
--   docs: errors/P802

-- name: USING SAMPLE
SELECT COUNT(*) FROM visits USING SAMPLE 10
-- expected:
-- NotAllowed [P802]: TABLESAMPLE is not understood here. At line 1, column 8:
--     SELECT COUNT(*) FROM visits USING SAMPLE 10
--            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   A part of a question that is not understood would be silently left out.
--   Leave it out.
--   docs: errors/P802

-- name: GROUP BY ALL
SELECT ward, COUNT(*) FROM visits GROUP BY ALL
-- expected:
-- allowed: Column, Count, From, Group, Identifier, Select, Star, Table

-- name: NATURAL JOIN
SELECT COUNT(*) FROM visits NATURAL JOIN patients
-- expected:
-- NotAllowed [P802]: METHOD is not understood here. At line 1, column 42:
--     SELECT COUNT(*) FROM visits NATURAL JOIN patients
--                                              ^^^^^^^^
--   A part of a question that is not understood would be silently left out.
--   Leave it out.
--   docs: errors/P802

-- name: ASOF JOIN
SELECT COUNT(*) FROM visits v ASOF JOIN stays s ON v.visit_id = s.visit_id AND v.day >= s.arrived
-- expected:
-- NotAllowed [P802]: METHOD is not understood here. At line 1, column 41:
--     SELECT COUNT(*) FROM visits v ASOF JOIN stays s ON v.visit_id = s.visit_id AND v.day >= s.arrived
--                                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   A part of a question that is not understood would be silently left out.
--   Leave it out.
--   docs: errors/P802

-- name: POSITIONAL JOIN
SELECT COUNT(*) FROM visits POSITIONAL JOIN patients
-- expected:
-- NotAllowed [P802]: METHOD is not understood here. At line 1, column 45:
--     SELECT COUNT(*) FROM visits POSITIONAL JOIN patients
--                                                 ^^^^^^^^
--   A part of a question that is not understood would be silently left out.
--   Leave it out.
--   docs: errors/P802

-- name: LATERAL
SELECT COUNT(*) FROM patients p, LATERAL (SELECT 1 AS one FROM visits v WHERE v.patient_id = p.patient_id) AS x
-- expected:
-- NotAllowed [P802]: LATERAL cannot be answered privately. At line 1, column 50:
--     SELECT COUNT(*) FROM patients p, LATERAL (SELECT 1 AS one FROM visits v WHERE v.patient_id = p.patient_id) AS x
--                                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Only constructs whose privacy is understood are let through.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: WITH RECURSIVE
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT COUNT(*) FROM r
-- expected:
-- NotAllowed [P802]: RECURSIVE is not understood here. At line 1, column 16:
--     WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT COUNT(*) FROM r
--                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   A part of a question that is not understood would be silently left out.
--   Leave it out.
--   docs: errors/P802

-- name: UNNEST
SELECT COUNT(*) FROM UNNEST([1, 2])
-- expected:
-- NotAllowed [P802]: the function UNNEST is not one of those that can be used. At line 1, column 30:
--     SELECT COUNT(*) FROM UNNEST([1, 2])
--                                  ^^^^
--   Only functions that never fail, read nothing and always give the same value are let through.
--   docs/sql-coverage.md lists the functions that can be used.
--   docs: errors/P802

-- name: a list
SELECT COUNT(*) FROM visits WHERE [cost] = [1]
-- expected:
-- NotAllowed [P802]: a list cannot be answered privately. At line 1, column 36:
--     SELECT COUNT(*) FROM visits WHERE [cost] = [1]
--                                        ^^^^
--   Lists are the levels of a quantile that is a column by itself, as plain numbers.
--   SELECT QUANTILE_CONT(x, [0.25, 0.5, 0.75]) AS q, or one call for each level.
--   docs: errors/P802

-- name: a struct
SELECT COUNT(*) FROM visits WHERE {'a': cost} = {'a': 1}
-- expected:
-- NotAllowed [P802]: the function STRUCT is not one of those that can be used. At line 1, column 41:
--     SELECT COUNT(*) FROM visits WHERE {'a': cost} = {'a': 1}
--                                             ^^^^
--   Only functions that never fail, read nothing and always give the same value are let through.
--   docs/sql-coverage.md lists the functions that can be used.
--   docs: errors/P802

-- name: a lambda
SELECT COUNT(*) FROM visits WHERE list_filter([1], x -> x > 0) = [1]
-- expected:
-- NotAllowed [P802]: the function FILTER is not one of those that can be used. At line 1, column 35:
--     SELECT COUNT(*) FROM visits WHERE list_filter([1], x -> x > 0) = [1]
--                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Only functions that never fail, read nothing and always give the same value are let through.
--   docs/sql-coverage.md lists the functions that can be used.
--   docs: errors/P802

-- name: a parameter
SELECT COUNT(*) FROM visits WHERE cost > ?
-- expected:
-- NotAllowed [P802]: a parameter cannot be answered privately. At line 1, column 35:
--     SELECT COUNT(*) FROM visits WHERE cost > ?
--                                       ^^^^
--   The text is planned as it stands.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: a named parameter
SELECT COUNT(*) FROM visits WHERE cost > $limit
-- expected:
-- NotAllowed [P802]: a parameter cannot be answered privately. At line 1, column 35:
--     SELECT COUNT(*) FROM visits WHERE cost > $limit
--                                       ^^^^
--   The text is planned as it stands.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: a window's frame by name
SELECT COUNT(*) FROM visits WINDOW w AS (PARTITION BY patient_id)
-- expected:
-- NotAllowed [P802]: WINDOWS is not understood here. At line 1, column 8:
--     SELECT COUNT(*) FROM visits WINDOW w AS (PARTITION BY patient_id)
--            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   A part of a question that is not understood would be silently left out.
--   Leave it out.
--   docs: errors/P802

-- name: LIKE with ESCAPE
SELECT COUNT(*) FROM visits WHERE diagnosis LIKE 'a!%' ESCAPE '!'
-- expected:
-- NotAllowed [P802]: ESCAPE cannot be answered privately. At line 1, column 35:
--     SELECT COUNT(*) FROM visits WHERE diagnosis LIKE 'a!%' ESCAPE '!'
--                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Only constructs whose privacy is understood are let through.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: COLLATE
SELECT COUNT(*) FROM visits WHERE diagnosis COLLATE NOCASE = 'flu'
-- expected:
-- NotAllowed [P802]: the function COLLATE is not one of those that can be used. At line 1, column 35:
--     SELECT COUNT(*) FROM visits WHERE diagnosis COLLATE NOCASE = 'flu'
--                                       ^^^^^^^^^
--   Only functions that never fail, read nothing and always give the same value are let through.
--   docs/sql-coverage.md lists the functions that can be used.
--   docs: errors/P802

-- name: AT TIME ZONE
SELECT COUNT(*) FROM stays WHERE arrived AT TIME ZONE 'UTC' > '2025-01-01'
-- expected:
-- NotAllowed [P802]: AT TIME ZONE cannot be answered privately. At line 1, column 34:
--     SELECT COUNT(*) FROM stays WHERE arrived AT TIME ZONE 'UTC' > '2025-01-01'
--                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Only constructs whose privacy is understood are let through.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: FETCH FIRST
SELECT ward, COUNT(*) FROM visits GROUP BY ward FETCH FIRST 2 ROWS ONLY
-- expected:
-- allowed: Column, Count, From, Group, Identifier, Limit, Literal, Select, Star, Table

-- name: LIMIT in percent
SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT 10%
-- expected:
-- NotAllowed [P802]: LIMIT OPTIONS is not understood here. At line 1, column 55:
--     SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT 10%
--                                                           ^^
--   A part of a question that is not understood would be silently left out.
--   Leave it out.
--   docs: errors/P802

-- name: a list of levels inside an expression
SELECT QUANTILE_CONT(cost, [0.25, 0.5]) + 1 AS q FROM visits
-- expected:
-- NotAllowed [P802]: a list cannot be answered privately. At line 1, column 29:
--     SELECT QUANTILE_CONT(cost, [0.25, 0.5]) + 1 AS q FROM visits
--                                 ^^^^^^^^^
--   Lists are the levels of a quantile that is a column by itself, as plain numbers.
--   SELECT QUANTILE_CONT(x, [0.25, 0.5, 0.75]) AS q, or one call for each level.
--   docs: errors/P802
