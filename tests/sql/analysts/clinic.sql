-- visits and patients by ward
SELECT ward, COUNT(*) AS visits, COUNT(DISTINCT patient_id) AS patients FROM visits GROUP BY ward;
-- length of stay in hours
SELECT ward, AVG(DATE_DIFF('hour', admitted_at, discharged_at)) AS hours FROM visits GROUP BY ward;
-- length of stay from a difference of timestamps
SELECT ward, AVG(EXTRACT(EPOCH FROM discharged_at - admitted_at) / 86400) AS days FROM visits GROUP BY ward;
-- readmission within thirty days
SELECT COUNT(*) AS readmitted FROM visits v
WHERE EXISTS (SELECT 1 FROM visits w WHERE w.patient_id = v.patient_id AND w.admitted_at > v.discharged_at
              AND w.admitted_at <= v.discharged_at + INTERVAL 30 DAY);
-- readmission rate by LEAD
WITH nexts AS (
  SELECT ward, discharged_at, LEAD(admitted_at) OVER (PARTITION BY patient_id ORDER BY admitted_at) AS next_at FROM visits)
SELECT ward, AVG(CASE WHEN next_at < discharged_at + INTERVAL '30 days' THEN 1 ELSE 0 END) AS rate FROM nexts GROUP BY ward;
-- patients by age group today
SELECT CASE WHEN age < 18 THEN '0-17' WHEN age < 40 THEN '18-39' WHEN age < 65 THEN '40-64' ELSE '65+' END AS age_group, COUNT(*) AS n
FROM (SELECT patient_id, DATE_DIFF('year', birth_date, CURRENT_DATE) AS age FROM patients) GROUP BY age_group ORDER BY age_group;
-- average age at admission
SELECT v.ward, AVG(DATE_DIFF('year', p.birth_date, v.admitted_at)) AS age
FROM visits v JOIN patients p ON p.patient_id = v.patient_id GROUP BY v.ward;
-- median and 95th percentile of waiting
SELECT ward, MEDIAN(wait_minutes) AS p50, QUANTILE_CONT(wait_minutes, 0.95) AS p95 FROM visits GROUP BY ward;
-- most common diagnoses
SELECT d.code, COUNT(*) AS n FROM diagnoses d GROUP BY d.code ORDER BY n DESC LIMIT 10;
-- patients by chapter of their diagnosis
SELECT LEFT(d.code, 1) AS chapter, COUNT(DISTINCT v.patient_id) AS patients
FROM diagnoses d JOIN visits v ON v.visit_id = d.visit_id GROUP BY chapter ORDER BY patients DESC;
-- diabetes and hypertension
SELECT COUNT(*) AS both FROM patients p
WHERE EXISTS (SELECT 1 FROM visits v JOIN diagnoses d ON d.visit_id = v.visit_id WHERE v.patient_id = p.patient_id AND d.code LIKE 'E11%')
  AND EXISTS (SELECT 1 FROM visits v JOIN diagnoses d ON d.visit_id = v.visit_id WHERE v.patient_id = p.patient_id AND d.code LIKE 'I10%');
-- diabetes by regular expression
SELECT COUNT(DISTINCT v.patient_id) AS patients FROM visits v JOIN diagnoses d ON d.visit_id = v.visit_id
WHERE REGEXP_MATCHES(d.code, '^E1[0-4](\.[0-9])?$');
-- patients and wards together
SELECT COUNT(DISTINCT (patient_id, ward)) AS pairs FROM visits;
-- distinct pairs, two arguments
SELECT COUNT(DISTINCT ward, doctor_id) AS pairs FROM visits;
-- cost by specialty
SELECT s.specialty, SUM(v.cost) AS cost, AVG(v.cost) AS mean FROM visits v JOIN doctors s ON s.doctor_id = v.doctor_id GROUP BY s.specialty;
-- cost per patient
SELECT AVG(total) AS mean, MEDIAN(total) AS median FROM (SELECT patient_id, SUM(cost) AS total FROM visits GROUP BY patient_id);
-- frequent visitors
SELECT COUNT(*) AS n FROM (SELECT patient_id FROM visits GROUP BY patient_id HAVING COUNT(*) >= 5) AS frequent;
-- three visits within ninety days
SELECT COUNT(DISTINCT patient_id) AS n FROM (
  SELECT patient_id, admitted_at, LAG(admitted_at, 2) OVER (PARTITION BY patient_id ORDER BY admitted_at) AS before FROM visits)
