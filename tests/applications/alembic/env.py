import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
from alembic import context
from tables import engine

with engine.connect() as connection:
    context.configure(connection=connection)
    with context.begin_transaction():
        context.run_migrations()
