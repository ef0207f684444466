-- The library `cjson`: the same texts, tables and errors as the one that Redis has.

local _, newproxy, kit = ...

local byte, char, sub, find, match, gsub = string.byte, string.char, string.sub, string.find,
    string.match, string.gsub
local format, concat, floor, huge, lower = string.format, table.concat, math.floor, math.huge,
    string.lower
local join, charge = kit.join, kit.charge
local error, pcall, type, tonumber, next, pairs, select, rawget = error, pcall, type, tonumber, next,
    pairs, select, rawget

local null = newproxy(true)
getmetatable(null).__tostring = function() return 'userdata: (nil)' end
getmetatable(null).__metatable = false

local ESCAPES = {['"'] = '\\"', ['\\'] = '\\\\', ['/'] = '\\/', ['\127'] = '\\u007f'}
for code = 0, 31 do ESCAPES[char(code)] = format('\\u%04x', code) end
for letter, text in pairs({b = '\b', t = '\t', n = '\n', f = '\f', r = '\r'}) do
    ESCAPES[text] = '\\' .. letter
end

local UNESCAPES = {['"'] = '"', ['\\'] = '\\', ['/'] = '/', b = '\b', t = '\t', n = '\n', f = '\f',
    r = '\r'}

local function fail(text) error(text, 0) end

-- encoding

local append

local WINDOW = 65536 -- bytes that are looked at in one go

