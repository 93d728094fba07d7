"""People of the demo lab; logins are named after roles."""

from typing import NamedTuple

PASSWORD = "allot-demo"  # noqa: S105 - a demo has no secrets and says so on every page


class DemoPerson(NamedTuple):
    login: str
    first_name: str
    last_name: str
    roles: tuple[str, ...] = ()


ROLE_PEOPLE = [
    DemoPerson("staff", "Noor", "Haddad"),
    DemoPerson("lead", "Tomás", "Rivera"),
    DemoPerson("chief-scientist", "Ingrid", "Solberg", ("chief-scientist",)),
    DemoPerson("research-head", "Kwame", "Boateng", ("research-head",)),
    DemoPerson("ceo-applications", "Mei", "Tanaka", ("ceo-applications",)),
    DemoPerson("ceo", "Ruth", "Abramson", ("ceo",)),
    DemoPerson("ops", "Jonas", "Keller", ("ops",)),
    DemoPerson("auditor", "Priya", "Raman", ("auditor",)),
    DemoPerson("admin", "Olu", "Adeyemi", ("admin",)),
]
COLLEAGUES = [
    DemoPerson("lena", "Lena", "Fischer"),
    DemoPerson("amir", "Amir", "Farahani"),
    DemoPerson("sofia", "Sofia", "Marchetti"),
    DemoPerson("dmitri", "Dmitri", "Volkov"),
    DemoPerson("grace", "Grace", "Okafor"),
    DemoPerson("hugo", "Hugo", "Lindqvist"),
    DemoPerson("yuki", "Yuki", "Mori"),
]
EVERYONE = [*ROLE_PEOPLE, *COLLEAGUES]
