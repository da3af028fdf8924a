-- section: How one person is bounded
-- name: rows
SELECT COUNT(*) AS n, SUM(cost) AS s FROM visits
-- expected:
-- rows: at most 50 rows per person
-- COUNT(*) [1, 1]: L1 50, L2 squared 2500
-- SUM(cost) [0, 500000]: L1 25000000, L2 squared 625000000000000

-- name: FILTERs that exclude each other
SELECT COUNT(*) FILTER (WHERE ward = 'north') AS a, COUNT(*) FILTER (WHERE ward IN ('south', 'east')) AS b FROM visits
-- expected:
-- rows: at most 50 rows per person
-- COUNT(*) [0, 1]: L1 50, L2 squared 2500
-- COUNT(*) [0, 1]: L1 50, L2 squared 2500
-- one price for m0, m1

-- name: CASEs that exclude each other
SELECT SUM(CASE WHEN cost < 100 THEN cost ELSE 0 END) AS a, SUM(CASE WHEN cost >= 100 THEN cost ELSE 0 END) AS b FROM visits
-- expected:
-- rows: at most 50 rows per person
-- SUM(CASE ... END) [0, 500000]: L1 25000000, L2 squared 625000000000000
-- SUM(CASE ... END) [0, 500000]: L1 25000000, L2 squared 625000000000000
-- one price for m0, m1

-- name: people of FILTERs that exclude each other
SELECT COUNT(DISTINCT patient_id) FILTER (WHERE urgent) AS a, COUNT(DISTINCT patient_id) FILTER (WHERE NOT urgent) AS b FROM visits
-- expected:
-- people: each person counts once per group
-- COUNT(DISTINCT person) [0, 1]: L1 1, L2 squared 1
-- COUNT(DISTINCT person) [0, 1]: L1 1, L2 squared 1

-- name: people alone
SELECT COUNT(DISTINCT patient_id) AS n FROM visits
-- expected:
-- people: each person counts once per group
-- COUNT(DISTINCT person) [0, 1]: L1 1, L2 squared 1

-- name: people by public keys
SELECT ward, COUNT(DISTINCT patient_id) AS n FROM visits GROUP BY ward
-- expected:
-- people: each person counts once per group
-- COUNT(DISTINCT person) [0, 1]: L1 3, L2 squared 3

-- name: people and rows
SELECT ward, COUNT(DISTINCT patient_id) AS n, COUNT(*) AS m FROM visits GROUP BY ward
-- expected:
-- rows: at most 50 rows per person
-- COUNT(DISTINCT person) [0, 1]: L1 3, L2 squared 3
-- COUNT(*) [1, 1]: L1 50, L2 squared 2500

-- name: people by keys that are chosen
SELECT maker, COUNT(DISTINCT patient_id) AS n FROM drugs GROUP BY maker
-- expected:
-- people: each person counts once per group, in at most 4 groups
-- choice: groups are chosen by people, each in at most 4 of them

-- name: keys and rows in each
SELECT drug, COUNT(*) AS n, SUM(price) AS s FROM drugs GROUP BY drug
-- expected:
-- keys: at most 2 groups per person and 3 rows in each
-- COUNT(*) [1, 1]: L1 6, L2 squared 18
-- SUM(price) [0, 10000]: L1 60000, L2 squared 1800000000

-- name: distinct values
SELECT COUNT(DISTINCT diagnosis) AS n FROM visits
-- expected:
-- rows: at most 50 rows per person
-- COUNT(DISTINCT diagnosis) [0, 1]: L1 50, L2 squared 2500

-- name: an average around the middle
SELECT AVG(cost) AS mean FROM visits
-- expected:
-- rows: at most 50 rows per person
-- SUM(cost) [-250000, 250000]: L1 12500000, L2 squared 156250000000000
-- COUNT(cost) [0, 1]: L1 50, L2 squared 2500

-- name: a variance
SELECT VAR_POP(cost) AS v FROM visits
-- expected:
-- rows: at most 50 rows per person
-- SUM(cost) [-2500, 2500]: L1 125000, L2 squared 15625000000
-- COUNT(cost) [0, 1]: L1 50, L2 squared 2500
-- SUM of squares(cost) [0, 6250000]: L1 312500000, L2 squared 97656250000000000

-- name: a curve
SELECT MEDIAN(cost) AS m FROM visits
-- expected:
-- rows: at most 50 rows per person
-- rows of one unit on a curve: 50

