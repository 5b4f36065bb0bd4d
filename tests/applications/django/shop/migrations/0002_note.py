from django.db import migrations, models


def fill(apps, _schema_editor):
    apps.get_model("shop", "Order").objects.update(note="from before")


class Migration(migrations.Migration):
    dependencies = [("shop", "0001_initial")]
    operations = [
        migrations.AddField("Order", "note", models.TextField(default="")),
        migrations.AddIndex("Order", models.Index(fields=["placed", "customer"], name="shop_placed")),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
