-- The library `cmsgpack`: MessagePack as Redis packs and unpacks it.

local host, _, kit = ...

local byte, char, sub, floor = string.byte, string.char, string.sub, math.floor
local error, pcall, type, tonumber, next, select, unpack = error, pcall, type, tonumber, next, select,
    unpack

local NESTING = 16
local RANGE32 = 4294967296

-- packing

local function big_endian(number, size)
    local bytes = {}
    for index = size, 1, -1 do
        bytes[index] = number % 256
        number = floor(number / 256)
    end
    return char(unpack(bytes))
end

local function sixty_four(number)
    local high = floor(number / RANGE32)
    return big_endian(high % RANGE32, 4) .. big_endian(number - high * RANGE32, 4)
end

local function pack_integer(number)
    if number >= 0 then
        if number < 128 then return char(number) end
        if number < 256 then return char(0xcc, number) end
        if number < 65536 then return '\205' .. big_endian(number, 2) end
        if number < RANGE32 then return '\206' .. big_endian(number, 4) end
        return '\207' .. sixty_four(number)
    end
    if number >= -32 then return char(256 + number) end
    if number >= -128 then return char(0xd0, 256 + number) end
    if number >= -32768 then return '\209' .. big_endian(65536 + number, 2) end
    if number >= -2147483648 then return '\210' .. big_endian(RANGE32 + number, 4) end
    return '\211' .. sixty_four(number)
end

local function pack_number(number)
    if floor(number) == number and number >= -2 ^ 63 and number < 2 ^ 63 then
        return pack_integer(number)
    end
    return host.pack_float(number)
end

local function pack_string(text)
    local size = #text
    if size < 32 then return char(0xa0 + size) .. text end
    if size < 256 then return char(0xd9, size) .. text end
    if size < 65536 then return '\218' .. big_endian(size, 2) .. text end
    return '\219' .. big_endian(size, 4) .. text
end

local function head(size, short, medium, long)
    if size < 16 then return char(short + size) end
    if size < 65536 then return medium .. big_endian(size, 2) end
    return long .. big_endian(size, 4)
end

local function is_array(value)
    local count, max = 0, 0
    for key in next, value do
        if type(key) ~= 'number' or key <= 0 or floor(key) ~= key or key > 2147483647 then
            return false
        end
        if key > max then max = key end
        count = count + 1
    end
    return max == count
end

local append

