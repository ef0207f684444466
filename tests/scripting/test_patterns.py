"""Lua's patterns as the sandbox matches them, against Lua's own functions."""

import random
from pathlib import Path
from typing import Any

from lupa import lua51

import stratakv.proxy.scripting

FOLDER = Path(stratakv.proxy.scripting.__file__).parent
LETTERS = b"a b . %a %d %s %w %z %% 1 - $ ^ [ab] [^a] [a-c%d] []a] [^]b]".split()
ITEMS = [*LETTERS, *b"( ) () %1 %2 %b() %f[a] [ % %f %b".split(), b"\0"]
SUFFIXES = [b"", b"", b"", b"*", b"+", b"-", b"?"]
REPLACEMENTS = [b"x", b"%0", b"<%1>", b"%2", b"%%", b"a%"]
STARTS = [None, None, 1, 2, -1, -3, 5, 20]

KIT = b"""
local function fail(text) error(text, 0) end
return {charge = function() end, fail = fail, blame = fail, misuse = fail, claim = function() end,
    join = table.concat}
"""
NEVER_CHEAP = (
    b"local patterns = ... patterns.is_cheap = function() return false end return patterns"
)
COMPARE = b"""
local ours, text, pattern, init, replacement = ...
local function shown(...)
    local found = {...}
    for index = 1, select('#', ...) do
        found[index] = string.gsub(tostring(found[index]), '^%[[^%]]*%]:%d+: ', '')
    end
    return table.concat(found, '|')
end
local function answers(library)
    local function every()
        local found = {}
        for one, two in library.gmatch(text, pattern) do
            found[#found + 1] = tostring(one) .. ',' .. tostring(two)
            if #found > 50 then break end
        end
        return table.concat(found, ';')
    end
    local function bracket(...) return '<' .. tostring((...)) .. '>' end
    return table.concat({
        shown(pcall(library.find, text, pattern, init)),
        shown(pcall(library.find, text, pattern, init, true)),
        shown(pcall(library.match, text, pattern, init)),
        shown(pcall(every)),
        shown(pcall(library.gsub, text, pattern, replacement)),
        shown(pcall(library.gsub, text, pattern, bracket)),
        shown(pcall(library.gsub, text, pattern, {a = 'X', b = false}, 2)),
    }, ' # ')
end
return answers(ours), answers(string)
"""


def comparison() -> Any:
    """A function that gives what our matcher says, always the slow one, and what Lua says."""
    lua = lua51.LuaRuntime(encoding=None, source_encoding="latin-1")

    def chunk(name: str) -> Any:
        return lua.compile((FOLDER / f"{name}.lua").read_bytes(), name=b"=stratakv")

    kit = lua.execute(KIT)
    patterns = lua.compile(NEVER_CHEAP)(chunk("patterns")(kit))
    strings = chunk("strings")(kit, patterns, b"find gmatch gsub match")
    compare = lua.compile(COMPARE)
    return lambda *given: compare(strings, *given)


def test_patterns_match_as_those_of_lua() -> None:
    compare = comparison()
    for seed in range(4000):
        rng = random.Random(seed)
        items = [rng.choice(ITEMS) + rng.choice(SUFFIXES) for _ in range(rng.randint(0, 5))]
        pattern = rng.choice([b"", b"", b"^"]) + b"".join(items)
        text = bytes(rng.choices(b"aab1 ()-%c\0", k=rng.randint(0, 10)))
        ours, theirs = compare(text, pattern, rng.choice(STARTS), rng.choice(REPLACEMENTS))
        assert ours == theirs, (seed, text, pattern)
