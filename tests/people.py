"""The people of a test lab: one a role, logins named after the roles, and staff around two projects."""

from dataclasses import dataclass

from allocations import defaults
from allocations.models import Division, Person, Project, Role
from tests import factories


@dataclass(frozen=True)
class Lab:
    """Who and what is there. `chief` is the chief scientist, `head` the research head, `ceo_apps` Applied's CEO."""

    research: Division
    applied: Division
    chief: Person
    head: Person
    ceo_apps: Person
    ceo: Person
    ops: Person
    auditor: Person
    admin: Person
    lead: Person  # of the project in Research
    pitcher: Person  # a member of it
    team_mate: Person  # another member of it
    stranger: Person  # staff, in no project
    project: Project  # in Research
    applied_lead: Person
    applied_pitcher: Person
    applied_project: Project

    @property
    def everyone(self) -> dict[str, Person]:
        """Login -> person, of all."""
        return {person.username: person for person in vars(self).values() if isinstance(person, Person)}

    def role(self, slug: str) -> Role:
        """The role of that slug."""
        return Role.objects.get(slug=slug)


def lab() -> Lab:
    """A lab with the shipped defaults and one person for each role and place."""
    defaults.install(by="tests")
    research, applied = Division.objects.get(slug="research"), Division.objects.get(slug="applied")
    holders = {role.slug: factories.holder(role) for role in Role.objects.all()}
    lead, pitcher, team_mate = (factories.person(name) for name in ("lead", "pitcher", "team-mate"))
    applied_lead, applied_pitcher = factories.person("applied-lead"), factories.person("applied-pitcher")
    return Lab(
        research=research,
        applied=applied,
        chief=holders["chief-scientist"],
        head=holders["research-head"],
        ceo_apps=holders["ceo-applications"],
        ceo=holders["ceo"],
        ops=holders["ops"],
        auditor=holders["auditor"],
        admin=holders["admin"],
        lead=lead,
        pitcher=pitcher,
        team_mate=team_mate,
        stranger=factories.person("stranger"),
        project=factories.project("protein-folding", division=research, lead=lead, members=[pitcher, team_mate]),
        applied_lead=applied_lead,
        applied_pitcher=applied_pitcher,
        applied_project=factories.project("assistant", division=applied, lead=applied_lead, members=[applied_pitcher]),
    )
