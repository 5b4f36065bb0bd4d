import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
from alembic import command
from alembic.config import Config
from sqlalchemy import MetaData, func, select
from tables import engine

config = Config()
config.set_main_option("script_location", os.path.dirname(__file__))
config.attributes["configure_logger"] = False

command.upgrade(config, "first")
print("ok migrate")

metadata = MetaData()
metadata.reflect(engine)
account, visit = metadata.tables["account"], metadata.tables["visit"]
with engine.begin() as connection:
    ids = [
        connection.execute(account.insert().values(email=f"person{n}@example.com")).inserted_primary_key[0]
        for n in range(100)
    ]
    connection.execute(visit.insert(), [{"account": id, "page": f"/page/{id % 10}"} for id in ids for _ in range(10)])
print("ok write")

with engine.connect() as connection:
    pages = connection.execute(
        select(visit.c.page, func.count()).join(account).group_by(visit.c.page).order_by(visit.c.page)
    ).all()
    assert [count for _, count in pages] == [100] * 10, pages
    assert connection.execute(select(func.page_length("twelve chars"))).scalar_one() == 12
print("ok read")

command.upgrade(config, "head")
with engine.connect() as connection:
    metadata = MetaData()
    metadata.reflect(engine)
    assert connection.execute(select(func.count()).where(metadata.tables["account"].c.name == "")).scalar_one() == 100
command.downgrade(config, "base")
command.upgrade(config, "head")
print("ok migrate again")
