"""Projects of the demo lab: busy, idle, protected, winding down and ended ones."""

from typing import NamedTuple


class DemoProject(NamedTuple):
    """`ends` is active, winding_down or ended; `idle` ones hold GPUs and do nothing."""

    slug: str
    name: str
    division: str
    lead: str
    members: tuple[str, ...]
    ends: str = "active"
    idle: bool = False
    protected: bool = False
    reason: str = ""


PROJECTS = [
    DemoProject("long-context", "Long-context pretraining", "research", "lead", ("staff", "lena")),
    DemoProject("reasoning-rl", "Reasoning by reinforcement", "research", "sofia", ("amir", "staff")),
    DemoProject("world-models", "World models for robots", "research", "dmitri", ("yuki",)),
    DemoProject("safety-evals", "Safety evaluations", "research", "grace", ("hugo",), protected=True),
    DemoProject("interp-atlas", "Atlas of features", "research", "hugo", ("grace",), idle=True),
    DemoProject("speech-v2", "Speech model, second version", "research", "yuki", ("dmitri",), "winding_down",
                reason="The final checkpoint is trained; only two ablations still run."),
    DemoProject("vision-sweep", "Vision scaling sweep", "research", "amir", ("sofia",), "ended",
                reason="The sweep is complete and written up."),
    DemoProject("assistant", "Assistant, serving", "applied", "lena", ("hugo",), protected=True),
    DemoProject("code-model", "Code completion tuning", "applied", "sofia", ("lead",)),
    DemoProject("search-rank", "Search ranking refresh", "applied", "grace", ("amir",), idle=True),
    DemoProject("support-bot", "Support agent pilot", "applied", "hugo", ("lena",), "winding_down",
                reason="The pilot moves to the shared assistant."),
    DemoProject("ads-lift", "Creative lift study", "applied", "dmitri", ("yuki",), "ended",
                reason="The study was stopped after the first read-out."),
]  # fmt: skip
