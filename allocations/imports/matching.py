"""Names that are spelled unevenly, matched to the ones that are meant; pure."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

MAKERS = frozenset({"nvidia", "amd", "tesla", "geforce", "quadro", "instinct"})
ALIKE = 0.9  # of 1, as difflib counts: one slip of the fingers in a word or two


def models_meant(text: str, names: Sequence[str]) -> list[str]:
    """The model names that the text may mean equally well, sorted; [] where it means none of them.

    Of the names whose every word the text has ("A100" in "NVIDIA A100 SXM4 80 GB") those with the most words; without
    such a name those that begin with the text's first word ("V100M32" for "NVIDIA V100"). Words of makers and lines
    say nothing.
    """
    words = _words(text)
    if not words:
        return []
    whole = {name: len(_words(name)) for name in names if _words(name) and set(_words(name)) <= set(words)}
    if whole:
        return sorted(name for name, count in whole.items() if count == max(whole.values()))
    return sorted(name for name in names if _words(name)[:1] and _words(name)[0].startswith(words[0]))


def usual_spellings(spelled: Iterable[str]) -> dict[str, str]:
    """Each spelling -> the one most used for the same, where there is another one: "physics " -> "Physics"."""
    counted = Counter(spelled)
    usual: dict[str, str] = {}
    by_key: dict[str, str] = {}
    for text, _count in sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])):
        key = _key(text)
        near = [key] if key in by_key else get_close_matches(key, by_key, n=1, cutoff=ALIKE)
        if near and by_key[near[0]] != text:
            usual[text] = by_key[near[0]]
        else:
            by_key[key] = text
    return usual


def _words(text: str) -> list[str]:
    joined = re.sub(r"(\d+)\s*gb\b", r"\1gb", text.lower())
    return [word for word in re.findall(r"[a-z0-9]+", joined) if word not in MAKERS]


def _key(text: str) -> str:
    return " ".join(text.casefold().replace("&", "and").split())
