-- revenue
SELECT SUM(amount) AS revenue FROM orders WHERE status = 'paid';
-- unnamed aggregates
SELECT COUNT(*), SUM(amount), AVG(amount) FROM orders;
-- revenue by month, GROUP BY ALL
SELECT DATE_TRUNC('month', ordered_at) AS month, SUM(amount) AS revenue FROM orders GROUP BY ALL ORDER BY month;
-- monthly active customers
SELECT STRFTIME(ordered_at, '%Y-%m') AS month, COUNT(DISTINCT customer_id) AS customers FROM orders GROUP BY 1 ORDER BY 1;
-- cohorts by first order
WITH first_orders AS (SELECT customer_id, MIN(ordered_at) AS first_at FROM orders GROUP BY customer_id)
SELECT DATE_TRUNC('month', first_at) AS cohort, COUNT(*) AS customers FROM first_orders GROUP BY cohort ORDER BY cohort;
-- retention by cohort and month
WITH firsts AS (SELECT customer_id, MIN(ordered_at) AS first_at FROM orders GROUP BY customer_id)
SELECT DATE_TRUNC('quarter', f.first_at) AS cohort, DATE_DIFF('month', f.first_at, o.ordered_at) AS months_since,
       COUNT(DISTINCT o.customer_id) AS customers
FROM orders o JOIN firsts f USING (customer_id) GROUP BY 1, 2 ORDER BY 1, 2;
-- repeat purchase rate
SELECT COUNT(*) FILTER (WHERE n >= 2) * 100.0 / COUNT(*) AS repeat_rate
FROM (SELECT customer_id, COUNT(*) AS n FROM orders WHERE status = 'paid' GROUP BY customer_id);
-- days from first to second order
WITH ranked AS (
  SELECT customer_id, ordered_at, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY ordered_at) AS n FROM orders),
pairs AS (
  SELECT customer_id, MIN(ordered_at) FILTER (WHERE n = 1) AS first_at, MIN(ordered_at) FILTER (WHERE n = 2) AS second_at
  FROM ranked GROUP BY customer_id)
SELECT MEDIAN(DATE_DIFF('day', first_at, second_at)) AS days FROM pairs WHERE second_at IS NOT NULL;
-- average days between orders
SELECT AVG(DATE_DIFF('day', previous, ordered_at)) AS days
FROM (SELECT ordered_at, LAG(ordered_at) OVER (PARTITION BY customer_id ORDER BY ordered_at) AS previous FROM orders)
WHERE previous IS NOT NULL;
-- orders of the last thirty days
SELECT COUNT(*) AS orders, SUM(amount) AS revenue FROM orders WHERE ordered_at >= CURRENT_DATE - INTERVAL 30 DAY;
-- this year so far
SELECT SUM(amount) AS revenue FROM orders WHERE YEAR(ordered_at) = YEAR(CURRENT_DATE);
-- average order value by channel
SELECT channel, ROUND(AVG(amount), 2) AS aov, COUNT(*) AS orders FROM orders WHERE status = 'paid' GROUP BY channel ORDER BY aov DESC;
-- top categories by revenue
SELECT p.category, SUM(i.quantity * i.price) AS revenue
FROM order_items i JOIN products p ON p.product_id = i.product_id GROUP BY p.category ORDER BY revenue DESC LIMIT 10;
-- units by product of paid orders
SELECT i.product_id, SUM(i.quantity) AS units
FROM orders o JOIN order_items i ON i.order_id = o.order_id WHERE o.status = 'paid' GROUP BY i.product_id ORDER BY units DESC LIMIT 5;
-- cancellation rate by country
SELECT c.country, AVG(CASE WHEN o.status = 'cancelled' THEN 1.0 ELSE 0 END) AS rate
FROM orders o JOIN customers c ON c.customer_id = o.customer_id GROUP BY c.country;
-- order sizes in buckets
SELECT CASE WHEN amount < 25 THEN 'small' WHEN amount < 100 THEN 'medium' ELSE 'large' END AS size, COUNT(*) AS n
FROM orders GROUP BY size;
-- customers who never ordered, by outer join
-- waits for: keys/rewrites
SELECT COUNT(*) AS sleepers FROM customers c LEFT JOIN orders o ON o.customer_id = c.customer_id WHERE o.order_id IS NULL;
-- customers who never ordered, by NOT EXISTS
SELECT c.country, COUNT(*) AS sleepers FROM customers c
WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.customer_id) GROUP BY c.country;
-- bought toys and books
SELECT COUNT(*) AS both FROM customers c
WHERE EXISTS (SELECT 1 FROM orders o JOIN order_items i ON i.order_id = o.order_id JOIN products p ON p.product_id = i.product_id
              WHERE o.customer_id = c.customer_id AND p.category = 'toys')
  AND EXISTS (SELECT 1 FROM orders o JOIN order_items i ON i.order_id = o.order_id JOIN products p ON p.product_id = i.product_id
              WHERE o.customer_id = c.customer_id AND p.category = 'books');
