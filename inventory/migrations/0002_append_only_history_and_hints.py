"""Append-only trail, readings by day, and hints of what changed: what Django's models cannot say."""

from django.db import migrations

APPEND_ONLY = """
CREATE FUNCTION inventory_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- The test runner empties tables between tests; nothing else sets this.
  IF current_setting('allot.test_flush', true) = 'on' THEN RETURN NULL; END IF;
  RAISE EXCEPTION 'the trail is append-only: % on % refused', TG_OP, TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON inventory_event
  FOR EACH STATEMENT EXECUTE FUNCTION inventory_refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON inventory_eventseal
  FOR EACH STATEMENT EXECUTE FUNCTION inventory_refuse_change();
"""
NOT_APPEND_ONLY = """
DROP TRIGGER append_only ON inventory_event;
DROP TRIGGER append_only ON inventory_eventseal;
DROP FUNCTION inventory_refuse_change();
"""

# One partition a day (UTC); the default one only catches what comes before somebody made the day's.
HISTORY = """
CREATE TABLE inventory_readinghistory (
  requested_at timestamptz NOT NULL,
  gpu_id bigint NOT NULL,
  holder varchar(80),
  generation bigint NOT NULL,
  draining boolean NOT NULL,
  util_pct double precision,
  mem_used_mib integer,
  power_w double precision,
  temperature_c double precision,
  running integer,
  PRIMARY KEY (requested_at, gpu_id)
) PARTITION BY RANGE (requested_at);
CREATE INDEX reading_history_by_gpu ON inventory_readinghistory (gpu_id, requested_at);
CREATE TABLE inventory_readinghistory_rest PARTITION OF inventory_readinghistory DEFAULT;

CREATE FUNCTION inventory_make_day(day date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE name text := 'inventory_readinghistory_' || to_char(day, 'YYYYMMDD');
BEGIN
  IF to_regclass(name) IS NULL THEN
    EXECUTE format('CREATE TABLE IF NOT EXISTS %I PARTITION OF inventory_readinghistory FOR VALUES FROM (%L) TO (%L)',
      name, day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC');
  END IF;
END $$;
SELECT inventory_make_day((now() AT TIME ZONE 'UTC')::date + d) FROM generate_series(-1, 7) d;
"""
NO_HISTORY = """
DROP TABLE inventory_readinghistory CASCADE;
DROP FUNCTION inventory_make_day(date);
"""

# Hints only: a page that hears one asks again; a lost one costs a polling interval.
HINTS = """
CREATE FUNCTION inventory_hint_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_notify('allot', split_part(NEW.verb, '.', 1)); RETURN NULL; END $$;
CREATE TRIGGER hint AFTER INSERT ON inventory_event FOR EACH ROW EXECUTE FUNCTION inventory_hint_event();

CREATE FUNCTION inventory_hint_survey() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_notify('allot', 'survey'); RETURN NULL; END $$;
CREATE TRIGGER hint AFTER INSERT ON inventory_survey FOR EACH STATEMENT EXECUTE FUNCTION inventory_hint_survey();
"""
NO_HINTS = """
DROP TRIGGER hint ON inventory_event;
DROP TRIGGER hint ON inventory_survey;
DROP FUNCTION inventory_hint_event();
DROP FUNCTION inventory_hint_survey();
"""


class Migration(migrations.Migration):
    dependencies = [("inventory", "0001_initial")]

    operations = [
        migrations.RunSQL(APPEND_ONLY, NOT_APPEND_ONLY),
        migrations.RunSQL(HISTORY, NO_HISTORY),
        migrations.RunSQL(HINTS, NO_HINTS),
    ]
