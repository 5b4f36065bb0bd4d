from django.db import models


class Order(models.Model):
    customer = models.CharField(max_length=100, db_index=True)
    amount = models.DecimalField(max_digits=10, decimal_places=2)
    placed = models.DateTimeField()
    details = models.JSONField(default=dict)
    note = models.TextField(default="")


class Change(models.Model):
    """Written by a trigger alone."""

    order = models.BigIntegerField()
    what = models.CharField(max_length=100)
