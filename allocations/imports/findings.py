"""What is missing or unclear in an imported row, told to whoever goes on with the draft."""

from dataclasses import dataclass, field

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

TEXTS: dict[str, tuple[str, str | Promise]] = {
    # code -> the field of the draft that it is about, the sentence
    "no_project": ("project", _("The file names no project; the draft stands under %(project)s.")),
    "unknown_project": ("project", _("The file names the project %(named)s, which is not here; it is %(project)s.")),
    "unknown_requester": ("pitcher", _("The file names %(named)s, who cannot pitch for it here; it is yours.")),
    "no_minimum": ("min_gpus", _("The file names no minimum; it is set to the whole ask.")),
    "no_exit_criterion": ("expected_result", _("Say what will be there then, and the day on which it is checked.")),
    "no_first_day": ("start_on", _("The file names no first day; it is set to the day of the import.")),
    "other_hardware": (
        "model",
        _("It asks for %(named)s, which this fleet cannot serve; choose a GPU model."),
    ),
    "unknown_model": ("model", _("It asks for %(named)s, which this fleet has not; choose a GPU model.")),
    "no_model": ("model", _("The file names no GPU model; choose one.")),
    "several_models": ("model", _("%(named)s may be any of %(models)s; the first was taken.")),
    "larger_than_fleet": ("ideal_gpus", _("It asks for %(gpus)s %(model)s; the fleet has %(there)s in all.")),
    "longer_than_allowed": ("days", _("It asks for %(days)s days; a promise lasts %(longest)s at most.")),
    "title_cut": ("title", _("The title was cut to %(limit)s characters; all of it stands in the reason.")),
    "text_cut": ("why", _("The text was cut to %(limit)s characters.")),
    "field_spelling": ("why", _("The field “%(named)s” was read as “%(usual)s”, as it is mostly spelled in the file.")),
}


@dataclass
class Findings:
    """The findings of one row, in order, as the draft keeps them: code, field, text."""

    rows: list[dict[str, str]] = field(default_factory=list)

    def add(self, code: str, **words: object) -> None:
        """One more."""
        about, text = TEXTS[code]
        self.rows.append({"code": code, "field": about, "text": str(text) % words})

    def unless(self, fits: object, code: str, **words: object) -> None:
        """One more where something is not as it should be."""
        if not fits:
            self.add(code, **words)
