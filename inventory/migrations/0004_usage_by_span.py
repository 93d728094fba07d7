"""Gap-free columns of the history, and use in spans of five minutes and of an hour: what Django's models cannot say."""

from django.db import migrations

COLUMNS = """
ALTER TABLE inventory_readinghistory
  ADD COLUMN util_peak_pct double precision,
  ADD COLUMN engine_pct double precision,
  ADD COLUMN energy_j double precision;
"""
NO_COLUMNS = """
ALTER TABLE inventory_readinghistory DROP COLUMN util_peak_pct, DROP COLUMN engine_pct, DROP COLUMN energy_j;
"""

# Five minutes in a partition a day (UTC), hours in one a month; the default ones only catch what comes too early.
USAGE = """
CREATE TABLE inventory_usage5min (
  begins_at timestamptz NOT NULL,
  gpu_id bigint NOT NULL,
  holder varchar(80) NOT NULL DEFAULT '',
  valid integer NOT NULL CHECK (valid >= 0),
  util_min_pct double precision,
  util_mean_pct double precision,
  util_max_pct double precision,
  power_mean_w double precision,
  mem_max_mib integer,
  busy_s double precision NOT NULL CHECK (busy_s >= 0),
  idle_s double precision NOT NULL CHECK (idle_s >= 0),
  unknown_s double precision NOT NULL CHECK (unknown_s >= 0),
  PRIMARY KEY (begins_at, gpu_id, holder)
) PARTITION BY RANGE (begins_at);
CREATE INDEX usage5min_by_gpu ON inventory_usage5min (gpu_id, begins_at);
CREATE TABLE inventory_usage5min_rest PARTITION OF inventory_usage5min DEFAULT;

CREATE TABLE inventory_usagehour (LIKE inventory_usage5min INCLUDING DEFAULTS INCLUDING CONSTRAINTS,
  PRIMARY KEY (begins_at, gpu_id, holder)) PARTITION BY RANGE (begins_at);
CREATE INDEX usagehour_by_gpu ON inventory_usagehour (gpu_id, begins_at);
CREATE TABLE inventory_usagehour_rest PARTITION OF inventory_usagehour DEFAULT;

CREATE FUNCTION inventory_make_usage(day date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  month date := date_trunc('month', day)::date;
  next_month date := (date_trunc('month', day) + interval '1 month')::date;
BEGIN
  EXECUTE format('CREATE TABLE IF NOT EXISTS %I PARTITION OF inventory_usage5min FOR VALUES FROM (%L) TO (%L)',
    'inventory_usage5min_' || to_char(day, 'YYYYMMDD'),
    day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC');
  EXECUTE format('CREATE TABLE IF NOT EXISTS %I PARTITION OF inventory_usagehour FOR VALUES FROM (%L) TO (%L)',
    'inventory_usagehour_' || to_char(month, 'YYYYMM'),
    month::timestamp AT TIME ZONE 'UTC', next_month::timestamp AT TIME ZONE 'UTC');
END $$;
SELECT inventory_make_usage((now() AT TIME ZONE 'UTC')::date + d) FROM generate_series(-1, 7) d;
"""
NO_USAGE = """
DROP TABLE inventory_usage5min CASCADE;
DROP TABLE inventory_usagehour CASCADE;
DROP FUNCTION inventory_make_usage(date);
"""


class Migration(migrations.Migration):
    dependencies = [("inventory", "0003_nodes_for_real")]

    operations = [
        migrations.RunSQL(COLUMNS, NO_COLUMNS),
        migrations.RunSQL(USAGE, NO_USAGE),
    ]
