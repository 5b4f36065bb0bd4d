import sqlalchemy as sa
from alembic import op

revision = "second"
down_revision = "first"


def upgrade() -> None:
    op.add_column("account", sa.Column("name", sa.String(100), nullable=False, server_default=""))
    op.alter_column("visit", "page", type_=sa.String(500), existing_type=sa.String(100))
    op.create_index("visit_page", "visit", ["page"], mysql_length={"page": 50})


def downgrade() -> None:
    op.drop_index("visit_page", "visit")
    op.drop_column("account", "name")
