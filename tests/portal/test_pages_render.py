"""Every page of the decisions opens for every person that may see it, with rows and without."""

import pytest
from django.urls import reverse

PAGES = ["home", "pitches", "pitch_new", "queue", "split", "grants", "projects", "jump", "password_change"]


@pytest.mark.parametrize("name", PAGES)
def test_each_page_opens_for_everybody(client, lab, name):
    for person in lab.everyone.values():
        client.force_login(person)

        response = client.get(reverse(name))

        assert (person.username, response.status_code) == (person.username, 200)
