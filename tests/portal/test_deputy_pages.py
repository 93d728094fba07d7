"""Deputies, recusals and empty roles on the pages: who opens them, what they say, what they cost."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from allocations import deputies, recusals
from allocations.models import Deputy, Recusal, RoleHolder, SignOff, Split, SplitSignature
from tests import factories

EVERYBODY = ("pitcher", "stranger", "chief-scientist", "research-head", "ceo", "ops", "auditor", "admin")
SEES = {"chief-scientist", "research-head", "ceo", "admin"}


@pytest.fixture
def hugo(lab):
    return factories.person("hugo", first_name="Hugo")


@pytest.fixture
def fleet(lab):
    factories.fleet(gpus=64)
    factories.split()


def stands_in(lab, hugo, *, role="chief-scientist") -> Deputy:
    principal, now = lab.everyone[role], timezone.now()
    return deputies.set_deputy(
        principal=principal, deputy=hugo, role=lab.role(role), starts_at=now, until=now + timedelta(days=7),
        by=principal, reason="On leave.",
    )  # fmt: skip


def typed(lab, deputy, *, principal=None, **changes) -> dict:
    today = timezone.now().date()
    holder = RoleHolder.objects.get(person=principal or lab.chief)
    return {
        "holder": holder.pk, "deputy": deputy.pk, "starts_on": today + timedelta(days=1),
        "until_on": today + timedelta(days=8), "reason": "On leave.", **changes,
    }  # fmt: skip


def test_the_page_opens_for_those_who_sign_or_administer(client, lab):
    found = {}
    for login in EVERYBODY:
        client.force_login(lab.everyone[login])
        found[login] = client.get(reverse("deputies")).status_code

    assert found == {login: 200 if login in SEES else 403 for login in EVERYBODY}


@pytest.mark.parametrize("login", EVERYBODY)
def test_the_navigation_names_the_page_for_those_who_may_open_it(client, lab, login):
    client.force_login(lab.everyone[login])

    page = client.get("/").content.decode()

    assert ('href="/deputies/"' in page) == (login in SEES)


def test_a_holder_names_a_deputy_and_the_days_are_whole(client, lab, hugo, settings):
    settings.SITE_TIME_ZONE = "UTC"
    client.force_login(lab.chief)

    answer = client.post(reverse("deputy_set"), typed(lab, hugo), follow=True)

    row = Deputy.objects.get()
    assert (row.principal, row.deputy, row.set_by) == (lab.chief, hugo, lab.chief)
    assert row.during.upper - row.during.lower == timedelta(days=8)  # the last day is included
    assert re.findall(r"<strong>(Hugo for .*?)</strong>", answer.content.decode()) == ["Hugo for chief-scientist"]


def test_a_refusal_keeps_what_was_typed(client, lab, hugo):
    client.force_login(lab.chief)
    gone = timezone.now().date() - timedelta(days=3)

    answer = client.post(reverse("deputy_set"), typed(lab, hugo, starts_on=gone))

    page = answer.content.decode()
    assert (answer.status_code, Deputy.objects.count()) == (422, 0)
    assert f'name="starts_on" value="{gone}"' in page
    assert "A deputy begins today at the earliest." in page


def test_a_holder_chooses_among_the_own_roles_and_an_admin_among_all(client, lab):
    def offered() -> int:
        page = client.get(reverse("deputies")).content.decode()
        choices = page[page.index('name="holder"') : page.index("</select>")]
        return choices.count("<option")

    client.force_login(lab.chief)
    of_the_chief = offered()
    client.force_login(lab.admin)

    assert (of_the_chief, offered()) == (1, 4)


def test_nobody_sets_a_deputy_for_a_role_of_others(client, lab, hugo):
    client.force_login(lab.head)

    answer = client.post(reverse("deputy_set"), typed(lab, hugo))

    assert (answer.status_code, Deputy.objects.count()) == (422, 0)


def test_a_deputyship_ends_with_a_reason(client, lab, hugo):
    row = stands_in(lab, hugo)
    url, field = reverse("deputy_end", args=[row.pk]), f"end-{row.pk}-reason"
    client.force_login(lab.chief)

    without = client.post(url, {field: ""})
    ended = client.post(url, {field: "Back."})

    assert (without.status_code, ended.status_code) == (422, 302)
    row.refresh_from_db()
    assert row.during.upper <= timezone.now()


@pytest.mark.parametrize(("login", "status"), [("research-head", 403), ("stranger", 403), ("admin", 302)])
def test_only_its_people_end_a_deputyship(client, lab, hugo, login, status):
    row = stands_in(lab, hugo)
    client.force_login(lab.everyone[login])

    answer = client.post(reverse("deputy_end", args=[row.pk]), {f"end-{row.pk}-reason": "Enough."})

    assert answer.status_code == status


@pytest.mark.parametrize("count", [1, 3])
def test_the_page_costs_the_same_with_one_row_and_with_three(client, lab, django_assert_max_num_queries, count):
    for number in range(count):
        principal = factories.holder("chief-scientist", f"chief-{number}")
        now = timezone.now()
        deputies.set_deputy(
            principal=principal, deputy=lab.stranger, role=lab.role("chief-scientist"), starts_at=now,
            until=now + timedelta(days=3), by=principal, reason="",
        )  # fmt: skip
    client.force_login(lab.chief)
    client.get(reverse("deputies"))

    with django_assert_max_num_queries(22) as counted:
        client.get(reverse("deputies"))

    COSTS.setdefault("deputies", len(counted))
    assert len(counted) == COSTS["deputies"]


COSTS: dict[str, int] = {}


class TestQueue:
    def test_a_deputy_sees_and_signs_for_the_principal(self, client, lab, hugo, fleet):
        pitch = factories.submitted(lab.project, lab.pitcher)
        stands_in(lab, hugo)
        client.force_login(hugo)

        page = client.get(reverse("queue")).content.decode()
        client.post(
            reverse("pitch_sign", args=[pitch.public_id]), {"answer": "approve", "round": 1, "role": "chief-scientist"}
        )

        assert "you sign as Chief scientist for chief-scientist" in page
        assert SignOff.objects.get().signer == "Hugo for chief-scientist"

    def test_the_pitch_and_the_trail_name_both(self, client, lab, hugo, fleet):
        pitch = factories.submitted(lab.project, lab.pitcher)
        stands_in(lab, hugo)
        client.force_login(hugo)
        client.post(
            reverse("pitch_sign", args=[pitch.public_id]), {"answer": "approve", "round": 1, "role": "chief-scientist"}
        )
        client.force_login(lab.auditor)

        page = client.get(reverse("pitch", args=[pitch.public_id])).content.decode()
        trail = client.get(reverse("trail"), {"verb": "sign_off.given"}).content.decode()

        assert page.count("Hugo for chief-scientist") == 2  # the step, and what happened
        assert re.findall(r'event-actor">(.*?)</span>', trail) == ["Hugo for chief-scientist"]

    def test_who_may_sign_is_named_with_the_deputy(self, client, lab, hugo, fleet):
        pitch = factories.submitted(lab.project, lab.pitcher)
        stands_in(lab, hugo)
        client.force_login(lab.pitcher)

        page = client.get(reverse("pitch", args=[pitch.public_id])).content.decode()

        assert page.count("chief-scientist, Hugo for chief-scientist") == 1

    def test_recusing_drops_the_pitch_and_its_page_says_why(self, client, lab, fleet):
        pitch = factories.submitted(lab.project, lab.pitcher)
        factories.holder("chief-scientist", "second-chief")
        client.force_login(lab.chief)
        url = reverse("pitch_sign", args=[pitch.public_id])
        answer = {"answer": "recuse", "round": 1, "role": "chief-scientist"}

        without = client.post(url, answer)
        done = client.post(url, {**answer, "reason": "My sister leads it."}, follow=True)

        page = client.get(reverse("pitch", args=[pitch.public_id])).content.decode()
        assert (without.status_code, Recusal.objects.get().person) == (422, lab.chief)
        assert "Nothing waits for your signature" in done.content.decode()
        assert (page.count("Stepped aside"), page.count("My sister leads it.")) == (1, 1)
        assert "Held:" not in page

    def test_a_pitch_that_nobody_is_left_for_says_so(self, client, lab, fleet):
        """MCKRUZ/microsoft-agentic-harness#393: held, and nothing decided."""
        pitch = factories.submitted(lab.project, lab.pitcher)
        recusals.recuse(pitch=pitch, by=lab.chief, reason="My sister leads it.")
        client.force_login(lab.pitcher)

        page = client.get(reverse("pitch", args=[pitch.public_id])).content.decode()

        assert page.count("Held: nobody is left to sign as Chief scientist.") == 1
        assert page.count("nobody is left for this role") == 1


