"""The monitor's operations on the server.

Each change of state is one MULTI: the hashes, the single keys, their TTLs, the move between the
sets and the message. Who hears the message finds its state in the keys, and a job is always in
exactly one set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar, cast

import redis
from redis.client import Pipeline, PubSub

from examples.momentry import keys as names
from examples.momentry.keys import Keys
from examples.momentry.model import (
    GROUPS,
    PROCESSORS,
    Job,
    Kind,
    Malformed,
    Message,
    Processor,
    Status,
    parse_job,
    parse_processor,
)

T = TypeVar("T")
METRICS = ("cpu", "memory")


class Refused(Exception):
    """The operation makes no sense in the present state; the message is for people."""


@dataclass(slots=True)
class JobState:
    """A job with its processors, as the keys have it; `job` is None if expired or malformed."""

    uuid: str
    job: Job | None = None
    processors: dict[str, Processor] = field(default_factory=dict)
    cpu: list[float] = field(default_factory=list)
    malformed: list[Malformed] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Summary:
    """The state of the whole installation; what has expired is None."""

    health: str | None
    services: dict[str, str]
    cpu: str | None
    memory: str | None
    total_jobs: int
    processed_today: int
    active: int
    completed: int
    failed: int


def connect(url: str, **options: Any) -> redis.Redis:
    """A client whose replies are text; bytes that are not UTF-8 show as \\xNN and do not raise."""
    return redis.Redis.from_url(
        url, decode_responses=True, encoding_errors="backslashreplace", **options
    )


class JobStore:
    """Jobs of one installation, whose keys all have its prefix."""

    def __init__(self, client: redis.Redis, keys: Keys) -> None:
        self._client = client
        self.keys = keys

    # -- what workers write

    def start(self, job: Job, message: Message) -> None:
        """Make a job active. One that ended starts anew; one that is active is Refused."""

        def work(pipe: Pipeline) -> None:
            if pipe.sismember(self.keys.jobs("active"), job.uuid):
                raise Refused(f"job {job.uuid} is already active")
            pipe.multi()
            pipe.delete(*self._keys_of(job.uuid))
            pipe.srem(self.keys.jobs("completed"), job.uuid)
            pipe.srem(self.keys.jobs("failed"), job.uuid)
            pipe.sadd(self.keys.jobs("active"), job.uuid)
            pipe.incr(self.keys.key("stats:total_jobs"))
            self._put_job(pipe, job, message)

        self._atomically(work)

    def save(self, job: Job, processor: Processor, message: Message) -> None:
        """Write the state of a running job and one of its processors, and tell it."""
        with self._client.pipeline() as pipe:
            self._put_processor(pipe, job.uuid, processor)
            self._put_job(pipe, job, message)
            pipe.execute()

    def end(
        self, job: Job, processor: Processor | None, message: Message, result: Mapping[str, str]
    ) -> None:
        """Move an active job to the set of its status, with the result; Refused if not active."""
        active, ended = self.keys.jobs("active"), self.keys.jobs(GROUPS[job.status])

        def work(pipe: Pipeline) -> None:
            if not pipe.sismember(active, job.uuid):
                raise Refused(f"job {job.uuid} is not active")
            pipe.multi()
            pipe.smove(active, ended, job.uuid)
            self._put_result(pipe, job, result)
            if processor is not None:
                self._put_processor(pipe, job.uuid, processor)
            self._put_job(pipe, job, message)

        self._atomically(work)

    def measure(self, uuid: str, cpu: float, memory: float) -> None:
        """Add to the histories of CPU percent and memory in MB; the newest value is first."""
        with self._client.pipeline() as pipe:
            for metric, value in zip(METRICS, (cpu, memory), strict=True):
                key = self.keys.metrics(uuid, metric)
                pipe.lpush(key, f"{value:.1f}")
                pipe.ltrim(key, 0, names.HISTORY_LENGTH - 1)
                pipe.expire(key, names.HISTORY_TTL_S)
                current = self.keys.key(f"stats:{metric}:current")
                pipe.set(current, f"{value:.1f}", ex=names.CURRENT_TTL_S)
            pipe.execute()

    def beat(self, health: str, services: Mapping[str, str]) -> None:
        """Say how we are. It holds for a minute: who falls silent is not healthy."""
        with self._client.pipeline() as pipe:
            pipe.set(self.keys.key("health:current"), health, ex=names.HEALTH_TTL_S)
            key = self.keys.key("health:services")
            pipe.delete(key)
            pipe.hset(key, mapping=cast(Any, services))
            pipe.expire(key, names.HEALTH_TTL_S)
            pipe.execute()

    def sweep(self) -> int:
        """Take jobs whose keys have expired out of the sets of ended ones; returns how many."""
        swept = 0
        for group in ("completed", "failed"):
            key = self.keys.jobs(group)
            for uuid in cast(Any, self._client.sscan_iter(key)):
                if not self._client.exists(self.keys.job(uuid)):
                    swept += self._client.srem(key, uuid)
        return swept

    # -- what monitors read

    def summary(self) -> Summary:
        """The state of the installation, read at one moment."""
        with self._client.pipeline() as pipe:
            pipe.mget([self.keys.key(name) for name in _SUMMARY_KEYS])
            pipe.hgetall(self.keys.key("health:services"))
            for group in GROUPS.values():
                pipe.scard(self.keys.jobs(group))
            (health, cpu, memory, total, today), services, *counts = pipe.execute()
        return Summary(
            health, services, cpu, memory, _count(total), _count(today), *map(int, counts)
        )

    def uuids(self, status: Status, limit: int | None = None) -> list[str]:
        """The jobs of a status, sorted; or any `limit` of them, as sets have no order."""
        found = cast(Any, self._client.sscan_iter(self.keys.jobs(GROUPS[status])))
        return sorted(set(islice(found, limit)))

    def state(self, uuid: str) -> JobState:
        """Everything a late monitor needs about a job, read at one moment."""
        with self._client.pipeline() as pipe:
            pipe.hgetall(self.keys.job(uuid))
            for name in PROCESSORS:
                pipe.hgetall(self.keys.processor(uuid, name))
            pipe.lrange(self.keys.metrics(uuid, "cpu"), 0, -1)
            replies = pipe.execute(raise_on_error=False)
        return self._parse_state(uuid, replies)

    def listen(self) -> PubSub:
        """Subscribe to the messages of all jobs of this installation."""
        pubsub: PubSub = self._client.pubsub()  # type: ignore[no-untyped-call]
        pubsub.psubscribe(self.keys.progress_pattern())
        return pubsub

    # -- pieces of a MULTI

    def _put_job(self, pipe: Pipeline, job: Job, message: Message) -> None:
        key = self.keys.job(job.uuid)
        pipe.hset(key, mapping=cast(Any, job.fields()))
        pipe.expire(key, names.JOB_TTL_S)
        pipe.set(f"{key}:status", job.status, ex=names.JOB_TTL_S)
        if message.kind is not Kind.PROGRESS:
            line = f"{message.timestamp} {message.kind} {message.processor}: {message.text}\n"
            pipe.append(self.keys.log(job.uuid), line)
            pipe.expire(self.keys.log(job.uuid), names.JOB_TTL_S)
        pipe.publish(self.keys.progress(job.uuid), message.json())

    def _put_processor(self, pipe: Pipeline, uuid: str, processor: Processor) -> None:
        key = self.keys.processor(uuid, processor.name)
        pipe.hset(key, mapping=cast(Any, processor.fields()))
        pipe.expire(key, names.JOB_TTL_S)
        for name, value in processor.strings().items():
            pipe.set(f"{key}:{name}", value, ex=names.JOB_TTL_S)

    def _put_result(self, pipe: Pipeline, job: Job, result: Mapping[str, str]) -> None:
        """The result, how long it took, and the count of a day that begins with its first job."""
        duration = self.keys.metrics(job.uuid, "duration")
        pipe.set(duration, job.updated_at - job.started_at, ex=names.JOB_TTL_S)
        if result:
            pipe.hset(self.keys.result(job.uuid), mapping=cast(Any, result))
            pipe.expire(self.keys.result(job.uuid), names.JOB_TTL_S)
            output = f"{job.video_path}.json"
            pipe.set(self.keys.output(job.uuid), output, ex=names.JOB_TTL_S)
        pipe.incr(self.keys.key("stats:processed_today"))
        pipe.expire(self.keys.key("stats:processed_today"), names.TODAY_TTL_S, nx=True)

    def _keys_of(self, uuid: str) -> list[str]:
        """Every key that an earlier run of the job may have left."""
        found = [self.keys.result(uuid), self.keys.output(uuid), self.keys.log(uuid)]
        found += [self.keys.metrics(uuid, metric) for metric in (*METRICS, "duration")]
        found += [self.keys.job(uuid), f"{self.keys.job(uuid)}:status"]
        for name in PROCESSORS:
            key = self.keys.processor(uuid, name)
            found += [key, *(f"{key}:{part}" for part in _PROCESSOR_STRINGS)]
        return found

    def _atomically(self, work: Callable[[Pipeline], T]) -> T:
        """Run `work`, which reads the active jobs and then queues writes; again if they changed."""
        with self._client.pipeline() as pipe:
            while True:
                try:
                    pipe.watch(self.keys.jobs("active"))  # type: ignore[no-untyped-call]
                    result = work(pipe)
                    pipe.execute()
                    return result
                except redis.WatchError:
                    continue

    # -- reading

    def _parse_state(self, uuid: str, replies: list[Any]) -> JobState:
        state, (fields, *processors, cpu) = JobState(uuid), replies
        state.job = _parsed(state, parse_job, self.keys.job(uuid), fields)
        for name, found in zip(PROCESSORS, processors, strict=True):
            processor = _parsed(state, parse_processor, self.keys.processor(uuid, name), found)
            if processor is not None:
                state.processors[name] = processor
        state.cpu = _parsed(state, _history, self.keys.metrics(uuid, "cpu"), cpu) or []
        return state


_SUMMARY_KEYS = (
    "health:current",
    "stats:cpu:current",
    "stats:memory:current",
    "stats:total_jobs",
    "stats:processed_today",
)
_PROCESSOR_STRINGS = ("status", "progress", "current", "total", "started_at")


def _parsed(state: JobState, parse: Callable[[str, Any], T], key: str, reply: Any) -> T | None:
    """Parse what a key holds; None if it is not there, or not as it should be, which is noted."""
    if not reply:
        return None
    try:
        if isinstance(reply, redis.ResponseError):
            raise Malformed(key, str(reply))
        return parse(key, reply)
    except Malformed as bad:
        state.malformed.append(bad)
        return None


def _history(where: str, texts: list[str]) -> list[float]:
    """Values of a history, the oldest first."""
    try:
        return [float(text) for text in reversed(texts)]
    except ValueError:
        raise Malformed(where, "a value is not a number") from None


def _count(text: str | None) -> int:
    return int(text) if text and text.isdecimal() else 0
