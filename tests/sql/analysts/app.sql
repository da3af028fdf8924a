-- daily active users
SELECT CAST(occurred_at AS DATE) AS day, COUNT(DISTINCT user_id) AS dau FROM events GROUP BY day ORDER BY day;
-- daily active users, with a cast by colons
SELECT occurred_at::DATE AS day, COUNT(DISTINCT user_id) AS dau FROM events WHERE event = 'open' GROUP BY 1;
-- weekly active users
SELECT DATE_TRUNC('week', occurred_at) AS week, COUNT(DISTINCT user_id) AS wau FROM events GROUP BY week;
-- monthly active users by country
SELECT DATE_TRUNC('month', e.occurred_at) AS month, u.country, COUNT(DISTINCT e.user_id) AS mau
FROM events e JOIN users u ON u.user_id = e.user_id GROUP BY ALL;
-- stickiness
-- waits for: relation
WITH dau AS (SELECT CAST(occurred_at AS DATE) AS day, COUNT(DISTINCT user_id) AS n FROM events WHERE occurred_at >= DATE '2025-11-01' AND occurred_at < DATE '2025-12-01' GROUP BY 1),
mau AS (SELECT COUNT(DISTINCT user_id) AS n FROM events WHERE occurred_at >= DATE '2025-11-01' AND occurred_at < DATE '2025-12-01')
SELECT AVG(dau.n) / MAX(mau.n) AS stickiness FROM dau CROSS JOIN mau;
-- funnel of any order
SELECT COUNT(DISTINCT user_id) FILTER (WHERE event = 'view') AS viewed, COUNT(DISTINCT user_id) FILTER (WHERE event = 'checkout') AS checked_out,
       COUNT(DISTINCT user_id) FILTER (WHERE event = 'purchase') AS bought
FROM events;
-- ordered funnel
WITH steps AS (
  SELECT user_id, MIN(occurred_at) FILTER (WHERE event = 'view') AS viewed, MIN(occurred_at) FILTER (WHERE event = 'add_to_cart') AS added,
         MIN(occurred_at) FILTER (WHERE event = 'purchase') AS bought
  FROM events GROUP BY user_id)
SELECT COUNT(viewed) AS step_1, COUNT(*) FILTER (WHERE added > viewed) AS step_2,
       COUNT(*) FILTER (WHERE added > viewed AND bought > added) AS step_3
FROM steps;
-- ordered funnel by CASE
WITH steps AS (
  SELECT user_id, MIN(CASE WHEN event = 'checkout' THEN occurred_at END) AS checkout_at, MIN(CASE WHEN event = 'purchase' THEN occurred_at END) AS purchase_at
  FROM events GROUP BY user_id)
SELECT SUM(CASE WHEN purchase_at BETWEEN checkout_at AND checkout_at + INTERVAL 1 HOUR THEN 1 ELSE 0 END) AS fast,
       COUNT(checkout_at) AS all_of_them
FROM steps;
-- minutes to convert
WITH steps AS (
  SELECT user_id, MIN(occurred_at) FILTER (WHERE event = 'view') AS viewed, MIN(occurred_at) FILTER (WHERE event = 'purchase') AS bought FROM events GROUP BY user_id)
SELECT MEDIAN(DATE_DIFF('minute', viewed, bought)) AS minutes FROM steps WHERE bought > viewed;
-- day-one retention
SELECT AVG(CASE WHEN EXISTS (SELECT 1 FROM events e WHERE e.user_id = u.user_id AND CAST(e.occurred_at AS DATE) = CAST(u.signed_up_at AS DATE) + 1)
           THEN 1.0 ELSE 0.0 END) AS d1
FROM users u;
-- day-seven retention by week of sign-up
SELECT DATE_TRUNC('week', u.signed_up_at) AS cohort, COUNT(DISTINCT e.user_id) AS returned
FROM users u JOIN events e ON e.user_id = u.user_id AND e.occurred_at >= u.signed_up_at + INTERVAL 7 DAY AND e.occurred_at < u.signed_up_at + INTERVAL 8 DAY
GROUP BY cohort ORDER BY cohort;
-- retention triangle by weeks
SELECT DATE_TRUNC('month', u.signed_up_at) AS cohort, DATE_DIFF('week', u.signed_up_at, e.occurred_at) AS week, COUNT(DISTINCT u.user_id) AS users
FROM users u JOIN events e ON e.user_id = u.user_id WHERE e.occurred_at >= u.signed_up_at GROUP BY 1, 2;
-- sessions by thirty minutes of silence
WITH gaps AS (
  SELECT user_id, occurred_at, LAG(occurred_at) OVER (PARTITION BY user_id ORDER BY occurred_at) AS previous FROM events),
starts AS (SELECT user_id, CASE WHEN previous IS NULL OR DATE_DIFF('minute', previous, occurred_at) > 30 THEN 1 ELSE 0 END AS is_new FROM gaps)
SELECT SUM(is_new) AS sessions, COUNT(DISTINCT user_id) AS users FROM starts;
-- sessions per user, numbered by a running sum
WITH gaps AS (
  SELECT user_id, occurred_at, LAG(occurred_at) OVER (PARTITION BY user_id ORDER BY occurred_at) AS previous FROM events),
