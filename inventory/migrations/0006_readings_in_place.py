"""A newer reading takes the place of the one before: no check and no index of its survey, and room on each page."""

import django.db.models.deletion
from django.db import migrations, models

# Half of each page is left for the next version of its rows, so that no index has to follow them.
ROOM = """
ALTER TABLE inventory_reading SET (fillfactor = 50);
ALTER TABLE inventory_activity SET (fillfactor = 50);
"""
NO_ROOM = """
ALTER TABLE inventory_reading RESET (fillfactor);
ALTER TABLE inventory_activity RESET (fillfactor);
"""


class Migration(migrations.Migration):
    dependencies = [("inventory", "0005_boot_since")]

    operations = [
        migrations.AlterField(
            model_name="reading",
            name="survey",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="inventory.survey",
            ),
        ),
        migrations.RunSQL(ROOM, NO_ROOM),
    ]
