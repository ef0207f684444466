-- The world that a script sees: Lua 5.1 without files, processes, bytecode and debug, with read-only
-- globals. This chunk gets the host's functions, keeps them in locals, and returns what the host
-- calls; scripts get wrappers only, so that no Python object ever reaches them.

local host, chunks = ...

local raw_pcall, raw_getmetatable, raw_setmetatable = pcall, getmetatable, setmetatable
local raw_rawget, raw_rawset, raw_pairs, raw_load = rawget, rawset, pairs, load
local raw_create, raw_resume, raw_collectgarbage = coroutine.create, coroutine.resume, collectgarbage
local raw_next, raw_tonumber, raw_concat, raw_loadstring = next, tonumber, table.concat, loadstring
local getinfo, sethook, newproxy, setfenv = debug.getinfo, debug.sethook, newproxy, setfenv
local error, type, tostring, tonumber, select, unpack = error, type, tostring, tonumber, select, unpack
local xpcall, next, byte, status, floor = xpcall, next, string.byte, coroutine.status, math.floor
local gsub, match, find, sub, dump = string.gsub, string.match, string.find, string.sub, string.dump

local HERE = getinfo(1, 'S').source
local OURS = '^' .. getinfo(1, 'S').short_src .. ':%d+: '
local READONLY = 'Attempt to modify a readonly table'
local NO_MEMORY = 'not enough memory'
local FAILED, ABORTED, ARRAY, STATUS = 1, 2, 3, 4 -- the second value of host.call, see conversion.py

-- read-only tables: an empty stand-in in front of the real one

local real = raw_setmetatable({}, {__mode = 'k'})

local function refuse() error(READONLY, 2) end

local function readonly(contents)
    local front = raw_setmetatable({}, {__index = contents, __newindex = refuse})
    real[front] = contents
    return front
end

local function refuse_shared(target)
    if real[target] then error(READONLY, 0) end
end

local function contents(target) return real[target] or target end

-- Time. A hook runs every so many instructions, and whatever does much in one instruction counts its
-- work with `charge`: both let the host serve others, or end the script. Metamethods, handlers and
-- iterators of a script run only where the hook applies: never in an error handler of Lua's, in which
-- there are no hooks.

local COUNT = 500 -- instructions until the first look at the clock; the host says when the next is due
local SPENT = 1000000 -- bytes or steps of built-in functions between two looks
local RESUME = 50000 -- what a coroutine may do before its own hook runs

local inside = false -- whether an error would meet our own xpcall: only then may a script be ended
local ending = false -- whether it has to end: then every line fails, so that no pcall can go on
local spent = 0

local function on_line()
    if inside then error({err = host.reason()}, 0) end
end

local function abort()
    ending = true
    sethook(on_line, 'l')
    error({err = host.reason()}, 0)
end

local on_count

local function pause()
    spent = 0
    local count = host.tick()
    if count == 0 and inside then abort() end
    sethook(on_count, '', count == 0 and COUNT or count)
end

on_count = pause

local function charge(work)
    spent = spent + work
    if spent > SPENT then pause() end
end

local function watch()
    ending = false
    sethook(on_count, '', COUNT)
end

-- What allocates much in one instruction (`..` of long texts) meets the collector of garbage: then the
-- next instruction is a look at the clock. With much in use a cycle begins before the use has doubled.
-- The collector does one step per allocation, of however many bytes: a step has to be large for a
-- cycle to end before the garbage of long texts takes all memory (400 KB, some tenths of a
-- millisecond).

local CYCLE_KB = 32768
local STEP_BYTES = 400000
raw_collectgarbage('setstepmul', STEP_BYTES / 10)

local function on_cycle(sentinel)
    newproxy(sentinel)
    local used = raw_collectgarbage('count')
    raw_collectgarbage('setpause', used <= CYCLE_KB and 200 or floor(100 + 100 * CYCLE_KB / used))
    sethook(on_count, '', 1)
end

local sentinels = newproxy(true) -- kept, for the metatable
raw_getmetatable(sentinels).__gc = on_cycle
newproxy(sentinels)

-- errors of our own functions, told as those of built-in ones

-- The function that called one of ours, the name that it used, and whether as a method.
local function caller()
    local level, name, how = 2, nil, nil
    local info = getinfo(level, 'Sln')
    while info and (info.source == HERE or info.what == 'tail') do
        name, how = info.name, info.namewhat
        level = level + 1
        info = getinfo(level, 'Sln')
    end
    return info, name, how
