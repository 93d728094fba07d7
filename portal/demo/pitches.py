"""Thirty pitches of the demo lab, as a story: who pitched what, how many days ago, and who answered what when."""

from typing import NamedTuple


class Answer(NamedTuple):
    """One role's answer, `days_ago`; `gpus` only where fewer were approved."""

    login: str
    days_ago: float
    verdict: str = "approve"
    gpus: int | None = None
    reason: str = ""


class DemoPitch(NamedTuple):
    """`begins` and `days` place the term relative to today; `assigned` grants get their GPUs when the demo is seeded."""

    project: str
    pitcher: str
    title: str
    why: str
    model: str
    ideal: int
    minimum: int
    begins: int
    days: int
    result: str
    submitted: float | None = None
    answers: tuple[Answer, ...] = ()
    whole_nodes: bool = False
    one_island: bool = False
    assigned: bool = False
    withdrawn: float | None = None
    if_declined: str = ""
    others: tuple[tuple[str, int], ...] = ()  # models that would do as well, with their numbers
    site: str = ""
    link: str = ""
    start_within_days: int | None = None


def both(first: float, second: float, reason: str = "") -> tuple[Answer, ...]:
    """Research's two signatures."""
    return (Answer("research-head", first), Answer("chief-scientist", second, reason=reason))


def applied(days_ago: float, reason: str = "") -> tuple[Answer, ...]:
    """Applied's one signature."""
    return (Answer("ceo-applications", days_ago, reason=reason),)


GRANTED = [
    DemoPitch(
        "long-context",
        "lead",
        "Pretrain at a million tokens of context",
        "The 8-node runs plateau because the batch is too small for the "
        "new position scheme. One island keeps the ring exchange off the spine.",
        "H100",
        48,
        32,
        -40,
        120,
        "Loss at 1 M tokens below that of the 128 k model on held-out books.",
        45,
        both(44, 42, "The plateau is real; go."),
        True,
        True,
        True,
        if_declined="We stay at 128 k and publish the scheme without proof.",
    ),
    DemoPitch(
        "reasoning-rl",
        "sofia",
        "Reinforcement on verifiable proofs",
        "Rollouts starve the learner: two thirds of each step is waiting for samples.",
        "H100",
        24,
        16,
        -30,
        90,
        "Solve rate on the private set from 41 to 55 %.",
        33,
        both(32, 31),
        True,
        False,
        True,
    ),
    DemoPitch(
        "safety-evals",
        "grace",
        "Standing evaluation capacity for releases",
        "Every release waits for evaluations; they need GPUs that nobody takes away in the last week.",
        "H100",
        16,
        16,
        -60,
        180,
        "Evaluations answer within two days of a candidate.",
        64,
        both(63, 62),
        assigned=True,
    ),
    DemoPitch(
        "speech-v2",
        "yuki",
        "Train the second speech model",
        "The first one fails on accents that we did not have in the data; the data is here now.",
        "H100",
        16,
        8,
        -70,
        90,
        "Word error rate under 6 % on the accent set.",
        73,
        both(72, 70),
        True,
        False,
        True,
    ),
    DemoPitch(
        "vision-sweep",
        "amir",
        "Scaling sweep over five vision sizes",
        "Five sizes, three data mixes: the law decides what we train next year.",
        "A100",
        16,
        8,
        -80,
        70,
        "A fitted law with error bars.",
        84,
        both(83, 82),
        assigned=True,
    ),
    DemoPitch(
        "interp-atlas",
        "hugo",
        "Dictionary of features for the small model",
        "A dictionary of every layer lets us answer what a refusal is made of.",
        "A100",
        16,
        8,
        -35,
        100,
        "An atlas that names half of the features with agreement above 80 %.",
        38,
        both(37, 36),
        assigned=True,
    ),
    DemoPitch(
        "world-models",
        "dmitri",
        "Video world model for manipulation",
        "Sim-to-real fails on soft objects; a learned model of video closes the gap.",
        "H200",
        24,
        16,
        -20,
        90,
        "Fold a towel in 8 of 10 tries without simulation.",
        24,
        both(23, 21),
        True,
        False,
        True,
    ),
    DemoPitch(
        "assistant",
        "lena",
        "Serving for the assistant, winter load",
        "Winter traffic is 1.6 times that of summer; below 28 GPUs the wait passes two seconds.",
        "H200",
        32,
        28,
        -50,
        150,
        "Median first token under 400 ms at peak.",
        54,
        applied(53),
        assigned=True,
    ),
    DemoPitch(
        "code-model",
        "sofia",
        "Tune the code model on reviewed changes",
        "Reviewed changes are the best signal that we have and nobody has used them.",
        "H100",
        40,
        24,
        -15,
        60,
        "Accepted completions from 28 to 34 %.",
        18,
        applied(17),
        True,
        False,
        True,
    ),
    DemoPitch(
        "search-rank",
        "grace",
        "Refresh of the search ranking",
        "The ranking was trained before the new document types; it buries them.",
        "A100",
        16,
        8,
        -25,
        80,
        "New types in the top ten as often as old ones.",
        29,
        applied(28),
        assigned=True,
    ),
    DemoPitch(
        "support-bot",
        "hugo",
        "Pilot of the support agent",
        "Support answers the same forty questions; a pilot shows whether an agent can.",
        "H100",
        24,
        8,
        -45,
        44,
        "A third of tickets closed without a person, at equal satisfaction.",
        49,
        applied(48),
        assigned=True,
    ),
    DemoPitch(
        "ads-lift",
        "dmitri",
        "Does generated creative lift sales?",
        "A question of one month that decides a product line.",
        "A100",
        8,
        8,
        -60,
        45,
        "A lift with an interval that excludes zero, or its absence.",
        63,
        applied(61),
        assigned=True,
    ),
    DemoPitch(
        "world-models",
        "yuki",
        "Robot fleet data, second pass",
        "The robots brought back 900 hours that the first model has not seen.",
        "H100",
        16,
        8,
        0,
        45,
        "Halve the failures on deformable objects.",
        4,
        both(3, 0.3, "Start as soon as the speech nodes are free."),
        True,
    ),
    DemoPitch(
        "code-model",
        "lead",
        "Nightly evaluation of code candidates",
        "Candidates pile up: evaluation takes three days for each.",
        "H100",
        32,
        16,
        0,
        60,
        "A verdict by the next morning.",
        3,
        applied(0.8),
        True,
    ),
]

