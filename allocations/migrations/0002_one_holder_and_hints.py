"""A card and its MIG instances exclude each other; moves give hints to the pages."""

from django.db import migrations

SLICES = """
CREATE FUNCTION allocations_set_slice() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- A card covers every slice of itself, an instance the one numbered by its own id: the exclusion constraint does the rest.
  SELECT COALESCE(parent_id, id), CASE kind WHEN 'mig' THEN int8range(id, id + 1) ELSE int8range(NULL, NULL) END
    INTO NEW.card_id, NEW.slice FROM inventory_gpu WHERE id = NEW.gpu_id;
  RETURN NEW;
END $$;
CREATE TRIGGER set_slice BEFORE INSERT OR UPDATE ON allocations_assignment
  FOR EACH ROW EXECUTE FUNCTION allocations_set_slice();
CREATE TRIGGER set_slice BEFORE INSERT OR UPDATE ON allocations_holding
  FOR EACH ROW EXECUTE FUNCTION allocations_set_slice();
"""
NO_SLICES = """
DROP TRIGGER set_slice ON allocations_assignment;
DROP TRIGGER set_slice ON allocations_holding;
DROP FUNCTION allocations_set_slice();
"""

HINTS = """
CREATE FUNCTION allocations_hint_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_notify('allot', 'move'); RETURN NULL; END $$;
CREATE TRIGGER hint AFTER INSERT OR UPDATE ON allocations_move FOR EACH STATEMENT EXECUTE FUNCTION allocations_hint_move();
"""
NO_HINTS = """
DROP TRIGGER hint ON allocations_move;
DROP FUNCTION allocations_hint_move();
"""


class Migration(migrations.Migration):
    dependencies = [("allocations", "0001_initial"), ("inventory", "0002_append_only_history_and_hints")]

    operations = [migrations.RunSQL(SLICES, NO_SLICES), migrations.RunSQL(HINTS, NO_HINTS)]
