"""The desk as tests send and read it: the form of a browser, and what the page says."""

import re


def marks(pitches, *, taken=(), declined=(), role="chief-scientist", gpus=None, reasons=None) -> dict:
    """The form as a browser sends it: `taken` and `declined` are places among the pitches."""
    typed = {"division": "research", "model": "H100", "take": [], "decline": []}
    for place, pitch in enumerate(pitches):
        key = str(pitch.public_id)
        typed |= {
            f"rank-{key}": str(place + 1),
            f"gpus-{key}": str((gpus or {}).get(place, pitch.offered_gpus)),
            f"reason-{key}": (reasons or {}).get(place, ""),
        }
        for name, places in (("take", taken), ("decline", declined)):
            if place in places:
                typed[name].append(f"{key}:{pitch.round}:{role}")
    return typed


def outcomes(page: str) -> list[str]:
    """Each pitch's outcome by the page, in the order of the rows."""
    return re.findall(r"<span data-desk-outcome>(.*?)</span>", page)


def displaced(page: str) -> list[str]:
    return re.findall(r"<span data-desk-displaced>(.*?)</span>", page)


def said(page: str) -> list[tuple[str, str]]:
    """(title, sentence) of each answer that was given."""
    found = re.findall(r'<a class="row-link" href="[^"]*">([^<]*)</a><span>(.*?)</span></li>', page, re.S)
    return [(title, " ".join(re.sub(r"<[^>]+>", "", sentence).split())) for title, sentence in found]
