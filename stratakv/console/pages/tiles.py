"""What is so now, in words and numbers: what the overview begins with."""

from collections.abc import Callable
from typing import Any

from stratakv.console import forms
from stratakv.console.recorder import Recorder


def tiles(recorder: Recorder, is_strata: bool) -> list[dict[str, Any]]:
    """What is so now, in words and numbers; `bad` is what somebody should look at."""
    look = recorder.last
    points = recorder.rings["10m"].points
    if look is None or not points:
        return []
    info, seen = look.info, points[-1][1]
    found = [
        _tile("Operations", f"{seen.get('ops', 0):,.0f}", "a second"),
        _tile(
            "Keys", f"{seen.get('keys', 0):,.0f}", f"{seen.get('expiring', 0):,.0f} with an expiry"
        ),
        _tile(
            "Clients", f"{seen.get('clients', 0):,.0f}", f"{seen.get('blocked', 0):,.0f} blocked"
        ),
        _tile("Memory", forms.size(seen.get("memory", 0)), _bounds(info)),
        _tile(
            "Up",
            forms.duration(float(info.get("uptime_in_seconds", 0))),
            f"role {info.get('role', '?')}",
        ),
    ]
    if is_strata:
        found += _of_strata(recorder, info, seen)
    return found + _of_replication(info)


def _of_strata(
    recorder: Recorder, info: dict[str, str], seen: dict[str, float]
) -> list[dict[str, Any]]:
    refusal = info.get("store_refusal", "")
    takes = info.get("store_accepts_writes", "1") == "1"
    found = [
        _tile(
            "Disk", forms.size(seen.get("disk", 0)), f"{forms.size(seen.get('disk.free', 0))} free"
        ),
        _tile(
            "Writes",
            "taken" if takes else "refused",
            refusal or f"pressure {seen.get('pressure', 0):.0f} %",
            bad=not takes,
        ),
        _tile("gc backlog", f"{seen.get('gc.backlog', 0):,.0f}", "collections to reclaim"),
    ]
    if "expiring.minute" in seen:
        more = "+" if recorder.forecast.is_cut else ""
        found.append(
            _tile(
                "Expire in a minute",
                f"{seen['expiring.minute']:,.0f}",
                f"{seen['expiring.hour']:,.0f}{more} in an hour",
            )
        )
    if int(info.get("store_damaged_places", 0) or 0):
        found.append(
            _tile("Damage", info["store_damaged_places"], "places cannot be read", bad=True)
        )
    if info.get("cache_tier", "none") != "none":
        state = info.get("tier_breaker", "?")
        found.append(
            _tile("Cache tier", info["cache_tier"], f"breaker {state}", bad=state == "open")
        )
    return found


def _of_replication(info: dict[str, str]) -> list[dict[str, Any]]:
    found = []
    if int(info.get("connected_slaves", 0) or 0):
        found.append(
            _tile(
                "Replicas",
                info["connected_slaves"],
                f"offset {info.get('master_repl_offset', '?')}",
            )
        )
    if "master_link_status" in info:
        up = info["master_link_status"] == "up"
        age = info.get("master_last_io_seconds_ago", "?")
        found.append(
            _tile(
                "Master",
                info.get("master_host", "?"),
                f"link {info['master_link_status']}, heard {age} s ago",
                bad=not up,
            )
        )
    return found


def tiles_of_namespace(info: dict[str, str]) -> list[dict[str, Any]]:
    """For a user who is bound to a namespace: what is its own, beside its quotas."""

    def told(name: str, fact: str, quota: str, show: Callable[[float], str]) -> dict[str, Any]:
        number, limit = float(info.get(fact, 0)), float(info.get(quota, 0))
        more = f"of {show(limit)}" if limit else "no quota"
        return _tile(name, show(number), more, bad=0 < limit <= number)

    count = "{:,.0f}".format
    requests, most = (
        float(info.get("namespace_operations", 0)),
        float(info.get("quota_operations", 0)),
    )
    return [
        told("Keys", "namespace_keys", "quota_keys", count),
        told("Disk", "namespace_bytes", "quota_bytes", forms.size),
        told("Clients", "connected_clients", "quota_clients", count),
        _tile("Requests", count(requests), f"up to {count(most)} a second" if most else "no quota"),
        _tile("Refused", count(float(info.get("namespace_refused", 0))), "for the quotas"),
    ]


def _tile(name: str, value: str, more: str, *, bad: bool = False) -> dict[str, Any]:
    return {"name": name, "value": value, "more": more, "bad": bad}


def _bounds(info: dict[str, str]) -> str:
    limit = int(info.get("maxmemory", 0) or 0)
    caches = int(info.get("meta_cache_limit_bytes", 0)) + int(info.get("row_cache_limit_bytes", 0))
    if caches:
        return f"caches up to {forms.size(caches)}"
    return f"of {forms.size(limit)}" if limit else "no limit"
