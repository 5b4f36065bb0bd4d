import sqlalchemy as sa
from alembic import op

revision = "first"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "account",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("email", sa.String(200), unique=True, nullable=False),
        sa.Column("created", sa.DateTime, server_default=sa.func.now()),
    )
    # Without a primary key: the server adds an invisible one, unless the session turned that off.
    op.create_table("visit", sa.Column("account", sa.Integer, sa.ForeignKey("account.id")), sa.Column("page", sa.String(100)))
    op.execute("CREATE FUNCTION page_length(page VARCHAR(100)) RETURNS INT DETERMINISTIC RETURN CHAR_LENGTH(page)")


def downgrade() -> None:
    op.execute("DROP FUNCTION page_length")
    op.drop_table("visit")
    op.drop_table("account")
