-- section: Aggregates
-- name: COUNT(*)
SELECT COUNT(*) AS n FROM visits
-- expected:
-- from visits as t0
-- output n = aggregate(count)
-- rows of one person: 50

-- name: COUNT of a column
SELECT COUNT(diagnosis) AS n FROM visits
-- expected:
-- from visits as t0
-- output n = aggregate(t0.diagnosis, count)
-- rows of one person: 50

-- name: COUNT(DISTINCT person)
SELECT COUNT(DISTINCT patient_id) AS people FROM visits
-- expected:
-- from visits as t0
-- output people = aggregate(t0.patient_id, count distinct)
-- rows of one person: 50

-- name: COUNT(DISTINCT x)
SELECT COUNT(DISTINCT diagnosis) AS n FROM visits
-- expected:
-- from visits as t0
-- output n = aggregate(t0.diagnosis, count distinct)
-- rows of one person: 50

-- name: SUM
SELECT SUM(cost) AS total FROM visits
-- expected:
-- from visits as t0
-- output total = aggregate(t0.cost, sum)
-- rows of one person: 50

-- name: AVG
SELECT AVG(cost) AS mean FROM visits
-- expected:
-- from visits as t0
-- output mean = aggregate(t0.cost, avg)
-- rows of one person: 50

-- name: VAR and STDDEV
SELECT VAR_POP(cost) AS v, VAR_SAMP(cost) AS w, STDDEV(cost) AS s, STDDEV_POP(cost) AS t FROM visits
-- expected:
-- from visits as t0
-- output v = aggregate(t0.cost, var_pop)
-- output w = aggregate(t0.cost, var_samp)
-- output s = aggregate(t0.cost, stddev_samp)
-- output t = aggregate(t0.cost, stddev_pop)
-- rows of one person: 50

-- name: MEDIAN
SELECT MEDIAN(cost) AS middle FROM visits
-- expected:
-- from visits as t0
-- output middle = aggregate(t0.cost, quantile 0.5)
-- rows of one person: 50

-- name: quantiles
SELECT QUANTILE_CONT(cost, 0.9) AS a, PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY cost) AS b FROM visits
-- expected:
-- from visits as t0
-- output a = aggregate(t0.cost, quantile 0.9)
-- output b = aggregate(t0.cost, quantile 0.25)
-- rows of one person: 50

-- name: a list of levels
SELECT QUANTILE_CONT(cost, [0.25, 0.999]) FILTER (WHERE urgent) AS q FROM visits
-- expected:
-- from visits as t0
-- output q_p25 = aggregate_if(t0.cost, t0.urgent, quantile 0.25)
-- output q_p99_9 = aggregate_if(t0.cost, t0.urgent, quantile 0.999)
-- rows of one person: 50

-- name: an array of levels
SELECT PERCENTILE_CONT(ARRAY[0.25, 0.5]) WITHIN GROUP (ORDER BY cost) FROM visits
-- expected:
-- from visits as t0
-- output cost_p25 = aggregate(t0.cost, quantile 0.25)
-- output cost_p50 = aggregate(t0.cost, quantile 0.5)
-- rows of one person: 50

-- name: the middle day
SELECT MEDIAN(day) AS d FROM visits
-- expected:
-- from visits as t0
-- output d = aggregate(t0.day, quantile 0.5)
-- rows of one person: 50

-- name: a quantile counted from above
SELECT PERCENTILE_DISC(0.1) WITHIN GROUP (ORDER BY cost DESC) AS top FROM visits
-- expected:
-- from visits as t0
-- output top = aggregate(t0.cost, quantile 0.9)
-- rows of one person: 50

-- name: MIN and MAX
SELECT MIN(cost) AS low, MAX(cost) AS high, MIN(day) AS first FROM visits
-- expected:
-- from visits as t0
-- output low = aggregate(t0.cost, min)
-- output high = aggregate(t0.cost, max)
-- output first = aggregate(t0.day, min)
-- rows of one person: 50

-- name: FILTER
SELECT COUNT(*) FILTER (WHERE urgent) AS n, SUM(cost) FILTER (WHERE ward = 'north') AS s FROM visits
-- expected:
-- from visits as t0
-- output n = aggregate_if(t0.urgent, count)
-- output s = aggregate_if(t0.cost, eq(t0.ward, 'north'), sum)
-- rows of one person: 50

-- name: arithmetic on aggregates
SELECT SUM(cost) / COUNT(*) AS mean, ROUND(100 * COUNT(*) FILTER (WHERE urgent) / COUNT(*), 1) AS share FROM visits
-- expected:
-- from visits as t0
-- output mean = div(aggregate(t0.cost, sum), aggregate(count))
-- output share = round(div(mul(100, aggregate_if(t0.urgent, count)), aggregate(count)), 1)
-- rows of one person: 50

-- name: SUM of a bounded expression
SELECT SUM(2 * cost + 10) AS s FROM visits
-- expected:
-- from visits as t0
-- output s = aggregate(add(mul(2, t0.cost), 10), sum)
-- rows of one person: 50

-- name: SUM of a clipped expression
SELECT SUM(CLIP(weight, 0, 200)) AS s FROM visits
-- expected:
-- from visits as t0
-- output s = aggregate(case(isnull(t0.weight), None, least(greatest(t0.weight, 0), 200)), sum)
-- rows of one person: 50

-- name: a clip with a negative end
SELECT SUM(CLIP(weight * weight, -5, 5)) AS s FROM visits
-- expected:
-- from visits as t0
-- output s = aggregate(case(isnull(mul(t0.weight, t0.weight)), None, least(greatest(mul(t0.weight, t0.weight), -5), 5)), sum)
-- rows of one person: 50

-- name: SUM(DISTINCT)
SELECT SUM(DISTINCT cost) FROM visits
-- expected:
-- NotAllowed [P802]: DISTINCT goes with COUNT alone. At line 1, column 8:
--     SELECT SUM(DISTINCT cost) FROM visits
--            ^^^^^^^^^^^^^^^^^
--   A sum of distinct values has no bound.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: COUNT(DISTINCT a, b)
SELECT COUNT(DISTINCT (ward, diagnosis)) FROM visits
-- expected:
-- from visits as t0
-- output column_1 = aggregate(spelled(t0.ward, t0.diagnosis), count distinct)
-- rows of one person: 50

-- name: SUM of a text
SELECT SUM(diagnosis) FROM visits
-- expected:
-- WrongType [P804]: a number is needed here. At line 1, column 8:
--     SELECT SUM(diagnosis) FROM visits
--            ^^^^^^^^^^^^^
--   diagnosis is text: every column of a CSV file is, until more is declared of it, and no type is guessed from rows.
--   If it holds numbers, say in which bounds: bounds={'diagnosis': (0, 2000)}, --bound diagnosis=0:2000, or in a descriptor diagnosis = { lower = 0, upper = 2000 }.
--   docs: errors/P804

-- name: a quantile beyond 1
SELECT QUANTILE_CONT(cost, 1.5) FROM visits
-- expected:
-- WrongType [P804]: a quantile is a literal number between 0 and 1. At line 1, column 28:
--     SELECT QUANTILE_CONT(cost, 1.5) FROM visits
--                                ^^^
--   The meaning of every part must be clear before data is read.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P804

-- name: aggregates inside aggregates
SELECT AVG(COUNT(*)) FROM visits
-- expected:
-- NotAllowed [P802]: an aggregate cannot stand here. At line 1, column 12:
--     SELECT AVG(COUNT(*)) FROM visits
--                ^^^^^^^
--   It has no value for one row.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- section: Conditions and expressions
-- name: comparisons, AND, OR, NOT
SELECT COUNT(*) AS n FROM visits WHERE (cost >= 10 AND cost < 100 OR NOT urgent) AND diagnosis IS NOT NULL
-- expected:
-- from visits as t0
-- where and(or(and(ge(t0.cost, 10), lt(t0.cost, 100)), not(t0.urgent)), not(isnull(t0.diagnosis)))
-- output n = aggregate(count)
-- rows of one person: 50

-- name: IN and BETWEEN
SELECT COUNT(*) AS n FROM visits WHERE ward IN ('north', 'south') AND cost BETWEEN 10 AND 20 AND ward NOT IN ('x')
-- expected:
-- from visits as t0
-- where and(and(in(t0.ward, 'north', 'south'), and(ge(t0.cost, 10), le(t0.cost, 20))), not(in(t0.ward, 'x')))
-- output n = aggregate(count)
-- rows of one person: 50

-- name: LIKE and ILIKE
SELECT COUNT(*) AS n FROM visits WHERE diagnosis LIKE 'flu%' OR diagnosis ILIKE '_OLD'
-- expected:
-- from visits as t0
-- where or(like(t0.diagnosis, 'flu%'), ilike(t0.diagnosis, '_OLD'))
-- output n = aggregate(count)
-- rows of one person: 50

-- name: NOT LIKE
SELECT COUNT(*) AS n FROM visits WHERE diagnosis NOT LIKE 'flu%'
-- expected:
-- from visits as t0
-- where not(like(t0.diagnosis, 'flu%'))
-- output n = aggregate(count)
-- rows of one person: 50

-- name: CASE
SELECT SUM(CASE WHEN cost > 1000 THEN 1000 WHEN urgent THEN 2 * cost ELSE cost END) AS s FROM visits
-- expected:
-- from visits as t0
-- output s = aggregate(case(gt(t0.cost, 1000), 1000, t0.urgent, mul(2, t0.cost), t0.cost), sum)
-- rows of one person: 50

-- name: CASE with an operand
SELECT COUNT(*) AS n FROM visits WHERE CASE ward WHEN 'north' THEN 1 ELSE 2 END = 1
-- expected:
-- from visits as t0
-- where eq(case(eq(t0.ward, 'north'), 1, 2), 1)
-- output n = aggregate(count)
-- rows of one person: 50

-- name: string functions
SELECT COUNT(*) AS n FROM visits WHERE LOWER(TRIM(diagnosis)) = 'flu' AND LENGTH(diagnosis) < 9 AND LEFT(diagnosis, 1) = 'f'
-- expected:
-- from visits as t0
-- where and(and(eq(lower(trim(t0.diagnosis)), 'flu'), lt(length(t0.diagnosis), 9)), eq(left(t0.diagnosis, 1), 'f'))
-- output n = aggregate(count)
-- rows of one person: 50

-- name: more string functions
SELECT COUNT(*) AS n FROM visits WHERE CONCAT(ward, '-', diagnosis) = 'a-b' OR REPLACE(ward, 'n', 'm') = 'x' OR SUBSTRING(ward, 2, 3) = 'ort' OR STARTS_WITH(ward, 'n') OR CONTAINS(diagnosis, 'u') OR ward || 'x' = 'y' OR RIGHT(UPPER(ward), 2) = 'TH'
-- expected:
-- from visits as t0
-- where or(or(or(or(or(or(eq(concat(t0.ward, '-', t0.diagnosis), 'a-b'), eq(replace(t0.ward, 'n', 'm'), 'x')), eq(substring(t0.ward, 2, 3), 'ort')), starts_with(t0.ward, 'n')), contains(t0.diagnosis, 'u')), eq(pipe(t0.ward, 'x'), 'y')), eq(right(upper(t0.ward), 2), 'TH'))
-- output n = aggregate(count)
-- rows of one person: 50