-- quartiles of order value by channel
SELECT channel, PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY amount) AS q1, MEDIAN(amount) AS q2, QUANTILE_CONT(amount, 0.75) AS q3
FROM orders GROUP BY channel;
-- correlation of discount and value
SELECT CORR(amount, discount) AS r, REGR_SLOPE(amount, discount) AS slope FROM orders WHERE status = 'paid';
-- orders by weekday
SELECT DAYNAME(ordered_at) AS weekday, COUNT(*) AS orders FROM orders GROUP BY weekday ORDER BY orders DESC;
-- first order's channel, QUALIFY
WITH firsts AS (SELECT channel, customer_id FROM orders QUALIFY ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY ordered_at) = 1)
SELECT channel, COUNT(*) AS customers FROM firsts GROUP BY channel;
-- growth of revenue month over month
-- waits for: relation
WITH monthly AS (SELECT DATE_TRUNC('month', ordered_at) AS month, SUM(amount) AS revenue FROM orders GROUP BY 1)
SELECT month, revenue, revenue / LAG(revenue) OVER (ORDER BY month) - 1 AS growth FROM monthly ORDER BY month;
-- share of revenue by channel
-- waits for: relation
SELECT channel, SUM(amount) / SUM(SUM(amount)) OVER () AS share FROM orders GROUP BY channel;
-- buyers with and without coupon
-- waits for: keys/rewrites
SELECT COUNT(DISTINCT CASE WHEN coupon IS NOT NULL THEN customer_id END) AS with_coupon, COUNT(DISTINCT customer_id) AS all_buyers FROM orders;
-- recency of customers
SELECT CASE WHEN days <= 30 THEN 'active' WHEN days <= 90 THEN 'cooling' ELSE 'lost' END AS recency, COUNT(*) AS customers
FROM (SELECT customer_id, DATE_DIFF('day', MAX(ordered_at), TIMESTAMP '2025-12-31 00:00:00') AS days FROM orders GROUP BY customer_id)
GROUP BY recency;
-- spend quartiles
-- refused: Which part a person falls into depends on everybody else.
-- rewrite: SELECT CASE WHEN total < 50 THEN 1 WHEN total < 150 THEN 2 WHEN total < 400 THEN 3 ELSE 4 END AS quartile, AVG(total) AS mean FROM (SELECT customer_id, SUM(amount) AS total FROM orders GROUP BY customer_id) GROUP BY quartile
SELECT quartile, AVG(total) AS mean FROM (
  SELECT total, NTILE(4) OVER (ORDER BY total) AS quartile FROM (SELECT customer_id, SUM(amount) AS total FROM orders GROUP BY customer_id))
GROUP BY quartile;
-- favourite channel
-- refused: The most frequent value of a few people would be told whoever they are.
-- rewrite: SELECT channel, COUNT(*) AS n FROM orders GROUP BY channel ORDER BY n DESC LIMIT 1
SELECT MODE(channel) AS favourite FROM orders;
-- products bought together
SELECT a.product_id AS one, b.product_id AS other, COUNT(*) AS n
FROM order_items a JOIN order_items b ON a.order_id = b.order_id AND a.product_id < b.product_id
GROUP BY one, other ORDER BY n DESC LIMIT 10;
-- orders above the customer's own average
SELECT COUNT(*) AS n FROM orders o WHERE amount > (SELECT AVG(o2.amount) FROM orders o2 WHERE o2.customer_id = o.customer_id);
-- coupons by pattern
SELECT COUNT(*) AS n FROM orders WHERE REGEXP_MATCHES(coupon, '^SUMMER[0-9]{2}$');
-- hours from order to shipping
SELECT channel, AVG(DATE_DIFF('hour', ordered_at, shipped_at)) AS hours FROM orders WHERE shipped_at > ordered_at GROUP BY channel;
-- customers older than sixty by decade of birth
-- waits for: keys/rewrites
SELECT FLOOR(birth_year / 10) * 10 AS decade, COUNT(*) AS customers FROM customers WHERE 2025 - birth_year > 60 GROUP BY decade ORDER BY decade;
-- spread of order value on a log scale
SELECT channel, STDDEV(LN(amount + 1)) AS spread, AVG(LOG10(amount + 1)) AS mean FROM orders GROUP BY channel;
