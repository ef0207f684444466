"""`python -m examples.run [NAME ...]`: run examples end to end, each against a fresh StrataKV.

An example takes part by having a `demo.py` with `main() -> None`, which starts the servers that it
needs, prints what it does, and raises if something is not as it should be.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent


def names() -> list[str]:
    """The examples that have a demo, in alphabetical order."""
    return sorted(demo.parent.name for demo in HERE.glob("*/demo.py"))


def run_demo(name: str) -> bool:
    """Run one demo; False if it raised, with the traceback on the standard error."""
    print(f"==== {name}", flush=True)
    started = time.monotonic()
    try:
        demo = importlib.import_module(f"examples.{name}.demo")
        demo.main()
    except Exception:
        traceback.print_exc()
        print(f"==== {name}: FAILED\n", flush=True)
        return False
    print(f"==== {name}: ok, {time.monotonic() - started:.1f} s\n", flush=True)
    return True


def main(argv: Sequence[str] | None = None) -> int:
    """Run the named examples, or all; the exit code is 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m examples.run", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="an example; all if none is given")
    chosen = parser.parse_args(argv).names or names()
    unknown = sorted(set(chosen) - set(names()))
    if unknown:
        parser.error(f"no such example: {', '.join(unknown)}; there are {', '.join(names())}")
    passed = [run_demo(name) for name in chosen]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
