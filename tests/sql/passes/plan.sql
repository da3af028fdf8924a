-- section: What is measured
-- name: a count and a mean by ward
SELECT ward, COUNT(*) AS n, AVG(cost) AS mean FROM visits GROUP BY ward
-- expected:
-- key ward: 3 public values
-- m0 = COUNT(*) (sum)
-- m1 = SUM(cost) (sum, steps of 0.01 in [0, 500000] around 250000)
-- m2 = COUNT(cost) (sum)
-- weights 0.4000, 0.4000, 0.2000
-- output ward = key(0)
-- output n = read(ref of m0)
-- output mean = read(mean of m1, m2)
-- note: Rows with no ward, or one outside the public values, are left out.

-- name: a measure is read once
SELECT COUNT(*) AS n, COUNT(*) AS again, SUM(cost) / COUNT(*) AS mean, AVG(cost) AS avg FROM visits
-- expected:
-- m0 = COUNT(*) (sum)
-- m1 = SUM(cost) (sum, steps of 0.01 in [0, 500000])
-- m2 = SUM(cost) (sum, steps of 0.01 in [0, 500000] around 250000)
-- m3 = COUNT(cost) (sum)
-- weights 0.4093, 0.2363, 0.2363, 0.1181
-- output n = read(ref of m0)
-- output again = read(ref of m0)
-- output mean = div(read(ref of m1), read(ref of m0))
-- output avg = read(mean of m2, m3)

-- name: keys between declared bounds
SELECT birth_year, COUNT(*) AS n FROM patients WHERE birth_year BETWEEN 1950 AND 1959 GROUP BY birth_year
-- expected:
-- key birth_year: 10 public values
-- m0 = COUNT(*) (sum)
-- weights 1.0000
-- output birth_year = key(0)
-- output n = read(ref of m0)
-- note: Rows with no birth_year, or one outside the public values, are left out.

-- name: days between declared bounds
SELECT day, COUNT(*) AS n FROM visits WHERE day < DATE '2025-02-01' GROUP BY day
-- expected:
-- key day: 31 public values
-- m0 = COUNT(*) (sum)
-- weights 1.0000
-- output day = key(0)
-- output n = read(ref of m0)
-- note: Rows with no day, or one outside the public values, are left out.

-- name: buckets of a bounded number
SELECT WIDTH_BUCKET(cost, 0, 5000, 10) AS bucket, COUNT(*) AS n FROM visits GROUP BY bucket
-- expected:
-- key bucket: 11 public values
-- m0 = COUNT(*) (sum)
-- weights 1.0000
-- output bucket = key(0)
-- output n = read(ref of m0)
-- note: Rows with no bucket, or one outside the public values, are left out.

-- name: people of a CASE
SELECT COUNT(DISTINCT CASE WHEN urgent THEN patient_id END) AS n, COUNT(DISTINCT IF(urgent, patient_id, NULL)) AS again FROM visits
-- expected:
-- m0 = COUNT(DISTINCT person) (people)
-- weights 1.0000
-- output n = read(ref of m0)
-- output again = read(ref of m0)

-- name: rows of a CASE
SELECT SUM(CASE WHEN urgent THEN 1 ELSE 0 END) AS a, COUNT(CASE WHEN urgent THEN 1 END) AS b, COUNT(*) FILTER (WHERE urgent) AS c FROM visits
-- expected:
-- m0 = COUNT(*) (sum)
-- weights 1.0000
-- output a = read(ref of m0)
-- output b = read(ref of m0)
-- output c = read(ref of m0)

-- name: a CASE with a value for every row
SELECT COUNT(CASE WHEN urgent THEN 1 ELSE 0 END) AS a, SUM(CASE WHEN urgent THEN 2 ELSE 0 END) AS b FROM visits
-- expected:
-- m0 = COUNT(CASE ... END) (sum)
-- m1 = SUM(CASE ... END) (sum, steps of 2 in [0, 1])
-- weights 0.5000, 0.5000
-- output a = read(ref of m0)
-- output b = read(ref of m1)

-- name: a standard deviation
SELECT STDDEV(cost) AS s FROM visits
-- expected:
-- m0 = SUM(cost) (sum, steps of 1 in [0, 5000] around 2500)
-- m1 = COUNT(cost) (sum)
-- m2 = SUM of squares(cost) (sum, steps of 1 in [0, 5000] around 2500)
-- weights 0.4000, 0.2000, 0.4000
-- output s = read(variance of m0, m1, m2)

