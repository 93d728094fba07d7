"""Whom each project lets onto its GPUs, in the numbers that nodes know people by."""

from django.db import connection, transaction
from django.utils import timezone

from allocations.models import Project
from inventory import trail

ACTOR = "access"
# Project and realm of every row there is or should be, with the ids of those who work there now. One statement, so that
# two clocks at once count a change once.
REFRESH = """
WITH let_in AS (
  SELECT DISTINCT member.project_id, account.realm, account.uid
  FROM allocations_membership member
  JOIN allocations_person person ON person.id = member.person_id AND person.is_active AND person.left_at IS NULL
  JOIN allocations_unixaccount account ON account.person_id = person.id AND account.during @> %(now)s
  WHERE member.during @> %(now)s
), wanted AS (
  SELECT project_id, realm, coalesce(jsonb_agg(uid ORDER BY uid) FILTER (WHERE uid IS NOT NULL), '[]') AS unix_ids
  FROM (SELECT project_id, realm FROM allocations_projectaccess UNION SELECT project_id, realm FROM let_in) AS place
  LEFT JOIN let_in USING (project_id, realm)
  GROUP BY project_id, realm
)
INSERT INTO allocations_projectaccess AS access (project_id, realm, unix_ids, revision, changed_at)
SELECT project_id, realm, unix_ids, 1, %(now)s FROM wanted ORDER BY project_id, realm
ON CONFLICT (project_id, realm) DO UPDATE
SET unix_ids = excluded.unix_ids, revision = access.revision + 1, changed_at = excluded.changed_at
WHERE access.unix_ids IS DISTINCT FROM excluded.unix_ids
RETURNING project_id, realm, unix_ids, revision
"""


@transaction.atomic
def refresh() -> int:
    """Each project's list of Unix ids is as its members and their accounts are now; how many lists changed.

    Somebody who left, or whose account ended, is on none.
    """
    with connection.cursor() as cursor:
        cursor.execute(REFRESH, {"now": timezone.now()})
        names = [column.name for column in cursor.description]
        changed = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    projects = Project.objects.in_bulk([row["project_id"] for row in changed])
    trail.record_many("access.changed", [(projects[row.pop("project_id")], row) for row in changed], by=ACTOR)
    return len(changed)