local function append_table(out, value, level)
    if is_array(value) then
        out[#out + 1] = head(#value, 0x90, '\220', '\221')
        for index = 1, #value do append(out, value[index], level + 1) end
        return
    end
    local at, count = #out + 1, 0
    out[at] = ''
    for key, item in next, value do
        append(out, key, level + 1)
        append(out, item, level + 1)
        count = count + 1
    end
    out[at] = head(count, 0x80, '\222', '\223')
end

function append(out, value, level)
    local kind = type(value)
    if kind == 'string' then
        out[#out + 1] = pack_string(value)
    elseif kind == 'number' then
        out[#out + 1] = pack_number(value)
    elseif kind == 'boolean' then
        out[#out + 1] = value and '\195' or '\194'
    elseif kind == 'table' and level < NESTING then
        append_table(out, value, level)
    else
        out[#out + 1] = '\192'
    end
end

-- unpacking: a reader gets the text and the place behind the first byte

local read

local function fail(text) error(text, 0) end

local function need(text, at, size)
    if at + size - 1 > #text then fail('Missing bytes in input.') end
end

local function unsigned(text, at, size)
    need(text, at, size)
    local number = 0
    for index = at, at + size - 1 do number = number * 256 + byte(text, index) end
    return number, at + size
end

local function signed(text, at, size)
    local number, after = unsigned(text, at, size)
    local range = 256 ^ size
    if number >= range / 2 then number = number - range end
    return number, after
end

-- Redis takes the unsigned ones for signed as well.
local function signed_64(text, at)
    need(text, at, 8)
    local high = unsigned(text, at, 4)
    if high >= 2147483648 then high = high - RANGE32 end
    return high * RANGE32 + unsigned(text, at + 4, 4), at + 8
end

local function float(text, at, size)
    need(text, at, size)
    return host.unpack_float(sub(text, at, at + size - 1)), at + size
end

local function raw(text, at, size)
    need(text, at, size)
    return sub(text, at, at + size - 1), at + size
end

local function array(text, at, size)
    local found = {}
    for index = 1, size do found[index], at = read(text, at) end
    return found, at
end

local function map(text, at, size)
    local found = {}
    for _ = 1, size do
        local key, value
        key, at = read(text, at)
        value, at = read(text, at)
        found[key] = value
    end
    return found, at
end

local function sized(reader, width)
    return function(text, at)
        local size, after = unsigned(text, at, width)
        return reader(text, after, size)
    end
end

local function fixed(reader, size)
    return function(text, at) return reader(text, at, size) end
end

local READERS = {
    [0xc0] = function(_, at) return nil, at end,
    [0xc2] = function(_, at) return false, at end,
    [0xc3] = function(_, at) return true, at end,
    [0xcc] = fixed(unsigned, 1), [0xcd] = fixed(unsigned, 2), [0xce] = fixed(unsigned, 4),
    [0xcf] = signed_64,
    [0xd0] = fixed(signed, 1), [0xd1] = fixed(signed, 2), [0xd2] = fixed(signed, 4),
    [0xd3] = signed_64,
    [0xca] = fixed(float, 4), [0xcb] = fixed(float, 8),
    [0xd9] = sized(raw, 1), [0xda] = sized(raw, 2), [0xdb] = sized(raw, 4),
    [0xdc] = sized(array, 2), [0xdd] = sized(array, 4),
    [0xde] = sized(map, 2), [0xdf] = sized(map, 4),
}

function read(text, at)
    local first = byte(text, at)
    if not first then fail('Missing bytes in input.') end
    at = at + 1
    if first < 0x80 then return first, at end
    if first >= 0xe0 then return first - 256, at end
    if first < 0x90 then return map(text, at, first - 0x80) end
    if first < 0xa0 then return array(text, at, first - 0x90) end
    if first < 0xc0 then return raw(text, at, first - 0xa0) end
    local reader = READERS[first]
    if not reader then fail('Bad data format in input.') end
    return reader(text, at)
end

local function read_all(text, limit, offset)
    local found, count, at = {}, 0, offset + 1
    while at <= #text and count < limit do
        count = count + 1
        found[count], at = read(text, at)
    end
    return found, count, at
end

local function checked_text(text, name)
    if type(text) == 'number' then return tostring(text) end
    if type(text) ~= 'string' then
        error("bad argument #1 to '" .. name .. "' (string expected, got "
            .. (text == nil and 'no value' or type(text)) .. ')', 3)
    end
    return text
end

local function checked_integer(value, index, name, default)
    if value == nil and default then return default end
    local number = tonumber(value)
    if not number then
        error('bad argument #' .. index .. " to '" .. name .. "' (number expected, got "
            .. (value == nil and 'no value' or type(value)) .. ')', 3)
    end
    return floor(number)
end

local function unpack_some(text, limit, offset)
    if offset < 0 or limit < 0 then
        error('Invalid request to unpack with offset of ' .. offset .. ' and limit of ' .. #text .. '.', 3)
    end
    if offset > #text then
        error('Start offset ' .. offset .. ' greater than input length ' .. #text .. '.', 3)
    end
    local everything = limit == 0 and offset == 0
    local ok, found, count, at = pcall(read_all, text, everything and 2147483647 or limit, offset)
    if not ok then error(found, type(found) == 'string' and 3 or 0) end
    if everything then return unpack(found, 1, count) end
    return at > #text and -1 or at - 1, unpack(found, 1, count)
end

local cmsgpack = {
    _NAME = 'cmsgpack', _VERSION = 'lua-cmsgpack 0.4.0',
    _COPYRIGHT = 'Copyright (C) 2012, Salvatore Sanfilippo',
    _DESCRIPTION = 'MessagePack C implementation for Lua',
}

function cmsgpack.pack(...)
    local count = select('#', ...)
    if count == 0 then
        error("bad argument #0 to 'pack' (MessagePack pack needs input.)", 2)
    end
    local out = {}
    for index = 1, count do append(out, (select(index, ...)), 0) end
    return kit.join(out, '', 1, #out)
end

function cmsgpack.unpack(text)
    text = checked_text(text, 'unpack')
    return unpack_some(text, 0, 0)
end

function cmsgpack.unpack_one(text, offset)
    text = checked_text(text, 'unpack_one')
    return unpack_some(text, 1, checked_integer(offset, 2, 'unpack_one', 0))
end

function cmsgpack.unpack_limit(text, limit, offset)
    text = checked_text(text, 'unpack_limit')
    limit = checked_integer(limit, 2, 'unpack_limit')
    return unpack_some(text, limit, checked_integer(offset, 3, 'unpack_limit', 0))
end

return cmsgpack
