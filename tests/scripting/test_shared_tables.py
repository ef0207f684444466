"""What scripts share stays as it is, whichever way a script reaches for it."""

import pytest

from tests.harness.wire import WireClient

WALK = """
local seen, found = {[rawget(_G, 'KEYS') or 0] = true, [rawget(_G, 'ARGV') or 0] = true}, {}
local function visit(path, value)
    if type(value) == 'function' then found[path] = value end
    if type(value) ~= 'table' or seen[value] then return end
    seen[value], found[path] = true, value
    visit(path .. '<meta>', getmetatable(value))
    for _, iterate in ipairs({pairs, ipairs}) do
        local step, state, start = iterate(value)
        visit(path .. '<state>', state)
        for key, item in step, state, start do visit(path .. '.' .. tostring(key), item) end
    end
    for key, item in next, value do visit(path .. '.' .. tostring(key), item) end
end
visit('_G', _G)
visit('<string>', getmetatable(''))
visit('<json null>', getmetatable(cjson.null))
"""

CHANGE = (
    WALK
    + """
local changed, handler = {}, rawget(_G, '__redis__err__handler')
local function try(path, body, ...)
    if pcall(body, ...) then changed[#changed + 1] = path end
end
for path, target in pairs(found) do if type(target) == 'table' then
    local inner = select(2, pairs(target))
    for _, table_found in ipairs({target, inner}) do
        try(path .. ' new', function() table_found.stolen = 1 end)
        try(path .. ' raw', rawset, table_found, 'stolen', 1)
        try(path .. ' meta', setmetatable, table_found, {__index = function() return 'stolen' end})
        try(path .. ' insert', table.insert, table_found, 'stolen')
        try(path .. ' insert at', table.insert, table_found, 1, 'stolen')
        if handler then try(path .. ' handler', handler, table_found) end
        for key in pairs(table_found) do
            try(path .. ' old', function() table_found[key] = 'stolen' end)
            try(path .. ' raw old', rawset, table_found, key, 'stolen')
            try(path .. ' raw nil', rawset, table_found, key, nil)
        end
        for key in next, table_found do
            try(path .. ' next', function() table_found[key] = 'stolen' end)
        end
        pcall(table.remove, table_found)
        pcall(table.sort, table_found)
        pcall(table.foreach, table_found, function(key) table_found[key] = 'stolen' end)
        pcall(pcall, error, table_found)
        pcall(cjson.encode, table_found)
    end
end end
"""
)

SHOW = (
    WALK
    + """
local lines = {}
for path, value in pairs(found) do lines[#lines + 1] = path .. ' ' .. tostring(value) end
table.sort(lines)
return lines
"""
)
NAMES = SHOW.replace("tostring(value)", "type(value)")
HANDED_OVER = "local _, t = pairs(redis) t.call = function() return 'stolen' end"


def library(body: str, at_load: str = "") -> str:
    return f"#!lua name=l\n{at_load}\nredis.register_function('f', function() {body} end)"


def test_the_same_can_be_reached_as_in_redis(
    redis_wire: WireClient, strata_wire: WireClient
) -> None:
    assert strata_wire.send("EVAL", NAMES, 0).raw == redis_wire.send("EVAL", NAMES, 0).raw
    assert b"_G.redis.call function" in strata_wire.send("EVAL", NAMES, 0).raw


def test_a_script_changes_nothing_that_is_shared(strata_wire: WireClient) -> None:
    before = strata_wire.send("EVAL", SHOW, 0).raw
    assert strata_wire.send("EVAL", CHANGE + "return changed", 0).raw == b"*0\r\n"
    assert strata_wire.send("EVAL", SHOW, 0).raw == before


def test_a_function_changes_nothing_that_is_shared(strata_wire: WireClient) -> None:
    strata_wire.send("FUNCTION", "FLUSH")
    strata_wire.send("FUNCTION", "LOAD", "REPLACE", library(SHOW))
    before = strata_wire.send("FCALL", "f", 0).raw
    strata_wire.send("FUNCTION", "LOAD", "REPLACE", library(CHANGE + "return changed"))
    assert strata_wire.send("FCALL", "f", 0).raw == b"*0\r\n"
    strata_wire.send("FUNCTION", "LOAD", "REPLACE", library(SHOW))
    assert strata_wire.send("FCALL", "f", 0).raw == before
    strata_wire.send("FUNCTION", "FLUSH")


@pytest.mark.parametrize("change", ["redis.log = 1", "redis.x = 1", "x = 1", "redis = 1"])
def test_a_library_changes_nothing_while_it_is_loaded(
    change: str, redis_wire: WireClient, strata_wire: WireClient
) -> None:
    call = ("FUNCTION", "LOAD", "REPLACE", library("return 1", change))
    ours = strata_wire.send(*call).raw
    assert ours == redis_wire.send(*call).raw
    assert b"Attempt to modify a readonly table" in ours


REFUSED = [
    HANDED_OVER,
    "local _, t = pairs(_G) t.x = 1",
    "local _, t = ipairs(redis) t.x = 1",
    "local _, t = pairs(cjson) rawset(t, 'encode', 1)",
    "rawset(cmsgpack, 'pack', 1)",
    "table.insert(redis, 1)",
    "table.insert(string, 1, 'x')",
    "setmetatable(math, {})",
    "setmetatable(_G, nil)",
    "getmetatable('').__index = 1",
    "getmetatable(_G).__index = 1",
    "for k in next, bit do bit[k] = nil end",
    "table.foreach(struct, function(k) struct[k] = 1 end)",
    "redis.call = 1",
    "_G.redis = 1",
    "KEYS = 1",
    "coroutine.wrap = 1",
    "loadstring('string.rep = 1')()",
]


@pytest.mark.parametrize("script", REFUSED)
def test_a_change_is_refused_in_the_words_of_redis(
    script: str, redis_wire: WireClient, strata_wire: WireClient
) -> None:
    ours = strata_wire.send("EVAL", script, 0).raw
    assert ours == redis_wire.send("EVAL", script, 0).raw
    assert b"Attempt to modify a readonly table" in ours


def test_the_next_client_gets_the_command_not_what_was_put_there(strata_wire: WireClient) -> None:
    strata_wire.send("EVAL", HANDED_OVER, 0)
    assert strata_wire.send("EVAL", "return redis.call('echo', 'mine')", 0).frame.data == b"mine"
