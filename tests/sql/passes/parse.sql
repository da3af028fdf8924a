-- section: Statements
-- name: one SELECT
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward
-- expected:
-- Select: SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward

-- name: a semicolon at the end
SELECT COUNT(*) FROM visits;
-- expected:
-- Select: SELECT COUNT(*) FROM visits

-- name: comments
SELECT COUNT(*) /* people come */ FROM visits -- all of them
-- expected:
-- Select: SELECT COUNT(*) /* people come */ FROM visits /* all of them */

-- name: words in any case
select Count(*) as N from Visits where WARD = 'north'
-- expected:
-- Select: SELECT COUNT(*) AS N FROM Visits WHERE WARD = 'north'

-- name: quoted names
SELECT COUNT(*) FROM "visits" AS "v"
-- expected:
-- Select: SELECT COUNT(*) FROM "visits" AS "v"

-- name: EXPLAIN PRIVATE
EXPLAIN PRIVATE SELECT COUNT(*) FROM visits
-- expected:
-- to be explained
-- Select: SELECT COUNT(*) FROM visits

-- name: several statements
SELECT COUNT(*) FROM visits; SELECT COUNT(*) FROM patients
-- expected:
-- NotAllowed [P802]: one question at a time, and there are 2 statements here.
--   Each question is planned, charged and answered by itself.
--   Send one SELECT.
--   docs: errors/P802

-- name: a second statement behind a comment
SELECT COUNT(*) FROM visits; /* x */ DROP TABLE visits
-- expected:
-- NotAllowed [P802]: one question at a time, and there are 2 statements here.
--   Each question is planned, charged and answered by itself.
--   Send one SELECT.
--   docs: errors/P802

-- name: nothing but a comment
-- only a remark
-- expected:
-- NotAllowed [P802]: one question at a time, and there are 0 statements here.
--   Each question is planned, charged and answered by itself.
--   Send one SELECT.
--   docs: errors/P802

-- name: blanks

-- expected:
-- Unparsable [P801]: a question is a text of 1 to 20,000 signs.
--   There is nothing to answer, or more than anybody could check, or a sign that no text has.
--   Send one SELECT statement.
--   docs: errors/P801

-- name: an open quote
SELECT COUNT(*) FROM visits WHERE ward = 'north
-- expected:
-- Unparsable [P801]: the text is not SQL that can be read: a quote or comment is not closed.
--   It could not be turned into a tree, so nothing about it can be checked.
--   Compare with: SELECT ward, COUNT(*) AS n FROM visits WHERE age >= 18 GROUP BY ward.
--   docs: errors/P801

-- name: an open bracket
SELECT COUNT(* FROM visits
-- expected:
-- Unparsable [P801]: the text is not SQL that can be read. At line 1, column 16:
--     SELECT COUNT(* FROM visits
--                    ^^^^
--   It could not be turned into a tree, so nothing about it can be checked.
--   Compare with: SELECT ward, COUNT(*) AS n FROM visits WHERE age >= 18 GROUP BY ward.
--   docs: errors/P801

-- name: words out of order
SELECT COUNT(*) visits FROM WHERE
-- expected:
-- Unparsable [P801]: the text is not SQL that can be read. At line 1, column 29:
--     SELECT COUNT(*) visits FROM WHERE
--                                 ^^^^^
--   It could not be turned into a tree, so nothing about it can be checked.
--   Compare with: SELECT ward, COUNT(*) AS n FROM visits WHERE age >= 18 GROUP BY ward.
--   docs: errors/P801

-- name: another language
ask how many visits there were in May
-- expected:
-- Unparsable [P801]: the text is not SQL that can be read. At line 1, column 9:
--     ask how many visits there were in May
--             ^^^^
--   It could not be turned into a tree, so nothing about it can be checked.
--   Compare with: SELECT ward, COUNT(*) AS n FROM visits WHERE age >= 18 GROUP BY ward.
--   docs: errors/P801