local function quoted(text)
    if #text <= WINDOW then return '"' .. gsub(text, '[%c"/\\]', ESCAPES) .. '"' end
    local pieces = {'"'}
    for at = 1, #text, WINDOW do
        charge(4 * WINDOW)
        pieces[#pieces + 1] = gsub(sub(text, at, at + WINDOW - 1), '[%c"/\\]', ESCAPES)
    end
    pieces[#pieces + 1] = '"'
    return join(pieces, '', 1, #pieces)
end

-- `find` for one character of a class
local function seek(text, class, at)
    if #text - at <= WINDOW then return find(text, class, at) end
    for from = at, #text, WINDOW do
        local place = find(sub(text, from, from + WINDOW - 1), class)
        if place then return from + place - 1 end
        charge(4 * WINDOW)
    end
end

local function number_text(config, number)
    if number ~= number or number == huge or number == -huge then
        if config.encode_invalid_numbers == 'off' then
            fail('Cannot serialise number: must not be NaN or Inf')
        end
        if config.encode_invalid_numbers == 'null' then return 'null' end
        if number ~= number then return 'nan' end
    end
    return format(config.number_format, number)
end

local function array_length(config, value)
    local max, items = 0, 0
    for key in next, value do
        if type(key) ~= 'number' or key < 1 or floor(key) ~= key then return -1 end
        if key > max then max = key end
        items = items + 1
    end
    if config.sparse_ratio > 0 and max > items * config.sparse_ratio and max > config.sparse_safe then
        if not config.sparse_convert then
            fail('Cannot serialise table: excessively sparse array')
        end
        return -1
    end
    return max
end

local function append_array(config, out, value, length, depth)
    out[#out + 1] = '['
    for index = 1, length do
        if index > 1 then out[#out + 1] = ',' end
        append(config, out, rawget(value, index), depth)
    end
    out[#out + 1] = ']'
end

local function append_object(config, out, value, depth)
    local separator = '{'
    for key, item in next, value do
        local kind = type(key)
        if kind == 'string' then
            out[#out + 1] = separator .. quoted(key) .. ':'
        elseif kind == 'number' then
            out[#out + 1] = separator .. '"' .. number_text(config, key) .. '":'
        else
            fail('Cannot serialise ' .. kind .. ': table key must be a number or string')
        end
        append(config, out, item, depth)
        separator = ','
    end
    out[#out + 1] = separator == '{' and '{}' or '}'
end

function append(config, out, value, depth)
    local kind = type(value)
    if kind == 'string' then
        out[#out + 1] = quoted(value)
    elseif kind == 'number' then
        out[#out + 1] = number_text(config, value)
    elseif kind == 'boolean' then
        out[#out + 1] = value and 'true' or 'false'
    elseif value == nil or value == null then
        out[#out + 1] = 'null'
    elseif kind == 'table' then
        depth = depth + 1
        if depth > config.encode_max_depth then
            fail('Cannot serialise, excessive nesting (' .. depth .. ')')
        end
        local length = array_length(config, value)
        if length > 0 then
            append_array(config, out, value, length, depth)
        else
            append_object(config, out, value, depth)
        end
    else
        fail('Cannot serialise ' .. kind .. ': type not supported')
    end
end

local function encode(config, value)
    local out = {}
    append(config, out, value, 0)
    return join(out, '', 1, #out)
end

-- decoding: `next_token` gives a type, a value and the place, and where the text goes on

local SINGLE = {['{'] = 'T_OBJ_BEGIN', ['}'] = 'T_OBJ_END', ['['] = 'T_ARR_BEGIN',
    [']'] = 'T_ARR_END', [','] = 'T_COMMA', [':'] = 'T_COLON'}

local function utf8(code)
    if code < 0x80 then return char(code) end
    if code < 0x800 then return char(0xC0 + floor(code / 64), 0x80 + code % 64) end
    if code < 0x10000 then
        return char(0xE0 + floor(code / 4096), 0x80 + floor(code / 64) % 64, 0x80 + code % 64)
    end
    return char(0xF0 + floor(code / 262144), 0x80 + floor(code / 4096) % 64,
        0x80 + floor(code / 64) % 64, 0x80 + code % 64)
end

local function unicode_escape(text, at)
    local hex = match(text, '^\\u(%x%x%x%x)', at)
    if not hex then return nil end
    local code = tonumber(hex, 16)
    if code < 0xD800 or code > 0xDFFF then return utf8(code), at + 6 end
    local second = code < 0xDC00 and match(text, '^\\u(%x%x%x%x)', at + 6)
    local low = second and tonumber(second, 16)
    if not low or low < 0xDC00 or low > 0xDFFF then return nil end
    return utf8((code - 0xD800) * 1024 + (low - 0xDC00) + 0x10000), at + 12
end

local function string_token(text, start)
    local at = start + 1
    local stop = seek(text, '["\\%z]', at)
    if stop and byte(text, stop) == 34 then
        return 'T_STRING', sub(text, at, stop - 1), start, stop + 1
    end
    local parts = {}
    while true do
        if not stop or byte(text, stop) == 0 then
            return 'T_ERROR', 'unexpected end of string', stop or #text + 1
        end
        parts[#parts + 1] = sub(text, at, stop - 1)
        if byte(text, stop) == 34 then return 'T_STRING', join(parts, '', 1, #parts), start, stop + 1 end
        local letter = sub(text, stop + 1, stop + 1)
        if letter == 'u' then
            local piece, after = unicode_escape(text, stop)
            if not piece then return 'T_ERROR', 'invalid unicode escape code', stop end
            parts[#parts + 1], at = piece, after
        elseif UNESCAPES[letter] then
            parts[#parts + 1], at = UNESCAPES[letter], stop + 2
        else
            return 'T_ERROR', 'invalid escape code', stop
        end
        stop = seek(text, '["\\%z]', at)
    end
end

local function plain_number(text, at)
    local whole = match(text, '^[+-]?%d+%.?%d*', at) or match(text, '^[+-]?%.%d+', at)
    if not whole then return nil end
    local power = match(text, '^[eE][+-]?%d+', at + #whole) or ''
    return tonumber(whole .. power), at + #whole + #power
end

local function strtod(text, at)
    local sign, digits = match(text, '^([+-]?)0[xX](%x+)', at)
    if digits then
        local number = tonumber('0x' .. digits)
        return sign == '-' and -number or number, at + #sign + 2 + #digits
    end
    local word = lower(match(text, '^[+-]?%a+', at) or '')
    local negative, name = match(word, '^([+-]?)(%a+)')
    if name and find(name, '^inf') then
        local length = find(name, '^infinity') and 8 or 3
        return negative == '-' and -huge or huge, at + #negative + length
    end
    if name and find(name, '^nan') then return 0 / 0, at + #negative + 3 end
    return plain_number(text, at)
end

local function is_strange(text, at)
    local first = sub(text, at, at)
    if first == '+' then return true end
    if first == '-' then at = at + 1 end
    if find(text, '^0[xX%d]', at) then return true end
    local word = lower(sub(text, at, at + 2))
    return word == 'inf' or word == 'nan'
end

-- Numbers longer than a window are refused.
local function number_token(text, at)
    local piece, from = text, at
    if #text > WINDOW then piece, from = sub(text, at, at + WINDOW - 1), 1 end
    local number, after = strtod(piece, from)
    if not number or after > WINDOW and from == 1 and piece ~= text then
        return 'T_ERROR', 'invalid number', at
    end
    return 'T_NUMBER', number, at, at + after - from
end

local WORDS = {{'true', 'T_BOOLEAN', true}, {'false', 'T_BOOLEAN', false}, {'null', 'T_NULL', null}}

local function word_token(config, text, at)
    for index = 1, 3 do
        local word = WORDS[index]
        if sub(text, at, at + #word[1] - 1) == word[1] then
            return word[2], word[3], at, at + #word[1]
        end
    end
    if config.decode_invalid_numbers and is_strange(text, at) and find(text, '^[+iInN]', at) then
        return number_token(text, at)
    end
    return 'T_ERROR', 'invalid token', at
end

local function next_token(config, text, at)
    at = seek(text, '[^ \t\n\r]', at) or #text + 1
    local letter = sub(text, at, at)
    local single = SINGLE[letter]
    if single then return single, nil, at, at + 1 end
    if letter == '' or letter == '\0' then return 'T_END', nil, at, at end
    if letter == '"' then return string_token(text, at) end
    if find(letter, '[%d-]') then
        if not config.decode_invalid_numbers and is_strange(text, at) then
            return 'T_ERROR', 'invalid number', at
        end
        return number_token(text, at)
    end
    return word_token(config, text, at)
end

local function unexpected(wanted, token, value, at)
    fail('Expected ' .. wanted .. ' but found ' .. (token == 'T_ERROR' and value or token)
        .. ' at character ' .. at)
end

local read_value

local function check_depth(config, depth, after)
    if depth > config.decode_max_depth then
        fail('Found too many nested data structures (' .. depth .. ') at character ' .. after - 1)
    end
end

local function read_object(config, text, after, depth)
    check_depth(config, depth, after)
    local found = {}
    local token, value, at
    token, value, at, after = next_token(config, text, after)
    if token == 'T_OBJ_END' then return found, after end
    while true do
        if token ~= 'T_STRING' then unexpected('object key string', token, value, at) end
        local key = value
        token, value, at, after = next_token(config, text, after)
        if token ~= 'T_COLON' then unexpected('colon', token, value, at) end
        found[key], after = read_value(config, text, depth, next_token(config, text, after))
        token, value, at, after = next_token(config, text, after)
        if token == 'T_OBJ_END' then return found, after end
        if token ~= 'T_COMMA' then unexpected('comma or object end', token, value, at) end
        token, value, at, after = next_token(config, text, after)
    end
end

local function read_array(config, text, after, depth)
    check_depth(config, depth, after)
    local found, index = {}, 1
    local token, value, at
    token, value, at, after = next_token(config, text, after)
    if token == 'T_ARR_END' then return found, after end
    while true do
        found[index], after = read_value(config, text, depth, token, value, at, after)
        index = index + 1
        token, value, at, after = next_token(config, text, after)
        if token == 'T_ARR_END' then return found, after end
        if token ~= 'T_COMMA' then unexpected('comma or array end', token, value, at) end
        token, value, at, after = next_token(config, text, after)
    end
end

local SCALARS = {T_STRING = true, T_NUMBER = true, T_BOOLEAN = true, T_NULL = true}

function read_value(config, text, depth, token, value, at, after)
    if SCALARS[token] then return value, after end
    if token == 'T_OBJ_BEGIN' then return read_object(config, text, after, depth + 1) end
    if token == 'T_ARR_BEGIN' then return read_array(config, text, after, depth + 1) end
    unexpected('value', token, value, at)
end

local function decode(config, text)
    if #text >= 2 and (byte(text, 1) == 0 or byte(text, 2) == 0) then
        fail('JSON parser does not support UTF-16 or UTF-32')
    end
    local found, after = read_value(config, text, 0, next_token(config, text, 1))
    local token, value, at = next_token(config, text, after)
    if token ~= 'T_END' then unexpected('the end', token, value, at) end
    return found
end

-- the module, with its settings

local function guarded(work, config, value)
    local ok, result = pcall(work, config, value)
    if not ok then error(result, type(result) == 'string' and 3 or 0) end
    return result
end

local function one_argument(name, count)
    if count ~= 1 then error("bad argument #1 to '" .. name .. "' (expected 1 argument)", 3) end
end

local function at_most(name, limit, count)
    if count > limit then
        error('bad argument #' .. limit + 1 .. " to '" .. name .. "' (found too many arguments)", 3)
    end
end

local function integer_setting(name, config, field, value, index, min, max)
    if value == nil then return config[field] end
    local number = tonumber(value)
    if not number then
        error('bad argument #' .. index .. " to '" .. name .. "' (number expected, got "
            .. type(value) .. ')', 3)
    end
    number = floor(number)
    if number < min or number > max then
        error("bad argument #1 to '" .. name .. "' (expected integer between " .. min .. ' and '
            .. format('%d', max) .. ')', 3)
    end
    config[field] = number
    return number
end

local function switch_setting(name, config, field, value)
    if value == nil then return config[field] end
    if type(value) == 'boolean' then
        config[field] = value
    elseif value == 'on' or value == 'off' then
        config[field] = value == 'on'
    else
        error("bad argument #1 to '" .. name .. "' (invalid option '" .. tostring(value) .. "')", 3)
    end
    return config[field]
end

local INT_MAX = 2147483647

local function new()
    local config = {sparse_convert = false, sparse_ratio = 2, sparse_safe = 10,
        encode_max_depth = 1000, decode_max_depth = 1000, encode_invalid_numbers = 'off',
        decode_invalid_numbers = true, keep_buffer = true, precision = 14, number_format = '%.14g'}
    local cjson = {null = null, _NAME = 'cjson', _VERSION = '2.1.0', new = new}

    function cjson.encode(...)
        one_argument('encode', select('#', ...))
        return (guarded(encode, config, (...)))
    end

    function cjson.decode(...)
        one_argument('decode', select('#', ...))
        local text = ...
        if type(text) == 'number' then text = tostring(text) end
        if type(text) ~= 'string' then
            error("bad argument #1 to 'decode' (string expected, got " .. type(text) .. ')', 2)
        end
        return (guarded(decode, config, text))
    end

    function cjson.encode_sparse_array(...)
        at_most('encode_sparse_array', 3, select('#', ...))
        local convert, ratio, safe = ...
        return switch_setting('encode_sparse_array', config, 'sparse_convert', convert),
            integer_setting('encode_sparse_array', config, 'sparse_ratio', ratio, 2, 0, INT_MAX),
            integer_setting('encode_sparse_array', config, 'sparse_safe', safe, 3, 0, INT_MAX)
    end

    function cjson.encode_max_depth(...)
        at_most('encode_max_depth', 1, select('#', ...))
        return (integer_setting('encode_max_depth', config, 'encode_max_depth', (...), 1, 1, INT_MAX))
    end

    function cjson.decode_max_depth(...)
        at_most('decode_max_depth', 1, select('#', ...))
        return (integer_setting('decode_max_depth', config, 'decode_max_depth', (...), 1, 1, INT_MAX))
    end

    function cjson.encode_number_precision(...)
        at_most('encode_number_precision', 1, select('#', ...))
        local digits = integer_setting('encode_number_precision', config, 'precision', (...), 1, 1, 14)
        config.number_format = '%.' .. digits .. 'g'
        return digits
    end

    function cjson.encode_keep_buffer(...)
        at_most('encode_keep_buffer', 1, select('#', ...))
        return (switch_setting('encode_keep_buffer', config, 'keep_buffer', (...)))
    end

    function cjson.decode_invalid_numbers(...)
        at_most('decode_invalid_numbers', 1, select('#', ...))
        return (switch_setting('decode_invalid_numbers', config, 'decode_invalid_numbers', (...)))
    end

    function cjson.encode_invalid_numbers(...)
        at_most('encode_invalid_numbers', 1, select('#', ...))
        local value = ...
        if value == true then value = 'on' elseif value == false then value = 'off' end
        if value == 'on' or value == 'off' or value == 'null' then
            config.encode_invalid_numbers = value
        elseif value ~= nil then
            error("bad argument #1 to 'encode_invalid_numbers' (invalid option '" .. tostring(value)
                .. "')", 2)
        end
        local now = config.encode_invalid_numbers
        if now == 'null' then return now end
        return now == 'on'
    end

    return cjson
end

return new()
