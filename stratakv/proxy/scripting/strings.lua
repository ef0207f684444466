-- The library `string`: Lua's own functions where they are soon done, else the same work in pieces.

local kit, patterns, names = ...

local raw = string
local byte, sub, find, match, gmatch, gsub = raw.byte, raw.sub, raw.find, raw.match, raw.gmatch, raw.gsub
local format, rep, char, dump = raw.format, raw.rep, raw.char, raw.dump
local type, tostring, tonumber, select, unpack = type, tostring, tonumber, select, unpack
local pcall, floor, min = pcall, math.floor, math.min
local charge, fail, blame, misuse, join = kit.charge, kit.fail, kit.blame, kit.misuse, kit.join
local describe, is_cheap, search, captures = patterns.describe, patterns.is_cheap, patterns.search,
    patterns.captures
local finished = patterns.finished
local known, up_to_zero, WINDOW = patterns.known, patterns.up_to_zero, patterns.WINDOW

local SHORT = 4096 -- bytes of a text that need no thought

local lib = {}
for name in gmatch(names, '%S+') do lib[name] = raw[name] end

-- arguments as Lua's own functions take them

local function as_text(value)
    return type(value) == 'string' and value or type(value) == 'number' and tostring(value)
end

local function as_integer(value, default)
    if value == nil then return default end
    local found = tonumber(value)
    return found and (found < 0 and -floor(-found) or floor(found))
end

