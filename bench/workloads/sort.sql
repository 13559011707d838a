-- 500,000 rows, sorted in memory by a text key that is in no order. Run as: sqlite3 :memory: < sort.sql
PRAGMA temp_store = MEMORY;
CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500000)
INSERT INTO t SELECT i, printf('%08x-%d', (i * 2654435761) % 4294967296, i) FROM n;
SELECT count(*), max(name), min(id) FROM (SELECT id, name FROM t ORDER BY name, id LIMIT -1 OFFSET 1);
SELECT sum(length(a)) FROM (SELECT upper(name) || id AS a FROM t ORDER BY a DESC LIMIT 500000);
