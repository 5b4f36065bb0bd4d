import os
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

sys.path.insert(0, os.path.dirname(__file__))
os.environ["DJANGO_SETTINGS_MODULE"] = "settings"

import django

django.setup()

from django.contrib.auth.models import User
from django.core.management import call_command
from django.db.models import Count
from django.db.models.functions import TruncDate, TruncHour
from django.utils import timezone
from shop.models import Change, Order

call_command("migrate", verbosity=0, app_label="shop", migration_name="0001")
call_command("migrate", verbosity=0, app_label="auth")
call_command("migrate", verbosity=0, app_label="admin")
call_command("migrate", verbosity=0, app_label="sessions")
print("ok migrate")

# Every 7 hours across the change to daylight saving time in March, in Europe and in America.
begin = datetime(2026, 3, 1, 0, 30, tzinfo=UTC)
placed = [begin + timedelta(hours=7 * step) for step in range(150)]
before = [field for field in Order._meta.get_fields() if field.name != "note"]
columns = [field.column for field in before if field.column != "id"]
from django.db import connection

with connection.cursor() as cursor:
    cursor.executemany(
        f"INSERT INTO shop_order ({', '.join(columns)}) VALUES ({', '.join(['%s'] * len(columns))})",
        [(f"customer {n % 7}", Decimal("12.50"), at.replace(tzinfo=None), '{"n": %d}' % n) for n, at in enumerate(placed)],
    )
user = User.objects.create_user("anna", "anna@example.com", "a password")
Order.objects.filter(id__lte=10).update(amount=Decimal("13.75"))
print("ok write")

orders = Order.objects.defer("note")
for zone in [ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York"), ZoneInfo("Asia/Kolkata")]:
    with timezone.override(zone):
        expected = Counter(at.astimezone(zone).date() for at in placed)
        for day, count in expected.items():
            assert orders.filter(placed__date=day).count() == count, (zone, day)
        by_day = orders.annotate(day=TruncDate("placed")).values("day").annotate(n=Count("id"))
        assert {row["day"]: row["n"] for row in by_day} == expected, zone
        hours = {at.astimezone(zone).replace(minute=0) for at in placed}
        assert set(orders.annotate(hour=TruncHour("placed")).values_list("hour", flat=True)) == hours, zone
        assert [day.date() for day in orders.datetimes("placed", "day")] == sorted(expected), zone
assert User.objects.filter(date_joined__date=timezone.localdate(user.date_joined)).count() == 1
assert orders.filter(details__n=42).count() == 1
assert Change.objects.count() == 10 and Change.objects.first().what == "amount 12.50 to 13.75"
print("ok read")

call_command("migrate", verbosity=0)
assert Order.objects.filter(note="from before").count() == len(placed)
call_command("migrate", "shop", "zero", verbosity=0)
call_command("migrate", verbosity=0)
assert Order.objects.count() == 0
print("ok migrate again")