-- name: dates
SELECT COUNT(*) AS n FROM visits WHERE day >= '2025-03-01' AND day < DATE '2025-03-01' + INTERVAL 1 MONTH
-- expected:
-- from visits as t0
-- where and(ge(t0.day, 2025-03-01), lt(t0.day, 2025-04-01))
-- output n = aggregate(count)
-- rows of one person: 50

-- name: parts of dates
SELECT COUNT(*) AS n FROM visits WHERE EXTRACT(month FROM day) = 3 AND YEAR(day) = 2025 AND DAYOFWEEK(day) IN (0, 6)
-- expected:
-- from visits as t0
-- where and(and(eq(extract(t0.day, 'month'), 3), eq(extract(t0.day, 'year'), 2025)), in(extract(t0.day, 'dow'), 0, 6))
-- output n = aggregate(count)
-- rows of one person: 50

-- name: differences of dates
SELECT AVG(DATE_DIFF('day', day, DATE '2025-12-31')) AS d FROM visits WHERE DATE_DIFF('month', day, DATE '2025-12-31') > 2
-- expected:
-- from visits as t0
-- where gt(date_diff(t0.day, 2025-12-31, 'month'), 2)
-- output d = aggregate(date_diff(t0.day, 2025-12-31, 'day'), avg)
-- rows of one person: 50

-- name: casts
SELECT SUM(CAST(urgent AS INTEGER)) AS u, SUM(CAST(cost AS INTEGER)) AS c, COUNT(*) AS n FROM visits WHERE CAST(patient_id AS VARCHAR) <> '3'
-- expected:
-- from visits as t0
-- where ne(cast(t0.patient_id, text), '3')
-- output u = aggregate(cast(t0.urgent, integer), sum)
-- output c = aggregate(cast(t0.cost, integer), sum)
-- output n = aggregate(count)
-- rows of one person: 50

-- name: casts from text
SELECT SUM(CLIP(CAST(diagnosis AS DOUBLE), 0, 10)) AS s FROM visits WHERE TRY_CAST(diagnosis AS DATE) IS NULL
-- expected:
-- from visits as t0
-- where isnull(cast(t0.diagnosis, date))
-- output s = aggregate(case(isnull(cast(t0.diagnosis, number)), None, least(greatest(cast(t0.diagnosis, number), 0), 10)), sum)
-- rows of one person: 50

-- name: COALESCE and NULLIF
SELECT SUM(COALESCE(cost, 0)) AS s, COUNT(NULLIF(ward, 'north')) AS n FROM visits
-- expected:
-- from visits as t0
-- output s = aggregate(coalesce(t0.cost, 0), sum)
-- output n = aggregate(nullif(t0.ward, 'north'), count)
-- rows of one person: 50

-- name: mathematics
SELECT SUM(ABS(cost - 100)) AS a, SUM(SQRT(cost)) AS b, SUM(LN(cost + 1)) AS c, SUM(cost / 3) AS d, SUM(FLOOR(cost) % 7) AS e FROM visits
-- expected:
-- from visits as t0
-- output a = aggregate(abs(sub(t0.cost, 100)), sum)
-- output b = aggregate(sqrt(t0.cost), sum)
-- output c = aggregate(ln(add(t0.cost, 1)), sum)
-- output d = aggregate(div(t0.cost, 3), sum)
-- output e = aggregate(mod(floor(t0.cost), 7), sum)
-- rows of one person: 50

-- name: LEAST and GREATEST
SELECT SUM(LEAST(cost, 100)) AS a, SUM(GREATEST(LEAST(weight, 90), 40)) AS b FROM visits
-- expected:
-- from visits as t0
-- output a = aggregate(least(t0.cost, 100), sum)
-- output b = aggregate(greatest(least(t0.weight, 90), 40), sum)
-- rows of one person: 50

-- name: division by what may be zero
SELECT SUM(CLIP(cost / (cost - 10), -5, 5)) AS s FROM visits
-- expected:
-- from visits as t0
-- output s = aggregate(case(isnull(div(t0.cost, sub(t0.cost, 10))), None, least(greatest(div(t0.cost, sub(t0.cost, 10)), -5), 5)), sum)
-- rows of one person: 50

-- name: comparing a number with a text
SELECT COUNT(*) FROM visits WHERE cost = 'north'
-- expected:
-- WrongType [P804]: a number and a text cannot be compared. At line 1, column 35:
--     SELECT COUNT(*) FROM visits WHERE cost = 'north'
--                                       ^^^^^^^^^^^^^^
--   The kinds of values must be clear before data is read.
--   Write texts in quotes ('17') and numbers without; a column of numbers in a CSV file is text until it is declared.
--   docs: errors/P804

-- name: a text that is no date
SELECT COUNT(*) FROM visits WHERE day > 'yesterday'
-- expected:
-- WrongType [P804]: this text is no date. At line 1, column 35:
--     SELECT COUNT(*) FROM visits WHERE day > 'yesterday'
--                                       ^^^^^^^^^^^^^^^^^
--   Other forms, and offsets from UTC, mean different things in different engines.
--   Write '2025-12-31' or '2025-12-31 18:30:00'.
--   docs: errors/P804

-- name: a pattern from a column
SELECT COUNT(*) FROM visits WHERE diagnosis LIKE ward
-- expected:
-- NotAllowed [P802]: a literal is needed here. At line 1, column 50:
--     SELECT COUNT(*) FROM visits WHERE diagnosis LIKE ward
--                                                      ^^^^
--   What a row contains may not steer how long it takes.
--   docs/sql-coverage.md lists what can be written.
--   docs: errors/P802

-- name: an interval on a column
SELECT COUNT(*) FROM visits WHERE day + INTERVAL 1 DAY > '2025-01-01'
-- expected:
-- from visits as t0
-- where gt(shift(t0.day, 1 days), 2025-01-01 00:00:00)
-- output count_star() = aggregate(count)
-- rows of one person: 50

-- name: TRIM of other signs
SELECT COUNT(*) FROM visits WHERE TRIM(LEADING 'x' FROM diagnosis) = 'a'
-- expected:
-- NotAllowed [P802]: EXPRESSION is not understood here. At line 1, column 48:
--     SELECT COUNT(*) FROM visits WHERE TRIM(LEADING 'x' FROM diagnosis) = 'a'
--                                                    ^^^^^^^^^^^^^^^^^^
--   A part of a question that is not understood would be silently left out.
--   Leave it out.
--   docs: errors/P802

-- name: TRUNC with digits
SELECT SUM(CLIP(TRUNC(weight, 2), 0, 1)) FROM visits
-- expected:
-- NotAllowed [P802]: DECIMALS is not understood here. At line 1, column 17:
--     SELECT SUM(CLIP(TRUNC(weight, 2), 0, 1)) FROM visits
--                     ^^^^^^^^^^^^^^^
--   A part of a question that is not understood would be silently left out.
--   Leave it out.
--   docs: errors/P802

-- name: ROUND with very many digits
SELECT SUM(CLIP(ROUND(weight, 400), 0, 1)) FROM visits
-- expected:
-- WrongType [P804]: ROUND takes between -15 and 15 digits. At line 1, column 17:
--     SELECT SUM(CLIP(ROUND(weight, 400), 0, 1)) FROM visits
--                     ^^^^^^^^^^^^^^^^^
--   The kinds of values must be clear before data is read.
--   docs/sql-coverage.md lists what can be written.
--   docs: errors/P804

-- name: a name that is ours
SELECT COUNT(*) FROM (SELECT patient_id AS _hb_u FROM visits) AS q
-- expected:
-- UnknownName [P803]: names that begin with _hb_ are ours. At line 1, column 30:
--     SELECT COUNT(*) FROM (SELECT patient_id AS _hb_u FROM visits) AS q
--                                  ^^^^^^^^^^^^^^^^^^^
--   The meaning of every part must be clear before data is read.
--   Choose another alias.
--   docs: errors/P803

-- name: an unknown column, with a near one
SELECT AVG(costs) FROM visits
-- expected:
-- UnknownName [P803]: there is no column 'costs'. At line 1, column 12:
--     SELECT AVG(costs) FROM visits
--                ^^^^^
--   It was not declared.
--   Did you mean 'cost'?
--   docs: errors/P803

-- name: an unknown table, with a near one
SELECT COUNT(*) FROM visit
-- expected:
-- UnknownName [P803]: there is no table 'visit'. At line 1, column 22:
--     SELECT COUNT(*) FROM visit
--                          ^^^^^
--   It was not declared.
--   Did you mean 'visits'?
--   docs: errors/P803

-- name: a file as a table
SELECT COUNT(*) FROM 'visits.parquet'
-- expected:
-- UnknownName [P803]: there is no table 'visits.parquet'. At line 1, column 22:
--     SELECT COUNT(*) FROM 'visits.parquet'
--                          ^^^^^^^^^^^^^^^^
--   It was not declared.
--   Did you mean 'visits'?
--   docs: errors/P803

-- name: another schema
SELECT COUNT(*) FROM information_schema.tables
-- expected:
-- NotAllowed [P802]: only declared tables can be read. At line 1, column 22:
--     SELECT COUNT(*) FROM information_schema.tables
--                          ^^^^^^^^^^^^^^^^^^^^^^^^^
--   Files, functions and other schemas have no declared people or bounds.
--   Read from one of: patients, visits, stays, drugs, wards.
--   docs: errors/P802

-- name: a number as a condition
SELECT COUNT(*) FROM visits WHERE cost
-- expected:
-- WrongType [P804]: a condition is needed here. At line 1, column 35:
--     SELECT COUNT(*) FROM visits WHERE cost
--                                       ^^^^
--   The meaning of every part must be clear before data is read.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P804

-- name: a type that cannot be compared
SELECT COUNT(*) FROM stays WHERE scan = 'x'
-- expected:
-- WrongType [P804]: a text and an opaque cannot be compared. At line 1, column 34:
--     SELECT COUNT(*) FROM stays WHERE scan = 'x'
--                                      ^^^^^^^^^^
--   The kinds of values must be clear before data is read.
--   docs/sql-coverage.md lists what can be written.
--   docs: errors/P804

-- section: Groups
-- name: GROUP BY public values
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward
-- expected:
-- from visits as t0
-- key ward = t0.ward: text, 3 values ('north', 'south', 'east')
-- output ward = key(0)
-- output n = aggregate(count)
-- rows of one person: 50

-- name: GROUP BY place
SELECT ward AS w, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 2 DESC
-- expected:
-- from visits as t0
-- key w = t0.ward: text, 3 values ('north', 'south', 'east')
-- output w = key(0)
-- output n = aggregate(count)
-- order by aggregate(count) descending
-- rows of one person: 50

-- name: GROUP BY a condition
SELECT cost > 100 AS dear, COUNT(*) AS n FROM visits GROUP BY dear
-- expected:
-- from visits as t0
-- key dear = gt(t0.cost, 100): boolean, 2 values (False, True)
-- output dear = key(0)
-- output n = aggregate(count)
-- rows of one person: 50

-- name: GROUP BY DATE_TRUNC
SELECT DATE_TRUNC('month', day) AS month, SUM(cost) AS s FROM visits GROUP BY month ORDER BY month
-- expected:
-- from visits as t0
-- key month = date_trunc(t0.day, 'month'): date, [20089, 20423], 12 values (2025-01-01, 2025-02-01, 2025-03-01, 2025-04-01, ...)
-- output month = key(0)
-- output s = aggregate(t0.cost, sum)
-- order by key(0)
-- rows of one person: 50

