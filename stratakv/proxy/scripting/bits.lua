-- The libraries `bit` and `struct`: the host computes, this only raises its errors at the caller.

local call, names = ...

local error = error

local function wrapper(name)
    local function finish(failure, ...)
        if failure then error(failure, 3) end
        return ...
    end
    return function(...) return finish(call(name, ...)) end
end

local library = {}
for name in string.gmatch(names, '%S+') do library[name] = wrapper(name) end
return library