-- name: quantiles of one curve
SELECT MEDIAN(cost) AS m, QUANTILE_CONT(cost, 0.9) AS q, MAX(cost) AS high FROM visits
-- expected:
-- curve 0 = QUANTILE(cost), 62501 cells of 0.08 from 0
-- weights 1.0000
-- output m = read(quantile 0.5 of curve 0)
-- output q = read(quantile 0.9 of curve 0)
-- output high = read(max of curve 0)
--   note: high has some rows above it, as few as noise allows: the exact max is one person's value and is never told.

-- name: the first day
SELECT MIN(day) AS first FROM visits
-- expected:
-- curve 0 = QUANTILE(day), 365 cells of 1 from 20089
-- weights 1.0000
-- output first = read(min of curve 0)
--   note: first has some rows below it, as few as noise allows: the exact min is one person's value and is never told.

-- name: a curve per ward
SELECT ward, MEDIAN(nights) AS m FROM visits v JOIN stays s ON s.visit_id = v.visit_id GROUP BY ward
-- expected:
-- key ward: 3 public values
-- curve 0 = QUANTILE(nights), 31 cells of 1 from 0
-- weights 1.0000
-- output ward = key(0)
-- output m = read(quantile 0.5 of curve 0)
-- note: Rows with no ward, or one outside the public values, are left out.

-- name: a value without a grid
SELECT SUM(CLIP(weight, 40.5, 120)) AS s FROM visits
-- expected:
-- m0 = SUM(CASE ... END) (sum, steps of 1e-05 in [4050000, 12000000])
-- weights 1.0000
-- output s = read(ref of m0)

-- name: chosen keys need no measure of their own
SELECT diagnosis, SUM(cost) AS s FROM visits GROUP BY diagnosis
-- expected:
-- key diagnosis: chosen privately
-- m0 = SUM(cost) (sum, steps of 0.01 in [0, 500000])
-- weights 1.0000
-- output diagnosis = key(0)
-- output s = read(ref of m0)
-- note: Groups of few people usually do not appear, and some others may be missing by chance.

-- name: HAVING reads a measure of its own
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING SUM(cost) > 1000
-- expected:
-- key ward: 3 public values
-- m0 = COUNT(*) (sum)
-- m1 = SUM(cost) (sum, steps of 0.01 in [0, 500000])
-- weights 0.5000, 0.5000
-- output ward = key(0)
-- output n = read(ref of m0)
-- having gt(read(ref of m1), 1000)
-- note: Rows with no ward, or one outside the public values, are left out.

-- name: shares of a pure budget
-- with: pure
SELECT ward, COUNT(*) AS n, AVG(cost) AS mean FROM visits GROUP BY ward
-- expected:
-- key ward: 3 public values
-- m0 = COUNT(*) (sum)
-- m1 = SUM(cost) (sum, steps of 0.01 in [0, 500000] around 250000)
-- m2 = COUNT(cost) (sum)
-- weights 0.3802, 0.3802, 0.2395
-- output ward = key(0)
-- output n = read(ref of m0)
-- output mean = read(mean of m1, m2)
-- note: Rows with no ward, or one outside the public values, are left out.

-- name: two plans
SELECT 'a' AS what, COUNT(*) AS n FROM visits UNION ALL SELECT 'b', COUNT(DISTINCT patient_id) FROM visits
-- expected:
-- m0 = COUNT(*) (sum)
-- weights 1.0000
-- output what = 'a'
-- output n = read(ref of m0)
-- UNION ALL
-- m0 = COUNT(DISTINCT person) (people)
-- weights 1.0000
-- output column_1 = 'b'
-- output count(DISTINCT patient_id) = read(ref of m0)

-- name: missing bounds
SELECT SUM(weight) FROM visits
-- expected:
-- Unbounded [P805]: SUM(weight) needs bounds of weight.
--   One person's value could move the answer without limit.
--   Declare them: bounds={'weight': (0, 100)}, --bound weight=0:100, or in a descriptor weight = { lower = 0, upper = 100 }; or write SUM(CLIP(weight, 0, 100)).
--   docs: errors/P805

