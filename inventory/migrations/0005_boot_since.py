from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("inventory", "0004_usage_by_span")]

    operations = [
        migrations.AddField(
            model_name="node",
            name="boot_since",
            field=models.DateTimeField(
                blank=True,
                help_text="first answer of this boot: what was seen before counts no more",
                null=True,
                verbose_name="booted",
            ),
        ),
    ]
