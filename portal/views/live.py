"""The live stream: says which topics changed, so that a page asks for its parts again."""

import asyncio
import random
from collections.abc import AsyncIterator

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import connection
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.views.decorators.http import require_safe

from portal import hints

HEARTBEAT_S = 15.0  # proxies cut silent connections after 30-60 s
GATHER_S = 0.2  # a commit of 500 moves is one hint to a page, not 500
READY_PATIENCE_S = 2.0  # a database that does not answer is no reason to hold the answer's head back
LIFE_S = 240.0  # then the client connects again, and its session is looked at again
LIFE_SPREAD_S = 60.0  # so that the clients of a restarted server do not all come back in one second
RECONNECT_MS = 1500


@require_safe
async def live(request: HttpRequest) -> HttpResponseBase:
    """Server-sent events: `ready`, then `changed` with topics (blanks between); a comment is the heartbeat."""
    if not (await request.auser()).is_authenticated:
        return HttpResponse(status=401)
    await sync_to_async(_give_back_connection)()
    if not isinstance(request, ASGIRequest):
        return HttpResponse(status=204)  # a server without streams: the page asks by the clock
    response = StreamingHttpResponse(_stream(), content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response


def _give_back_connection() -> None:
    """The stream keeps no connection of its own: there are as many streams as open pages, and they last minutes."""
    if not connection.in_atomic_block:
        connection.close()


async def _stream() -> AsyncIterator[str]:
    ear = hints.ear()
    loop_time = asyncio.get_running_loop().time
    ends_at_s = loop_time() + LIFE_S + random.uniform(0, LIFE_SPREAD_S)  # noqa: S311 - spreads load, guards nothing
    with ear.listening() as listener:
        yield f"retry: {RECONNECT_MS}\n\n"
        hears = await ear.ready(READY_PATIENCE_S)
        yield f"event: ready\ndata: {'heard' if hears else 'unheard'}\n\n"
        while not listener.is_over and loop_time() < ends_at_s:
            topics = await listener.changes(patience_s=HEARTBEAT_S, gather_s=GATHER_S)
            yield f"event: changed\ndata: {' '.join(sorted(topics))}\n\n" if topics else "event: here\ndata: -\n\n"