-- name: GROUP BY FLOOR
SELECT FLOOR(birth_year / 10) AS decade, COUNT(*) AS n FROM patients GROUP BY decade
-- expected:
-- from patients as t0
-- key decade = floor(div(t0.birth_year, 10)): integer, [190, 202], step 1, 13 values (190, 191, 192, 193, ...)
-- output decade = key(0)
-- output n = aggregate(count)
-- rows of one person: 1

-- name: GROUP BY CASE
SELECT CASE WHEN cost < 100 THEN 'low' ELSE 'high' END AS class, COUNT(*) AS n FROM visits GROUP BY class
-- expected:
-- from visits as t0
-- key class = case(lt(t0.cost, 100), 'low', 'high'): text, 2 values ('low', 'high')
-- output class = key(0)
-- output n = aggregate(count)
-- rows of one person: 50

-- name: products of keys
SELECT ward, urgent, COUNT(*) AS n FROM visits GROUP BY ward, urgent
-- expected:
-- from visits as t0
-- key ward = t0.ward: text, 3 values ('north', 'south', 'east')
-- key urgent = t0.urgent: boolean, 2 values (False, True)
-- output ward = key(0)
-- output urgent = key(1)
-- output n = aggregate(count)
-- rows of one person: 50

-- name: keys that are not public
SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis
-- expected:
-- from visits as t0
-- key diagnosis = t0.diagnosis: text
-- output diagnosis = key(0)
-- output n = aggregate(count)
-- rows of one person: 50

-- name: a public and an unknown key
SELECT ward, diagnosis, COUNT(DISTINCT patient_id) AS n FROM visits GROUP BY ward, diagnosis
-- expected:
-- from visits as t0
-- key ward = t0.ward: text, 3 values ('north', 'south', 'east')
-- key diagnosis = t0.diagnosis: text
-- output ward = key(0)
-- output diagnosis = key(1)
-- output n = aggregate(t0.patient_id, count distinct)
-- rows of one person: 50

-- name: HAVING
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 20 AND ward <> 'east'
-- expected:
-- from visits as t0
-- key ward = t0.ward: text, 3 values ('north', 'south', 'east')
-- output ward = key(0)
-- output n = aggregate(count)
-- having and(gt(aggregate(count), 20), ne(key(0), 'east'))
-- rows of one person: 50

-- name: HAVING by the name of a column
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING n > 20 ORDER BY n / 2
-- expected:
-- from visits as t0
-- key ward = t0.ward: text, 3 values ('north', 'south', 'east')
-- output ward = key(0)
-- output n = aggregate(count)
-- having gt(aggregate(count), 20)
-- order by div(aggregate(count), 2)
-- rows of one person: 50

-- name: ORDER BY and LIMIT
SELECT ward, SUM(cost) AS s FROM visits GROUP BY ward ORDER BY s DESC, ward LIMIT 2 OFFSET 1
-- expected:
-- from visits as t0
-- key ward = t0.ward: text, 3 values ('north', 'south', 'east')
-- output ward = key(0)
-- output s = aggregate(t0.cost, sum)
-- order by aggregate(t0.cost, sum) descending
-- order by key(0)
-- limit 2 offset 1
-- rows of one person: 50

-- name: an outer query over the answer
SELECT w, n / 2 AS half FROM (SELECT ward AS w, COUNT(*) AS n FROM visits GROUP BY ward) AS q WHERE n > 10 ORDER BY n
-- expected:
-- from visits as t0
-- key w = t0.ward: text, 3 values ('north', 'south', 'east')
-- output w = key(0)
-- output half = div(aggregate(count), 2)
-- having gt(aggregate(count), 10)
-- order by aggregate(count)
-- rows of one person: 50

-- name: UNION ALL
SELECT 'visits' AS what, COUNT(*) AS n FROM visits UNION ALL SELECT 'stays', COUNT(*) FROM stays ORDER BY n
-- expected:
-- from visits as t0
-- output what = 'visits'
-- output n = aggregate(count)
-- rows of one person: 50
-- UNION ALL
-- from stays as t1
-- output column_1 = 'stays'
-- output count_star() = aggregate(count)
-- rows of one person: 20

-- name: ROLLUP
SELECT ward, urgent, COUNT(*) AS n FROM visits GROUP BY ROLLUP (ward, urgent)
-- expected:
-- from visits as t0
-- key ward = t0.ward: text, 3 values ('north', 'south', 'east')
-- key urgent = t0.urgent: boolean, 2 values (False, True)
-- output ward = key(0)
-- output urgent = key(1)
-- output n = aggregate(count)
-- levels (0, 1), (0,), ()
-- rows of one person: 50

-- name: CUBE
SELECT ward, urgent, SUM(cost) AS s FROM visits GROUP BY CUBE (ward, urgent)
-- expected:
-- from visits as t0
-- key ward = t0.ward: text, 3 values ('north', 'south', 'east')
-- key urgent = t0.urgent: boolean, 2 values (False, True)
-- output ward = key(0)
-- output urgent = key(1)
-- output s = aggregate(t0.cost, sum)
-- levels (0, 1), (0,), (1,), ()
-- rows of one person: 50

-- name: GROUPING SETS
SELECT ward, urgent, COUNT(*) AS n FROM visits GROUP BY GROUPING SETS ((ward), (urgent), ())
-- expected:
-- from visits as t0
-- key ward = t0.ward: text, 3 values ('north', 'south', 'east')
-- key urgent = t0.urgent: boolean, 2 values (False, True)
-- output ward = key(0)
-- output urgent = key(1)
-- output n = aggregate(count)
-- levels (0,), (1,), ()
-- rows of one person: 50

-- name: EXPLAIN PRIVATE of a question
EXPLAIN PRIVATE SELECT ward, AVG(cost) AS mean FROM visits GROUP BY ward
-- expected:
-- from visits as t0
-- key ward = t0.ward: text, 3 values ('north', 'south', 'east')
-- output ward = key(0)
-- output mean = aggregate(t0.cost, avg)
-- rows of one person: 50

-- name: keys alone
SELECT ward FROM visits GROUP BY ward
-- expected:
-- from visits as t0
-- key ward = t0.ward: text, 3 values ('north', 'south', 'east')
-- output ward = key(0)
-- rows of one person: 50

-- name: GROUP BY person
SELECT patient_id, COUNT(*) FROM visits GROUP BY patient_id
-- expected:
-- MixesPeople [P807]: one group per person would tell about each person. At line 1, column 50:
--     SELECT patient_id, COUNT(*) FROM visits GROUP BY patient_id
--                                                      ^^^^^^^^^^
--   A group is told only if many people share it.
--   Aggregate per person in a subquery, and then over people: SELECT AVG(n) FROM (SELECT person, COUNT(*) AS n FROM t GROUP BY person).
--   docs: errors/P807

-- name: a column that is no key
SELECT ward, cost, COUNT(*) FROM visits GROUP BY ward
-- expected:
-- NotAllowed [P802]: 'cost' is neither aggregated nor a key. At line 1, column 14:
--     SELECT ward, cost, COUNT(*) FROM visits GROUP BY ward
--                  ^^^^
--   Its value would be that of a single row.
--   Add it to GROUP BY, or use COUNT, SUM or AVG of cost.
--   docs: errors/P802

-- name: SELECT *
SELECT * FROM visits
-- expected:
-- NotAllowed [P802]: this asks for rows, and only aggregates can be told. At line 1, column 8:
--     SELECT * FROM visits
--            ^^^^^^^^^^^^^
--   A row is about a person; what many people have in common can be counted, summed or averaged.
--   Use COUNT, SUM, AVG or a quantile, with GROUP BY if you like.
--   docs: errors/P802

-- name: rows of one column
SELECT cost FROM visits WHERE cost > 100
-- expected:
-- NotAllowed [P802]: this asks for rows, and only aggregates can be told. At line 1, column 8:
--     SELECT cost FROM visits WHERE cost > 100
--            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   A row is about a person; what many people have in common can be counted, summed or averaged.
--   Use COUNT, SUM, AVG or a quantile, with GROUP BY if you like.
--   docs: errors/P802

-- name: * beside an aggregate
SELECT *, COUNT(*) FROM visits GROUP BY ward
-- expected:
-- NotAllowed [P802]: * asks for rows. At line 1, column 8:
--     SELECT *, COUNT(*) FROM visits GROUP BY ward
--            ^
--   Only keys and aggregates can be told.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: SELECT DISTINCT
SELECT DISTINCT COUNT(*) FROM visits
-- expected:
-- NotAllowed [P802]: SELECT DISTINCT of aggregates has no meaning. At line 1, column 17:
--     SELECT DISTINCT COUNT(*) FROM visits
--                     ^^^^^^^^^^^^^^^^^^^^
--   The meaning of every part must be clear before data is read.
--   Leave DISTINCT out.
--   docs: errors/P802

-- name: UNION without ALL
SELECT COUNT(*) FROM visits UNION SELECT COUNT(*) FROM stays
-- expected:
-- NotAllowed [P802]: UNION without ALL drops equal rows. At line 1, column 8:
--     SELECT COUNT(*) FROM visits UNION SELECT COUNT(*) FROM stays
--            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Rows of noisy numbers are practically never equal, so the word has no meaning here.
--   Write UNION ALL.
--   docs: errors/P802

-- name: a place that is not there
SELECT ward, COUNT(*) FROM visits GROUP BY 3
-- expected:
-- UnknownName [P803]: there is no column at this place of SELECT. At line 1, column 44:
--     SELECT ward, COUNT(*) FROM visits GROUP BY 3
--                                                ^
--   The meaning of every part must be clear before data is read.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P803

-- name: two columns of one name
SELECT COUNT(*) AS n, SUM(cost) AS n FROM visits
-- expected:
-- UnknownName [P803]: two columns of the answer have one name. At line 1, column 8:
--     SELECT COUNT(*) AS n, SUM(cost) AS n FROM visits
--            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   The meaning of every part must be clear before data is read.
--   Give each its own alias.
--   docs: errors/P803

-- name: LIMIT from a subquery
SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT (SELECT 1)
-- expected:
-- WrongType [P804]: LIMIT and OFFSET take a whole number. At line 1, column 63:
--     SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT (SELECT 1)
--                                                                   ^
--   The meaning of every part must be clear before data is read.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P804

-- name: public tables alone
SELECT COUNT(*) FROM wards
-- expected:
-- NotAllowed [P802]: this reads public tables only. At line 1, column 22:
--     SELECT COUNT(*) FROM wards
--                          ^^^^^
--   Public tables need no privacy, and their answers no noise.
--   Ask the database itself.
--   docs: errors/P802

-- name: no table
SELECT COUNT(*)
-- expected:
-- NotAllowed [P802]: a question reads from a table. At line 1, column 8:
--     SELECT COUNT(*)
--            ^^^^^^^
--   There is nothing to count.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- section: Joins and subqueries
-- name: a join along the key
SELECT p.sex, AVG(v.cost) AS mean FROM visits v JOIN patients p ON v.patient_id = p.patient_id GROUP BY p.sex
-- expected:
-- from visits as t0
-- join patients as t1 on eq(t0.patient_id, t1.patient_id)
-- key sex = t1.sex: text, 2 values ('f', 'm')
-- output sex = key(0)
-- output mean = aggregate(t0.cost, avg)
-- rows of one person: 50

-- name: a join to many
SELECT COUNT(*) AS n FROM patients p LEFT JOIN visits v ON p.patient_id = v.patient_id
-- expected:
-- from patients as t0
-- left join visits as t1 on eq(t0.patient_id, t1.patient_id)
-- output n = aggregate(count)
-- rows of one person: 50

