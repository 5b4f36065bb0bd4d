from django.db import migrations, models

TRIGGER = """
CREATE TRIGGER shop_order_change AFTER UPDATE ON shop_order FOR EACH ROW
BEGIN
  IF NEW.amount <> OLD.amount THEN
    INSERT INTO shop_change (`order`, what) VALUES (NEW.id, CONCAT('amount ', OLD.amount, ' to ', NEW.amount));
  END IF;
END
"""


class Migration(migrations.Migration):
    initial = True
    operations = [
        migrations.CreateModel(
            name="Order",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("customer", models.CharField(max_length=100, db_index=True)),
                ("amount", models.DecimalField(max_digits=10, decimal_places=2)),
                ("placed", models.DateTimeField()),
                ("details", models.JSONField(default=dict)),
            ],
        ),
        migrations.CreateModel(
            name="Change",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("order", models.BigIntegerField()),
                ("what", models.CharField(max_length=100)),
            ],
        ),
        migrations.RunSQL([TRIGGER], ["DROP TRIGGER shop_order_change"]),
    ]
