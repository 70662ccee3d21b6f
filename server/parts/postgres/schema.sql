-- The tables and functions by which servers share accounts. The server that finds none makes them.
-- A changed file needs another number in schema.ts.

CREATE SCHEMA hcqs;

CREATE TABLE hcqs.installed (schema_version integer NOT NULL);

-- One row for each change of accounts, keys and events. The highest version is the current one.
CREATE TABLE hcqs.changes (
  version bigint PRIMARY KEY,
  id uuid NOT NULL UNIQUE -- after a restore, versions are given again, but no ids
);

-- The rows of the servers' own tables of accounts, keys, events, deliveries and signups.
CREATE TABLE hcqs.rows (
  name text PRIMARY KEY, -- the table and the primary key, such as keys:12
  version bigint NOT NULL, -- of the row's last change
  content text -- JSON; null for a deleted row
);
CREATE INDEX rows_version ON hcqs.rows (version, name);

-- The ceilings and counts of accounts. No column that `take` changes has an index, so that updates stay in their page.
CREATE TABLE hcqs.limits (
  account bigint PRIMARY KEY,
  rate integer NOT NULL, -- requests per second
  quota integer NOT NULL, -- requests per UTC month
  month integer NOT NULL, -- the newest month counted: 12 times the year, plus 0 for January
  used integer NOT NULL, -- permits granted in that month
  used_before integer NOT NULL, -- permits granted in the month before
  level double precision NOT NULL, -- tokens of the bucket at the time `at`
  at timestamptz NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);

-- What `used` was at the end of each UTC day with requests.
CREATE TABLE hcqs.days (
  account bigint NOT NULL,
  day date NOT NULL,
  used integer NOT NULL,
  PRIMARY KEY (account, day)
);

-- Whose turn it is to deliver events; and calls of `take` with an id, which must count once.
CREATE TABLE hcqs.turns (
  name text PRIMARY KEY,
  holder text NOT NULL,
  until timestamptz NOT NULL
);

CREATE FUNCTION hcqs.month_of(at timestamptz) RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT (12 * extract(year FROM at AT TIME ZONE 'UTC') + extract(month FROM at AT TIME ZONE 'UTC') - 1)::integer
$$;

-- Grants permits. `wants` and `backs` are numbers of permits for each account; `backs` are unused permits of the month
-- in `back_months`. With an id, the call counts requests that were admitted without permits: `wants` is 0 and `backs`
-- is negative. A call whose id is known counts nothing.
-- Returns a row for each known account: permits granted, permits used in `month` by all servers, and the milliseconds
-- until the bucket has a token; and the same version of the directory and month in each row.
CREATE FUNCTION hcqs.take(accounts bigint[], wants integer[], backs integer[], back_months integer[], id uuid)
RETURNS TABLE (account bigint, granted integer, used integer, wait_ms double precision, version bigint, month integer)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan -- without it, the statements are planned anew in each call
AS $$
#variable_conflict use_column
DECLARE
  now_at timestamptz;
  now_month integer;
  newest bigint;
BEGIN
  IF id IS NOT NULL THEN
    DELETE FROM hcqs.turns t WHERE t.name LIKE 'count:%' AND t.until < clock_timestamp();
    INSERT INTO hcqs.turns VALUES ('count:' || id, '', clock_timestamp() + interval '62 days')
      ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
      backs := array_fill(0, ARRAY[cardinality(accounts)]);
    END IF;
  END IF;
  -- All calls lock in the order of ids. Without the order, two calls could wait for each other.
  PERFORM FROM hcqs.limits l WHERE l.account = ANY (accounts) ORDER BY l.account FOR UPDATE;
  -- The clock is read after the locks, because before them it may precede a row's last change.
  now_at := clock_timestamp();
  now_month := hcqs.month_of(now_at);
  newest := (SELECT max(c.version) FROM hcqs.changes c);

  INSERT INTO hcqs.days AS d
    SELECT l.account, (l.at AT TIME ZONE 'UTC')::date, l.used FROM hcqs.limits l
    WHERE l.account = ANY (accounts) AND (l.at AT TIME ZONE 'UTC')::date < (now_at AT TIME ZONE 'UTC')::date
      AND l.month = hcqs.month_of(l.at)
    ON CONFLICT ON CONSTRAINT days_pkey DO UPDATE SET used = excluded.used;
  IF FOUND THEN
    DELETE FROM hcqs.days d WHERE d.account = ANY (accounts) AND d.day < (now_at - interval '62 days')::date;
  END IF;

  RETURN QUERY
  WITH asked AS (
    SELECT * FROM unnest(accounts, wants, backs, back_months) AS a (account, want, back, back_month)
  ), counted AS (
    SELECT a.*, l.rate, l.quota, greatest(l.month, now_month) AS month,
      CASE WHEN l.month < now_month THEN 0 ELSE l.used END AS used,
      CASE WHEN l.month >= now_month THEN l.used_before WHEN l.month = now_month - 1 THEN l.used ELSE 0 END
        AS used_before,
      least(l.rate + 1, l.level + l.rate * greatest(0, extract(epoch FROM now_at - l.at)::double precision))
        AS level
    FROM hcqs.limits l JOIN asked a USING (account)
  ), returned AS (
    SELECT c.account, c.want, c.rate, c.quota, c.month, c.level,
      greatest(0, c.used - CASE WHEN c.back_month = c.month THEN c.back ELSE 0 END) AS used,
      greatest(0, c.used_before - CASE WHEN c.back_month = c.month - 1 THEN c.back ELSE 0 END) AS used_before
    FROM counted c
  ), granted AS (
    SELECT r.*, greatest(0, least(r.want, floor(r.level)::integer,
      r.quota - CASE WHEN r.month = now_month THEN r.used ELSE r.used_before END)) AS n
    FROM returned r
  )
  UPDATE hcqs.limits l SET
    month = g.month,
    used = CASE WHEN g.month = now_month THEN g.used + g.n ELSE g.used END,
    used_before = CASE WHEN g.month = now_month THEN g.used_before ELSE g.used_before + g.n END,
    level = g.level - g.n,
    at = now_at
  FROM granted g WHERE l.account = g.account
  RETURNING l.account, g.n, CASE WHEN l.month = now_month THEN l.used ELSE l.used_before END,
    greatest(0, (1 - l.level) * 1000 / l.rate), newest, now_month;
