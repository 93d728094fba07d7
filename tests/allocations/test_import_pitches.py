"""Pitches from a file: drafts with findings, each once, none lost."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from allocations import asks
from allocations.imports import BadPitchFile, Unreadable, read_pitch_file
from allocations.imports.matching import models_meant, usual_spellings
from allocations.models import Pitch
from tests import factories
from tests.allocations import acts
from tests.allocations.acts import verbs

REAL = Path(__file__).resolve().parents[3] / "shared" / "data"
HEADER = "title,field,hardware,hardware_kind,gpus,hours,body,requester\n"
WHOLE = "title,hardware,gpus,hours,body,project,min_gpus,expected_result\n"

pytestmark = pytest.mark.django_db


@pytest.fixture
def lab(lab, noon):
    factories.fleet(gpus=16)
    factories.fleet(factories.model("A100"), gpus=64)
    return lab


def run(tmp_path, text: str, **options) -> str:
    file = tmp_path / "pitches.csv"
    file.write_text(text, encoding="utf-8")
    out = StringIO()
    call_command("import_pitches", str(file), stdout=out, **{"project": "protein-folding", **options})
    return out.getvalue()


def codes(pitch: Pitch) -> list[str]:
    return [finding["code"] for finding in pitch.findings]


def test_a_row_becomes_a_draft_that_says_all_of_it_and_what_is_missing(lab, tmp_path):
    told = run(tmp_path, HEADER + "Fold,Biology,NVIDIA A100 SXM4 80 GB,gpu,32,195.5,We fold.,team-mate\n")

    draft = Pitch.objects.get()
    assert (draft.state, draft.pitcher, draft.project, draft.imported_from) == (
        "draft", lab.team_mate, lab.project, "pitches.csv:2",
    )  # fmt: skip
    assert (draft.model.name, draft.ideal_gpus, draft.min_gpus, draft.days) == ("A100", 32, 32, 9)
    assert draft.why == "We fold.\n\nField: Biology\nHardware: NVIDIA A100 SXM4 80 GB"
    assert codes(draft) == ["no_project", "no_minimum", "no_exit_criterion", "no_first_day"]
    assert draft.findings[1] == {
        "code": "no_minimum", "field": "min_gpus", "text": "The file names no minimum; it is set to the whole ask.",
    }  # fmt: skip
    assert told.startswith("1 rows: 1 drafts, 0 here already, 0 not taken\n")
    assert verbs(draft) == ["pitch.drafted"]


def test_a_whole_row_has_hardly_a_finding(lab, tmp_path):
    run(tmp_path, WHOLE + "Serve,H100,8,24,We serve.,protein-folding,4,Half the latency.\n")

    draft = Pitch.objects.get()
    assert (draft.min_gpus, draft.expected_result, codes(draft)) == (4, "Half the latency.", ["no_first_day"])


@pytest.mark.parametrize(
    ("row", "code", "text"),
    [
        (
            "T,,Google TPU v3,other,8,24,b,",
            "other_hardware",
            "It asks for Google TPU v3, which this fleet cannot",
        ),
        ("T,,NVIDIA Tesla K80,gpu,8,24,b,", "unknown_model", "It asks for NVIDIA Tesla K80, which this fleet has not"),
        ("T,,,gpu,8,24,b,", "no_model", "The file names no GPU model"),
        ("T,,H100,gpu,17,24,b,", "larger_than_fleet", "It asks for 17 H100; the fleet has 16 in all."),
        ("T,,H100,gpu,8,20000,b,", "longer_than_allowed", "It asks for 834 days; a promise lasts 730 at most."),
        ("T,,H100,gpu,8,24,b,staff-009", "unknown_requester", "The file names staff-009, who cannot pitch for it here"),
        (f"{'T' * 150},,H100,gpu,8,24,b,", "title_cut", "The title was cut to 140 characters"),
        (f"T,,H100,gpu,8,24,{'b' * 5000},", "text_cut", "The text was cut to"),
    ],
)
def test_what_is_not_clear_is_a_draft_all_the_same_with_a_clear_answer(lab, tmp_path, row, code, text):
    run(tmp_path, HEADER + row + "\n")

    found = {finding["code"]: finding["text"] for finding in Pitch.objects.get().findings}
    assert found[code].startswith(text)


def test_of_several_models_the_first_is_asked_for_and_the_others_would_do(lab, tmp_path):
    run(tmp_path, HEADER + 'T,,"NVIDIA H100 PCIe,NVIDIA A100",gpu,8,24,b,\n')

    draft = Pitch.objects.get()
    assert (draft.model.name, asks.details_of(draft).alternatives) == ("H100", ((factories.model("A100"), 8),))


def test_rows_that_can_be_no_draft_are_told_with_line_and_reason_and_counted(lab, tmp_path):
    rows = [
        "Good,,H100,gpu,8,24,b,", ",,H100,gpu,8,24,b,", "T,,H100,gpu,many,24,b,", "T,,H100,gpu,0,24,b,",
        "T,,H100,gpu,8,nan,b,", "T,,H100,gpu,2.5,24,b,", "short,row",
        'Two,,H100,gpu,8,24,"line\nbreak",', "Last,,H100,gpu,8,24,b,",
    ]  # fmt: skip

    told = run(tmp_path, HEADER + "\n".join(rows) + "\n")

    assert told.splitlines()[0] == "9 rows: 3 drafts, 0 here already, 6 not taken"
    assert "line 3 was not taken: it has no title" in told
    assert "line 4 was not taken: “many” is no number of GPUs" in told
    assert "line 8 was not taken: it has 2 cells and not 8" in told
    assert sorted(Pitch.objects.values_list("imported_from", flat=True)) == [
        "pitches.csv:11", "pitches.csv:2", "pitches.csv:9",
    ]  # fmt: skip


def test_a_repeat_makes_nothing_twice_and_undoes_nothing(lab, tmp_path):
    row = HEADER + "T,,H100,gpu,8,24,b,\n"
    run(tmp_path, row)
    Pitch.objects.update(title="Written since")

    told = run(tmp_path, row + "Another,,H100,gpu,8,24,b,\n")

    assert told.startswith("2 rows: 1 drafts, 1 here already, 0 not taken\n")
    assert sorted(Pitch.objects.values_list("title", flat=True)) == ["Another", "Written since"]


def test_a_finding_is_settled_once_somebody_has_written_there_and_the_form_shows_the_others(lab, tmp_path, client):
    run(tmp_path, HEADER + "T,,H100,gpu,8,24,b,\n", login="pitcher")
    draft = Pitch.objects.get()
    acts.draft(
        lab, pitch=draft, title="T", why=draft.why, gpus=8, min_gpus=4, days=1, expected_result="", if_declined=""
    )

    client.force_login(lab.pitcher)
    page = client.get(reverse("pitch_edit", args=[draft.public_id])).content.decode()

    draft.refresh_from_db()
    assert codes(draft) == ["no_project", "no_exit_criterion", "no_first_day"]
    assert ("Say what will be there then" in page, "names no minimum" in page) == (True, False)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"project": None}, "Name a project with --project, such as one of: assistant, protein-folding."),
        ({"login": "nobody"}, "There is no person with the login nobody."),
        ({"login": "stranger"}, "Those who may: the members of Protein folding, Ops. Nothing was imported."),
    ],
)
def test_who_and_where_must_be_clear(lab, tmp_path, options, told):
    with pytest.raises(CommandError) as refused:
        run(tmp_path, HEADER + "T,,H100,gpu,8,24,b,\n", **options)

    assert (told in str(refused.value), Pitch.objects.count()) == (True, 0)


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"a,b\n1,2\n", "names no column title, body, gpus, hours"), (b"", "names no column"), (b"\xff\xfe", "UTF-8")],
)
def test_what_is_no_table_of_pitches_is_refused_whole(content, told):
    with pytest.raises(BadPitchFile, match=told):
        list(read_pitch_file(content))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("NVIDIA A100 SXM4 80 GB", ["A100 80GB"]),
        ("NVIDIA A100", ["A100"]),
        ("nvidia tesla v100", ["V100M16", "V100M32"]),
        ("Quadro RTX 4000", []),
        ("NVIDIA", []),
        ("", []),
    ],
)
def test_models_are_known_by_their_words(text, meant):
    assert models_meant(text, ["A100", "A100 80GB", "H100", "V100M16", "V100M32"]) == meant


def test_fields_are_read_as_they_are_mostly_spelled():
    fields = [
        "Physics",
        "Physics",
        "physics ",
        "Applied Mathematics",
        "Applied Mathematics",
        "Appleid Mathematics",
        "Art",
    ]

    assert usual_spellings(fields) == {"physics ": "Physics", "Appleid Mathematics": "Applied Mathematics"}


@pytest.mark.skipif(not REAL.is_dir(), reason="the public pitches of ../shared/data are not here")
@pytest.mark.parametrize(("name", "rows"), [("pitches_training.csv", 80), ("pitches_science.csv", 160)])
def test_of_the_real_pitches_none_is_lost(lab, tmp_path, name, rows):
    found = list(read_pitch_file((REAL / name).read_bytes()))
    out = StringIO()

    call_command("import_pitches", str(REAL / name), project="protein-folding", stdout=out)

    assert (len(found), sum(isinstance(row, Unreadable) for row in found)) == (rows, 0)
    assert out.getvalue().startswith(f"{rows} rows: {rows} drafts, 0 here already, 0 not taken")
    assert Pitch.objects.filter(state="draft").count() == rows
    if name == "pitches_training.csv":
        assert sum("other_hardware" in codes(pitch) for pitch in Pitch.objects.all()) == 12
