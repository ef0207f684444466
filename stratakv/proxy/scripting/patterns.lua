-- Lua's patterns, matched by Lua code, so that a match that takes long can be paused and ended.
-- Lua's own matcher, which cannot, gets what is certain to end soon. A pattern is read into items:
--
--     one    a character or class with its suffix: '', '?', '*', '+' or '-'
--     open, close, place    '(', ')' and '()'; captures are numbered when the pattern is read
--     balance, border, again    %b, %f and %1
--     last   '$' at the end
--     fail   what is wrong with the pattern; an error only if a match gets that far
--     done   the end

local kit = ...

local byte, char, sub, find, rep = string.byte, string.char, string.sub, string.find, string.rep
local min, floor, huge, next = math.min, math.floor, math.huge, next

local CAPTURES = 32
local WINDOW = 65536 -- bytes that Lua's own functions look at in one go
local FREE = 10000 -- steps of Lua's own matcher that need not be counted
local CHEAP = 1000000 -- steps of Lua's own matcher that hold up nobody
local SHORT_RUN = 4
local ITEMS = 200 -- Lua's own matcher calls itself for many of them, on the stack of the process
local KNOWN = 500 -- patterns and classes that are kept

-- reading

local function class_end(pattern, at)
    local first = sub(pattern, at, at)
    at = at + 1
    if first == '%' then
        if at > #pattern then return nil, "malformed pattern (ends with '%')" end
        return at + 1
    end
    if first ~= '[' then return at end
    if sub(pattern, at, at) == '^' then at = at + 1 end
    repeat -- a ']' that comes first is one of the set
        if at > #pattern then return nil, "malformed pattern (missing ']')" end
        at = at + (sub(pattern, at, at) == '%' and at < #pattern and 2 or 1)
    until sub(pattern, at, at) == ']'
    return at + 1
end

local function read_one(pattern, at)
    local after, failure = class_end(pattern, at)
    if not after then return {kind = 'fail', text = failure}, #pattern + 1 end
    local text = sub(pattern, at, after - 1)
    local item = {kind = 'one', text = text, class = text, suffix = ''}
    if find(text, '^[^%w.]$') then item.class = '%' .. text end -- to stand anywhere in a pattern
    if find(pattern, '^[*+?-]', after) then
        item.suffix, after = sub(pattern, after, after), after + 1
    end
    return item, after
end

local function read_open(pattern, at, captures)
    local number = #captures + 1
    if number > CAPTURES then return {kind = 'fail', text = 'too many captures'}, #pattern + 1 end
    if sub(pattern, at + 1, at + 1) == ')' then
        captures[number] = 'place'
        return {kind = 'place', number = number}, at + 2
    end
    captures[number] = 'open'
    return {kind = 'open', number = number}, at + 1
end

local function read_close(at, captures)
    for number = #captures, 1, -1 do
        if captures[number] == 'open' then
            captures[number] = 'closed'
            return {kind = 'close', number = number}, at + 1
        end
    end
    return {kind = 'fail', text = 'invalid pattern capture'}, at + 1
end

local function read_escape(pattern, at, captures)
    local letter = sub(pattern, at + 1, at + 1)
    if letter == 'b' then
        if at + 3 > #pattern then return {kind = 'fail', text = 'unbalanced pattern'}, at + 4 end
        return {kind = 'balance', first = byte(pattern, at + 2), second = byte(pattern, at + 3)}, at + 4
    end
    if letter == 'f' then
        if sub(pattern, at + 2, at + 2) ~= '[' then
            return {kind = 'fail', text = "missing '[' after '%f' in pattern"}, #pattern + 1
        end
        local after, failure = class_end(pattern, at + 2)
        if not after then return {kind = 'fail', text = failure}, #pattern + 1 end
        return {kind = 'border', text = sub(pattern, at + 2, after - 1)}, after
    end
    if not find(letter, '^%d') then return read_one(pattern, at) end
    local number = byte(letter) - 48
    if not captures[number] or captures[number] == 'open' then
        return {kind = 'fail', text = 'invalid capture index'}, #pattern + 1
    end
    return {kind = 'again', number = number}, at + 2
end

local function read_item(pattern, at, captures)
    local letter = sub(pattern, at, at)
    if letter == '(' then return read_open(pattern, at, captures) end
    if letter == ')' then return read_close(at, captures) end
    if letter == '$' and at == #pattern then return {kind = 'last'}, at + 1 end
    if letter == '%' then return read_escape(pattern, at, captures) end
    return read_one(pattern, at)
end

-- Steps that Lua's own matcher needs at most: weight * length ^ power * SHORT_RUN ^ #runs where none
-- of the runs occurs in the text, else length ^ (power + #runs).
local function weigh(info)
    local items, last = info.items, true
    info.weight, info.power, info.runs = info.size + 1, info.anchored and 0 or 1, {}
    for index = #items - 1, 1, -1 do
        local item = items[index]
        if item.kind == 'balance' or item.kind == 'again' then
            info.power = info.power + 1
        elseif item.kind == 'one' and item.suffix ~= '' then
            if last then
                info.power = 1 -- it takes what there is, and the match is done
            elseif item.suffix == '?' then
                info.weight = info.weight * 2
            elseif item.text == '.' then
                info.power = info.power + 1
            else
                info.runs[#info.runs + 1] = rep(item.class, SHORT_RUN)
            end
        end
        if item.kind ~= 'close' then last = false end
    end
    if #items > ITEMS then info.weight = huge end
    local power = info.power + #info.runs
    if info.weight > FREE or not info.sound then
        info.free = -1
    elseif power == 0 then
        info.free = huge
    else
        info.free = floor((FREE / info.weight) ^ (1 / power))
    end
end

local known, known_count = {}, 0

-- A pattern ends at its first zero.
local function up_to_zero(pattern) return sub(pattern, 1, (find(pattern, '%z') or 0) - 1) end

local function read(pattern)
    local text = up_to_zero(pattern)
    local anchored = byte(text, 1) == 94
    local info = {items = {}, sound = true, anchored = anchored, size = #text}
    local items, captures, at = info.items, {}, anchored and 2 or 1
    while at <= #text do
        local item
        item, at = read_item(text, at, captures)
        items[#items + 1] = item
        if item.kind == 'fail' then
            info.sound = false
            break
        end
    end
    info.captures = #captures
    for number = 1, #captures do
        if captures[number] == 'open' then info.sound = false end
    end
    info.states = captures
    items[#items + 1] = {kind = 'done'}
    info.bad_template = '%%[^0%%%p1-' .. min(9, info.captures + (info.captures == 0 and 1 or 0)) .. ']'
    weigh(info)
    return info
end

local function describe(pattern)
    local info = known[pattern]
    if info then return info end
    info = read(pattern)
    if known_count >= KNOWN then
        for old in next, known do known[old] = nil end
        known_count = 0
    end
    if #pattern <= WINDOW then known[pattern], known_count = info, known_count + 1 end
    return info
end

-- Whether Lua's own matcher may have it. Counts the steps.
local function is_cheap(info, text, from)
    if not info.sound then return false end
    local length = #text - from + 2
    if length <= info.free then return true end
    local steps, runs = info.weight * length ^ info.power, info.runs
    if steps > CHEAP then return false end
    local all = steps * length ^ #runs
    if all > CHEAP then
        if length * info.weight * #runs > CHEAP then return false end
        for index = 1, #runs do
            if find(text, runs[index], from) then return false end
            steps = steps * SHORT_RUN
        end
        if steps > CHEAP then return false end
    else
        steps = all
    end
    kit.charge(steps)
    return true
end

-- classes: which bytes belong, as Lua itself sees it

local sets, set_count = {}, 0

local function set_of(text)
    local set = sets[text]
    if set then return set end
    set = {}
    if #text == 1 and text ~= '.' then
        set[byte(text)] = true
    else
        for code = 0, 255 do
            if find(char(code), '^' .. text) then set[code] = true end
        end
    end
    if set_count >= KNOWN then
        for old in next, sets do sets[old] = nil end
        set_count = 0
    end
    sets[text], set_count = set, set_count + 1
    return set
end

-- The last of the characters from a place on that belong to a class, or the place before it.
local function run_end(text, item, at)
    local pattern, window = item.run, 256
    if not pattern then
        pattern = '^' .. item.class .. '*'
        item.run = pattern
    end
    while true do
        local piece = sub(text, at, at + window - 1)
        local _, last = find(piece, pattern)
        kit.charge(last)
        at = at + last
        if last < #piece or last == 0 then return at - 1 end
        window = min(window * 2, WINDOW)
    end
end

-- matching: the place behind the match, or nothing

local match_here

local function longest(text, items, index, at, least, starts, ends)
    for place = run_end(text, items[index], at) + 1, at + least, -1 do
        local found = match_here(text, items, index + 1, place, starts, ends)
        if found then return found end
    end
end

local function shortest(text, items, index, at, starts, ends)
    local set = items[index].set
    while true do
        local found = match_here(text, items, index + 1, at, starts, ends)
        if found then return found end
        if not set[byte(text, at)] then return nil end
        at = at + 1
    end
end

local function balanced_end(text, item, at)
    local first, second = item.first, item.second
    if byte(text, at) ~= first then return nil end
    local depth = 1
    for place = at + 1, #text do
        local code = byte(text, place)
        if code == second then
            depth = depth - 1
            if depth == 0 then return place + 1 end
        elseif code == first then
            depth = depth + 1
        end
    end
end

local function is_border(text, item, at)
    local set = item.set
    if not set then
        set = set_of(item.text)
        item.set = set
    end
    local before = at > 1 and byte(text, at - 1) or 0
    return not set[before] and set[byte(text, at) or 0]
end

local function after_again(text, item, at, starts, ends)
    local from, to = starts[item.number], ends[item.number]
    if not to then return nil end -- that of a place
    local after = at + to - from
    if after - 1 > #text then return nil end
    for place = from, to - 1, WINDOW do
        local stop = min(place + WINDOW, to) - 1
        kit.charge(WINDOW)
        if sub(text, place, stop) ~= sub(text, at + place - from, at + stop - from) then return nil end
    end
    return after
end

function match_here(text, items, index, at, starts, ends)
    while true do
        local item = items[index]
        local kind = item.kind
        if kind == 'one' then
            local set, suffix = item.set, item.suffix
            if not set then
                set = set_of(item.text)
                item.set = set
            end
            if suffix == '*' then return longest(text, items, index, at, 0, starts, ends) end
            if suffix == '-' then return shortest(text, items, index, at, starts, ends) end
            local fits = set[byte(text, at)]
            if suffix == '?' then
                local found = fits and match_here(text, items, index + 1, at + 1, starts, ends)
                if found then return found end
            elseif not fits then
                return nil
            elseif suffix == '+' then
                return longest(text, items, index, at, 1, starts, ends)
            else
                at = at + 1
            end
        elseif kind == 'done' then
            return at
        elseif kind == 'open' then
            starts[item.number] = at
        elseif kind == 'close' then
            ends[item.number] = at
        elseif kind == 'place' then
            starts[item.number], ends[item.number] = at, false
        elseif kind == 'last' then
            return at > #text and at or nil
        elseif kind == 'border' then
            if not is_border(text, item, at) then return nil end
        elseif kind == 'fail' then
            kit.fail(item.text)
        else
            at = kind == 'balance' and balanced_end(text, item, at)
                or kind == 'again' and after_again(text, item, at, starts, ends)
            if not at then return nil end
        end
        index = index + 1
    end
end

-- Where a match could begin: the first place from `at` on with a byte that the first item needs.
local function candidate(text, info, at)
    local first = info.items[1]
    if first.kind ~= 'one' or first.suffix ~= '' and first.suffix ~= '+' then return at end
    local class, window = first.class, 256
    while at <= #text do
        local piece = sub(text, at, at + window - 1)
        local hit = find(piece, class)
        if hit then return at + hit - 1 end
        kit.charge(#piece)
        at = at + #piece
        window = min(window * 2, WINDOW)
    end
    return nil
end

-- First and last place of the first match from `from` on, with its captures' starts and ends.
local function search(text, info, from)
    local starts, ends = {}, {}
    if info.anchored then
        local after = match_here(text, info.items, 1, from, starts, ends)
        if after then return from, after - 1, starts, ends end
        return nil
    end
    local at = candidate(text, info, from)
    while at and at <= #text + 1 do
        local after = match_here(text, info.items, 1, at, starts, ends)
        if after then return at, after - 1, starts, ends end
        at = candidate(text, info, at + 1)
    end
end

local function captured(text, info, number, starts, ends)
    if info.states[number] == 'open' then return false end
    if ends[number] == false then return starts[number] end
    return sub(text, starts[number], ends[number] - 1)
end

-- The captures of a match as a list, false for one without an end; the whole match where the pattern
-- has none.
local function captures(text, info, first, last, starts, ends)
    local list = {}
    for number = 1, info.captures do
        list[number] = captured(text, info, number, starts, ends)
    end
    if info.captures == 0 then list[1] = sub(text, first, last) end
    return list
end

-- They as values.
local function finished(list, upto)
    for number = 1, upto do
        if list[number] == false then kit.fail('unfinished capture') end
    end
    return list
end

return {describe = describe, is_cheap = is_cheap, search = search, captures = captures,
    finished = finished, known = known,
    up_to_zero = up_to_zero, WINDOW = WINDOW}