-- name: people who are on the right of a LEFT JOIN
SELECT COUNT(DISTINCT v.patient_id) AS n FROM patients p LEFT JOIN visits v ON p.patient_id = v.patient_id
-- expected:
-- from patients as t0
-- left join visits as t1 on eq(t0.patient_id, t1.patient_id)
-- output n = aggregate(t1.patient_id, count distinct)
-- rows of one person: 50

-- name: USING
SELECT COUNT(*) AS n FROM patients JOIN visits USING (patient_id)
-- expected:
-- from patients as t0
-- join visits as t1 on eq(t0.patient_id, t1.patient_id)
-- output n = aggregate(count)
-- rows of one person: 50

-- name: a column that USING shares, by its name alone
SELECT COUNT(DISTINCT patient_id) AS n FROM patients LEFT JOIN visits USING (patient_id) WHERE patient_id > 3 AND cost > 1
-- expected:
-- from patients as t0
-- left join visits as t1 on eq(t0.patient_id, t1.patient_id)
-- where and(gt(t0.patient_id, 3), gt(t1.cost, 1))
-- output n = aggregate(t0.patient_id, count distinct)
-- rows of one person: 50

-- name: * of tables that USING joins
SELECT COUNT(*) AS n FROM (SELECT * FROM patients JOIN visits USING (patient_id)) AS q WHERE patient_id > 3
-- expected:
-- from rows as t2
--   from patients as t0
--   join visits as t1 on eq(t0.patient_id, t1.patient_id)
--   patient_id = t0.patient_id: integer, the person, step 1
--   birth_year = t0.birth_year: integer, [1900, 2025], step 1
--   sex = t0.sex: text, 2 values ('f', 'm')
--   town = t0.town: text
--   visit_id = t1.visit_id: integer, step 1
--   ward = t1.ward: text, 3 values ('north', 'south', 'east')
--   cost = t1.cost: number, [0, 5000], step 0.01
--   day = t1.day: date, [20089, 20453]
--   diagnosis = t1.diagnosis: text
--   weight = t1.weight: number
--   urgent = t1.urgent: boolean, 2 values (False, True)
-- where gt(t2.patient_id, 3)
-- output n = aggregate(count)
-- rows of one person: 50

-- name: a column that USING does not share
SELECT COUNT(visit_id) AS n FROM patients JOIN visits USING (patient_id) JOIN stays ON stays.visit_id = visits.visit_id
-- expected:
-- UnknownName [P803]: 'visit_id' is a column of several tables. At line 1, column 14:
--     SELECT COUNT(visit_id) AS n FROM patients JOIN visits USING (patient_id) JOIN stays ON stays.visit_id = visits.visit_id
--                  ^^^^^^^^
--   The meaning of every part must be clear before data is read.
--   Write table.column.
--   docs: errors/P803

-- name: a path of two keys
SELECT v.ward, SUM(s.nights) AS nights FROM visits v JOIN stays s ON s.visit_id = v.visit_id GROUP BY v.ward
-- expected:
-- from visits as t0
-- join stays as t1 on eq(t1.visit_id, t0.visit_id)
-- key ward = t0.ward: text, 3 values ('north', 'south', 'east')
-- output ward = key(0)
-- output nights = aggregate(t1.nights, sum)
-- rows of one person: 20

-- name: a join of a person's rows with each other
SELECT COUNT(*) AS n FROM visits a JOIN visits b ON a.patient_id = b.patient_id AND a.day < b.day
-- expected:
-- from visits as t0
-- join visits as t1 on and(eq(t0.patient_id, t1.patient_id), lt(t0.day, t1.day))
-- output n = aggregate(count)
-- rows of one person: 2500

-- name: a join with a public table
SELECT w.floor, COUNT(*) AS n FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY w.floor
-- expected:
-- from visits as t0
-- join wards as t1 on eq(t0.ward, t1.ward)
-- key floor = t1.floor: integer, [1, 2], step 1, 2 values (1, 2)
-- output floor = key(0)
-- output n = aggregate(count)
-- rows of one person: 50

-- name: a public table first
SELECT w.floor, COUNT(*) AS n FROM wards w JOIN visits v ON v.ward = w.ward GROUP BY w.floor
-- expected:
-- from wards as t0
-- join visits as t1 on eq(t1.ward, t0.ward)
-- key floor = t0.floor: integer, [1, 2], step 1, 2 values (1, 2)
-- output floor = key(0)
-- output n = aggregate(count)
-- rows of one person: 50

-- name: a subquery that selects
SELECT AVG(c) AS mean FROM (SELECT cost AS c, ward FROM visits WHERE urgent) AS q WHERE ward = 'north'
-- expected:
-- from rows as t1
--   from visits as t0
--   where t0.urgent
--   c = t0.cost: number, [0, 5000], step 0.01
--   ward = t0.ward: text, 3 values ('north', 'south', 'east')
-- where eq(t1.ward, 'north')
-- output mean = aggregate(t1.c, avg)
-- rows of one person: 50

-- name: aggregates per person
SELECT AVG(n) AS visits, AVG(s) AS cost FROM (SELECT patient_id, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY patient_id) AS q
-- expected:
-- from one row per person as t1
--   from visits as t0
--   patient_id = t0.patient_id: integer, the person, step 1
--   n = aggregate(count): integer, [0, 50], step 1, 51 values (0, 1, 2, 3, ...)
--   s = aggregate(t0.cost, sum): number, [0, 250000], step 0.01
-- output visits = aggregate(t1.n, avg)
-- output cost = aggregate(t1.s, avg)
-- rows of one person: 1

-- name: groups of people by what they did
SELECT n, COUNT(*) AS people FROM (SELECT patient_id, LEAST(COUNT(*), 5) AS n FROM visits GROUP BY patient_id) AS q GROUP BY n
-- expected:
-- from one row per person as t1
--   from visits as t0
--   patient_id = t0.patient_id: integer, the person, step 1
--   n = least(aggregate(count), 5): integer, [0, 5], step 1, 6 values (0, 1, 2, 3, ...)
-- key n = t1.n: integer, [0, 5], step 1, 6 values (0, 1, 2, 3, ...)
-- output n = key(0)
-- output people = aggregate(count)
-- rows of one person: 1

-- name: HAVING per person
SELECT COUNT(*) AS n FROM (SELECT patient_id FROM visits GROUP BY patient_id HAVING COUNT(*) > 2 AND MAX(cost) > 10) AS q
-- expected:
-- from one row per person as t1
--   from visits as t0
--   patient_id = t0.patient_id: integer, the person, step 1
--   having and(gt(aggregate(count), 2), gt(aggregate(t0.cost, max), 10))
-- output n = aggregate(count)
-- rows of one person: 1

-- name: aggregates per person and key
SELECT ward, AVG(s) AS mean FROM (SELECT patient_id, ward, SUM(cost) AS s FROM visits GROUP BY patient_id, ward) AS q GROUP BY ward
-- expected:
-- from one row per person as t1
--   from visits as t0
--   patient_id = t0.patient_id: integer, the person, step 1
--   ward = t0.ward: text, 3 values ('north', 'south', 'east')
--   s = aggregate(t0.cost, sum): number, [0, 250000], step 0.01
-- key ward = t1.ward: text, 3 values ('north', 'south', 'east')
-- output ward = key(0)
-- output mean = aggregate(t1.s, avg)
-- rows of one person: 3

-- name: aggregates per person and month
SELECT m, AVG(n) AS mean FROM (SELECT patient_id, DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visits GROUP BY patient_id, m) AS q GROUP BY m
-- expected:
-- from one row per person as t1
--   from visits as t0
--   patient_id = t0.patient_id: integer, the person, step 1
--   m = date_trunc(t0.day, 'month'): date, [20089, 20423], 12 values (2025-01-01, 2025-02-01, 2025-03-01, 2025-04-01, ...)
--   n = aggregate(count): integer, [0, 50], step 1, 51 values (0, 1, 2, 3, ...)
-- key m = t1.m: date, [20089, 20423], 12 values (2025-01-01, 2025-02-01, 2025-03-01, 2025-04-01, ...)
-- output m = key(0)
-- output mean = aggregate(t1.n, avg)
-- rows of one person: 12

-- name: WITH
WITH dear AS (SELECT patient_id, cost FROM visits WHERE cost > 100), per AS (SELECT patient_id, COUNT(*) AS n FROM dear GROUP BY patient_id) SELECT AVG(n) AS mean FROM per
-- expected:
-- from one row per person as t2
--   from rows as t1
--     from visits as t0
--     where gt(t0.cost, 100)
--     patient_id = t0.patient_id: integer, the person, step 1
--     cost = t0.cost: number, [0, 5000], step 0.01
--   patient_id = t1.patient_id: integer, the person, step 1
--   n = aggregate(count): integer, [0, 50], step 1, 51 values (0, 1, 2, 3, ...)
-- output mean = aggregate(t2.n, avg)
-- rows of one person: 1

-- name: a subquery joined with a table
SELECT p.sex, AVG(q.n) AS n FROM patients p JOIN (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) AS q ON q.patient_id = p.patient_id GROUP BY p.sex
-- expected:
-- from patients as t0
-- join one row per person as t2 on eq(t2.patient_id, t0.patient_id)
--   from visits as t1
--   patient_id = t1.patient_id: integer, the person, step 1
--   n = aggregate(count): integer, [0, 50], step 1, 51 values (0, 1, 2, 3, ...)
-- key sex = t0.sex: text, 2 values ('f', 'm')
-- output sex = key(0)
-- output n = aggregate(t2.n, avg)
-- rows of one person: 1

-- name: the person by another name
SELECT AVG(n) AS mean FROM (SELECT p.patient_id, COUNT(*) AS n FROM patients p JOIN visits v ON p.patient_id = v.patient_id GROUP BY v.patient_id) AS q
-- expected:
-- NotAllowed [P802]: 'patient_id' is neither aggregated nor a key. At line 1, column 36:
--     SELECT AVG(n) AS mean FROM (SELECT p.patient_id, COUNT(*) AS n FROM patients p JOIN visits v ON p.patient_id = v.patient_id GROUP BY v.patient_id) AS q
--                                        ^^^^^^^^^^^^
--   The meaning of every part must be clear before data is read.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: SELECT * in a subquery
SELECT COUNT(*) AS n FROM (SELECT * FROM visits WHERE urgent) AS q WHERE q.cost > 1
-- expected:
-- from rows as t1
--   from visits as t0
--   where t0.urgent
--   visit_id = t0.visit_id: integer, step 1
--   patient_id = t0.patient_id: integer, the person, step 1
--   ward = t0.ward: text, 3 values ('north', 'south', 'east')
--   cost = t0.cost: number, [0, 5000], step 0.01
--   day = t0.day: date, [20089, 20453]
--   diagnosis = t0.diagnosis: text
--   weight = t0.weight: number
--   urgent = t0.urgent: boolean, 2 values (False, True)
-- where gt(t1.cost, 1)
-- output n = aggregate(count)
-- rows of one person: 50

-- name: DISTINCT rows of a person
SELECT COUNT(*) AS n FROM (SELECT DISTINCT patient_id, ward FROM visits) AS q
-- expected:
-- from distinct rows as t1
--   from visits as t0
--   patient_id = t0.patient_id: integer, the person, step 1
--   ward = t0.ward: text, 3 values ('north', 'south', 'east')
-- output n = aggregate(count)
-- rows of one person: 4