-- name: bounds lost in an expression
SELECT AVG(cost * weight) FROM visits
-- expected:
-- Unbounded [P805]: AVG(cost * weight) needs bounds of cost * weight.
--   One person's value could move the answer without limit.
--   Write AVG(CLIP(cost * weight, 0, 100)).
--   docs: errors/P805

-- name: chosen keys under a pure budget
-- with: pure
SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis
-- expected:
-- NoKeys [P806]: the values of diagnosis are not public, and a budget without delta cannot choose them privately.
--   That a key exists may tell that a person is there.
--   Declare the values: values = ["north", "south"], or connect(..., keys={...}).
--   docs: errors/P806

-- name: quantiles by keys that are not public
SELECT diagnosis, MEDIAN(cost) FROM visits GROUP BY diagnosis
-- expected:
-- key diagnosis: chosen privately
-- curve 0 = QUANTILE(cost), 62501 cells of 0.08 from 0
-- weights 1.0000
-- output diagnosis = key(0)
-- output median(cost) = read(quantile 0.5 of curve 0)
-- note: Groups of few people usually do not appear, and some others may be missing by chance.

-- name: too many levels by keys that are not public
SELECT diagnosis, QUANTILE_CONT(cost, [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.10, 0.11, 0.12, 0.13, 0.14, 0.15, 0.16, 0.17, 0.18, 0.19, 0.20, 0.21]) AS q FROM visits GROUP BY diagnosis
-- expected:
-- TooLarge [P105]: by keys that are not public at most 20 quantiles of one value can be told at once.
--   More of them are read off a curve, which is measured for every key, also for those that nobody has.
--   Declare the values of the key, or ask for fewer levels.
--   docs: errors/P105

-- name: an answer that is too large
SELECT DATE_TRUNC('day', day) AS d, birth_year + 0 AS y, FLOOR(cost) AS c, COUNT(*) AS n FROM visits v JOIN patients p ON p.patient_id = v.patient_id GROUP BY d, y, c
-- expected:
-- TooLarge [P105]: the answer would have 229,995,990 rows, and 1,000,000 are the most.
--   Every public key has a row, whether or not anybody is there.
--   Group by fewer or coarser keys.
--   docs: errors/P105

-- name: CASE on an aggregate
SELECT CASE WHEN COUNT(*) > 10 THEN 1 ELSE 0 END AS many FROM visits
-- expected:
-- NotAllowed [P802]: 'many' does more with its aggregates than can be carried with an interval.
--   Every number leaves with an interval; arithmetic, ROUND, ABS, SQRT, LN, EXP, LEAST and GREATEST keep one.
--   Select the aggregates and work the rest out from the release.
--   docs: errors/P802

-- name: ROLLUP under a pure budget
-- with: pure
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ROLLUP (ward)
-- expected:
-- key ward: 3 public values
-- m0 = COUNT(*) (sum)
-- weights 1.0000
-- output ward = key(0)
-- output n = read(ref of m0)
-- note: Rows with no ward, or one outside the public values, are left out.
-- note: Totals of several groups are sums of these groups: what is left out of them is in no total.

-- name: ROLLUP of keys that are chosen
SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY ROLLUP (diagnosis)
-- expected:
-- key diagnosis: chosen privately
-- m0 = COUNT(*) (sum)
-- weights 1.0000
-- output diagnosis = key(0)
-- output n = read(ref of m0)
-- note: Levels are measured each by itself, for equal shares of the price: totals count all rows, also those without a public key, and are no sums of their groups.
-- note: Groups of few people usually do not appear, and some others may be missing by chance.
-- UNION ALL
-- m0 = COUNT(*) (sum)
-- weights 1.0000
-- output diagnosis = None
-- output n = read(ref of m0)
-- note: Levels are measured each by itself, for equal shares of the price: totals count all rows, also those without a public key, and are no sums of their groups.

-- name: people by ROLLUP
SELECT ward, COUNT(DISTINCT patient_id) AS n FROM visits GROUP BY ROLLUP (ward)
-- expected:
-- key ward: 3 public values
-- m0 = COUNT(DISTINCT person) (people)
-- weights 1.0000
-- output ward = key(0)
-- output n = read(ref of m0)
-- note: Rows with no ward, or one outside the public values, are left out.
-- note: Levels are measured each by itself, for equal shares of the price: totals count all rows, also those without a public key, and are no sums of their groups.
-- UNION ALL
-- m0 = COUNT(DISTINCT person) (people)
-- weights 1.0000
-- output ward = None
-- output n = read(ref of m0)
-- note: Levels are measured each by itself, for equal shares of the price: totals count all rows, also those without a public key, and are no sums of their groups.

