"""Settings as Django's documentation has them for MySQL, with TLS that is sure of the server's name."""

import os

import pymysql

# Django needs mysqlclient, which has to be compiled; PyMySQL replaces it with this documented call.
pymysql.version_info = (2, 2, 7, "final", 0)
pymysql.install_as_MySQLdb()

SECRET_KEY = "for-a-test"
USE_TZ = True
TIME_ZONE = "Europe/Berlin"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "shop",
]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.mysql",
        "HOST": os.environ["DB_HOST"],
        "PORT": os.environ["DB_PORT"],
        "USER": os.environ["DB_USER"],
        "PASSWORD": os.environ["DB_PASSWORD"],
        "NAME": os.environ["DB_NAME"],
        "OPTIONS": {"ssl": {"ca": os.environ["DB_CA"], "check_hostname": True}},
    }
}