numbered AS (
  SELECT user_id, occurred_at, SUM(CASE WHEN previous IS NULL OR occurred_at - previous > INTERVAL 30 MINUTE THEN 1 ELSE 0 END)
    OVER (PARTITION BY user_id ORDER BY occurred_at) AS session FROM gaps)
SELECT AVG(n) AS sessions_per_user FROM (SELECT user_id, COUNT(DISTINCT session) AS n FROM numbered GROUP BY user_id);
-- session length
SELECT device, AVG(DATE_DIFF('second', started_at, ended_at) / 60.0) AS minutes FROM sessions GROUP BY device;
-- session length by epochs
SELECT device, MEDIAN(EPOCH(ended_at) - EPOCH(started_at)) AS seconds FROM sessions GROUP BY device;
-- bounce rate
SELECT device, SUM(CASE WHEN screens = 1 THEN 1 ELSE 0 END) * 1.0 / COUNT(*) AS bounce FROM sessions GROUP BY device ORDER BY bounce;
-- active in the last seven days
SELECT plan, COUNT(*) AS users FROM users u
WHERE EXISTS (SELECT 1 FROM events e WHERE e.user_id = u.user_id AND e.occurred_at >= NOW() - INTERVAL '7 days') GROUP BY plan;
-- churned for thirty days
SELECT COUNT(*) AS churned FROM (SELECT user_id, MAX(occurred_at) AS last_at FROM events GROUP BY user_id) WHERE last_at < TIMESTAMP '2025-12-01 00:00:00' - INTERVAL 30 DAY;
-- days active in a week
SELECT days, COUNT(*) AS users FROM (
  SELECT user_id, COUNT(DISTINCT CAST(occurred_at AS DATE)) AS days FROM events WHERE occurred_at >= '2025-11-03' AND occurred_at < '2025-11-10' GROUP BY user_id)
GROUP BY days ORDER BY days;
-- power users
SELECT COUNT(*) AS power FROM (SELECT user_id FROM events WHERE event = 'purchase' GROUP BY user_id HAVING SUM(value) > 300);
-- conversion by source
SELECT u.source, COUNT(DISTINCT u.user_id) AS users, COUNT(DISTINCT e.user_id) AS buyers
FROM users u LEFT JOIN events e ON e.user_id = u.user_id AND e.event = 'purchase' GROUP BY u.source ORDER BY users DESC LIMIT 20;
-- revenue per user by plan
SELECT u.plan, SUM(e.value) / COUNT(DISTINCT u.user_id) AS arpu FROM users u LEFT JOIN events e ON e.user_id = u.user_id AND e.event = 'purchase' GROUP BY u.plan;
-- first day's events
SELECT AVG(n) AS mean FROM (
  SELECT u.user_id, COUNT(*) AS n FROM users u JOIN events e ON e.user_id = u.user_id
  WHERE e.occurred_at < u.signed_up_at + INTERVAL '24 hours' GROUP BY u.user_id);
-- hour by weekday
SELECT EXTRACT(dow FROM occurred_at) AS weekday, EXTRACT(hour FROM occurred_at) AS hour, COUNT(*) AS events FROM events GROUP BY weekday, hour;
-- cumulative sign-ups
-- waits for: relation
SELECT month, SUM(n) OVER (ORDER BY month) AS so_far FROM (SELECT DATE_TRUNC('month', signed_up_at) AS month, COUNT(*) AS n FROM users GROUP BY 1);
-- invited but never bought
SELECT COUNT(DISTINCT user_id) AS n FROM events
WHERE event = 'invite' AND user_id NOT IN (SELECT user_id FROM events WHERE event = 'purchase');
-- pages by pattern
SELECT REGEXP_EXTRACT(page, '^/([a-z]+)', 1) AS section, COUNT(*) AS views FROM events WHERE event = 'view' GROUP BY section ORDER BY views DESC LIMIT 10;
-- last device before a purchase
WITH last_sessions AS (
  SELECT user_id, device FROM sessions QUALIFY ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY started_at DESC) = 1)
SELECT l.device, COUNT(DISTINCT e.user_id) AS buyers FROM events e JOIN last_sessions l ON l.user_id = e.user_id WHERE e.event = 'purchase' GROUP BY l.device;
-- users by signup week of the year
SELECT WEEKOFYEAR(signed_up_at) AS week, COUNT(*) AS users FROM users WHERE signed_up_at BETWEEN '2025-01-01' AND '2025-06-30' GROUP BY week;
-- quarters of an hour
SELECT TIME_BUCKET(INTERVAL 1 WEEK, occurred_at) AS bucket, COUNT(*) AS n FROM events GROUP BY bucket;
-- top spenders
-- refused: A group is told only if many people share it.
-- rewrite: SELECT AVG(spent) AS mean, QUANTILE_CONT(spent, 0.99) AS top FROM (SELECT user_id, SUM(value) AS spent FROM events WHERE event = 'purchase' GROUP BY user_id)
SELECT user_id, SUM(value) AS spent FROM events WHERE event = 'purchase' GROUP BY user_id ORDER BY spent DESC LIMIT 10;