-- name: EXISTS
SELECT COUNT(*) AS n FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.cost > 100)
-- expected:
-- from patients as t0
-- where exists(rows of t1 of the person of t0 where and(eq(t1.patient_id, t0.patient_id), gt(t1.cost, 100)))
-- output n = aggregate(count)
-- rows of one person: 1

-- name: NOT EXISTS
SELECT COUNT(*) AS n FROM patients p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id)
-- expected:
-- from patients as t0
-- where not(exists(rows of t1 of the person of t0 where eq(t1.patient_id, t0.patient_id)))
-- output n = aggregate(count)
-- rows of one person: 1

-- name: IN a subquery on the person
SELECT COUNT(*) AS n FROM patients WHERE patient_id IN (SELECT patient_id FROM visits WHERE urgent)
-- expected:
-- from patients as t0
-- where exists(rows of t1 of the person of t0 where and(t1.urgent, eq(t0.patient_id, t1.patient_id)))
-- output n = aggregate(count)
-- rows of one person: 1

-- name: IN a public subquery
SELECT COUNT(*) AS n FROM visits WHERE ward IN (SELECT ward FROM wards WHERE floor = 1)
-- expected:
-- from visits as t0
-- where exists(rows of t1 where and(eq(t1.floor, 1), eq(t0.ward, t1.ward)))
-- output n = aggregate(count)
-- rows of one person: 50

-- name: ROW_NUMBER per person
SELECT AVG(cost) AS first FROM (SELECT cost, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) AS r FROM visits) AS q WHERE r = 1
-- expected:
-- from rows as t1
--   from visits as t0
--   cost = t0.cost: number, [0, 5000], step 0.01
--   r = window(t0.patient_id, t0.day, row_number by person of t0): integer, [0, ?], step 1
-- where eq(t1.r, 1)
-- output first = aggregate(t1.cost, avg)
-- rows of one person: 1

-- name: sums over rows around each, and parts of a person's rows
SELECT AVG(CLIP(lately, 0, 3000)) AS a, AVG(part) AS b FROM (SELECT SUM(cost) OVER (PARTITION BY patient_id ORDER BY day ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS lately, NTILE(4) OVER (PARTITION BY patient_id ORDER BY day) AS part FROM visits) AS q
-- expected:
-- from rows as t1
--   from visits as t0
--   lately = window(t0.cost, t0.patient_id, t0.day, sum by person of t0): number, step 0.01
--   part = window(4, t0.patient_id, t0.day, ntile by person of t0): integer, [1, 4], step 1
-- output a = aggregate(case(isnull(t1.lately), None, least(greatest(t1.lately, 0), 3000)), avg)
-- output b = aggregate(t1.part, avg)
-- rows of one person: 50

-- name: frames that cannot be used
SELECT COUNT(*) FROM (SELECT SUM(cost) OVER (PARTITION BY patient_id ORDER BY day RANGE BETWEEN 7 PRECEDING AND CURRENT ROW) AS s FROM visits) AS q WHERE s > 1
-- expected:
-- NotAllowed [P802]: this frame of a window cannot be used. At line 1, column 30:
--     SELECT COUNT(*) FROM (SELECT SUM(cost) OVER (PARTITION BY patient_id ORDER BY day RANGE BETWEEN 7 PRECEDING AND CURRENT ROW) AS s FROM visits) AS q WHERE s > 1
--                                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   A frame is of rows, counted from this one, and begins before it ends.
--   Write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW, with one of: count, sum, avg, min, max, first_value.
--   docs: errors/P802

-- name: LAG and running sums per person
SELECT AVG(CLIP(cost - before, -100, 100)) AS a, AVG(CLIP(so_far, 0, 1000)) AS b FROM (SELECT cost, LAG(cost) OVER (PARTITION BY patient_id ORDER BY day) AS before, SUM(cost) OVER (PARTITION BY patient_id ORDER BY day) AS so_far FROM visits) AS q
-- expected:
-- from rows as t1
--   from visits as t0
--   cost = t0.cost: number, [0, 5000], step 0.01
--   before = window(t0.cost, t0.patient_id, t0.day, lag by person of t0): number, [0, 5000], step 0.01
--   so_far = window(t0.cost, t0.patient_id, t0.day, sum by person of t0): number, step 0.01
-- output a = aggregate(case(isnull(sub(t1.cost, t1.before)), None, least(greatest(sub(t1.cost, t1.before), -100), 100)), avg)
-- output b = aggregate(case(isnull(t1.so_far), None, least(greatest(t1.so_far, 0), 1000)), avg)
-- rows of one person: 50

-- name: FIRST_VALUE, RANK and COUNT per person
SELECT COUNT(*) AS n FROM (SELECT FIRST_VALUE(cost) OVER (PARTITION BY patient_id ORDER BY day) AS f, RANK() OVER (PARTITION BY patient_id ORDER BY cost DESC) AS r, COUNT(*) OVER (PARTITION BY patient_id) AS c FROM visits) AS q WHERE f > 10 AND r < 3 AND c > 1
-- expected:
-- from rows as t1
--   from visits as t0
--   f = window(t0.cost, t0.patient_id, t0.day, first_value by person of t0): number, [0, 5000], step 0.01
--   r = window(t0.patient_id, t0.cost, rank by person of t0): integer, [0, ?], step 1
--   c = window(t0.patient_id, count by person of t0): integer, [0, ?], step 1
-- where and(and(gt(t1.f, 10), lt(t1.r, 3)), gt(t1.c, 1))
-- output n = aggregate(count)
-- rows of one person: 50

-- name: a join of people by something else
SELECT COUNT(*) FROM visits a JOIN visits b ON a.ward = b.ward
-- expected:
-- MixesPeople [P807]: two tables about people are joined without the person. At line 1, column 36:
--     SELECT COUNT(*) FROM visits a JOIN visits b ON a.ward = b.ward
--                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Until noise is added, a row may depend on one person's data alone.
--   Join and group by the declared person, and aggregate over people outside.
--   docs: errors/P807

-- name: a join without a condition
SELECT COUNT(*) FROM visits CROSS JOIN patients
-- expected:
-- MixesPeople [P807]: two tables about people are joined without the person. At line 1, column 40:
--     SELECT COUNT(*) FROM visits CROSS JOIN patients
--                                            ^^^^^^^^
--   Until noise is added, a row may depend on one person's data alone.
--   Join and group by the declared person, and aggregate over people outside.
--   docs: errors/P807

-- name: RIGHT JOIN
SELECT COUNT(*) FROM patients p RIGHT JOIN visits v ON p.patient_id = v.patient_id
-- expected:
-- NotAllowed [P802]: RIGHT JOIN cannot be used. At line 1, column 44:
--     SELECT COUNT(*) FROM patients p RIGHT JOIN visits v ON p.patient_id = v.patient_id
--                                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Rows that belong to nobody on the left have no person to be bounded by.
--   Use JOIN or LEFT JOIN, with the people on the left.
--   docs: errors/P802

-- name: FULL JOIN
SELECT COUNT(*) FROM patients p FULL JOIN visits v ON p.patient_id = v.patient_id
-- expected:
-- NotAllowed [P802]: FULL JOIN cannot be used. At line 1, column 43:
--     SELECT COUNT(*) FROM patients p FULL JOIN visits v ON p.patient_id = v.patient_id
--                                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Rows that belong to nobody on the left have no person to be bounded by.
--   Use JOIN or LEFT JOIN, with the people on the left.
--   docs: errors/P802

-- name: people behind a public table
SELECT COUNT(*) FROM wards w LEFT JOIN visits v ON v.ward = w.ward
-- expected:
-- NotAllowed [P802]: people cannot be LEFT JOINed to a public table. At line 1, column 40:
--     SELECT COUNT(*) FROM wards w LEFT JOIN visits v ON v.ward = w.ward
--                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Rows without a person cannot be bounded per person.
--   Put the table about people first.
--   docs: errors/P802

-- name: a number from a subquery
SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)
-- expected:
-- MixesPeople [P807]: a subquery that stands for one number adds up over several people, exactly. At line 1, column 50:
--     SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)
--                                                      ^^^^^^^^^^^^^^^^^^^^^
--   Until noise is added, a row may depend on one person's data alone.
--   Join and group by the declared person, and aggregate over people outside.
--   docs: errors/P807

-- name: a subquery over several people
SELECT AVG(s) FROM (SELECT ward, SUM(cost) AS s FROM visits GROUP BY ward) AS q
-- expected:
-- MixesPeople [P807]: this subquery adds up over several people, exactly. At line 1, column 28:
--     SELECT AVG(s) FROM (SELECT ward, SUM(cost) AS s FROM visits GROUP BY ward) AS q
--                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Until noise is added, a row may depend on one person's data alone.
--   Join and group by the declared person, and aggregate over people outside.
--   docs: errors/P807

-- name: EXISTS over other people
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.cost > 100)
-- expected:
-- MixesPeople [P807]: this looks at other people's rows. At line 1, column 54:
--     SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.cost > 100)
--                                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Until noise is added, a row may depend on one person's data alone.
--   Compare the person, or a declared key of theirs, inside and outside the subquery.
--   docs: errors/P807

-- name: IN over other people
SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM visits WHERE urgent)
-- expected:
-- MixesPeople [P807]: this looks at other people's rows. At line 1, column 35:
--     SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM visits WHERE urgent)
--                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Until noise is added, a row may depend on one person's data alone.
--   Compare the person, or a declared key of theirs, inside and outside the subquery.
--   docs: errors/P807

-- name: LIMIT in a subquery
SELECT COUNT(*) FROM (SELECT * FROM visits ORDER BY cost LIMIT 10) AS q
-- expected:
-- MixesPeople [P807]: LIMIT inside a question picks some people's rows by looking at everybody's. At line 1, column 64:
--     SELECT COUNT(*) FROM (SELECT * FROM visits ORDER BY cost LIMIT 10) AS q
--                                                                    ^^
--   Which rows are kept would depend on other people.
--   Put LIMIT at the end: it then applies to the noisy result.
--   docs: errors/P807

-- name: UNION ALL in a subquery
SELECT COUNT(*) FROM (SELECT patient_id FROM visits UNION ALL SELECT patient_id FROM drugs) AS q
-- expected:
-- MixesPeople [P807]: a UNION inside a question cannot be bounded per person. At line 1, column 30:
--     SELECT COUNT(*) FROM (SELECT patient_id FROM visits UNION ALL SELECT patient_id FROM drugs) AS q
--                                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Until noise is added, a row may depend on one person's data alone.
--   Join and group by the declared person, and aggregate over people outside.
--   docs: errors/P807

-- name: a window over everybody
SELECT AVG(r) FROM (SELECT RANK() OVER (ORDER BY cost) AS r FROM visits) AS q
-- expected:
-- MixesPeople [P807]: a window over several people's rows tells them apart. At line 1, column 28:
--     SELECT AVG(r) FROM (SELECT RANK() OVER (ORDER BY cost) AS r FROM visits) AS q
--                                ^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Until noise is added, a row may depend on one person's data alone.
--   PARTITION BY the person.
--   docs: errors/P807

-- name: a window with a frame
SELECT COUNT(*) FROM (SELECT SUM(cost) OVER (PARTITION BY patient_id ORDER BY day ROWS 1 PRECEDING) AS s FROM visits) AS q WHERE s > 1
-- expected:
-- from rows as t1
--   from visits as t0
--   s = window(t0.cost, t0.patient_id, t0.day, sum by person of t0): number, step 0.01
-- where gt(t1.s, 1)
-- output count_star() = aggregate(count)
-- rows of one person: 50