WHERE DATE_DIFF('day', before, admitted_at) <= 90;
-- new or returning
SELECT CASE WHEN EXISTS (SELECT 1 FROM visits w WHERE w.patient_id = v.patient_id AND w.admitted_at < v.admitted_at)
            THEN 'returning' ELSE 'new' END AS kind, COUNT(*) AS visits
FROM visits v GROUP BY kind;
-- visits by month and ward with totals
SELECT ward, DATE_TRUNC('month', admitted_at) AS month, COUNT(*) AS n FROM visits GROUP BY ROLLUP (ward, month);
-- rolling average of daily visits
-- waits for: relation
WITH daily AS (SELECT CAST(admitted_at AS DATE) AS day, COUNT(*) AS n FROM visits GROUP BY 1)
SELECT day, AVG(n) OVER (ORDER BY day ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS week FROM daily ORDER BY day;
-- patients by year of birth
-- waits for: keys/rewrites
SELECT EXTRACT(year FROM birth_date) AS year, COUNT(*) AS n FROM patients GROUP BY year ORDER BY year;
-- cost against age
SELECT CORR(v.cost, DATE_DIFF('year', p.birth_date, v.admitted_at)) AS r FROM visits v JOIN patients p ON p.patient_id = v.patient_id;
-- cost against waiting, by ward
SELECT ward, COVAR_POP(cost, wait_minutes) AS c, REGR_INTERCEPT(cost, wait_minutes) AS a, REGR_R2(cost, wait_minutes) AS r2
FROM visits GROUP BY ward;
-- night admissions
SELECT COUNT(*) AS nights FROM visits WHERE EXTRACT(hour FROM admitted_at) >= 22 OR EXTRACT(hour FROM admitted_at) < 6;
-- weekend share
SELECT ward, AVG(CAST(EXTRACT(isodow FROM admitted_at) IN (6, 7) AS INTEGER)) AS weekend FROM visits GROUP BY ward;
-- first ward of each patient
SELECT ward, COUNT(*) AS patients FROM (
  SELECT patient_id, ward, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY admitted_at) AS n FROM visits) WHERE n = 1 GROUP BY ward;
-- days from first visit to first urgent one
WITH marks AS (
  SELECT patient_id, MIN(admitted_at) AS first_at, MIN(CASE WHEN urgent THEN admitted_at END) AS urgent_at FROM visits GROUP BY patient_id)
SELECT AVG(DATE_DIFF('day', first_at, urgent_at)) AS days FROM marks WHERE urgent_at IS NOT NULL;
-- notes that mention smoking
SELECT p.smoker, COUNT(*) AS n FROM visits v JOIN patients p USING (patient_id) WHERE v.note ILIKE '%smok%' GROUP BY p.smoker;
-- approximate forms
SELECT APPROX_COUNT_DISTINCT(patient_id) AS patients, APPROX_QUANTILE(cost, 0.5) AS median FROM visits;
-- dearest visit of each patient
SELECT AVG(v.cost) AS mean FROM visits v WHERE v.cost = (SELECT MAX(w.cost) FROM visits w WHERE w.patient_id = v.patient_id);
-- doctors above the mean
-- waits for: relation
WITH means AS (SELECT doctor_id, AVG(cost) AS mean FROM visits GROUP BY doctor_id)
SELECT doctor_id, mean, RANK() OVER (ORDER BY mean DESC) AS place FROM means WHERE mean > (SELECT AVG(mean) FROM means);
-- severe cases in each region
SELECT p.region, COUNT(DISTINCT p.patient_id) AS patients, AVG(d.severity) AS severity
FROM patients p JOIN visits v ON v.patient_id = p.patient_id JOIN diagnoses d ON d.visit_id = v.visit_id
WHERE d.severity >= 4 GROUP BY p.region HAVING COUNT(DISTINCT p.patient_id) > 10;
