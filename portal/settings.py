"""Settings of the portal: values from the environment, failing loudly."""

import sys
from importlib.util import find_spec
from pathlib import Path
from zoneinfo import ZoneInfo

import environ
import structlog
from bootstrap_wrapper import get_bootstrap_dir

from portal.services import addresses, secret

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()

DEBUG = env.bool("ALLOT_DEBUG", default=False)
DEMO = env.bool("ALLOT_DEMO", default=False)  # one-click switch of person; every page says that it is a demo
HOME = Path(env.str("ALLOT_HOME", default=str(BASE_DIR / ".allot")))
SECRET_KEY = env.str("ALLOT_SECRET_KEY", default="") or secret.secret_key(HOME)
ALLOWED_HOSTS = env.list("ALLOT_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("ALLOT_ORIGINS", default=[])
BEHIND_TLS = env.bool("ALLOT_BEHIND_TLS", default=False)

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.sessions",
    "servestatic.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "template_partials",
    "heroicons",
    "guardian",
    "axes",
    "rest_framework",
    "django_filters",
    "knox",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "inventory",
    "allocations",
    "portal",
]
MIDDLEWARE = [
    "portal.middleware.content_security_policy",  # outermost: also on what those below answer by themselves
    "portal.middleware.whole_addresses",
    "django.middleware.security.SecurityMiddleware",
    "servestatic.middleware.ServeStaticMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "portal.middleware.one_look",
    "portal.middleware.viewer_time_zone",
    "portal.middleware.domain_errors",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "portal.urls"
ASGI_APPLICATION = "portal.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "portal.context.frame",
            ],
            "builtins": [f"portal.templatetags.{name}" for name in ("fields", "figures", "marks", "rows", "times")],
            "libraries": {"heroicons": "portal.templatetags.icons"},  # the package's own tags, drawn once
        },
    }
]

DATABASES = {"default": env.db_url_config(addresses.database_url())}
DATABASES["default"]["CONN_MAX_AGE"] = 60
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
# A lock that is not to be had in 3 s means that somebody else decides right now: say so instead of hanging.
DATABASES["default"].setdefault("OPTIONS", {})["options"] = "-c lock_timeout=3000"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "allocations.Person"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
    "guardian.backends.ObjectPermissionBackend",
    "allocations.backends.AdministersByRole",
]
ANONYMOUS_USER_NAME = None  # guardian: nobody who is not logged in may see anything
GUARDIAN_MONKEY_PATCH_USER = False
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"
AXES_FAILURE_LIMIT = 8
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_CALLABLE = "portal.views.login.locked_out"
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
# guardian's backend is there, after axes' own; our tag library `heroicons` replaces the package's on purpose.
SILENCED_SYSTEM_CHECKS = ["guardian.W001", "templates.W003"]
CSRF_FAILURE_VIEW = "portal.views.errors.forged"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = BEHIND_TLS
SESSION_COOKIE_HTTPONLY = True
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_TLS else None
SECURE_SSL_REDIRECT = BEHIND_TLS
SECURE_HSTS_SECONDS = 31536000 if BEHIND_TLS else 0
X_FRAME_OPTIONS = "DENY"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English")]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"  # instants inside; people's days are in SITE_TIME_ZONE
SITE_TIME_ZONE = env.str("ALLOT_TIME_ZONE", default="UTC")
ZoneInfo(SITE_TIME_ZONE)  # an unknown zone stops the start

STATIC_URL = "static/"
STATIC_ROOT = HOME / "staticfiles"
SERVESTATIC_USE_FINDERS = DEBUG or "pytest" in sys.modules
SERVESTATIC_AUTOREFRESH = DEBUG
# Found, not imported: the package draws charts in notebooks and would bring all of that along.
UPLOT = find_spec("uplot")
STATICFILES_DIRS = [
    ("bootstrap", get_bootstrap_dir()),
    *((("uplot", Path(UPLOT.origin).parent / "static"),) if UPLOT and UPLOT.origin else ()),
]