-- name: one row per person after a subquery
SELECT AVG(n) AS mean FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) AS q
-- expected:
-- rows: at most 1 row per person
-- SUM(n) [-25, 25]: L1 25, L2 squared 625
-- COUNT(n) [0, 1]: L1 1, L2 squared 1

-- name: a person's total, scaled in L2
-- with: total=800
SELECT ward, SUM(cost) AS s FROM visits GROUP BY ward
-- expected:
-- totals: each person's totals over the groups are clipped in L2
-- SUM(cost) [0, 500000]: L1 138565, L2 squared 6400000000

-- name: a person's total, scaled in L1
-- with: total=800 pure
SELECT ward, SUM(cost) AS s FROM visits GROUP BY ward
-- expected:
-- totals: each person's totals over the groups are clipped in L1
-- SUM(cost) [0, 500000]: L1 80000, L2 squared 6400000000

-- name: rows against rows
SELECT COUNT(*) AS n FROM visits a JOIN visits b ON a.patient_id = b.patient_id
-- expected:
-- rows: at most 2500 rows per person
-- COUNT(*) [1, 1]: L1 2500, L2 squared 6250000

-- name: along a path
SELECT COUNT(*) AS n FROM visits v JOIN stays s ON s.visit_id = v.visit_id
-- expected:
-- rows: at most 20 rows per person
-- COUNT(*) [1, 1]: L1 20, L2 squared 400

-- name: each row by itself
-- with: survey
SELECT ward, COUNT(*) AS n, SUM(score) AS s FROM answers GROUP BY ward
-- expected:
-- row: every row is protected by itself
-- COUNT(*) [1, 1]: L1 1, L2 squared 1
-- SUM(score) [0, 100]: L1 100, L2 squared 10000

-- name: each row by itself, keys chosen
-- with: survey
SELECT town, COUNT(*) AS n FROM answers GROUP BY town
-- expected:
-- row: every row is protected by itself
-- choice: groups are chosen by people, each in at most 1 of them
-- COUNT(*) [1, 1]: L1 1, L2 squared 1

-- name: no cap
SELECT COUNT(*) FROM drugs
-- expected:
-- Unbounded [P805]: how many rows one person can have here was not declared.
--   Without a cap one person could move the answer without limit.
--   Declare it: max_rows_per_unit=50, --max-rows 50, or in a descriptor max_rows_per_unit = 50 for the table; or let suggest_bounds estimate it privately.
--   docs: errors/P805

-- name: a join that multiplies by public rows
SELECT COUNT(*) FROM visits v JOIN wards w ON TRUE
-- expected:
-- OverLimit [P809]: how many rows 'wards' has was not declared, and each row of a person would meet all of them here.
--   A row of one person could then make more work than everybody else's.
--   Join by its declared key, or declare its number of rows: rows = 1000.
--   docs: errors/P809

-- name: a join of a capped and an uncapped table
SELECT COUNT(*) FROM visits v JOIN drugs d ON v.patient_id = d.patient_id
-- expected:
-- OverLimit [P809]: how many rows one person has in 'drugs' was not declared, and each of them would meet others here.
--   The rows of one person could then make more work than everybody else's.
--   Declare max_rows_per_unit for the table, or join by its declared key.
--   docs: errors/P809

-- name: keys that are chosen have a bound of their own
SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis
-- expected:
-- rows: at most 50 rows per person
-- choice: groups are chosen by people, each in at most 50 of them, and those in fewer count for more in each
-- COUNT(*) [1, 1]: L1 50, L2 squared 2500

-- name: people by keys that are chosen, beside rows
SELECT diagnosis, COUNT(DISTINCT patient_id) AS n, SUM(cost) AS s FROM visits GROUP BY diagnosis
-- expected:
-- rows: at most 50 rows per person
-- choice: groups are chosen by people, each in at most 50 of them
-- SUM(cost) [0, 500000]: L1 25000000, L2 squared 625000000000000

-- name: some people by keys that are chosen
SELECT diagnosis, COUNT(DISTINCT patient_id) FILTER (WHERE urgent) AS n FROM visits GROUP BY diagnosis
-- expected:
-- people: each person counts once per group, in at most 50 groups
-- choice: groups are chosen by people, each in at most 50 of them, and those in fewer count for more in each
-- COUNT(DISTINCT person) [0, 1]: L1 50, L2 squared 50
