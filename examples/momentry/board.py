"""What a monitor knows: loaded from the keys, then kept up with messages."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

from examples.momentry.model import (
    PROCESSORS,
    Job,
    Kind,
    Malformed,
    Message,
    Processor,
    Status,
    parse_message,
)
from examples.momentry.store import JobState, JobStore, Summary

SHOWN_JOBS = 20
RECENT = 6


@dataclass(slots=True)
class Board:
    """The jobs that are shown: the active ones, and some that have ended."""

    store: JobStore
    summary: Summary = field(init=False)
    states: dict[str, JobState] = field(default_factory=dict)
    recent: deque[str] = field(default_factory=lambda: deque(maxlen=RECENT))
    problems: deque[str] = field(default_factory=lambda: deque(maxlen=RECENT))

    def load(self) -> None:
        """Forget everything and read the keys: at the start, and after messages may be lost."""
        self.states.clear()
        for status in Status:
            for uuid in self.store.uuids(status, SHOWN_JOBS):
                self._reload(uuid)
        self.refresh()

    def refresh(self) -> None:
        """Read what no message tells: counters, health, CPU of the active jobs."""
        self.summary = self.store.summary()
        for uuid in self.store.uuids(Status.RUNNING, SHOWN_JOBS):
            self._reload(uuid)
        self._forget_old()

    def hear(self, channel: str, text: str) -> Message | None:
        """Take in a message; one that is malformed is noted and returns None."""
        try:
            message = parse_message(channel, text)
        except Malformed as bad:
            self._note(str(bad))
            return None
        uuid = self.store.keys.uuid_of(channel)
        if not self._advance(uuid, message):
            self._reload(uuid)
            self.summary = self.store.summary()
        self.recent.append(describe(uuid, message))
        return message

    @property
    def is_idle(self) -> bool:
        return self.summary.active == 0

    def _advance(self, uuid: str, message: Message) -> bool:
        """Apply progress to what is known; False if the keys must be asked."""
        state = self.states.get(uuid)
        if message.kind is not Kind.PROGRESS or state is None or state.job is None:
            return False
        if _place(state) > (PROCESSORS.index(message.processor), message.current):
            return True  # the keys were read after this message was sent
        known = state.processors.get(message.processor)
        processor = _processor_of(message, known)
        state.processors[message.processor] = processor
        state.job = state.job.at(message.processor, processor.progress, message.timestamp)
        return True

    def _reload(self, uuid: str) -> None:
        state = self.store.state(uuid)
        for bad in state.malformed:
            self._note(str(bad))
        self.states.pop(uuid, None)
        self.states[uuid] = state

    def _forget_old(self) -> None:
        """Keep the newest jobs that ended, so that a monitor can run for weeks."""
        ended = [uuid for uuid, state in self.states.items() if not is_running(state.job)]
        for uuid in ended[: max(0, len(ended) - 2 * SHOWN_JOBS)]:
            del self.states[uuid]

    def _note(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)


def is_running(job: Job | None) -> bool:
    return job is not None and job.status is Status.RUNNING


def describe(uuid: str, message: Message) -> str:
    """A message as a line."""
    share = f"{message.current}/{message.total}"
    return f"{uuid} {message.kind:<8} {message.processor:<4} {share:>11} {message.text}"


def _place(state: JobState) -> tuple[int, int]:
    """How far a job is: the processor and its frame."""
    assert state.job is not None
    known = state.processors.get(state.job.current_processor)
    frame = known.current_frame if known else 0
    return PROCESSORS.index(state.job.current_processor), frame


def _processor_of(message: Message, known: Processor | None) -> Processor:
    if known is not None:
        return replace(known, current_frame=message.current, updated_at=message.timestamp)
    return Processor(
        message.processor,
        Status.RUNNING,
        message.current,
        message.total,
        message.timestamp,
        message.timestamp,
    )
