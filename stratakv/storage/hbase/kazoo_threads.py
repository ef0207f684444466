"""From kazoo's threads into the loop."""

import asyncio
from collections.abc import Callable
from typing import Any


def in_the_loop(loop: asyncio.AbstractEventLoop, then: Callable[[], None]) -> None:
    """Do something in the loop soon, unless it has ended. May be called from any thread."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(then)


async def result_of(asked: Any) -> Any:
    """What a thread of kazoo finds out; raises what that raises."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle() -> None:
        if future.done():
            return
        if asked.exception is not None:
            future.set_exception(asked.exception)
        else:
            future.set_result(asked.value)

    asked.rawlink(lambda _: in_the_loop(loop, settle))
    return await future