EMAIL_CONFIG = env.email_url("ALLOT_EMAIL_URL", default="consolemail://")
vars().update(EMAIL_CONFIG)
DEFAULT_FROM_EMAIL = env.str("ALLOT_MAIL_FROM", default="allot@localhost")
PORTAL_URL = env.str("ALLOT_URL", default=f"http://127.0.0.1:{env.str('ALLOT_PORT', default='') or '8000'}")

UNDO_S = env.int("ALLOT_UNDO_S", default=10)  # how long an answer can be undone; until then nobody hears of it
ANSWER_WORKING_DAYS = env.int("ALLOT_ANSWER_WORKING_DAYS", default=3)  # for the pitcher's answer to a counter-offer
POLL_INTERVAL_S = env.int("ALLOT_POLL_INTERVAL_S", default=10)
DECIDE_UNOPENED_GPUS = env.int("ALLOT_DECIDE_UNOPENED_GPUS", default=64)  # above it the desk takes opened pitches only
READINGS_KEPT_DAYS = env.int("ALLOT_READINGS_KEPT_DAYS", default=30)
USAGE_5MIN_KEPT_DAYS = env.int("ALLOT_USAGE_5MIN_KEPT_DAYS", default=60)
USAGE_HOURS_KEPT_DAYS = env.int("ALLOT_USAGE_HOURS_KEPT_DAYS", default=730)  # two years: a report beside last year's
# A card that answers once may be gone at the next poll, and one that flaps must not be assigned in between
# (NVIDIA/k8s-device-plugin#1014: a restart alone "healed" it). Faults end by the same count.
GOOD_POLLS = env.int("ALLOT_GOOD_POLLS", default=3)
MONEY_UNIT = env.str("ALLOT_MONEY_UNIT", default="USD")

REDIS_URL = addresses.redis_url()
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "knox.auth.TokenAuthentication",  # first: a refusal is then a 401 that says how to log in
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["portal.api.parsers.ShallowJSON"],
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_PAGINATION_CLASS": "portal.api.pagination.NewestFirst",
    "PAGE_SIZE": 50,
    "NUM_PROXIES": 0,  # the throttle of logins goes by the peer's address: a header is whatever the client writes
    "EXCEPTION_HANDLER": "portal.problems.api_exception_handler",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Allot",
    "DESCRIPTION": "Who gets the GPUs, decided and made true on the machines.",
    "VERSION": "0.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "POSTPROCESSING_HOOKS": ["drf_spectacular.hooks.postprocess_schema_enums", "portal.api.schema.tell_problems"],
    "ENUM_NAME_OVERRIDES": {
        "PitchState": "allocations.models.Pitch.State",
        "SplitState": "allocations.models.Split.State",
        "ProjectState": "allocations.models.Project.State",
        "MoveState": "allocations.models.Move.State",
        "GpuKind": "inventory.models.Gpu.Kind",
        "StepKind": "allocations.models.PlanStep.Kind",
        "PitchVerdict": "allocations.models.SignOff.Verdict",
        "ChangeVerdict": "allocations.models.ChangeSignOff.Verdict",
        "ChangeKind": "allocations.models.GrantChange.Kind",
        "ChangeState": "allocations.models.GrantChange.State",
        "LoanState": "allocations.models.Loan.State",
    },
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "key_value": {
            "()": structlog.stdlib.ProcessorFormatter,
            "processor": structlog.processors.KeyValueRenderer(key_order=["timestamp", "level", "event"]),
            "foreign_pre_chain": [
                structlog.stdlib.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
            ],
        }
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "key_value"}},
    "root": {"handlers": ["stderr"], "level": env.str("ALLOT_LOG_LEVEL", default="INFO")},
    "loggers": {"axes": {"level": "WARNING"}, "django.utils.autoreload": {"level": "WARNING"}},
}
structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ],
    logger_factory=structlog.stdlib.LoggerFactory(),
)
