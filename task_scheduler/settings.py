"""Django settings, made from the one record of the environment; no variable is read here.

Numbers of the scheduler itself go on as `SCHEDULER`, the record that scheduler_app.conf hands out.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF

from scheduler_app.conf import SchedulerConf
from task_scheduler.databases import from_url
from task_scheduler.environment import BadEnvironment, Environment, read_environment
from task_scheduler.logs import configure_structlog, logging_settings
from task_scheduler.variables import PROJECT_FOLDER

BASE_DIR = PROJECT_FOLDER
THIS_MACHINE = [".localhost", "127.0.0.1", "[::1]"]
PACKAGE_DIR = Path(__file__).resolve().parent
DEVELOPMENT_KEY = "dev-key-of-the-try-out-never-used-when-debug-is-off-0123456789"


def _read() -> tuple[Environment, dict[str, Any]]:
    """The environment and its database, or one line on stderr and exit code 2."""
    try:
        record = read_environment()
        if record.database_direct_url:
            from_url(record.database_direct_url, sqlite_file=BASE_DIR / "var" / "scheduler.sqlite3")
        return record, from_url(record.database_url, sqlite_file=BASE_DIR / "var" / "scheduler.sqlite3")
    except BadEnvironment as refusal:
        sys.stderr.write(f"error: {refusal}\n")
        raise SystemExit(2) from None


ENVIRONMENT, _database = _read()

# DEBUG=1 of the environment means try-out: development key, this machine only, files from their folders.
# Django's own DEBUG stays off, because its error pages show tracebacks and settings to whoever asks.
TRY_OUT = ENVIRONMENT.debug
DEBUG = False
SECRET_KEY = ENVIRONMENT.secret_key or DEVELOPMENT_KEY
ALLOWED_HOSTS = list(ENVIRONMENT.allowed_hosts) or THIS_MACHINE
CSRF_TRUSTED_ORIGINS = list(ENVIRONMENT.csrf_trusted_origins)
ROOT_URLCONF = "task_scheduler.urls"
WSGI_APPLICATION = "task_scheduler.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "csp",
    "scheduler_app",
]
MIDDLEWARE = [
    "scheduler_app.middleware.answer_probes",
    "scheduler_app.middleware.name_request",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "scheduler_app.middleware.know_viewer",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [folder for folder in (BASE_DIR / "templates", PACKAGE_DIR / "templates") if folder.is_dir()],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

DATABASES: dict[str, dict[str, Any]] = {"default": _database}


def cache_settings(redis_url: str) -> dict[str, dict[str, Any]]:
    """Redis only speeds up pages: short waits, and an error is a miss."""
    if not redis_url:
        return {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    options = {
        "CLIENT_CLASS": "django_redis.client.DefaultClient",
        "IGNORE_EXCEPTIONS": True,
        "SOCKET_CONNECT_TIMEOUT": 0.25,
        "SOCKET_TIMEOUT": 0.25,
    }
    return {
        "default": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": redis_url, "OPTIONS": options}
    }


CACHES = cache_settings(ENVIRONMENT.redis_url)
DJANGO_REDIS_LOG_IGNORED_EXCEPTIONS = False
SESSION_ENGINE = "django.contrib.sessions.backends.db"

TIME_ZONE = "UTC"
USE_TZ = True
LANGUAGE_CODE = "en"
USE_I18N = False

PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.ScryptPasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
CSRF_FAILURE_VIEW = "scheduler_app.views.errors.csrf_failure"
LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/dashboard/"
LOGOUT_REDIRECT_URL = "/"

STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "var" / "static"
STATICFILES_DIRS = [folder for folder in (BASE_DIR / "static", PACKAGE_DIR / "static") if folder.is_dir()]
_plain_static = "django.contrib.staticfiles.storage.StaticFilesStorage"
_hashed_static = "whitenoise.storage.CompressedManifestStaticFilesStorage"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": _plain_static if TRY_OUT else _hashed_static},
}
# In a try-out the finders serve files straight from their folders, so nothing has to be collected first.
WHITENOISE_USE_FINDERS = TRY_OUT
WHITENOISE_AUTOREFRESH = TRY_OUT
WHITENOISE_ALLOW_ALL_ORIGINS = False

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    }
}
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = ENVIRONMENT.secure_cookies
CSRF_COOKIE_SECURE = ENVIRONMENT.secure_cookies
if ENVIRONMENT.secure_cookies:
    SECURE_HSTS_SECONDS = 31_536_000
    SECURE_SSL_REDIRECT = True
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
# Sub-domains and the browsers' preload list belong to the operator's domain, not to this product.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]

configure_structlog(as_json=not TRY_OUT)
LOGGING = logging_settings(as_json=not TRY_OUT)

SCHEDULER = SchedulerConf(
    misfire_catch_up_cap=ENVIRONMENT.misfire_catch_up_cap,
    lease_seconds=ENVIRONMENT.lease_seconds,
    lease_buffer_seconds=ENVIRONMENT.lease_buffer_seconds,
    heartbeat_seconds=ENVIRONMENT.heartbeat_seconds,
    alive_seconds=ENVIRONMENT.alive_seconds,
    heartbeat_prune_seconds=ENVIRONMENT.heartbeat_prune_seconds,
    drain_seconds=ENVIRONMENT.drain_seconds,
    login_rate_limit_attempts=ENVIRONMENT.login_rate_limit_attempts,
    unknown_task_seconds=ENVIRONMENT.unknown_task_seconds,
    finished_job_days=ENVIRONMENT.finished_job_days,
    event_days=ENVIRONMENT.event_days,
    webui_auth=ENVIRONMENT.webui_auth,
    webui_public_read=ENVIRONMENT.webui_public_read,
    cli_secret=ENVIRONMENT.cli_secret,
    api_key=ENVIRONMENT.api_key,
    self_url=ENVIRONMENT.self_url,
    task_modules=ENVIRONMENT.task_modules,
    egress_allow_networks=tuple(str(network) for network in ENVIRONMENT.egress_allow_networks),
    readyz_require_heartbeats=ENVIRONMENT.readyz_require_heartbeats,
    readyz_require_worker_heartbeat=ENVIRONMENT.readyz_require_worker_heartbeat,
    readyz_redis_optional=ENVIRONMENT.readyz_redis_optional,
    artifact_dir=ENVIRONMENT.artifact_dir,
    launcher=ENVIRONMENT.launcher,
    database_direct_url=ENVIRONMENT.database_direct_url,
    redis_url=ENVIRONMENT.redis_url,
)
DEV_ADMIN_USERNAME = ENVIRONMENT.dev_admin_username
DEV_ADMIN_PASSWORD = ENVIRONMENT.dev_admin_password
DEV_ADMIN_EMAIL = ENVIRONMENT.dev_admin_email