-- name: whether any of a person's rows, and whether all
SELECT COUNT(*) FILTER (WHERE a) AS n, COUNT(*) FILTER (WHERE b) AS m FROM (SELECT patient_id, BOOL_OR(cost > 100) AS a, MIN(urgent) AS b FROM visits GROUP BY patient_id HAVING BOOL_AND(cost < 900)) AS q
-- expected:
-- from one row per person as t1
--   from visits as t0
--   patient_id = t0.patient_id: integer, the person, step 1
--   a = eq(aggregate(case(gt(t0.cost, 100), 1, not(gt(t0.cost, 100)), 0, None), max), 1): boolean, 2 values (False, True)
--   b = eq(aggregate(case(t0.urgent, 1, not(t0.urgent), 0, None), min), 1): boolean, 2 values (False, True)
--   having eq(aggregate(case(lt(t0.cost, 900), 1, not(lt(t0.cost, 900)), 0, None), min), 1)
-- output n = aggregate_if(t1.a, count)
-- output m = aggregate_if(t1.b, count)
-- rows of one person: 1

-- name: whether any row of everybody
SELECT BOOL_OR(cost > 100) AS dear FROM visits
-- expected:
-- NotAllowed [P802]: BOOL_OR of many people cannot be answered privately. At line 1, column 8:
--     SELECT BOOL_OR(cost > 100) AS dear FROM visits
--            ^^^^^^^^^^^^^^^^^^
--   A single row decides it. Inside one person, in a subquery with GROUP BY the person, it can be worked out.
--   Use COUNT(*) FILTER (WHERE condition), and compare it with 0.
--   docs: errors/P802

-- name: a median per person
SELECT AVG(m) FROM (SELECT patient_id, MEDIAN(cost) AS m FROM visits GROUP BY patient_id) AS q
-- expected:
-- NotAllowed [P802]: per person, COUNT, SUM, AVG, MIN, MAX, BOOL_OR and BOOL_AND can be worked out. At line 1, column 40:
--     SELECT AVG(m) FROM (SELECT patient_id, MEDIAN(cost) AS m FROM visits GROUP BY patient_id) AS q
--                                            ^^^^^^^^^^^
--   The meaning of every part must be clear before data is read.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P802

-- name: a window in WHERE
SELECT COUNT(*) FROM visits WHERE ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) = 1
-- expected:
-- NotAllowed [P802]: a window can stand in the SELECT of a subquery alone. At line 1, column 35:
--     SELECT COUNT(*) FROM visits WHERE ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) = 1
--                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   There its order is complete, so that nobody's rows decide about another's.
--   SELECT ... FROM (SELECT ..., ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) AS r FROM t) WHERE r = 1.
--   docs: errors/P802

-- name: a sum of texts in a window
SELECT COUNT(*) FROM (SELECT SUM(diagnosis) OVER (PARTITION BY patient_id) AS x FROM visits) AS q WHERE x > 1
-- expected:
-- WrongType [P804]: a value of this kind cannot be used in this window. At line 1, column 30:
--     SELECT COUNT(*) FROM (SELECT SUM(diagnosis) OVER (PARTITION BY patient_id) AS x FROM visits) AS q WHERE x > 1
--                                  ^^^^^^^^^^^^^
--   The meaning of every part must be clear before data is read.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P804

-- name: a window in a window
SELECT COUNT(*) FROM (SELECT LAG(ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day)) OVER (PARTITION BY patient_id ORDER BY day) AS x FROM visits) AS q WHERE x > 1
-- expected:
-- NotAllowed [P802]: a window cannot stand inside a window. At line 1, column 30:
--     SELECT COUNT(*) FROM (SELECT LAG(ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day)) OVER (PARTITION BY patient_id ORDER BY day) AS x FROM visits) AS q WHERE x > 1
--                                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   The meaning of every part must be clear before data is read.
--   Use two subqueries.
--   docs: errors/P802

-- name: an offset from a column
SELECT COUNT(*) FROM (SELECT LAG(cost, visit_id) OVER (PARTITION BY patient_id ORDER BY day) AS x FROM visits) AS q WHERE x > 1
-- expected:
-- WrongType [P804]: a distance is a whole number up to 10,000. At line 1, column 40:
--     SELECT COUNT(*) FROM (SELECT LAG(cost, visit_id) OVER (PARTITION BY patient_id ORDER BY day) AS x FROM visits) AS q WHERE x > 1
--                                            ^^^^^^^^
--   The meaning of every part must be clear before data is read.
--   docs/sql-coverage.md lists what can be asked.
--   docs: errors/P804

-- name: a default for LAG
SELECT COUNT(*) FROM (SELECT LAG(cost, 1, 0) OVER (PARTITION BY patient_id ORDER BY day) AS x FROM visits) AS q WHERE x > 1
-- expected:
-- NotAllowed [P802]: DEFAULT is not understood here. At line 1, column 30:
--     SELECT COUNT(*) FROM (SELECT LAG(cost, 1, 0) OVER (PARTITION BY patient_id ORDER BY day) AS x FROM visits) AS q WHERE x > 1
--                                  ^^^^^^^^^^^^^^
--   A part of a question that is not understood would be silently left out.
--   Leave it out.
--   docs: errors/P802

-- name: positions in two orders
SELECT COUNT(*) AS n FROM (SELECT ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) AS a, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day DESC) AS b FROM visits) AS q WHERE a = b
-- expected:
-- NotAllowed [P802]: windows that go by places (ROW_NUMBER, LAG, LEAD, NTILE, ROWS BETWEEN) have one PARTITION BY and ORDER BY in a subquery. At line 1, column 35:
--     SELECT COUNT(*) AS n FROM (SELECT ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) AS a, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day DESC) AS b FROM visits) AS q WHERE a = b
--                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Rows that are alike have no order of their own, and two orders would tell them apart by accident.
--   Use one order, or two subqueries.
--   docs: errors/P802

-- name: a window in an aggregate per person
SELECT AVG(n) FROM (SELECT patient_id, COUNT(ROW_NUMBER() OVER (PARTITION BY patient_id)) AS n FROM visits GROUP BY patient_id) AS q
-- expected:
-- NotAllowed [P802]: a window can stand in the SELECT of a subquery alone. At line 1, column 46:
--     SELECT AVG(n) FROM (SELECT patient_id, COUNT(ROW_NUMBER() OVER (PARTITION BY patient_id)) AS n FROM visits GROUP BY patient_id) AS q
--                                                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   There its order is complete, so that nobody's rows decide about another's.
--   SELECT ... FROM (SELECT ..., ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) AS r FROM t) WHERE r = 1.
--   docs: errors/P802

-- name: an alias that stands twice
SELECT COUNT(*) FROM visits v JOIN patients v ON TRUE
-- expected:
-- UnknownName [P803]: 'v' stands twice in FROM. At line 1, column 36:
--     SELECT COUNT(*) FROM visits v JOIN patients v ON TRUE
--                                        ^^^^^^^^^^
--   The meaning of every part must be clear before data is read.
--   Give each its own alias.
--   docs: errors/P803

-- name: a column of two tables
SELECT COUNT(*) FROM visits JOIN patients ON visits.patient_id = patients.patient_id WHERE patient_id > 3
-- expected:
-- UnknownName [P803]: 'patient_id' is a column of several tables. At line 1, column 92:
--     SELECT COUNT(*) FROM visits JOIN patients ON visits.patient_id = patients.patient_id WHERE patient_id > 3
--                                                                                                ^^^^^^^^^^
--   The meaning of every part must be clear before data is read.
--   Write table.column.
--   docs: errors/P803

-- section: Where each row is a unit
-- name: an average of rows
-- with: survey
SELECT ward, AVG(score) AS mean FROM answers GROUP BY ward
-- expected:
-- from answers as t0
-- key ward = t0.ward: text, 3 values ('north', 'south', 'east')
-- output ward = key(0)
-- output mean = aggregate(t0.score, avg)
-- rows of one person: not known

-- name: distinct rows
-- with: survey
SELECT COUNT(*) AS n FROM (SELECT DISTINCT ward FROM answers) AS q
-- expected:
-- from distinct rows as t1
--   from answers as t0
--   ward = t0.ward: text, 3 values ('north', 'south', 'east')
-- output n = aggregate(count)
-- rows of one person: 4

-- name: rows with a public table
-- with: survey
SELECT w.floor, COUNT(*) AS n FROM answers a JOIN wards w ON a.ward = w.ward GROUP BY w.floor
-- expected:
-- from answers as t0
-- join wards as t1 on eq(t0.ward, t1.ward)
-- key floor = t1.floor: integer, [1, 2], step 1, 2 values (1, 2)
-- output floor = key(0)
-- output n = aggregate(count)
-- rows of one person: not known

-- name: a public table by something else than its key
-- with: survey
SELECT COUNT(*) FROM answers a JOIN wards w ON a.age > w.floor
-- expected:
-- NotAllowed [P802]: a public table is joined by something that is not its key. At line 1, column 37:
--     SELECT COUNT(*) FROM answers a JOIN wards w ON a.age > w.floor
--                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Where every row is protected by itself, it must stay one row.
--   Declare the public table's key, and join by it.
--   docs: errors/P802

-- name: a public table by a condition on itself
-- with: survey
SELECT COUNT(*) FROM answers a JOIN wards w ON w.ward = LOWER(w.ward)
-- expected:
-- NotAllowed [P802]: a public table is joined by something that is not its key. At line 1, column 37:
--     SELECT COUNT(*) FROM answers a JOIN wards w ON w.ward = LOWER(w.ward)
--                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Where every row is protected by itself, it must stay one row.
--   Declare the public table's key, and join by it.
--   docs: errors/P802

-- name: two public tables before the rows
-- with: survey
SELECT COUNT(*) FROM wards w1 JOIN wards w2 ON TRUE JOIN answers a ON a.ward = w1.ward
-- expected:
-- NotAllowed [P802]: a public table comes before the one about people. At line 1, column 58:
--     SELECT COUNT(*) FROM wards w1 JOIN wards w2 ON TRUE JOIN answers a ON a.ward = w1.ward
--                                                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Where every row is protected by itself, it must stay one row.
--   Put the table about people first, and join public tables by their key.
--   docs: errors/P802

-- name: rows joined with rows
-- with: survey
SELECT COUNT(*) FROM answers a JOIN answers b ON a.town = b.town
-- expected:
-- MixesPeople [P807]: two tables about people are joined without the person. At line 1, column 37:
--     SELECT COUNT(*) FROM answers a JOIN answers b ON a.town = b.town
--                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Until noise is added, a row may depend on one person's data alone.
--   Join and group by the declared person, and aggregate over people outside.
--   docs: errors/P807

-- name: EXISTS over other rows
-- with: survey
SELECT COUNT(*) FROM answers a WHERE EXISTS (SELECT 1 FROM answers b WHERE b.age = a.age)
-- expected:
-- MixesPeople [P807]: this looks at other people's rows. At line 1, column 53:
--     SELECT COUNT(*) FROM answers a WHERE EXISTS (SELECT 1 FROM answers b WHERE b.age = a.age)
--                                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Until noise is added, a row may depend on one person's data alone.
--   Compare the person, or a declared key of theirs, inside and outside the subquery.
--   docs: errors/P807