-- name: SUM of a literal
SELECT SUM(1) AS n FROM visits
-- expected:
-- m0 = SUM(1) (sum, steps of 1 in [1, 1])
-- weights 1.0000
-- output n = read(ref of m0)

-- name: the number of people that chose a key is told
SELECT diagnosis, COUNT(DISTINCT patient_id) AS n, SUM(cost) / COUNT(DISTINCT patient_id) AS each FROM visits GROUP BY diagnosis HAVING COUNT(DISTINCT patient_id) > 9
-- expected:
-- key diagnosis: chosen privately
-- m0 = SUM(cost) (sum, steps of 0.01 in [0, 500000])
-- weights 1.0000
-- output diagnosis = key(0)
-- output n = read(people of the chosen key)
-- output each = div(read(ref of m0), read(people of the chosen key))
-- having gt(read(people of the chosen key), 9)
-- note: Groups of few people usually do not appear, and some others may be missing by chance.

-- name: statistics of two numbers
SELECT ward, CORR(cost, birth_year) AS r, REGR_SLOPE(cost, birth_year) AS s, REGR_AVGX(cost, birth_year) AS x, REGR_COUNT(cost, birth_year) AS n FROM visits v JOIN patients p ON p.patient_id = v.patient_id GROUP BY ward
-- expected:
-- key ward: 3 public values
-- m0 = SUM(cost) (sum, steps of 1 in [0, 5000] around 2500)
-- m1 = SUM(birth_year) (sum, steps of 1 in [1900, 2025] around 1962)
-- m2 = SUM of squares(cost) (sum, steps of 1 in [0, 5000] around 2500)
-- m3 = SUM of squares(birth_year) (sum, steps of 1 in [1900, 2025] around 1962)
-- m4 = SUM(GREATEST(LEAST(cost, 5000), 0) - 2500 * GREATEST(LEAST(birth_year, 2025), 1900) - 1962) (sum, steps of 1 in [-157500, 157500])
-- m5 = COUNT(pairs) (sum)
-- weights 0.1686, 0.2065, 0.1686, 0.1686, 0.1686, 0.1192
-- output ward = key(0)
-- output r = read(corr of m5, m0, m1, m2, m3, m4)
-- output s = read(regr_slope of m5, m0, m1, m2, m3, m4)
-- output x = read(mean of m1, m5)
-- output n = read(ref of m5)
-- note: Rows with no ward, or one outside the public values, are left out.

-- name: statistics of a number without bounds
SELECT COVAR_POP(cost, weight) AS c FROM visits
-- expected:
-- Unbounded [P805]: COVAR_POP(cost, weight) needs bounds of weight.
--   One person's value could move the answer without limit.
--   Declare them: bounds={'weight': (0, 100)}, --bound weight=0:100, or in a descriptor weight = { lower = 0, upper = 100 }; or write COVAR_POP(cost, CLIP(weight, 0, 100)).
--   docs: errors/P805

-- name: pairs that meet a condition
SELECT COVAR_SAMP(cost, CLIP(weight, 0, 9)) FILTER (WHERE urgent) AS c FROM visits
-- expected:
-- m0 = SUM(cost) (sum, steps of 1 in [0, 5000] around 2500)
-- m1 = SUM(CASE ... END) (sum, steps of 0.001 in [0, 9000] around 4500)
-- m2 = SUM of squares(cost) (sum, steps of 1 in [0, 5000] around 2500)
-- m3 = SUM of squares(CASE ... END) (sum, steps of 1e-06 in [0, 9000] around 4500)
-- m4 = SUM(GREATEST(LEAST(cost, 5000), 0) - 2500 * GREATEST(LEAST(CASE ... END, 9), 0) - 4.5) (sum, steps of 0.1 in [-112500, 112500])
-- m5 = COUNT(pairs) (sum)
-- weights 0.1818, 0.1818, 0.1818, 0.1818, 0.1818, 0.0909
-- output c = read(covar_samp of m5, m0, m1, m2, m3, m4)