local function start(text, init)
    if init < 0 then init = #text + init + 1 end
    if init < 1 then return 1 end
    return min(init, #text + 1)
end

-- find and match

local function find_plain(text, part, from)
    if #text - from <= WINDOW then return find(text, part, from, true) end
    local width = WINDOW + #part
    for at = from, #text, WINDOW do
        charge(width)
        local first, last = find(sub(text, at, at + width - 1), part, 1, true)
        if first then return at + first - 1, at + last - 1 end
    end
    if part == '' then return from, from - 1 end
end

local function find_slowly(text, info, from)
    local first, last, starts, ends = search(text, info, from)
    if not first then return nil end
    if info.captures == 0 then return first, last end
    local list = captures(text, info, first, last, starts, ends)
    return first, last, unpack(finished(list, info.captures))
end

local function match_slowly(text, info, from)
    local first, last, starts, ends = search(text, info, from)
    if not first then return nil end
    return unpack(finished(captures(text, info, first, last, starts, ends), info.captures))
end

function lib.find(...)
    local text, pattern, init, plain = ...
    local info = known[pattern]
    if info and init == nil and type(text) == 'string' and #text < info.free and not plain then
        return find(text, pattern)
    end
    if plain and type(text) == 'string' and #text <= WINDOW and type(pattern) == 'string'
        and (init == nil or type(init) == 'number') then
        return find(text, pattern, init, true)
    end
    text, pattern, init = as_text(text), as_text(pattern), as_integer(init, 1)
    if not (text and pattern and init) then misuse(find, ...) end
    local from = start(text, init)
    if plain or #pattern <= WINDOW and not find(up_to_zero(pattern), '[%^$*+?.([%%-]') then
        return find_plain(text, pattern, from)
    end
    info = describe(pattern)
    if is_cheap(info, text, from) then return find(text, pattern, from) end
    return find_slowly(text, info, from)
end

function lib.match(...)
    local text, pattern, init = ...
    local info = known[pattern]
    if info and init == nil and type(text) == 'string' and #text < info.free then
        return match(text, pattern)
    end
    text, pattern, init = as_text(text), as_text(pattern), as_integer(init, 1)
    if not (text and pattern and init) then misuse(match, ...) end
    local from = start(text, init)
    info = describe(pattern)
    if is_cheap(info, text, from) then return match(text, pattern, from) end
    return match_slowly(text, info, from)
end

function lib.gmatch(...)
    local text, pattern = ...
    text, pattern = as_text(text), as_text(pattern)
    if not (text and pattern) then misuse(gmatch, ...) end
    if byte(pattern, 1) == 94 then pattern = '%' .. pattern end -- here it is a letter like others
    local info, from = describe(pattern), 1
    if is_cheap(info, text, 1) then return gmatch(text, pattern) end
    return function()
        if from > #text + 1 then return nil end
        local first, last, starts, ends = search(text, info, from)
        if not first then
            from = #text + 2
            return nil
        end
        from = last < first and first + 1 or last + 1
        return unpack(finished(captures(text, info, first, last, starts, ends), info.captures))
    end
end

-- gsub

-- The replacement's text for a match whose captures are known; false keeps the match.
local function replaced(replacement, kind, list, whole)
    local value
    if kind == 'function' then
        value = replacement(unpack(finished(list, #list)))
    else
        value = replacement[finished(list, 1)[1]]
    end
    if not value then return whole end
    if type(value) == 'string' then return value end
    if type(value) == 'number' then return tostring(value) end
    fail('invalid replacement value (a ' .. type(value) .. ')')
end

-- A replacement text with %0 to %9 in it, as a list of texts and numbers; the second value says
-- whether there is one of %1 to %9.
local function read_template(text)
    local parts, at, has_captures = {}, 1, false
    while true do
        local place = find_plain(text, '%', at)
        parts[#parts + 1] = sub(text, at, (place or 0) - 1)
        if not place then return parts, has_captures end
        local letter = sub(text, place + 1, place + 1)
        parts[#parts + 1] = find(letter, '^%d') and byte(letter) - 48 or letter == '' and '\0' or letter
        has_captures = has_captures or find(letter, '^[1-9]') ~= nil
        at = place + 2
    end
end

local function filled(parts, list, whole, count)
    local out = {}
    for index = 1, #parts do
        local part = parts[index]
        if part == 0 then
            part = whole
        elseif type(part) == 'number' then
            if part > (count == 0 and 1 or count) then fail('invalid capture index') end
            part = list[part] or fail('unfinished capture')
        end
        out[index] = part
    end
    return join(out, '', 1, #out)
end

-- First and last place of a match, and its captures if they are wanted.
local function next_match(text, pattern, info, from, cheap, wanted)
    if not cheap then
        local first, last, starts, ends = search(text, info, from)
        if not first or not wanted then return first, last end
        return first, last, captures(text, info, first, last, starts, ends)
    end
    local found = {find(text, pattern, from)}
    local first, last = found[1], found[2]
    if not first then return nil end
    if info.captures == 0 then return first, last, {sub(text, first, last)} end
    return first, last, {unpack(found, 3, info.captures + 2)}
end

local function substitute(text, pattern, replacement, kind, limit, cheap)
    local info, out, at, count = describe(pattern), {}, 1, 0
    local parts, wanted = nil, true
    if kind == 'string' then parts, wanted = read_template(replacement) end
    while count < limit do
        local first, last, list = next_match(text, pattern, info, at, cheap, wanted)
        if not first then break end
        count = count + 1
        local whole = sub(text, first, last)
        out[#out + 1] = sub(text, at, first - 1)
        if parts then
            out[#out + 1] = filled(parts, list, whole, info.captures)
        else
            out[#out + 1] = replaced(replacement, kind, list, whole)
        end
        at = last + 1
        if last < first then
            out[#out + 1] = sub(text, first, first)
            at = first + 1
        end
        if info.anchored or at > #text + 1 then break end
    end
    out[#out + 1] = sub(text, at)
    return join(out, '', 1, #out), count
end

local REPLACEMENTS = {string = 'string', number = 'string', ['function'] = 'function', table = 'table'}

-- Whether a replacement may be left to Lua's own gsub: nothing wrong in it, nothing long, and calls
-- only of functions with a hook.
local function is_plain(replacement, kind, info, text)
    if kind == 'function' then return #text <= SHORT or not kit.is_built_in(replacement) end
    if kind == 'table' then return #text <= WINDOW end
    return type(replacement) == 'string' and #replacement <= 64
        and not find(replacement, info.bad_template)
end

function lib.gsub(...)
    local text, pattern, replacement, limit = ...
    local kind = REPLACEMENTS[type(replacement)]
    local info = known[pattern]
    if info and kind and limit == nil and type(text) == 'string' and #text < info.free
        and is_plain(replacement, kind, info, text) then
        return gsub(text, pattern, replacement)
    end
    text, pattern = as_text(text), as_text(pattern)
    limit = as_integer(limit, text and #text + 1)
    if not (text and pattern and kind and limit) then misuse(gsub, ...) end
    if kind == 'string' then replacement = as_text(replacement) end
    info = describe(pattern)
    local cheap = is_cheap(info, text, 1)
    if cheap and is_plain(replacement, kind, info, text) then
        return gsub(text, pattern, replacement, limit)
    end
    return substitute(text, pattern, replacement, kind, limit, cheap)
end

-- what goes byte by byte

local AT_ONCE = 8

-- One text of long ones: `..` copies less than table.concat does.
local function glue(pieces)
    while #pieces > 1 do
        local longer = {}
        for at = 1, #pieces, AT_ONCE do
            local a, b, c, d, e, f, g, h = unpack(pieces, at, at + AT_ONCE - 1)
            local text = a .. (b or '') .. (c or '') .. (d or '') .. (e or '') .. (f or '') .. (g or '')
                .. (h or '')
            charge(#text)
            longer[#longer + 1] = text
        end
        pieces = longer
    end
    return pieces[1] or ''
end

local function in_pieces(name, backwards)
    local work = raw[name]
    lib[name] = function(...)
        local text = as_text((...))
        if not text then misuse(work, ...) end
        if #text <= WINDOW then return work(text) end
        local pieces = {}
        for at = 1, #text, WINDOW do
            charge(4 * WINDOW)
            local piece = work(sub(text, at, at + WINDOW - 1))
            pieces[#pieces + 1] = piece
        end
        if backwards then
            for index = 1, floor(#pieces / 2) do
                local other = #pieces + 1 - index
                pieces[index], pieces[other] = pieces[other], pieces[index]
            end
        end
        return glue(pieces)
    end
end

in_pieces('upper')
in_pieces('lower')
in_pieces('reverse', true)

function lib.rep(...)
    local text, count = ...
    text, count = as_text(text), as_integer(count)
    if not (text and count) then misuse(rep, ...) end
    local size = #text * count
    if size <= WINDOW then return rep(text, count) end
    kit.claim(size) -- refused before it is built
    if #text > WINDOW then
        charge(size)
        return rep(text, count)
    end
    local each = floor(WINDOW / #text)
    local block, pieces = rep(text, each), {}
    for _ = 1, floor(count / each) do pieces[#pieces + 1] = block end
    pieces[#pieces + 1] = rep(text, count % each)
    return glue(pieces)
end

-- format: directive by directive where a text is long

local function quoted(text)
    local pieces = {'"'}
    for at = 1, #text, WINDOW do
        charge(4 * WINDOW)
        pieces[#pieces + 1] = sub(format('%q', sub(text, at, at + WINDOW - 1)), 2, -2)
    end
    pieces[#pieces + 1] = '"'
    return join(pieces, '', 1, #pieces)
end

local function one_directive(directive, number, given, count)
    local value = given[number]
    if number <= count and type(value) == 'string' and #value > WINDOW then
        if find(directive, '^%%[-%d]*s$') then return value end
        if directive == '%q' then return quoted(value) end
        if find(directive, 's$') then value = sub(value, 1, 128) end
    end
    local ok, found
    if number <= count then
        ok, found = pcall(format, directive, value)
    else
        ok, found = pcall(format, directive)
    end
    if ok then return found end
    blame((gsub(found, '#2', '#' .. number + 1)))
end

local function format_slowly(text, given, count)
    local pieces, at, number = {}, 1, 0
    while true do
        local place = find_plain(text, '%', at)
        pieces[#pieces + 1] = sub(text, at, (place or 0) - 1)
        if not place then return join(pieces, '', 1, #pieces) end
        if byte(text, place + 1) == 37 then
            pieces[#pieces + 1], at = '%', place + 2
        else
            local directive = match(sub(text, place, place + 30), '^%%[-+ #0]*[%d.]*.?')
            number = number + 1
            pieces[#pieces + 1] = one_directive(directive, number, given, count)
            at = place + #directive
        end
    end
end

local function is_long(...)
    local size, given = 0, {...}
    for index = 1, select('#', ...) do
        if type(given[index]) == 'string' then size = size + #given[index] end
    end
    return size > WINDOW
end

function lib.format(...)
    local count, text, first, second, third = select('#', ...), ...
    local is_usual = count <= 4 and (type(text) ~= 'string' or #text <= SHORT)
        and (type(first) ~= 'string' or #first <= SHORT)
        and (type(second) ~= 'string' or #second <= SHORT)
        and (type(third) ~= 'string' or #third <= SHORT)
    if not is_usual and is_long(...) then
        return format_slowly(as_text(text), {select(2, ...)}, count - 1)
    end
    local ok, found = pcall(format, ...)
    if not ok then blame(found) end
    return found
end

-- Our own functions count as built in.
function lib.dump(...)
    local body = ...
    if type(body) == 'function' and kit.is_ours(body) then fail('unable to dump given function') end
    local ok, found = pcall(dump, ...)
    if not ok then blame(found) end
    return found
end

return lib
