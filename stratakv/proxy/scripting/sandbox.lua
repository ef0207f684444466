-- The world that a script sees: Lua 5.1 without files, processes, bytecode and debug, with read-only
-- globals. This chunk gets the host's functions, keeps them in locals, and returns what the host
-- calls; scripts get wrappers only, so that no Python object ever reaches them.

local host = ...

local raw_pcall, raw_getmetatable, raw_setmetatable = pcall, getmetatable, setmetatable
local raw_rawget, raw_rawset, raw_pairs, raw_loadstring = rawget, rawset, pairs, loadstring
local raw_create, raw_wrap, raw_collectgarbage = coroutine.create, coroutine.wrap, collectgarbage
local getinfo, sethook, newproxy, setfenv = debug.getinfo, debug.sethook, newproxy, setfenv
local error, type, tostring, tonumber, select, unpack = error, type, tostring, tonumber, select, unpack
local xpcall, next, concat, byte = xpcall, next, table.concat, string.byte
local gsub, match, find, sub, dump = string.gsub, string.match, string.find, string.sub, string.dump

local HERE = getinfo(1, 'S').source
local COUNT = 10000 -- instructions between two looks at the clock
local READONLY = 'Attempt to modify a readonly table'
local FAILED, ABORTED, ARRAY, STATUS = 1, 2, 3, 4 -- the second value of host.call, see conversion.py

-- read-only tables: an empty stand-in in front of the real one

local real = raw_setmetatable({}, {__mode = 'k'})

local function refuse() error(READONLY, 2) end

local function readonly(contents)
    local front = raw_setmetatable({}, {__index = contents, __newindex = refuse})
    real[front] = contents
    return front
end

local function expect_table(value, number, name)
    if type(value) ~= 'table' then
        error('bad argument #' .. number .. " to '" .. name .. "' (table expected, got "
            .. type(value) .. ')', 3)
    end
end

-- the end of a script before its own end: every line fails, so that no pcall can go on

local function on_line()
    if getinfo(2, 'S').source == HERE then return end -- our own lines lead back to the host
    error({err = host.reason()}, 0)
end

local function abort()
    sethook(on_line, 'l')
    error({err = host.reason()}, 0)
end

local inside = false -- whether an error would meet our own xpcall: only then may a script be ended

local function on_count()
    if host.tick() and inside then abort() end
end

local function watch() sethook(on_count, '', COUNT) end

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

local function on_error(err)
    local info = place()
    if type(err) ~= 'table' then
        err = {err = 'ERR ' .. tostring(err)}
    end
    if info then
        err.source = info.source
        err.line = info.currentline
    end
    return err
end

local function failed(err)
    inside = false
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

local function coded(text)
    if sub(text, 1, 1) == '-' then text = sub(text, 2) end
    local code, message = match(text, '^([^ ]*) (.*)$')
    if not code then
        code, message = 'ERR', text
    end
    return code .. ' ' .. gsub(gsub(message, '^[\r\n]+', ''), '[\r\n]+$', '')
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

function redis.sha1hex(...)
    if select('#', ...) ~= 1 then raise('wrong number of arguments') end
    local text = ...
    return host.sha1hex(type(text) == 'number' and tostring(text) or type(text) == 'string' and text or '')
end