-- name: a window over rows
-- with: survey
SELECT COUNT(*) FROM (SELECT RANK() OVER (PARTITION BY town ORDER BY age) AS r FROM answers) AS q WHERE r = 1
-- expected:
-- MixesPeople [P807]: a window over several people's rows tells them apart. At line 1, column 30:
--     SELECT COUNT(*) FROM (SELECT RANK() OVER (PARTITION BY town ORDER BY age) AS r FROM answers) AS q WHERE r = 1
--                                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Until noise is added, a row may depend on one person's data alone.
--   PARTITION BY the person.
--   docs: errors/P807

-- section: Joins and subqueries
-- name: LEFT JOIN without a partner
SELECT COUNT(*) AS n FROM patients p LEFT JOIN visits v ON v.patient_id = p.patient_id AND v.urgent WHERE v.patient_id IS NULL
-- expected:
-- from patients as t0
-- where not(exists(rows of t1 of the person of t0 where and(eq(t1.patient_id, t0.patient_id), t1.urgent)))
-- output n = aggregate(count)
-- rows of one person: 1

-- name: LEFT JOIN without a partner, of which more is asked
SELECT COUNT(v.cost) AS n FROM patients p LEFT JOIN visits v ON v.patient_id = p.patient_id WHERE v.patient_id IS NULL
-- expected:
-- from patients as t0
-- left join visits as t1 on eq(t1.patient_id, t0.patient_id)
-- where isnull(t1.patient_id)
-- output n = aggregate(t1.cost, count)
-- rows of one person: 50

-- name: LEFT JOIN without a partner, of others' rows
SELECT COUNT(*) AS n FROM patients p LEFT JOIN visits v ON v.ward = p.town WHERE v.ward IS NULL
-- expected:
-- MixesPeople [P807]: two tables about people are joined without the person. At line 1, column 48:
--     SELECT COUNT(*) AS n FROM patients p LEFT JOIN visits v ON v.ward = p.town WHERE v.ward IS NULL
--                                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Until noise is added, a row may depend on one person's data alone.
--   Join and group by the declared person, and aggregate over people outside.
--   docs: errors/P807

-- section: Conditions and expressions
-- name: a moment so much later
SELECT COUNT(*) AS n FROM visits WHERE day - INTERVAL '3 months' < '2025-01-01' AND CAST(day AS DATE) + 7 > day
-- expected:
-- from visits as t0
-- where and(lt(shift(t0.day, -3 months), 2025-01-01 00:00:00), gt(shift(cast(t0.day, date), 7 days), t0.day))
-- output n = aggregate(count)
-- rows of one person: 50

-- name: a difference in hours
SELECT AVG(DATE_DIFF('hour', day, TIMESTAMP '2025-12-31 12:00:00')) AS hours FROM visits
-- expected:
-- from visits as t0
-- output hours = aggregate(date_diff(t0.day, 2025-12-31 12:00:00, 'hour'), avg)
-- rows of one person: 50

-- name: a difference beside an interval
SELECT COUNT(*) AS n FROM visits WHERE TIMESTAMP '2025-12-31 12:00:00' - day > INTERVAL 36 HOUR
-- expected:
-- from visits as t0
-- where gt(date_diff(t0.day, 2025-12-31 12:00:00, 'microsecond'), 129600000000)
-- output n = aggregate(count)
-- rows of one person: 50

-- name: seconds and days of a difference
SELECT AVG(EXTRACT(EPOCH FROM TIMESTAMP '2025-12-31 12:00:00' - day) / 3600) AS h, MAX(EXTRACT(DAY FROM TIMESTAMP '2025-12-31 12:00:00' - day)) AS d FROM visits
-- expected:
-- from visits as t0
-- output h = aggregate(div(div(date_diff(t0.day, 2025-12-31 12:00:00, 'microsecond'), 1000000), 3600), avg)
-- output d = aggregate(int_div(date_diff(t0.day, 2025-12-31 12:00:00, 'microsecond'), 86400000000), max)
-- rows of one person: 50

-- name: a moment as text
SELECT STRFTIME(day, '%Y-%m') AS month, DAYNAME(day) AS weekday, COUNT(*) AS n FROM visits GROUP BY month, weekday
-- expected:
-- from visits as t0
-- key month = strftime(t0.day, '%Y-%m'): text, 12 values ('2025-01', '2025-02', '2025-03', '2025-04', ...)
-- key weekday = strftime(t0.day, '%A'): text, 7 values ('Wednesday', 'Thursday', 'Friday', 'Saturday', ...)
-- output month = key(0)
-- output weekday = key(1)
-- output n = aggregate(count)
-- rows of one person: 50

-- name: buckets of time
SELECT TIME_BUCKET(INTERVAL 1 WEEK, day) AS week, COUNT(*) AS n FROM visits GROUP BY week
-- expected:
-- from visits as t0
-- key week = date_trunc(t0.day, 'week'): date, [20087, 20451], 53 values (2024-12-30, 2025-01-06, 2025-01-13, 2025-01-20, ...)
-- output week = key(0)
-- output n = aggregate(count)
-- rows of one person: 50

-- name: logarithms
SELECT AVG(LOG10(cost + 1)) AS a, AVG(LOG(2, cost + 1)) AS b FROM visits
-- expected:
-- from visits as t0
-- output a = aggregate(log10(add(t0.cost, 1)), avg)
-- output b = aggregate(div(log10(add(t0.cost, 1)), log10(2)), avg)
-- rows of one person: 50

-- name: a difference of moments by itself
SELECT AVG(TIMESTAMP '2025-12-31 12:00:00' - CAST(day AS TIMESTAMP)) AS a FROM visits
-- expected:
-- WrongType [P804]: a difference of moments is an interval. At line 1, column 22:
--     SELECT AVG(TIMESTAMP '2025-12-31 12:00:00' - CAST(day AS TIMESTAMP)) AS a FROM visits
--                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   The kinds of values must be clear before data is read.
--   Write DATE_DIFF('minute', y, x) for x - y.
--   docs: errors/P804

-- name: hours of a difference
SELECT AVG(EXTRACT(HOUR FROM TIMESTAMP '2025-12-31 12:00:00' - day)) AS a FROM visits
-- expected:
-- NotAllowed [P802]: of a difference, days and seconds can be taken. At line 1, column 40:
--     SELECT AVG(EXTRACT(HOUR FROM TIMESTAMP '2025-12-31 12:00:00' - day)) AS a FROM visits
--                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Other parts are what is left of the next larger one, which is rarely meant.
--   Write DATE_DIFF('hour', y, x) for the hours of x - y.
--   docs: errors/P802

-- name: an interval of months beside a difference
SELECT COUNT(*) AS n FROM visits WHERE TIMESTAMP '2025-12-31 12:00:00' - day > INTERVAL 2 MONTH
-- expected:
-- NotAllowed [P802]: an interval is compared with a difference of two moments, in days or shorter units. At line 1, column 50:
--     SELECT COUNT(*) AS n FROM visits WHERE TIMESTAMP '2025-12-31 12:00:00' - day > INTERVAL 2 MONTH
--                                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   A month has 28 to 31 days.
--   Write x - y > INTERVAL 30 DAY.
--   docs: errors/P802

-- name: an interval of a thousand years and one
SELECT COUNT(*) AS n FROM visits WHERE day + INTERVAL 1001 YEAR > '2025-01-01'
-- expected:
-- NotAllowed [P802]: this interval cannot be read. At line 1, column 40:
--     SELECT COUNT(*) AS n FROM visits WHERE day + INTERVAL 1001 YEAR > '2025-01-01'
--                                            ^^^
--   It is a whole number of one unit, from seconds to years, and at most 1,000 years.
--   Write INTERVAL 3 MONTH, or INTERVAL '36 hours'.
--   docs: errors/P802

-- name: an interval that is added to a number
SELECT COUNT(*) AS n FROM visits WHERE cost + INTERVAL 1 DAY > '2025-01-01'
-- expected:
-- WrongType [P804]: an interval is added to a date or timestamp. At line 1, column 40:
--     SELECT COUNT(*) AS n FROM visits WHERE cost + INTERVAL 1 DAY > '2025-01-01'
--                                            ^^^^
--   The kinds of values must be clear before data is read.
--   docs/sql-coverage.md lists what can be written.
--   docs: errors/P804

-- name: a form of dates that engines read differently
SELECT COUNT(*) AS n FROM visits WHERE STRFTIME(day, '%c') = 'x'
-- expected:
-- NotAllowed [P802]: this form of a date cannot be used. At line 1, column 40:
--     SELECT COUNT(*) AS n FROM visits WHERE STRFTIME(day, '%c') = 'x'
--                                            ^^^^^^^^^^^^
--   Signs mean different things in different engines.
--   Write %Y %y %m %d %j %a %A %b %B %H %M %S, with letters, digits and - / : . , between them.
--   docs: errors/P802

-- name: buckets of three days
SELECT TIME_BUCKET(INTERVAL 3 DAY, day) AS b, COUNT(*) AS n FROM visits GROUP BY b
-- expected:
-- NotAllowed [P802]: buckets of time are one unit wide. At line 1, column 8:
--     SELECT TIME_BUCKET(INTERVAL 3 DAY, day) AS b, COUNT(*) AS n FROM visits GROUP BY b
--            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   The kinds of values must be clear before data is read.
--   Write TIME_BUCKET(INTERVAL 1 WEEK, x), or DATE_TRUNC('week', x).
--   docs: errors/P802

-- section: Groups
-- name: GROUP BY ALL and ORDER BY ALL
SELECT ward, urgent, COUNT(*) AS n FROM visits GROUP BY ALL ORDER BY ALL DESC
-- expected:
-- from visits as t0
-- key ward = t0.ward: text, 3 values ('north', 'south', 'east')
-- key urgent = t0.urgent: boolean, 2 values (False, True)
-- output ward = key(0)
-- output urgent = key(1)
-- output n = aggregate(count)
-- order by key(0) descending
-- order by key(1) descending
-- order by aggregate(count) descending
-- rows of one person: 50

-- name: an approximate count of people is exact before noise
SELECT ward, APPROX_COUNT_DISTINCT(patient_id) AS people FROM visits GROUP BY ward
-- expected:
-- from visits as t0
-- key ward = t0.ward: text, 3 values ('north', 'south', 'east')
-- output ward = key(0)
-- output people = aggregate(t0.patient_id, count distinct)
-- rows of one person: 50

-- section: Joins and subqueries
-- name: the first moment of a person
SELECT AVG(DATE_DIFF('day', first, last)) AS days FROM (SELECT patient_id, MIN(CAST(day AS TIMESTAMP)) AS first, MAX(CAST(day AS TIMESTAMP)) AS last FROM visits GROUP BY patient_id) AS q
-- expected:
-- from one row per person as t1
--   from visits as t0
--   patient_id = t0.patient_id: integer, the person, step 1
--   first = aggregate(cast(t0.day, timestamp), min): timestamp, [1735689600000000, 1767139200000000]
--   last = aggregate(cast(t0.day, timestamp), max): timestamp, [1735689600000000, 1767139200000000]
-- output days = aggregate(date_diff(t1.first, t1.last, 'day'), avg)
-- rows of one person: 1

-- name: a moment of many people
SELECT MIN(CAST(day AS TIMESTAMP)) AS first FROM visits
-- expected:
-- WrongType [P804]: the first and last moment of many people are told by the day. At line 1, column 17:
--     SELECT MIN(CAST(day AS TIMESTAMP)) AS first FROM visits
--                     ^^^
--   They are quantiles of a curve, which has a step for every day.
--   Write MIN(CAST(x AS DATE)).
--   docs: errors/P804

