"""How the package is built: its hot path becomes C by mypyc, wherever there is a C compiler.

STRATAKV_COMPILE=0 in the environment never compiles, 1 fails where that is not possible. Unset, the
plain sources are installed instead, and a line says why (pip shows it with -v). An editable install
is plain: what is edited is what runs. The reasons are in docs/decisions (17), all else about the
package is in pyproject.toml.
"""

import os
import shlex
import subprocess
import sys
import sysconfig
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import shorten

from setuptools import Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext

COMPILER = "mypy>=1.13"
# What the build of a package need not know: the libraries that the server runs on.
MYPY_FLAGS = [
    "--ignore-missing-imports",
    "--no-warn-unused-ignores",
    "--no-warn-return-any",
    "--allow-subclassing-any",
]
ADVICE = "STRATAKV_COMPILE=0 asks for the plain build, 1 insists on the compiled one"


def main(wish: str, words: list[str]) -> None:
    """Do what pip asks for: to say what the build needs (egg_info), or to build (bdist_wheel)."""
    if wish not in ("", "0", "1"):
        sys.exit(f"STRATAKV_COMPILE is {wish!r}; {ADVICE}")
    if wish == "0" or not {"egg_info", "bdist_wheel", "build", "build_ext"} & set(words):
        setup()
    elif reason := lacking():
        fall_back(wish, reason, is_building="egg_info" not in words)
    elif "egg_info" in words:
        setup(setup_requires=[COMPILER])
    else:
        try:
            setup(ext_modules=extensions(), cmdclass={"build": Build, "build_ext": BuildExtensions})
        except (Exception, SystemExit) as failure:
            cause = shorten(str(failure) or type(failure).__name__, 80)
            fall_back(wish, f"the hot path did not compile ({cause})")


def fall_back(wish: str, reason: str, *, is_building: bool = True) -> None:
    """Build the plain package instead, if that is allowed."""
    if wish == "1":
        sys.exit(f"StrataKV cannot be compiled: {reason}; {ADVICE}")
    if is_building:
        tell(f"plain build: {reason}; {ADVICE}")
    setup()


def tell(what: str) -> None:
    """A line that scripts/prepare finds among all that pip prints."""
    print(f"stratakv: {what}", flush=True)


def lacking() -> str:
    """What there is not, and compiling needs; empty if all is there."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    command = [*compiler, "-E", "-I", sysconfig.get_path("include"), "-x", "c", "-"]
    try:
        tried = subprocess.run(command, input=b"#include <Python.h>\n", capture_output=True)
    except OSError:
        return f"no C compiler ({compiler[0]}; Debian's package is gcc)"
    return "no headers of Python (Debian's package is python3-dev)" if tried.returncode else ""


def extensions() -> list[Extension]:
    """All that is compiled: the modules that pyproject.toml names, and what is written in C."""
    from mypyc.build import mypycify

    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    modules = project["tool"]["stratakv"]["compiled"]
    tell(f"making C of {len(modules)} modules")
    made = mypycify([*MYPY_FLAGS, *modules], opt_level="2", debug_level="0", multi_file=True)
    for extension in made:
        # A later gcc may warn of more.
        extension.extra_compile_args = [*extension.extra_compile_args, "-Wno-error"]
    by_hand = sorted(Path("stratakv").rglob("*.c"))
    return made + [
        Extension(".".join(path.with_suffix("").parts), [str(path)], extra_compile_args=["-O2"])
        for path in by_hand
    ]


class BuildExtensions(build_ext):
    """Compiles the files of an extension side by side, and the extensions as well."""

    def build_extensions(self) -> None:
        """As setuptools does, with as many compilers as processors."""
        compile_in_turn = self.compiler.compile
        count = os.cpu_count() or 1
        tell(f"compiling the C, {count} files at a time")
        with ThreadPoolExecutor(count) as pool:

            def compile_each(sources: list[str], *rest: object, **options: object) -> list[str]:
                made = pool.map(lambda source: compile_in_turn([source], *rest, **options), sources)
                return [name for names in made for name in names]

            self.compiler.compile = compile_each
            self.parallel = count
            super().build_extensions()


class Build(build):
    """Leaves nothing in build/ of modules that are gone, which setuptools would pack again."""

    def run(self) -> None:
        """As setuptools does, then sweep."""
        super().run()
        commands = [self.get_finalized_command(name) for name in self.get_sub_commands()]
        made = {Path(name) for command in commands for name in command.get_outputs()}
        for file in Path(self.build_lib).rglob("*"):
            if file.is_file() and file not in made:
                file.unlink()


if __name__ == "__main__":
    main(os.environ.get("STRATAKV_COMPILE", ""), sys.argv)
