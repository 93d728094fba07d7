"""Totals over GPU models: the parts sum to the whole, weight 1 everywhere is a plain sum, no weight counts 1."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allocations import queries
from allocations.capacity import Booking, Timeline, clear_from, unit_of, weighted, worst_of
from allocations.models import SplitWeight
from tests import factories

NAMES = ["A100", "B200", "H100", "H200"]
DAY = timedelta(days=1)
START = datetime(2027, 3, 1, tzinfo=UTC)

gpus = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 100_000))
weights = st.dictionaries(
    st.sampled_from(NAMES), st.integers(1, 999_999).map(lambda thousandths: Decimal(thousandths) / 1000)
)
lines = st.dictionaries(
    st.sampled_from(NAMES),
    st.lists(st.tuples(st.integers(0, 30), st.integers(1, 30), st.integers(0, 50)), max_size=4).map(
        lambda rows: Timeline.of(0, [Booking(START + a * DAY, START + (a + n) * DAY, g) for a, n, g in rows])
    ),
)


class TestTheSum:
    @given(st.lists(gpus, max_size=5), weights)
    def test_the_parts_sum_to_the_whole(self, parts, weights):
        whole = {name: sum(part.get(name, 0) for part in parts) for name in NAMES}

        assert sum((weighted(part, weights) for part in parts), Decimal(0)) == weighted(whole, weights)

    @given(gpus, st.sets(st.sampled_from(NAMES)))
    def test_weight_one_everywhere_said_or_not_is_a_plain_sum(self, gpus, said):
        assert weighted(gpus, dict.fromkeys(said, Decimal(1))) == sum(gpus.values())

    @given(gpus, weights, st.sampled_from(NAMES))
    def test_one_gpu_more_adds_its_weight(self, gpus, weights, name):
        more = {**gpus, name: gpus.get(name, 0) + 1}

        assert weighted(more, weights) - weighted(gpus, weights) == weights.get(name, 1)

    @given(lines, weights, st.integers(0, 30), st.integers(1, 40))
    def test_the_worst_is_the_largest_of_all_days(self, lines, weights, first, length):
        days = [START + (first + n) * DAY for n in range(length)]
        by_day = [weighted({name: line.at(day) for name, line in lines.items()}, weights) for day in days]

        assert worst_of(lines, weights, days[0], days[-1] + DAY) == max(by_day)

    @given(lines, st.integers(0, 30))
    def test_it_is_clear_from_the_day_after_the_last_one_over(self, lines, first):
        line, start = next(iter(lines.values()), Timeline.constant(0)), START + first * DAY
        over = [day for n in range(70) if line.at(day := start + n * DAY)]

        assert clear_from(line, start) == (over[-1] + DAY if over else start)

    def test_what_never_ends_is_never_clear(self):
        assert clear_from(Timeline.constant(3), START) is None


class TestTheUnit:
    @pytest.mark.parametrize(
        ("weights", "unit"),
        [
            ({"H100": "1", "A100": "0.4", "H200": "1.6"}, "H100"),
            ({"A100": "0.4"}, "B200"),  # one given nothing counts 1
            ({"B200": "2", "A100": "0.4", "H100": "1.1", "H200": "3"}, ""),
            ({}, ""),  # a plain count of GPUs
        ],
    )
    def test_it_is_the_model_that_counts_one(self, weights, unit):
        assert unit_of(NAMES, {name: Decimal(weight) for name, weight in weights.items()}) == unit


@pytest.mark.django_db
class TestDivisions:
    """100 H100 and 50 A100, shared 60 to 40; an A100 counts 0.4 of an H100."""

    @pytest.fixture
    def split(self, world, noon):
        factories.fleet(factories.model("A100"), gpus=50, per_node=10)
        split = factories.split({"": {"research": 60, "applied": 30}}, starts_at=noon - DAY)
        SplitWeight.objects.create(split=split, model=factories.model("A100"), weight=Decimal("0.4"))
        return split

    def totals(self, split, at, **more):
        return queries.totals_of(queries.capacities_of(at=at), queries.weights_of(split), at=at, **more)

    def test_shares_and_reserve_sum_to_all_that_is_healthy(self, split, noon):
        totals = self.totals(split, noon)

        assert [(row.division.slug, row.share) for row in totals.rows] == [("research", 72), ("applied", 36)]
        assert (totals.healthy, totals.reserve) == (120, 12)
        assert (totals.unit, totals.weights, totals.without_weight) == ("H100", {"A100": Decimal("0.4")}, ["H100"])

    def test_promised_held_and_over_count_by_weight(self, world, split, noon):
        a100 = factories.model("A100")
        factories.grant(world.project, gpus=64, ends_at=noon + 9 * DAY)
        grant = factories.grant(world.project, model=a100, gpus=40, ends_at=noon + 5 * DAY)
        for card in factories.fleet(a100, gpus=10):
            factories.holding(card, world.project, grant=grant, since=noon)
        factories.split({"": {"research": 50, "applied": 30}}, starts_at=noon)

        research, applied = self.totals(split, noon, held=queries.held_by_division()).rows

        assert (research.promised, research.held) == (Decimal(64) + Decimal(16), 4)
        assert (research.over_now, research.over) == (18, 18)
        assert research.clear_at == noon + 9 * DAY
        assert (applied.promised, applied.held, applied.over, applied.clear_at) == (0, 0, 0, noon)

    def test_what_is_to_be_over_is_not_over_now(self, world, split, noon):
        factories.grant(world.project, gpus=60, ends_at=noon + 9 * DAY)
        factories.split({"": {"research": 50, "applied": 30}}, starts_at=noon + 2 * DAY)

        research = self.totals(split, noon).rows[0]

        assert (research.over_now, research.over, research.clear_at) == (0, 10, noon + 9 * DAY)

    def test_a_preview_counts_before_and_after_by_the_weights_proposed(self, world, split, noon):
        percents = {"": {"research": Decimal(50), "applied": Decimal(40)}}
        proposed = {"A100": Decimal("0.5")}

        totals = queries.preview_for(percents, starts_at=noon + DAY, person=world.ceo, weights=proposed).totals

        assert [(row.before, row.share) for row in totals.rows] == [(75, Decimal("62.5")), (Decimal("37.5"), 50)]