def test_a_deputy_signs_a_split_on_its_page(client, lab, hugo):
    proposed = factories.split(state=Split.State.PROPOSED, starts_at=timezone.now(), by=lab.ceo)
    proposed.roles.set([lab.role("ceo"), lab.role("ceo-applications")])
    stands_in(lab, hugo, role="ceo")
    client.force_login(hugo)

    before = client.get(reverse("split")).content.decode()
    client.post(reverse("split_sign", args=[proposed.public_id]), {"role": "ceo"})

    after = client.get(reverse("split")).content.decode()
    assert SplitSignature.objects.get().deputy_for == lab.ceo
    assert (before.count("Sign as CEO for ceo"), after.count("Sign as")) == (1, 0)
    assert after.count("<span>Hugo for ceo</span>") == 1


@pytest.mark.parametrize(("login", "shown"), [("admin", 1), ("ops", 1), ("ceo", 0), ("pitcher", 0)])
def test_home_warns_those_who_can_help_of_a_role_that_nobody_holds(client, lab, login, shown):
    RoleHolder.objects.filter(person=lab.chief).update(during=(factories.LONG_AGO, timezone.now()))
    client.force_login(lab.everyone[login])

    page = client.get("/").content.decode()

    assert page.count("Nobody holds the role Chief scientist.") == shown
