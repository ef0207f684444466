"""A worker that pretends to process videos: the same seed gives the same course of events."""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from examples.momentry.model import PROCESSORS, Job, Kind, Message, Processor, Status
from examples.momentry.store import JobStore

STEPS = 8
SERVICES = {"stratakv": "ok", "worker": "ok"}


def uuid_of(video_path: str) -> str:
    """Sixteen hex digits; the same video is the same job."""
    return hashlib.sha256(video_path.encode()).hexdigest()[:16]


def sample_videos(count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    places = ("lobby", "gate", "hall", "garage", "roof")
    return [f"/videos/{rng.choice(places)}-{rng.randrange(10**6):06}.mp4" for _ in range(count)]


@dataclass(slots=True)
class Worker:
    """Takes one video after the other through all processors, until one of them fails."""

    store: JobStore
    rng: random.Random
    fail_rate: float = 0.0
    pause: Callable[[], None] = lambda: None
    clock: Callable[[], float] = time.time

    def process(self, video_path: str) -> Job:
        """Take a video from start to end; returns the job as it was stored last."""
        job, frames = self._start(video_path)
        for name in PROCESSORS:
            fails_at = self._failing_step()
            for step, processor in enumerate(self._steps(name, frames)):
                job = job.at(name, processor.progress, processor.updated_at)
                if step == fails_at:
                    return self._fail(job, processor)
                if name == PROCESSORS[-1] and processor.status is Status.COMPLETED:
                    return self._complete(job, processor)
                self.store.save(job, processor, _message_of(processor))
                self.store.measure(job.uuid, *self._load())
                self.pause()
        raise AssertionError("the last processor completes the job")

    def _start(self, video_path: str) -> tuple[Job, int]:
        self.store.beat("healthy", SERVICES)
        now, uuid, frames = self._now(), uuid_of(video_path), self.rng.randint(3000, 20000)
        job = Job(uuid, video_path, Status.RUNNING, PROCESSORS[0], 0, 0, now, now)
        text = f"{video_path}, {frames} frames"
        self.store.start(job, Message(Kind.INFO, PROCESSORS[0], now, text, 0, frames))
        return job, frames

    def _steps(self, name: str, frames: int) -> Iterator[Processor]:
        """A processor's states: running at 0, in between, and completed."""
        started = self._now()
        for step in range(STEPS + 1):
            status = Status.COMPLETED if step == STEPS else Status.RUNNING
            yield Processor(name, status, frames * step // STEPS, frames, started, self._now())

    def _failing_step(self) -> int | None:
        if self.rng.random() >= self.fail_rate / len(PROCESSORS):
            return None
        return self.rng.randrange(1, STEPS)

    def _fail(self, job: Job, processor: Processor) -> Job:
        reason = f"{processor.name} cannot read frame {processor.current_frame}"
        failed = job.failed(reason, processor.updated_at)
        message = replace(_message_of(processor), kind=Kind.ERROR, text=reason)
        self.store.end(failed, replace(processor, status=Status.FAILED), message, {})
        return failed

    def _complete(self, job: Job, processor: Processor) -> Job:
        done = replace(job, status=Status.COMPLETED)
        result = {name: str(self.rng.randrange(500)) for name in PROCESSORS}
        message = replace(_message_of(processor), text="job completed")
        self.store.end(done, processor, message, result)
        return done

    def _load(self) -> tuple[float, float]:
        return self.rng.uniform(20, 95), self.rng.uniform(600, 1800)

    def _now(self) -> int:
        return int(self.clock())


def _message_of(processor: Processor) -> Message:
    kind, text = Kind.PROGRESS, f"Processing frame {processor.current_frame}"
    if processor.status is Status.COMPLETED:
        kind, text = Kind.COMPLETE, f"{processor.name} completed"
    return Message(
        kind,
        processor.name,
        processor.updated_at,
        text,
        processor.current_frame,
        processor.total_frames,
    )