OPEN = [
    DemoPitch(
        "reasoning-rl",
        "amir",
        "Longer chains: 64 k token rollouts",
        "Longer chains pay off in the small model; memory of the H200 is what they need.",
        "H200",
        32,
        16,
        3,
        60,
        "Solve rate on competition problems above 60 %.",
        6,
        (Answer("research-head", 5.2),),
        True,
        if_declined="We stay at 16 k and learn nothing about long chains this quarter.",
        others=(("H100", 48),),
        site="oslo",
        link="https://papers.lab.example/long-chains",
        start_within_days=14,
    ),
    DemoPitch(
        "interp-atlas",
        "grace",
        "Features of refusals in the large model",
        "The small model's atlas is done where it matters; the large one is where the question is.",
        "H100",
        8,
        4,
        2,
        30,
        "Name the features behind nine of ten refusals.",
        2.5,
        others=(("A100", 16),),
        start_within_days=21,
    ),
    DemoPitch(
        "long-context",
        "staff",
        "Needle tests on the million-token run",
        "Loss falls, but does it read? Needle tests at every depth tell within a week.",
        "H100",
        8,
        8,
        1,
        14,
        "Recall above 95 % at every depth, or the reason why not.",
        1.2,
        if_declined="We find out after the run has ended.",
    ),
    DemoPitch(
        "safety-evals",
        "hugo",
        "Red-team sweep before the spring release",
        "Forty attack families, each against three candidates.",
        "A100",
        16,
        8,
        5,
        21,
        "A table of what breaks, two weeks before release.",
        3.4,
        (Answer("chief-scientist", 1.1, reason="Worth it before any release."),),
    ),
    DemoPitch(
        "assistant",
        "lena",
        "Headroom for the new voice mode",
        "Voice doubles the sessions of those who have it; we ship to ten percent.",
        "H200",
        6,
        4,
        4,
        60,
        "Voice sessions without a queue.",
        2.1,
    ),
    DemoPitch(
        "search-rank",
        "amir",
        "Multilingual ranking",
        "A third of queries are not in English and see the English model.",
        "H100",
        16,
        8,
        7,
        45,
        "Equal click-through in the ten largest languages.",
        8.3,
    ),
    DemoPitch(
        "long-context",
        "lena",
        "Retrieval baseline for the long-context paper",
        "Reviewers will ask whether retrieval does as well; so do we.",
        "H200",
        24,
        8,
        6,
        21,
        "A fair baseline, tuned as long as our own.",
        5,
        (Answer("research-head", 4), Answer("chief-scientist", 2, "approve", 12, "Half will do for a baseline.")),
    ),
    DemoPitch(
        "speech-v2",
        "yuki",
        "Children's voices",
        "The second model hears adults; half of the homes have children.",
        "A100",
        4,
        4,
        3,
        30,
        "Word error rate of children's speech below 9 %.",
        4.2,
        (Answer("chief-scientist", 1.6, "changes", None, "Say which recordings you train on, and who agreed."),),
    ),
    DemoPitch(
        "reasoning-rl",
        "sofia",
        "Verifier for proofs in Lean",
        "The verifier rejects what is right; a larger one would see it.",
        "A100",
        6,
        4,
        5,
        30,
        "Right proofs that are rejected: from 8 to 2 %.",
        3.6,
        (
            Answer("research-head", 2.4, "approve", 2, "Two are enough to see whether it works."),
            Answer("chief-scientist", 0.8),
        ),
    ),
    DemoPitch(
        "vision-sweep",
        "amir",
        "Sweep over patch sizes",
        "The five sizes were trained with one patch size; nobody knows whether it is the right one.",
        "A100",
        8,
        4,
        6,
        30,
        "A curve over four patch sizes.",
        7.1,
        (Answer("research-head", 3.1, "waitlist", None, "After the red-team sweep."),),
    ),
]

