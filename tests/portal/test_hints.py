"""What a client is still to be told never grows without bound, and nobody waits for a server that stops."""

import asyncio

from portal import hints


def _after(*topics: str, patience_s: float = 0.0) -> set[str]:
    async def story() -> set[str]:
        listener = hints.Listener()
        for topic in topics:
            listener.tell(topic)
        return await listener.changes(patience_s=patience_s, gather_s=0)

    return asyncio.run(story())


def test_a_topic_is_told_once_however_often_it_came():
    assert _after("move", "move", "survey", "move") == {"move", "survey"}


def test_silence_is_an_empty_answer():
    assert _after(patience_s=0.01) == set()


def test_a_client_that_is_too_slow_is_told_to_ask_for_everything():
    topics = _after(*(f"topic-{number}" for number in range(10_000)))

    assert hints.EVERYTHING in topics
    assert len(topics) <= hints.MOST_TOPICS


def test_what_came_while_it_was_being_told_comes_with_the_next_answer():
    async def story() -> list[set[str]]:
        listener = hints.Listener()
        listener.tell("move")
        first = await listener.changes(patience_s=0, gather_s=0)
        listener.tell("plan")
        return [
            first,
            await listener.changes(patience_s=0, gather_s=0),
            await listener.changes(patience_s=0, gather_s=0),
        ]

    assert asyncio.run(story()) == [{"move"}, {"plan"}, set()]


def test_who_waits_when_the_server_stops_waits_no_longer():
    async def story() -> tuple[set[str], bool]:
        listener = hints.Listener()
        waiting = asyncio.create_task(listener.changes(patience_s=60, gather_s=60))
        await asyncio.sleep(0)
        listener.end()
        return await asyncio.wait_for(waiting, 1), listener.is_over

    assert asyncio.run(story()) == (set(), True)