-- name: an average of the same person
SELECT COUNT(*) AS n FROM visits v WHERE cost > (SELECT AVG(w.cost) FROM visits w WHERE w.patient_id = v.patient_id AND w.urgent)
-- expected:
-- from visits as t0
-- left join one row per person as t2 on eq(t2.person_1, t0.patient_id)
--   from visits as t1
--   where t1.urgent
--   person_1 = t1.patient_id: integer, the person, step 1
--   value_1 = aggregate(t1.cost, avg): number, [0, 5000]
-- where gt(t0.cost, t2.value_1)
-- output n = aggregate(count)
-- rows of one person: 50

-- name: a count of the same person's other rows
SELECT AVG((SELECT COUNT(*) FROM drugs d WHERE d.patient_id = p.patient_id)) AS mean FROM patients p
-- expected:
-- from patients as t0
-- left join one row per person as t2 on eq(t2.person_1, t0.patient_id)
--   from drugs as t1
--   person_1 = t1.patient_id: integer, the person, step 1
--   value_1 = aggregate(count): integer, [0, ?], step 1
-- output mean = aggregate(coalesce(t2.value_1, 0), avg)
-- rows of one person: 1

-- name: an average of those of the same ward
SELECT COUNT(*) AS n FROM visits v WHERE cost > (SELECT AVG(w.cost) FROM visits w WHERE w.ward = v.ward)
-- expected:
-- MixesPeople [P807]: this subquery adds up over several people, exactly. At line 1, column 57:
--     SELECT COUNT(*) AS n FROM visits v WHERE cost > (SELECT AVG(w.cost) FROM visits w WHERE w.ward = v.ward)
--                                                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Until noise is added, a row may depend on one person's data alone.
--   Join and group by the declared person, and aggregate over people outside.
--   docs: errors/P807

-- name: QUALIFY inside a person
SELECT ward, COUNT(*) AS n FROM (SELECT ward, patient_id FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) = 1) AS q GROUP BY ward
-- expected:
-- from rows as t2
--   from rows as t1
--     from visits as t0
--     ward = t0.ward: text, 3 values ('north', 'south', 'east')
--     patient_id = t0.patient_id: integer, the person, step 1
--     qualified_1 = window(t0.patient_id, t0.day, row_number by person of t0): integer, [0, ?], step 1
--   where eq(t1.qualified_1, 1)
--   ward = t1.ward: text, 3 values ('north', 'south', 'east')
--   patient_id = t1.patient_id: integer, the person, step 1
-- key ward = t2.ward: text, 3 values ('north', 'south', 'east')
-- output ward = key(0)
-- output n = aggregate(count)
-- rows of one person: 1

-- name: QUALIFY by the name of a window
SELECT COUNT(*) AS n FROM (SELECT *, RANK() OVER (PARTITION BY patient_id ORDER BY day) AS r FROM visits QUALIFY r <= 2 AND cost > 3) AS q
-- expected:
-- from rows as t2
--   from rows as t1
--     from visits as t0
--     visit_id = t0.visit_id: integer, step 1
--     patient_id = t0.patient_id: integer, the person, step 1
--     ward = t0.ward: text, 3 values ('north', 'south', 'east')
--     cost = t0.cost: number, [0, 5000], step 0.01
--     day = t0.day: date, [20089, 20453]
--     diagnosis = t0.diagnosis: text
--     weight = t0.weight: number
--     urgent = t0.urgent: boolean, 2 values (False, True)
--     r = window(t0.patient_id, t0.day, rank by person of t0): integer, [0, ?], step 1
--     qualified_1 = t0.cost: number, [0, 5000], step 0.01
--   where and(le(t1.r, 2), gt(t1.qualified_1, 3))
--   visit_id = t1.visit_id: integer, step 1
--   patient_id = t1.patient_id: integer, the person, step 1
--   ward = t1.ward: text, 3 values ('north', 'south', 'east')
--   cost = t1.cost: number, [0, 5000], step 0.01
--   day = t1.day: date, [20089, 20453]
--   diagnosis = t1.diagnosis: text
--   weight = t1.weight: number
--   urgent = t1.urgent: boolean, 2 values (False, True)
--   r = t1.r: integer, [0, ?], step 1
--   qualified_1 = t1.qualified_1: number, [0, 5000], step 0.01
-- output n = aggregate(count)
-- rows of one person: 50

-- name: QUALIFY over everybody
SELECT COUNT(*) AS n FROM (SELECT ward FROM visits QUALIFY ROW_NUMBER() OVER (ORDER BY day) = 1) AS q
-- expected:
-- MixesPeople [P807]: a window over several people's rows tells them apart. At line 1, column 60:
--     SELECT COUNT(*) AS n FROM (SELECT ward FROM visits QUALIFY ROW_NUMBER() OVER (ORDER BY day) = 1) AS q
--                                                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Until noise is added, a row may depend on one person's data alone.
--   PARTITION BY the person.
--   docs: errors/P807

-- name: QUALIFY beside aggregates
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*)) = 1
-- expected:
-- NotAllowed [P802]: QUALIFY stands in a SELECT of rows, without DISTINCT and aggregates. At line 1, column 62:
--     SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*)) = 1
--                                                                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   It picks rows by a window over them.
--   SELECT ... FROM (SELECT ... FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) = 1).
--   docs: errors/P802

-- section: Conditions and expressions
-- name: a regular expression
SELECT COUNT(*) AS n FROM visits WHERE REGEXP_MATCHES(diagnosis, '^f\w{2,5}(u|x)$') AND diagnosis SIMILAR TO '[a-z]+'
-- expected:
-- from visits as t0
-- where and(matches(t0.diagnosis, '^f[0-9A-Za-z_]{2,5}(u|x)$', 10), matches(t0.diagnosis, '^(?:[a-z]+)$', 4))
-- output n = aggregate(count)
-- rows of one person: 50

-- name: a part of a text
SELECT REGEXP_EXTRACT(diagnosis, '^([a-z]+)-', 1) AS part, COUNT(DISTINCT patient_id) AS n FROM visits GROUP BY part
-- expected:
-- from visits as t0
-- key part = match_part(t0.diagnosis, '^([a-z]+)-', 1, 4): text
-- output part = key(0)
-- output n = aggregate(t0.patient_id, count distinct)
-- rows of one person: 50

-- name: a regular expression that refers back
SELECT COUNT(*) AS n FROM visits WHERE REGEXP_MATCHES(diagnosis, '(a+)\1')
-- expected:
-- NotAllowed [P802]: this regular expression cannot be used: \1 is none of \d \w \s \D \W \S \t \n and escaped signs. At line 1, column 40:
--     SELECT COUNT(*) AS n FROM visits WHERE REGEXP_MATCHES(diagnosis, '(a+)\1')
--                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Only what takes one step for each character is let through, and what all engines read alike.
--   Use signs, [a-z], \d \w \s . ^ $ | ( ) * + ? {2,5}, or LIKE.
--   docs: errors/P802

-- name: a regular expression that looks ahead
SELECT COUNT(*) AS n FROM visits WHERE REGEXP_MATCHES(diagnosis, 'a(?=b)')
-- expected:
-- NotAllowed [P802]: this regular expression cannot be used: it looks ahead or back, names a group or sets a flag. At line 1, column 40:
--     SELECT COUNT(*) AS n FROM visits WHERE REGEXP_MATCHES(diagnosis, 'a(?=b)')
--                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Only what takes one step for each character is let through, and what all engines read alike.
--   Use signs, [a-z], \d \w \s . ^ $ | ( ) * + ? {2,5}, or LIKE.
--   docs: errors/P802

-- name: a regular expression from a column
SELECT COUNT(*) AS n FROM visits WHERE REGEXP_MATCHES(diagnosis, ward)
-- expected:
-- NotAllowed [P802]: a literal is needed here. At line 1, column 66:
--     SELECT COUNT(*) AS n FROM visits WHERE REGEXP_MATCHES(diagnosis, ward)
--                                                                      ^^^^
--   What a row contains may not steer how long it takes.
--   docs/sql-coverage.md lists what can be written.
--   docs: errors/P802

-- name: a regular expression that grows
SELECT COUNT(*) AS n FROM visits WHERE REGEXP_MATCHES(diagnosis, '((a{100}){100}){100}')
-- expected:
-- NotAllowed [P802]: this regular expression cannot be used: it has 1,000,000 parts once its repetitions are written out, and 400 are the most. At line 1, column 40:
--     SELECT COUNT(*) AS n FROM visits WHERE REGEXP_MATCHES(diagnosis, '((a{100}){100}){100}')
--                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Only what takes one step for each character is let through, and what all engines read alike.
--   Use signs, [a-z], \d \w \s . ^ $ | ( ) * + ? {2,5}, or LIKE.
--   docs: errors/P802

-- name: a group that the pattern has not
SELECT COUNT(*) AS n FROM visits WHERE REGEXP_EXTRACT(diagnosis, '(a)', 2) = 'a'
-- expected:
-- WrongType [P804]: the pattern has 1 groups. At line 1, column 40:
--     SELECT COUNT(*) AS n FROM visits WHERE REGEXP_EXTRACT(diagnosis, '(a)', 2) = 'a'
--                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   The kinds of values must be clear before data is read.
--   docs/sql-coverage.md lists what can be written.
--   docs: errors/P804

-- section: Aggregates
-- name: distinct pairs
SELECT COUNT(DISTINCT (ward, diagnosis)) AS n, COUNT(DISTINCT ward, cost) AS m FROM visits
-- expected:
-- from visits as t0
-- output n = aggregate(spelled(t0.ward, t0.diagnosis), count distinct)
-- output m = aggregate_if(spelled(t0.ward, t0.cost), and(not_null(t0.ward), not_null(t0.cost)), count distinct)
-- rows of one person: 50

-- name: MODE
SELECT MODE(ward) AS favourite FROM visits
-- expected:
-- NotAllowed [P802]: MODE cannot be answered privately. At line 1, column 8:
--     SELECT MODE(ward) AS favourite FROM visits
--            ^^^^^^^^^
--   The most frequent value of a few people would be told whoever they are.
--   SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 1
--   docs: errors/P802

-- name: NTILE
SELECT AVG(part) AS a FROM (SELECT NTILE(4) OVER (ORDER BY cost) AS part FROM visits) AS q
-- expected:
-- NotAllowed [P802]: NTILE cannot be answered privately. At line 1, column 36:
--     SELECT AVG(part) AS a FROM (SELECT NTILE(4) OVER (ORDER BY cost) AS part FROM visits) AS q
--                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   Which part a person falls into depends on everybody else.
--   Ask for the thresholds first (QUANTILE_CONT(x, 0.25), ...), and write the released numbers into a CASE.
--   docs: errors/P802

-- section: Joins and subqueries
-- name: rows of one parent
SELECT COUNT(*) AS n FROM stays a JOIN stays b ON a.visit_id = b.visit_id AND a.nights < b.nights
-- expected:
-- from stays as t0
-- join stays as t1 on and(eq(t0.visit_id, t1.visit_id), lt(t0.nights, t1.nights))
-- output n = aggregate(count)
-- rows of one person: 400

-- name: a row with itself
SELECT COUNT(*) AS n FROM visits a JOIN visits b ON a.visit_id = b.visit_id
-- expected:
-- from visits as t0
-- join visits as t1 on eq(t0.visit_id, t1.visit_id)
-- output n = aggregate(count)
-- rows of one person: 50