END
$$;

-- Makes the change `id` of the directory, if `expected` with `expected_id` is its version. The ceilings of the changed
-- accounts are in force at the commit. `counts` are the use and the days of imported accounts.
-- Returns the new version; null if the directory has another version. A repeated call returns the same version.
CREATE FUNCTION hcqs.change(
  expected bigint, expected_id uuid, id uuid, names text[], contents text[], counts jsonb
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  made bigint;
  changed bigint[];
BEGIN
  made := (SELECT c.version FROM hcqs.changes c WHERE c.id = change.id);
  IF made IS NOT NULL THEN
    RETURN made;
  END IF;
  IF expected > 0 AND NOT EXISTS (
    SELECT FROM hcqs.changes c WHERE c.version = expected AND c.id = expected_id
  ) THEN
    RETURN NULL;
  END IF;
  -- Versions have no gaps, so the insertion fails unless `expected` is the highest.
  INSERT INTO hcqs.changes VALUES (expected + 1, change.id) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    RETURN (SELECT c.version FROM hcqs.changes c WHERE c.id = change.id);
  END IF;
  INSERT INTO hcqs.rows SELECT r.name, expected + 1, r.content FROM unnest(names, contents) AS r (name, content)
    ON CONFLICT (name) DO UPDATE SET version = excluded.version, content = excluded.content;

  changed := ARRAY(
    SELECT substr(n, 10)::bigint FROM unnest(names) AS n WHERE n LIKE 'accounts:%' ORDER BY 1
  );
  PERFORM FROM hcqs.limits l WHERE l.account = ANY (changed) ORDER BY l.account FOR UPDATE;
  -- The row of a deleted account has no name.
  DELETE FROM hcqs.limits l USING hcqs.rows r
    WHERE l.account = ANY (changed) AND r.name = 'accounts:' || l.account AND r.content::jsonb ->> 'name' IS NULL;
  DELETE FROM hcqs.days d WHERE d.account = ANY (changed)
    AND NOT EXISTS (SELECT FROM hcqs.limits l WHERE l.account = d.account);
  INSERT INTO hcqs.limits
    SELECT a.account, a.rate, a.quota, hcqs.month_of(clock_timestamp()), 0, 0, a.rate + 1, clock_timestamp()
    FROM (
      SELECT each.account, (r.content::jsonb ->> 'burst')::integer AS rate,
        (r.content::jsonb ->> 'quota')::integer AS quota
      FROM unnest(changed) AS each (account) JOIN hcqs.rows r ON r.name = 'accounts:' || each.account
      WHERE r.content::jsonb ->> 'name' IS NOT NULL
    ) a ORDER BY a.account
    ON CONFLICT (account) DO UPDATE SET rate = excluded.rate, quota = excluded.quota;
  IF counts IS NOT NULL THEN
    UPDATE hcqs.limits l SET used = c.used, used_before = c.used_before, month = c.month
      FROM jsonb_to_recordset(counts -> 'months') AS c (account bigint, month integer, used integer, used_before integer)
      WHERE l.account = c.account;
    INSERT INTO hcqs.days
      SELECT d.account, d.day, d.used
      FROM jsonb_to_recordset(counts -> 'days') AS d (account bigint, day date, used integer)
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN expected + 1;
END
$$;

-- Takes or renews a turn for some seconds. Returns whether `holder` has it now.
CREATE FUNCTION hcqs.take_turn(name text, holder text, seconds double precision) RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  INSERT INTO hcqs.turns AS t
    VALUES (take_turn.name, take_turn.holder, clock_timestamp() + make_interval(secs => seconds))
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
    WHERE t.holder = excluded.holder OR t.until < clock_timestamp();
  RETURN FOUND;
END
$$;
