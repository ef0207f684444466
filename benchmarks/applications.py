"""The applications under `examples/` as streams of commands: their keys, their values, their mix.

Names and values come from the applications' own modules. What an application decides by a reply (a
member to read, a transaction to try again) is decided here by what the stream itself has written.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from benchmarks.lanes import Lane, Shape, Step
from benchmarks.resp import encode
from examples.flume_metrics import rows, shapes
from examples.momentry import keys as momentry_keys
from examples.momentry import model as momentry_model
from examples.shop_index import items
from examples.shop_index.keys import ALL, Key, key
from examples.transcode import model as transcode_model
from examples.transcode import sample as transcode_sample

FRAGMENTS = 12
BITRATE = 400
FRAMES = 8000
PAGE = 20
FIRST_MARK = datetime(2015, 11, 11, 14)
LOGIDS = ("0000000007", "0000000008", "0000000009", "0000000012")


def transcode(lane: Lane) -> Iterator[Step]:
    """A host records the fragments of its videos, one by one, and players ask for playlists."""
    videos = transcode_model.VIDEOS_KEY
    for number in range(lane.steps):
        place = number % FRAGMENTS
        if place == 0:
            video = transcode_sample.video_id(lane.rng)
            name = transcode_model.fragments_key(video, BITRATE)
            fragments = transcode_sample.fragments(lane.rng, video, BITRATE, FRAGMENTS)
            yield (encode("HSET", videos, video, _status("proceed", lane)),)
        fragment = next(fragments)
        yield (
            encode("WATCH", videos),
            encode("HGET", videos, video),
            encode("MULTI"),
            encode("ZADD", name, fragment.create_time, fragment.text()),
            encode("EXEC"),
        )
        if place % 4 == 3:
            yield encode("HGET", videos, video), encode("ZRANGE", name, 0, -1, "WITHSCORES")
        if place == FRAGMENTS - 1:
            yield (encode("HSET", videos, video, _status("success", lane)),)


def _status(status: str, lane: Lane) -> str:
    host = f"10.209.79.{lane.number + 1}"
    state = transcode_model.Status(status)
    return transcode_model.Video(state, lane.rng.randrange(300), host, (BITRATE,)).text()


def momentry(lane: Lane) -> Iterator[Step]:
    """A worker takes its jobs through the processors and measures; monitors read whole jobs."""
    names = momentry_keys.Keys()
    for number in range(lane.steps):
        if number % 20 == 0:
            uuid = f"{lane.rng.getrandbits(64):016x}"
        name = momentry_model.PROCESSORS[number % 20 * 7 // 20]
        frame = FRAMES * (number % 20) // 20
        yield _save(names, uuid, name, frame)
        yield _measure(names, uuid, lane)
        if number % 10 == 9:
            hashes = [names.processor(uuid, name) for name in momentry_model.PROCESSORS]
            yield (
                *(encode("HGETALL", name) for name in (names.job(uuid), *hashes)),
                encode("LRANGE", names.metrics(uuid, "cpu"), 0, -1),
            )


def _save(names: momentry_keys.Keys, uuid: str, name: str, frame: int) -> Step:
    running, now = momentry_model.Status.RUNNING, 1_700_000_000 + frame
    processor = momentry_model.Processor(name, running, frame, FRAMES, now, now)
    job = momentry_model.Job(uuid, f"/videos/{uuid}.mp4", running, name, 0, 0, now, now)
    job = job.at(name, processor.progress, now)
    kind, text = momentry_model.Kind.PROGRESS, f"Processing frame {frame}"
    message = momentry_model.Message(kind, name, now, text, frame, FRAMES)
    hashes = {names.processor(uuid, name): processor.fields(), names.job(uuid): job.fields()}
    strings = {f"{names.processor(uuid, name)}:{k}": v for k, v in processor.strings().items()}
    strings[f"{names.job(uuid)}:status"] = job.status
    ttl = momentry_keys.JOB_TTL_S
    return (
        encode("MULTI"),
        *(encode("HSET", n, *(x for pair in f.items() for x in pair)) for n, f in hashes.items()),
        *(encode("EXPIRE", n, ttl) for n in hashes),
        *(encode("SET", n, value, "EX", ttl) for n, value in strings.items()),
        encode("PUBLISH", names.progress(uuid), message.json()),
        encode("EXEC"),
    )


def _measure(names: momentry_keys.Keys, uuid: str, lane: Lane) -> Step:
    step = [encode("MULTI")]
    for metric in ("cpu", "memory"):
        name, value = names.metrics(uuid, metric), f"{lane.rng.uniform(20, 95):.1f}"
        step += (
            encode("LPUSH", name, value),
            encode("LTRIM", name, 0, momentry_keys.HISTORY_LENGTH - 1),
            encode("EXPIRE", name, momentry_keys.HISTORY_TTL_S),
            encode(
                "SET",
                names.key(f"stats:{metric}:current"),
                value,
                "EX",
                momentry_keys.CURRENT_TTL_S,
            ),
        )
    return (*step, encode("EXEC"))


def shop_index(lane: Lane) -> Iterator[Step]:
    """Items enter rankings that end at a thousand and get their figures; pages read twenty."""
    day = "2013-11-11"
    for number in range(lane.steps):
        item = str(1_234_000 + lane.rng.randrange(lane.spec.keys))
        place = {"cate1": lane.rng.choice(("16", "1801")), "cate2": ALL}
        ranking = key("itemindex", date=day, field="sales", monorday="mon", **place)
        info = key("iteminfo", date=day, itemid=item)
        sales = round(lane.rng.lognormvariate(9, 2), 2)
        yield (
            encode("ZADD", ranking.name, sales, item),
            encode("ZREMRANGEBYRANK", ranking.name, 0, -items.TOP - 1),
            encode("DEL", info.name),
            encode("HSET", info.name, *_figures(item, sales)),
        )
        if number % 10 == 9:
            yield _page(ranking, day, lane)


def _figures(item: str, sales: float) -> tuple[str | float, ...]:
    names = (
        "name",
        f"Item {item}",
        "image",
        f"http://img.example/{item}.jpg",
        "shopid",
        "57300037",
    )
    return (*names, "brand", "Linden Co", "sales_day", sales / 30, "sales_mon", sales)


def _page(ranking: Key, day: str, lane: Lane) -> Step:
    found = (str(1_234_000 + lane.rng.randrange(lane.spec.keys)) for _ in range(PAGE))
    return (
        encode("ZCARD", ranking.name),
        encode("ZREVRANGE", ranking.name, 0, PAGE - 1, "WITHSCORES"),
        *(encode("HGETALL", key("iteminfo", date=day, itemid=item).name) for item in found),
    )


NAMES = rows.Names()


def flume_metrics(lane: Lane) -> Iterator[Step]:
    """An agent reports its logs every five seconds, in both orders and steps; a page asks."""
    machine = rows.machine_name(f"web-{lane.number}", 8454)
    first = FIRST_MARK + timedelta(days=lane.spec.seed)
    for number in range(lane.steps):
        time = first + timedelta(seconds=5 * number)
        yield _report(machine, time, lane)
        if number % 4 == 3:
            yield _query(machine, time)


def _report(machine: str, time: datetime, lane: Lane) -> Step:
    watched: list[str] = []
    written: list[bytes] = []
    for logid in LOGIDS:
        count = lane.rng.randrange(600, 3000)
        report = rows.Report(machine, logid, time, {shapes.COUNT: count, shapes.SIZE: count * 100})
        columns = [(rows.FAMILY + name, value) for name, value in report.metrics.items()]
        for name, index, member in NAMES.places(report, "5s"):
            fields = (part for column in columns for part in column)
            written += (encode("DEL", name), encode("HSET", name, *fields))
            written.append(encode("ZADD", index, 0, member))
        for name, index, member in NAMES.places(report, "1m"):
            written += (encode("HINCRBY", name, *column) for column in columns)
            written.append(encode("ZADD", index, 0, member))
        watched.append(NAMES.places(report, "5s")[0][0])
    read = (encode("HGETALL", name) for name in watched)
    return encode("WATCH", *watched), *read, encode("MULTI"), *written, encode("EXEC")


def _query(machine: str, time: datetime) -> Step:
    """The newest row, the rows of the minute, and the hour by the minute."""
    table, marks = rows.BY_MACHINE, range(time.second // 5 + 1)
    times = (time.replace(second=5 * mark).strftime(rows.TIME_FORMATS["5s"]) for mark in marks)
    members = [f"{machine};{at};{logid}" for at in times for logid in LOGIDS]
    minute = rows.prefix_range(machine, time.strftime("%Y%m%d %H:%M"))
    hour = rows.prefix_range(machine, time.strftime("%Y%m%d %H"))
    fives, minutes = (NAMES.index(table, step, machine) for step in ("5s", "1m"))
    return (
        encode("ZREVRANGEBYLEX", fives, "+", "-", "LIMIT", 0, 1),
        encode("ZRANGEBYLEX", fives, *minute),
        *(encode("HGETALL", NAMES.row(table, "5s", member)) for member in members),
        encode("ZRANGEBYLEX", minutes, *hour),
    )


APPLICATIONS: tuple[Shape, ...] = (transcode, momentry, shop_index, flume_metrics)