CLOSED = [
    DemoPitch(
        "world-models", "yuki", "A simulator of our own", "Licences of the simulator cost more than two engineers.", "H200", 40, 32, -10, 90,
        "Parity with the licensed one.", 15, (Answer("research-head", 12, "decline", reason="Two teams already build one; join them before asking for GPUs."),),
    ),
    DemoPitch(
        "interp-atlas", "hugo", "Atlas for every checkpoint", "One atlas per checkpoint shows how features are born.", "A100", 40, 32, -5, 60,
        "A film of features over training.", 11, (Answer("chief-scientist", 9, "decline", reason="The atlas in hand stands idle half of the time; use it first."),),
    ),
    DemoPitch(
        "ads-lift", "dmitri", "Repeat the creative study in two markets", "One market may be luck.", "A100", 8, 8, -10, 30, "The same answer twice.", 22,
        (Answer("ceo-applications", 20, "decline", reason="The first read-out answers the question; we stop here."),),
    ),
    DemoPitch(
        "support-bot", "lena", "Support agent for every product", "The pilot works on one product.", "H100", 24, 12, 0, 120, "Roll-out by spring.", 10,
        (Answer("ceo-applications", 8, "decline", reason="The shared assistant takes this over; no second system."),),
    ),
    DemoPitch(
        "vision-sweep", "sofia", "Two more sizes for the sweep", "Two more points would narrow the error of the law.", "A100", 16, 8, -20, 30,
        "Error bars half as wide.", 26, withdrawn=25,
    ),
    DemoPitch(
        "speech-v2", "dmitri", "Ablation of the accent data", "Which of the four sources helped?", "H100", 8, 4, 5, 14, "A ranking of the sources.", 7, withdrawn=6,
    ),
    DemoPitch(
        "long-context", "staff", "Position scheme at ten million tokens", "A look at whether the scheme holds one order further.", "H200", 16, 8, 20, 30,
        "A curve of loss against length up to ten million.",
    ),
    DemoPitch(
        "reasoning-rl", "staff", "Reward model from proof checkers", "The checker's partial credit may be a better reward than the verdict.", "H100", 16, 8, 14, 45,
        "A learning curve for each reward.",
    ),
    DemoPitch(
        "code-model", "lead", "Distil the code model for the editor", "Latency in the editor decides whether it is used.", "A100", 8, 4, 10, 30,
        "Half of the latency at 95 % of the acceptance.",
    ),
]  # fmt: skip

PITCHES = [*GRANTED, *OPEN, *CLOSED]
