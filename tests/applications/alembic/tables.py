import os

from sqlalchemy import URL, create_engine

engine = create_engine(
    URL.create(
        "mysql+pymysql",
        username=os.environ["DB_USER"],
        password=os.environ["DB_PASSWORD"],
        host=os.environ["DB_HOST"],
        port=int(os.environ["DB_PORT"]),
        database=os.environ["DB_NAME"],
    ),
    connect_args={"ssl": {"ca": os.environ["DB_CA"], "check_hostname": True}},
)
