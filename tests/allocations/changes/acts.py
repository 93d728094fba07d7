"""What people do with changes of grants, with everything said that a test does not care about."""

from allocations import changes
from allocations.models import Policy, PolicyRole
from tests import factories


def ask(world, grant, *, by=None, days=30, **more):
    said = {"reason": "The last run needs a month more.", "so_far": "Two of three runs are done."}
    return changes.ask_extension(grant=grant, by=by or world.lead, days=days, **{**said, **more})


def sign(world, change, who, role=None, **more):
    return changes.sign_change(change=change, by=who, role=world.role(role) if role else None, **more)


def decline(world, change, who, reason="Not now."):
    return changes.sign_change(change=change, by=who, verdict="decline", reason=reason)


def both_sign(world, change):
    sign(world, change, world.chief)
    return sign(world, change, world.head)


def policy(world, subject, *slugs, **fields):
    row = Policy.objects.create(subject=subject, during=(factories.LONG_AGO, None), **fields)
    PolicyRole.objects.bulk_create(PolicyRole(policy=row, role=world.role(slug)) for slug in slugs)
    return row