function redis.log(...)
    local count, level = select('#', ...), ...
    if count < 2 then raise('redis.log() requires two arguments or more.') end
    if not tonumber(level) then raise('First argument must be a number (log level).') end
    level = tonumber(level)
    if level < redis.LOG_DEBUG or level > redis.LOG_WARNING then raise('Invalid debug level.') end
    local parts = {}
    for i = 2, count do
        local part = select(i, ...)
        if type(part) == 'string' or type(part) == 'number' then parts[#parts + 1] = part end
    end
    host.log(level, concat(parts, ' '))
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

local floor = math.floor

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

local lib_string = copy(string, [[byte char dump find format gfind gmatch gsub len lower match rep
    reverse sub upper]])
local lib_table = copy(table, 'concat foreach foreachi getn insert maxn remove setn sort')
local lib_math = copy(math, [[abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge
    ldexp log log10 max min mod modf pi pow rad sin sinh sqrt tan tanh]])
lib_math.random, lib_math.randomseed = random, randomseed

local rep, LARGE = string.rep, 1048576

-- Refused before it is built: that alone would hold up everybody.
function lib_string.rep(text, count)
    if type(text) ~= 'string' and type(text) ~= 'number' then
        error("bad argument #1 to 'rep' (string expected, got "
            .. (text == nil and 'no value' or type(text)) .. ')', 2)
    end
    local size = #tostring(text) * integer(count, 2, 'rep')
    if size > LARGE and host.lacks(size) then abort() end
    return rep(text, count)
end

local lib_coroutine = copy(coroutine, 'resume running status yield')

local function watched(body, name)
    if type(body) ~= 'function' then
        error("bad argument #1 to '" .. name .. "' (Lua function expected)", 3)
    end
    return function(...)
        watch()
        return body(...)
    end
end

function lib_coroutine.create(body) return raw_create(watched(body, 'create')) end

function lib_coroutine.wrap(body) return raw_wrap(watched(body, 'wrap')) end

local globals = copy(_G, [[_VERSION assert error gcinfo ipairs next rawequal select tonumber
    tostring type unpack xpcall]])

local environment = readonly(globals)
globals._G = environment
globals.string, globals.table = readonly(lib_string), readonly(lib_table)
globals.math, globals.coroutine = readonly(lib_math), readonly(lib_coroutine)

local string_metatable = readonly({__index = globals.string})
local globals_metatable = readonly({})

function globals.getmetatable(value)
    if type(value) == 'string' then return string_metatable end
    if value == environment then return globals_metatable end
    if real[value] then return nil end
    return raw_getmetatable(value)
end

function globals.setmetatable(value, metatable)
    expect_table(value, 1, 'setmetatable')
    if real[value] then error(READONLY, 0) end
    if metatable ~= nil and type(metatable) ~= 'table' then
        error("bad argument #2 to 'setmetatable' (nil or table expected)", 2)
    end
    local old = raw_getmetatable(value)
    if old and old.__metatable ~= nil then error('cannot change a protected metatable', 2) end
    return raw_setmetatable(value, metatable)
end

function globals.rawset(target, key, value)
    expect_table(target, 1, 'rawset')
    if real[target] then error(READONLY, 0) end
    if key == nil then error('table index is nil', 2) end
    return raw_rawset(target, key, value)
end

function globals.rawget(target, key)
    expect_table(target, 1, 'rawget')
    return raw_rawget(real[target] or target, key)
end

function globals.pairs(target)
    expect_table(target, 1, 'pairs')
    return next, real[target] or target, nil
end

local function pcall_result(ok, value, ...)
    if not ok and type(value) == 'table' then
        local text = value.err
        if type(text) == 'string' or type(text) == 'number' then value = text end
    end
    return ok, value, ...
end

function globals.pcall(...) return pcall_result(raw_pcall(...)) end

function globals.collectgarbage(option, argument)
    if option == 'stop' or option == 'setpause' or option == 'setstepmul' then return 0 end
    return raw_collectgarbage(option, argument)
end

-- A space in front of bytecode makes it text that does not compile. Tail calls become plain calls:
-- our wrappers are Lua functions, and a tail call of one would lose the script's own place, which
-- built-in functions keep.
local function load_text(code, name)
    if byte(code, 1) == 27 then code = ' ' .. code end
    local compiled, failure = raw_loadstring(code, name)
    if not compiled then return nil, failure end
    return setfenv(raw_loadstring(host.without_tail_calls(dump(compiled)), name), environment)
end

function globals.loadstring(code, name)
    if type(code) ~= 'string' and type(code) ~= 'number' then
        error("bad argument #1 to 'loadstring' (string expected, got "
            .. (code == nil and 'no value' or type(code)) .. ')', 2)
    end
    return load_text(tostring(code), name or tostring(code))
end

function globals.load(reader, name)
    if type(reader) ~= 'function' then
        error("bad argument #1 to 'load' (function expected, got "
            .. (reader == nil and 'no value' or type(reader)) .. ')', 2)
    end
    local pieces = {}
    while true do
        local ok, piece = raw_pcall(reader)
        if not ok then return nil, piece end
        if piece == nil or piece == '' then break end
        if type(piece) ~= 'string' then return nil, 'reader function must return a string' end
        pieces[#pieces + 1] = piece
        if #pieces == 1 and byte(piece, 1) == 27 then break end
    end
    return load_text(concat(pieces), name or '=(load)')
end

-- unknown globals

local function unknown(_, name)
    error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
end

raw_setmetatable(globals, {__index = unknown})

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

local function conclude(ok, value)
    local letters, values = {}, {}
    if ok and type(value) == 'table' then
        local found = value
        ok, value = protected(function() flatten(letters, values, found, 1) end)
    elseif ok then
        watch()
        return true, value
    end
    watch()
    if not ok then
        if type(value) ~= 'table' then return false, value end
        local text, source, line = value.err, value.source, value.line
        return false, tostring(text), source and tostring(source), line and tostring(line),
            value.ignore_error_stats_update and true
    end
    if #values > CHUNK then return true, concat(letters), values, #values, CHUNK end
    return true, concat(letters), unpack(values)
end

-- what the host calls

local api = {chunk = chunk, libraries = {}}

function api.compile(code, name)
    return load_text(code, name)
end

function api.array(...) return {...} end

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
    return concat(flags, ' ')
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

local function load_result(ok, failure)
    watch()
    local functions = registered
    registered = nil
    raw_getmetatable(environment).__index = globals
    if not ok then
        if type(failure) == 'table' then return false, tostring(failure.err) end
        return false, 'ERR ' .. tostring(failure)
    end
    return true, functions
end

function api.load_library(chunk)
    registered = {}
    raw_getmetatable(environment).__index = loading
    return load_result(protected(chunk))
end

function api.describe(functions, index)
    local found = functions[index]
    if found then return found.name, found.description, found.flags, found.callback end
end

-- the libraries that Redis brings along, each made by a chunk of its own

function api.install(name, chunk, first, second)
    globals[name] = readonly(chunk(first or host, second or newproxy))
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
