-- The library `table`: Lua's own functions where they are soon done, else the same work in pieces
-- or in Lua. What changes a table refuses the shared ones.

local kit, names = ...

local raw = table
local insert, remove, sort = raw.insert, raw.remove, raw.sort
local type, select, next, rawget, rawset, pcall, tonumber = type, select, next, rawget, rawset, pcall,
    tonumber
local gsub, floor, error = string.gsub, math.floor, error
local fail, blame, misuse, join, refuse_shared = kit.fail, kit.blame, kit.misuse, kit.join,
    kit.refuse_shared

local FEW = 1000 -- items that may be moved or joined in one go
local SHORT = 200 -- items that may be sorted in one go

local lib = {}
for name in string.gmatch(names, '%S+') do lib[name] = raw[name] end

function lib.concat(...)
    local list, separator, first, last = ...
    if type(list) == 'table' then
        first, last = tonumber(first == nil and 1 or first), tonumber(last == nil and #list or last)
        local is_text = separator == nil or type(separator) == 'string' or type(separator) == 'number'
        if first and last and is_text and last - first >= FEW then
            return join(list, separator or '', floor(first), floor(last))
        end
    end
    local ok, text = pcall(raw.concat, ...)
    if not ok then blame(text) end
    return text
end

local function shift_up(list, place, value)
    for index = #list, place, -1 do rawset(list, index + 1, rawget(list, index)) end
    rawset(list, place, value)
end

local function shift_down(list, place)
    local found, size = rawget(list, place), #list
    for index = place, size - 1 do rawset(list, index, rawget(list, index + 1)) end
    rawset(list, size, nil)
    return found
end

function lib.insert(...)
    local list, place, value = ...
    local count = select('#', ...)
    if type(list) ~= 'table' then misuse(insert, ...) end
    refuse_shared(list)
    if count == 2 then return insert(list, place) end
    local number = tonumber(place)
    if count ~= 3 or not number then misuse(insert, ...) end
    if #list - number > FEW then return shift_up(list, floor(number), value) end
    return insert(list, number, value)
end

function lib.remove(...)
    local list, place = ...
    local number = place == nil or tonumber(place)
    if type(list) ~= 'table' or not number then misuse(remove, ...) end
    if place == nil then return remove(list) end
    if number >= 1 and #list - number > FEW then return shift_down(list, floor(number)) end
    return remove(list, number)
end

function lib.maxn(...)
    local list, most = ..., 0
    if type(list) ~= 'table' then misuse(raw.maxn, ...) end
    for key in next, kit.contents(list) do
        if type(key) == 'number' and key > most then most = key end
    end
    return most
end

function lib.foreach(...)
    local list, body = ...
    if type(list) ~= 'table' or type(body) ~= 'function' then misuse(raw.foreach, ...) end
    for key, value in next, kit.contents(list) do
        local found = body(key, value)
        if found ~= nil then return found end
    end
end

function lib.foreachi(...)
    local list, body = ...
    if type(list) ~= 'table' or type(body) ~= 'function' then misuse(raw.foreachi, ...) end
    for index = 1, #list do
        local found = body(index, rawget(list, index))
        if found ~= nil then return found end
    end
end

local function less(left, right) return left < right end

local function sort_plainly(list)
    local ok, failure = pcall(sort, list, #list > SHORT and less or nil)
    if ok then return end
    if type(failure) == 'string' then failure = gsub(failure, kit.OURS, '') end
    if failure == 'invalid order function for sorting' then fail(failure) end
    error(failure, 0)
end

-- A comparison in Lua is one that can be paused.
function lib.sort(...)
    local list, order = ...
    if type(list) ~= 'table' or order ~= nil and type(order) ~= 'function' then misuse(sort, ...) end
    if order == nil then return sort_plainly(list) end
    if #list > SHORT and kit.is_built_in(order) then
        local given = order
        order = function(left, right) return (given(left, right)) end
    end
    return sort(list, order)
end

return lib