end

local function positioned(info, text)
    if not info or info.currentline <= 0 then return text end
    return info.short_src .. ':' .. info.currentline .. ': ' .. text
end

local function fail(text)
    error(positioned(caller(), text), 0)
end

-- Raises what a built-in function said when it was called in a script's stead.
local function blame(text)
    if type(text) ~= 'string' or text == NO_MEMORY then error(text, 0) end
    local info, name, how = caller()
    local number, rest = match(text, "^bad argument #(%d+) to '%?' (.*)$")
    if number then
        if how == 'method' then number = number - 1 end
        name = name or '?'
        text = 'bad argument #' .. number .. " to '" .. name .. "' " .. rest
        if number == 0 then text = "calling '" .. name .. "' on bad self " .. rest end
    end
    error(positioned(info, text), 0)
end

-- Raises the error of a built-in function that gets arguments which are not for it.
local function misuse(body, ...)
    local _, text = raw_pcall(body, ...)
    blame(text)
end

local FEW = 1000

-- table.concat, in pieces
local function join(list, separator, first, last)
    if last - first < FEW then
        local ok, text = raw_pcall(raw_concat, list, separator, first, last)
        if not ok then blame(text) end
        return text
    end
    local pieces = {}
    for from = first, last, FEW do
        local to = from + FEW - 1
        if to > last then to = last end
        local piece = join(list, separator, from, to)
        charge(#piece)
        pieces[#pieces + 1] = piece
    end
    return join(pieces, separator, 1, #pieces)
end

local function claim(size)
    if host.lacks(size) then abort() end
end

local kit = {
    charge = charge, fail = fail, blame = blame, misuse = misuse, join = join, claim = claim,
    refuse_shared = refuse_shared, contents = contents, OURS = OURS,
    is_ours = function(body) return getinfo(body, 'S').source == HERE end,
    is_built_in = function(body) return getinfo(body, 'S').what == 'C' end,
}

-- where an error happened, as Redis tells it: our own wrappers count as built-in functions

local function place()
    local level = 3
    local info = getinfo(level, 'Sl')
    if info and info.what == 'C' then
        level = level + 1
        info = getinfo(level, 'Sl')
    end
    while info and (info.source == HERE or info.what == 'tail') do
        level = level + 1
        info = getinfo(level, 'Sl')
        if info and info.what == 'C' then
            level = level + 1
            info = getinfo(level, 'Sl')
        end
    end
    return info
end

-- What a script may have made is touched with raw access only: this runs where there are no hooks.
local function on_error(err)
    if err == NO_MEMORY then return err end
    local info = place()
    if type(err) ~= 'table' then
        err = tostring(err)
        local own = match(err, OURS)
        if own then err = positioned(info, sub(err, #own + 1)) end
        err = {err = 'ERR ' .. err}
    end
    refuse_shared(err)
    if info then
        raw_rawset(err, 'source', info.source)
        raw_rawset(err, 'line', info.currentline)
    end
    return err
end

local function failed(err)
    inside = false
    if real[err] then err = nil end
    return on_error(err)
end

-- Calls a function so that a failure, or the end of a script's time, comes back as a result.
local function protected(body, first, second)
    return xpcall(function()
        inside = true
        local result = body(first, second)
        inside = false
        return result
    end, failed)
end

-- the redis table

local function is_line_end(code) return code == 13 or code == 10 end

local function coded(text)
    if sub(text, 1, 1) == '-' then text = sub(text, 2) end
    local space = find(text, ' ', 1, true)
    local code, first, last = 'ERR', 1, #text
    if space then
        code, first = sub(text, 1, space - 1), space + 1
    end
    while first <= last and is_line_end(byte(text, first)) do first = first + 1 end
    while last >= first and is_line_end(byte(text, last)) do last = last - 1 end
    return code .. ' ' .. sub(text, first, last)
end

local function raise(text) error({err = 'ERR ' .. text}, 0) end

local function settle(raising, value, how, ...)
    if not how then return value end
    if how == ARRAY then return {...} end
    if how == STATUS then return {ok = value} end
    if how == ABORTED then abort() end
    local failure = {err = value, ignore_error_stats_update = how == FAILED or nil}
    if raising then error(failure, 0) end
    return failure
end

local redis = {
    LOG_DEBUG = 0, LOG_VERBOSE = 1, LOG_NOTICE = 2, LOG_WARNING = 3,
    REPL_NONE = 0, REPL_AOF = 1, REPL_SLAVE = 2, REPL_REPLICA = 2, REPL_ALL = 3,
    REDIS_VERSION = host.version, REDIS_VERSION_NUM = host.version_number,
}

local MANY = 7000 -- Lua hands 8000 values to the host at most, our own included

local function ask(...)
    local count = select('#', ...)
    if count <= MANY then return host.call(...) end
    return host.call_many({...}, count)
end

function redis.call(...)
    local value = settle(true, ask(...))
    return value
end

function redis.pcall(...)
    local value = settle(false, ask(...))
    return value
end

function redis.error_reply(...)
    local text = ...
    if select('#', ...) ~= 1 or type(text) ~= 'string' then
        return {err = 'ERR wrong number or type of arguments'}
    end
    return {err = coded(text)}
end

function redis.status_reply(...)
    local text = ...
    if select('#', ...) ~= 1 or type(text) ~= 'string' then
        return {err = 'ERR wrong number or type of arguments'}
    end
    return {ok = text}
end

local PIECE = 1048576

function redis.sha1hex(...)
    if select('#', ...) ~= 1 then raise('wrong number of arguments') end
    local text = ...
    text = type(text) == 'number' and tostring(text) or type(text) == 'string' and text or ''
    local from = 1
    while #text - from >= PIECE do
        host.sha1(sub(text, from, from + PIECE - 1), false)
        from = from + PIECE
        charge(SPENT)
    end
    return host.sha1(sub(text, from), true)
end

function redis.log(...)
    local count, level = select('#', ...), ...
    if count < 2 then raise('redis.log() requires two arguments or more.') end
    if not tonumber(level) then raise('First argument must be a number (log level).') end
    level = tonumber(level)
    if level < redis.LOG_DEBUG or level > redis.LOG_WARNING then raise('Invalid debug level.') end
    local parts, room = {}, host.log_length
    for i = 2, count do
        local part = select(i, ...)
        if room > 0 and (type(part) == 'string' or type(part) == 'number') then
            parts[#parts + 1] = sub(part, 1, room)
            room = room - #parts[#parts]
        end
    end
    host.log(level, raw_concat(parts, ' '))
end

function redis.setresp(...)
    if select('#', ...) ~= 1 then raise('redis.setresp() requires one argument.') end
    local version = tonumber((...))
    if version ~= 2 and version ~= 3 then raise('RESP version must be 2 or 3.') end
    host.setresp(version)
end

function redis.set_repl(...)
    if select('#', ...) ~= 1 then raise('redis.set_repl() requires two arguments.') end
    local flags = tonumber((...)) or 0
    if flags < 0 or flags > 3 then
        raise('Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.')
    end
    host.set_told(flags >= redis.REPL_REPLICA)
end

function redis.acl_check_cmd(...)
    local allowed, failure = host.acl_check_cmd(...)
    if failure then raise(failure) end
    return allowed
end

function redis.replicate_commands() return true end

function redis.breakpoint() return false end

function redis.debug() end

-- Redis's generator of random numbers, lrand48, from Redis's own start

local high, low = 0x1234AB, 0xCD330E

local function seed(number)
    number = number % 4294967296
    low = (number % 256) * 65536 + 0x330E
    high = (number - number % 256) / 256
end

local function lrand48()
    local sum = 0xECE66D * low + 0xB
    local carry = (sum - sum % 16777216) / 16777216
    high, low = (0xECE66D * high + 0x5DE * low + carry) % 16777216, sum % 16777216
    return high * 128 + (low - low % 131072) / 131072
end

local function integer(value, number, name)
    local found = tonumber(value)
    if not found then
        error('bad argument #' .. number .. " to '" .. name .. "' (number expected, got "
            .. (value == nil and 'no value' or type(value)) .. ')', 3)
    end
    return found < 0 and -math.floor(-found) or math.floor(found)
end

local function random(...)
    local count = select('#', ...)
    local part = lrand48() % 2147483647 / 2147483647
    if count == 0 then return part end
    if count > 2 then error('wrong number of arguments', 2) end
    local first, last = 1, integer((...), 1, 'random')
    if count == 2 then
        first, last = last, integer(select(2, ...), 2, 'random')
    end
    if first > last then
        error('bad argument #' .. count .. " to 'random' (interval is empty)", 2)
    end
    return floor(part * (last - first + 1)) + first
end

local function randomseed(...)
    seed(integer((...), 1, 'randomseed'))
end

-- Lua's own functions, as far as scripts may have them

local function copy(source, names)
    local found = {}
    for name in string.gmatch(names, '%S+') do found[name] = source[name] end
    return found
end

local lib_string = chunks.strings(kit, chunks.patterns(kit), [[byte char dump find format gfind gmatch
    gsub len lower match rep reverse sub upper]])
local lib_table = chunks.tables(kit, 'concat foreach foreachi getn insert maxn remove setn sort')
local lib_math = copy(math, [[abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge
    ldexp log log10 max min mod modf pi pow rad sin sinh sqrt tan tanh]])
lib_math.random, lib_math.randomseed = random, randomseed

local lib_coroutine = copy(coroutine, 'running status yield')

local function watched(body, name)
    if type(body) ~= 'function' then
        fail("bad argument #1 to '" .. name .. "' (Lua function expected)")
    end
    return function(...)
        if ending then abort() end
        sethook(on_count, '', COUNT)
        return body(...)
    end
end

-- The hook of a coroutine is its own: what ended one must end who resumed it, too.
local function resumed(thread, ...)
    if status(thread) == 'dead' then sethook(thread) end
    if ending then abort() end
    return ...
end

function lib_coroutine.create(body) return raw_create(watched(body, 'create')) end

function lib_coroutine.resume(...)
    local thread = ...
    if type(thread) ~= 'thread' then misuse(raw_resume, ...) end
    charge(RESUME)
    return resumed(thread, raw_resume(...))
end

local function unwrapped(ok, ...)
    if ok then return ... end
    local failure = ...
    if type(failure) == 'string' then fail(failure) end
    error(failure, 0)
end

function lib_coroutine.wrap(body)
    local thread = raw_create(watched(body, 'wrap'))
    return function(...)
        charge(RESUME)
        return unwrapped(resumed(thread, raw_resume(thread, ...)))
    end
end

local globals = copy(_G, [[_VERSION assert error gcinfo ipairs rawequal select tostring type
    unpack]])

local environment = readonly(globals)
globals._G = environment
globals.string, globals.table = readonly(lib_string), readonly(lib_table)
globals.math, globals.coroutine = readonly(lib_math), readonly(lib_coroutine)

local string_metatable = readonly({__index = globals.string})
local globals_metatable = readonly({})

function globals.getmetatable(...)
    local value = ...
    if select('#', ...) == 0 then misuse(raw_getmetatable) end
    if type(value) == 'string' then return string_metatable end
    if value == environment then return globals_metatable end
    if real[value] then return nil end
    return raw_getmetatable(value)
end

function globals.setmetatable(...)
    refuse_shared((...))
    local ok, found = raw_pcall(raw_setmetatable, ...)
    if not ok then blame(found) end
    return found
end

function globals.rawset(...)
    local target, key, value = ...
    if type(target) ~= 'table' or select('#', ...) < 3 then misuse(raw_rawset, ...) end
    refuse_shared(target)
    if key == nil or key ~= key then error('table index is ' .. (key and 'NaN' or 'nil'), 0) end
    return raw_rawset(target, key, value)
end

function globals.rawget(...)
    local target, key = ...
    if type(target) ~= 'table' or select('#', ...) < 2 then misuse(raw_rawget, ...) end
    return raw_rawget(real[target] or target, key)
end

function globals.next(...)
    local target, key = ...
    if type(target) ~= 'table' then misuse(raw_next, ...) end
    return raw_next(real[target] or target, key)
end

-- Whoever gets the table out of this gets the stand-in.
function globals.pairs(...)
    local target = ...
    if type(target) ~= 'table' then misuse(raw_pairs, ...) end
    if real[target] then return globals.next, target, nil end
    return raw_next, target, nil
end

function globals.tonumber(...)
    local value, base = ...
    if type(value) == 'string' and #value > 65536 then charge(#value) end
    if base == nil and value ~= nil then return raw_tonumber(value) end
    local ok, found = raw_pcall(raw_tonumber, ...)
    if not ok then blame(found) end
    return found
end

local function without_our_place(text)
    local own = type(text) == 'string' and #text < 500 and match(text, OURS)
    return own and sub(text, #own + 1) or text
end

local function pcall_result(ok, value, ...)
    if ok then return ok, value, ... end
    if type(value) == 'table' then
        local text = value.err
        if type(text) == 'string' or type(text) == 'number' then value = text end
    end
    return ok, without_our_place(value), ...
end

function globals.pcall(...) return pcall_result(raw_pcall(...)) end

local RETRIES = 20 -- errors of a handler that the handler itself gets

local function handled(handler, ok, ...)
    if ok then return ok, ... end
    local failure = without_our_place((...))
    if failure == NO_MEMORY then return ok, failure end
    for _ = 1, RETRIES do
        local done, found = raw_pcall(handler, failure)
        if done then return false, found end
        failure = found
    end
    return false, 'error in error handling'
end

-- The handler runs when the error has been left behind, for the sake of the hooks.
function globals.xpcall(...)
    local body, handler = ...
    if select('#', ...) < 2 then misuse(xpcall, ...) end
    return handled(handler, raw_pcall(body))
end

local function collect()
    for _ = 1, 2 do -- what is garbage now may be found by the cycle after the one under way
        repeat
            charge(STEP_BYTES)
        until raw_collectgarbage('step', 0)
    end
    return 0
end

function globals.collectgarbage(...)
    local option, argument = ...
    if option == nil or option == 'collect' then return collect() end
    if option == 'stop' or option == 'setpause' or option == 'setstepmul' then return 0 end
    if option == 'step' and (argument == nil or raw_tonumber(argument)) then
        charge(STEP_BYTES)
        argument = 0
    end
    local ok, found = raw_pcall(raw_collectgarbage, option, argument)
    if not ok then blame(found) end
    return found
end

-- A text is compiled piece by piece. A space in front of bytecode makes it text that does not compile.
-- Tail calls become plain calls: our wrappers are Lua functions, and a tail call of one would lose the
-- script's own place, which built-in functions keep.

local TEXT_PIECE = 4096

local function compile(code, name)
    if #code <= TEXT_PIECE then return raw_loadstring(code, name) end
    local at = 1
    local compiled, failure = raw_load(function()
        charge(TEXT_PIECE * 16)
        local piece = sub(code, at, at + TEXT_PIECE - 1)
        at = at + #piece
        return piece
    end, name)
    if ending then abort() end
    return compiled, failure
end

local function load_text(code, name)
    if byte(code, 1) == 27 then code = ' ' .. code end
    local compiled, failure = compile(code, name)
    if not compiled then return nil, failure end
    return setfenv(raw_loadstring(host.without_tail_calls(dump(compiled)), name), environment)
end

local function text_of(value)
    return type(value) == 'string' and value or type(value) == 'number' and tostring(value)
end

function globals.loadstring(...)
    local code, name = text_of((...)), select(2, ...)
    if not code or name ~= nil and not text_of(name) then misuse(raw_loadstring, ...) end
    return load_text(code, name or code)
end

function globals.load(...)
    local reader, name = ...
    if type(reader) ~= 'function' or name ~= nil and not text_of(name) then misuse(raw_load, ...) end
    local pieces = {}
    while true do
        local ok, piece = raw_pcall(reader)
        if not ok then return nil, piece end
        if piece == nil or piece == '' then break end
        piece = text_of(piece)
        if not piece then return nil, 'reader function must return a string' end
        pieces[#pieces + 1] = piece
        if #pieces == 1 and byte(piece, 1) == 27 then break end
    end
    return load_text(join(pieces, '', 1, #pieces), name or '=(load)')
end

-- unknown globals

local function unknown(_, name)
    error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
end

raw_setmetatable(globals, {__index = unknown})
real[globals_metatable].__index = unknown

-- a script's result as flat values, with a letter for each in a string: one crossing to the host

local DEPTH = 150
local CHUNK = 4000
local LETTERS = {string = 's', number = 'n', boolean = 'b', ['nil'] = 'x'}

local flatten

local function flatten_pairs(letters, values, letter, contents, depth)
    local count = #values + 1
    letters[#letters + 1], values[count] = letter, 0
    for key, value in raw_pairs(contents) do
        values[count] = values[count] + 1
        flatten(letters, values, key, depth)
        if letter == 'm' then flatten(letters, values, value, depth) end
    end
end

local function special(letters, values, found, depth)
    local function field(name, kind)
        local value = raw_rawget(found, name)
        return type(value) == kind and value
    end
    local function put(letter, value)
        letters[#letters + 1], values[#values + 1] = letter, value
        return true
    end
    local value = field('err', 'string')
    if value then return put(raw_rawget(found, 'ignore_error_stats_update') and 'E' or 'e', value) end
    value = field('ok', 'string')
    if value then return put('o', value) end
    value = field('double', 'number')
    if value then return put('d', value) end
    value = field('big_number', 'string')
    if value then return put('g', value) end
    value = field('verbatim_string', 'table')
    if value then
        local format, text = raw_rawget(value, 'format'), raw_rawget(value, 'string')
        if type(format) == 'string' and type(text) == 'string' then
            put('v', format)
            values[#values + 1] = text
            return true
        end
    end
    for name, letter in raw_pairs({map = 'm', set = 't'}) do
        value = field(name, 'table')
        if value then
            flatten_pairs(letters, values, letter, value, depth)
            return true
        end
    end
    return false
end

function flatten(letters, values, value, depth)
    local letter = LETTERS[type(value)]
    if letter then
        letters[#letters + 1] = letter
        if value ~= nil then values[#values + 1] = value end
        return
    end
    if type(value) ~= 'table' then
        letters[#letters + 1] = 'x'
        return
    end
    if depth > DEPTH then
        letters[#letters + 1], values[#values + 1] = 'e', 'ERR reached lua stack limit'
        return
    end
    if special(letters, values, value, depth + 1) then return end
    local at, index = #values + 1, 1
    letters[#letters + 1], values[at] = 'a', 0
    local item = raw_rawget(value, 1)
    while item ~= nil do
        flatten(letters, values, item, depth + 1)
        index = index + 1
        item = raw_rawget(value, index)
    end
    values[at] = index - 1
end

local function chunk(values, from)
    return unpack(values, from, math.min(from + CHUNK - 1, #values))
end

local function failure_parts(value)
    if type(value) ~= 'table' then return tostring(value) end
    local text, source, line = raw_rawget(value, 'err'), raw_rawget(value, 'source'), raw_rawget(value, 'line')
    if type(text) == 'table' or type(text) == 'userdata' then text = type(text) end -- __tostring is code
    return tostring(text), text_of(source) or nil, text_of(line) or nil,
        raw_rawget(value, 'ignore_error_stats_update') and true
end

local function conclude(ok, value)
    local letters, values = {}, {}
    if ok and type(value) ~= 'table' then
        watch()
        return true, value
    end
    if ok then
        local found = value
        ok, value = protected(function()
            flatten(letters, values, found, 1)
            return join(letters, '', 1, #letters)
        end)
    end
    watch()
    if not ok then return false, failure_parts(value) end
    if #values > CHUNK then return true, value, values, #values, CHUNK end
    return true, value, unpack(values)
end

-- what the host calls

local api = {chunk = chunk, libraries = {}}

function api.compile(code, name)
    return load_text(code, name)
end

-- A step of collecting what is left of the last script; says whether a cycle has ended.
function api.collect()
    globals.KEYS, globals.ARGV = nil, nil
    return raw_collectgarbage('step', 0)
end

-- Puts more values behind the first so many of a list.
function api.extend(list, size, ...)
    local more = {...}
    for index = 1, select('#', ...) do list[size + index] = more[index] end
end

function api.eval(script, count, ...)
    local given = select('#', ...)
    local keys, arguments = {...}, nil
    if count == 0 then
        keys, arguments = {}, keys
    elseif count == given then
        arguments = {}
    else
        arguments = {select(count + 1, ...)}
        for i = count + 1, given do keys[i] = nil end
    end
    return api.eval_tables(script, keys, arguments)
end

function api.eval_tables(script, keys, arguments)
    raw_rawset(globals, 'KEYS', keys)
    raw_rawset(globals, 'ARGV', arguments)
    return conclude(protected(script))
end

function api.call_tables(callback, keys, arguments)
    return conclude(protected(callback, keys, arguments))
end

-- libraries of functions: while one is loaded its globals are another, small set

local registered

local loading_redis = {
    LOG_DEBUG = 0, LOG_VERBOSE = 1, LOG_NOTICE = 2, LOG_WARNING = 3, log = redis.log,
    REDIS_VERSION = host.version, REDIS_VERSION_NUM = host.version_number,
}
local loading = raw_setmetatable(
    {redis = readonly(raw_setmetatable(loading_redis, {__index = unknown}))}, {__index = unknown})

local FLAGS = {}
for flag in string.gmatch(host.flags, '%S+') do FLAGS[flag] = true end

local function is_text(value) return type(value) == 'string' or type(value) == 'number' end

local function read_flags(given)
    local flags = {}
    for _, flag in ipairs(given) do
        local name = is_text(flag) and string.lower(flag)
        if not FLAGS[name] then raise('unknown flag given') end
        flags[#flags + 1] = name
    end
    return raw_concat(flags, ' ')
end

local NAMED = {}

function NAMED.function_name(into, value)
    if not is_text(value) then
        raise('function_name argument given to redis.register_function must be a string')
    end
    into.name = tostring(value)
end

function NAMED.description(into, value)
    if not is_text(value) then
        raise('description argument given to redis.register_function must be a string')
    end
    into.description = tostring(value)
end

function NAMED.callback(into, value)
    if type(value) ~= 'function' then
        raise('callback argument given to redis.register_function must be a function')
    end
    into.callback = value
end

function NAMED.flags(into, value)
    if type(value) ~= 'table' then
        raise('flags argument to redis.register_function must be a table representing function flags')
    end
    into.flags = read_flags(value)
end

local function named(given)
    if type(given) ~= 'table' then
        raise('calling redis.register_function with a single argument is only applicable to Lua table'
            .. ' (representing named arguments).')
    end
    local found = {flags = ''}
    for key, value in raw_pairs(given) do
        if not is_text(key) then
            raise('named argument key given to redis.register_function is not a string')
        end
        local read = NAMED[string.lower(key)]
        if not read then raise('unknown argument given to redis.register_function') end
        read(found, value)
    end
    if not found.name then raise('redis.register_function must get a function name argument') end
    if not found.callback then raise('redis.register_function must get a callback argument') end
    return found
end

local function positional(name, callback)
    if not is_text(name) then
        raise('first argument to redis.register_function must be a string')
    end
    if type(callback) ~= 'function' then
        raise('second argument to redis.register_function must be a function')
    end
    return {name = tostring(name), callback = callback, flags = ''}
end

function loading_redis.register_function(...)
    local count = select('#', ...)
    if count < 1 or count > 2 then
        raise('wrong number of arguments to redis.register_function')
    end
    if not registered then
        raise('redis.register_function can only be called on FUNCTION LOAD command')
    end
    local found = count == 1 and named(...) or positional(...)
    if not find(found.name, '^[%w_]+$') then raise(host.bad_name) end
    local key = string.lower(found.name)
    if registered[key] then raise('Function already exists in the library') end
    registered[key] = found
    registered[#registered + 1] = found
end

local function show(contents_now)
    raw_getmetatable(environment).__index = contents_now
    real[environment] = contents_now
end

local function load_result(ok, failure)
    watch()
    local functions = registered
    registered = nil
    show(globals)
    if not ok then
        local text = failure_parts(failure)
        return false, type(failure) == 'table' and text or 'ERR ' .. text
    end
    return true, functions
end

function api.load_library(chunk)
    registered = {}
    show(loading)
    return load_result(protected(chunk))
end

function api.describe(functions, index)
    local found = functions[index]
    if found then return found.name, found.description, found.flags, found.callback end
end

-- the libraries that Redis brings along, each made by a chunk of its own

function api.install(name, chunk, first, second)
    globals[name] = readonly(chunk(first or host, second or newproxy, kit))
end

function api.seal(with_handler)
    globals.redis = readonly(redis)
    if with_handler then globals.__redis__err__handler = on_error end
    raw_getmetatable('').__index = lib_string
    -- Nothing that scripts hold leads here. lupa would look for debug.traceback at each call.
    for name in string.gmatch([[debug os io package require module python dofile loadfile print
        newproxy getfenv setfenv load loadstring]], '%S+') do _G[name] = nil end
    watch()
end

return api
