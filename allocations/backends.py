"""Who holds an administering role may use the admin site, while it is held; no other permission follows from it."""

from typing import Any

from django.contrib.auth.backends import BaseBackend

from allocations import rules
from allocations.models import Person

APPS = {"allocations", "inventory"}


class AdministersByRole(BaseBackend):
    """Model permissions of the domain for administrators; never one on a row: those say who decides."""

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        return obj is None and self.has_module_perms(user_obj, perm.partition(".")[0])

    def has_module_perms(self, user_obj: Any, app_label: str) -> bool:
        """Whether the person may open the app in the admin site at all."""
        return app_label in APPS and isinstance(user_obj, Person) and rules.can(user_obj, "administer")
