"""Django app of the doors; binds the Celery app so that services may send hints from any process."""

from importlib import import_module

from django.apps import AppConfig


class PortalConfig(AppConfig):
    name = "portal"

    def ready(self) -> None:
        import_module("portal.celery")
