# ruff: noqa: E501 (a script is one line)
"""Scripts, one per line, whose replies are compared with those of redis-server."""

CJSON = r"""
return cjson.encode({})
return cjson.encode({1,2,3,{a=1}})
return cjson.encode({[1]=1,[3]=3})
return cjson.encode({[1]=1,[30]=3})
return cjson.encode({['x/y"z\\']='\0\1\127é\n'})
return cjson.encode({1.5,1e15,1e14,123456789012345,0.1,-0,1/3,1e300,2^53})
return cjson.encode(1/0)
return cjson.encode(function() end)
return cjson.encode({[true]=1})
return cjson.encode('x','y')
return cjson.encode()
return cjson.encode({a={b={c={}}}})
local t={} t[1]=t return cjson.encode(t)
return tostring(cjson.decode('null')==cjson.null)..type(cjson.null)..tostring(cjson.null)
return cjson.decode('{"a":[1,2],"b":"x\\u00e9\\ud83d\\ude00\\n\\/"}').b
return cjson.decode('"\\ud83d"')
return cjson.decode('"\\x"')
return cjson.decode('"abc')
return cjson.decode('"a\\')
return cjson.decode('{a:1}')
return cjson.decode('{"a" 1}')
return cjson.decode('{"a":1 "b"}')
return cjson.decode('[1 2]')
return cjson.decode('[1,]')
return cjson.decode('')
return cjson.decode('[1] x')
return cjson.decode('[1] 1')
return cjson.decode('tru')
return cjson.decode('nul')
return cjson.decode('-')
return cjson.decode('0x1F')
return cjson.decode('+5')
return cjson.decode('+x')
return tostring(cjson.decode('inf'))
return tostring(cjson.decode('[-Infinity]')[1])
return cjson.decode('1e3')
return cjson.decode('012')
return cjson.decode('1.')
return cjson.decode('.5')
return cjson.decode('-.5')
return cjson.decode(nil)
return cjson.decode({})
return cjson.decode()
return cjson.decode(5)
return cjson.decode('\0\0')
return cjson.decode('[1]\0xxx')
return string.rep()
return string.rep('x')
return string.rep({}, 2)
return string.rep('x', {})
return string.rep('x', '3') .. ('y'):rep(2.7) .. string.rep(12, 2) .. string.rep('z', -1)
return #string.rep('x', 3000000)
return cjson.decode(string.rep('[',1001)..string.rep(']',1001))
return #cjson.decode(string.rep('[',1000)..string.rep(']',1000))
return cjson.encode(cjson.decode(string.rep('[',100)..'1'..string.rep(']',100)))
return cjson.encode_max_depth(5)
return cjson.encode({{{{{{}}}}}})
return cjson.encode_max_depth(1000)
return {cjson.encode_sparse_array(true,2,5)}
return cjson.encode({[1]=1,[30]=3})
return {cjson.encode_sparse_array(false,2,10)}
return cjson.encode_number_precision(3)
return cjson.encode(1.23456)
return cjson.encode_number_precision(15)
return cjson.encode_number_precision(14)
return {cjson.encode_invalid_numbers('null')}
return cjson.encode(0/0)
return {cjson.encode_invalid_numbers(true)}
return cjson.encode({0/0,1/0,-1/0})
return {cjson.encode_invalid_numbers(false)}
return {cjson.decode_invalid_numbers(false)}
return cjson.decode('0x1F')
return cjson.decode('nan')
return {cjson.decode_invalid_numbers(true)}
return {cjson.encode_keep_buffer(false)}
return cjson.encode_keep_buffer('x')
return cjson.encode_max_depth(0)
return cjson.encode_max_depth(1,2)
return cjson._NAME..cjson._VERSION
return cjson.new().encode({1})
return cjson.encode(cjson.decode('{"1":2}'))
return cjson.encode({[1.5]=1})
return cjson.encode({[0]=1})
return cjson.encode({[-1]=1})
cjson.encode=1
return type(redis.call)..type(cjson.encode)..type(pcall)
return cjson.null
"""

CMSGPACK = r"""
return cmsgpack.pack(1)
return cmsgpack.pack(1,2,'x',{1,2,{a=1}},true,false,nil)
return cmsgpack.pack(127,128,255,256,65535,65536,4294967295,4294967296,2^53,2^62,2^63,-1,-32,-33,-128,-129,-32768,-32769,-2147483648,-2147483649,-2^53,-2^63,-2^64)
return cmsgpack.pack(1.5,0.1,1e300,1/0,-1/0,3.4e38,1e39)
return cmsgpack.pack({})
return cmsgpack.pack({[1]=1,[3]=3})
return cmsgpack.pack(string.rep('x',31),string.rep('x',32),string.rep('x',255),string.rep('x',256))
return #cmsgpack.pack(string.rep('x',65536))
local t={} for i=1,20 do t[i]=i end return cmsgpack.pack(t)
local t={} for i=1,70000 do t[i]=i end return redis.sha1hex(cmsgpack.pack(t))
local t={} t[1]=t return cmsgpack.pack(t)
return cmsgpack.pack(function() end)
return cmsgpack.pack()
return {cmsgpack.unpack(cmsgpack.pack(1,2,'x',{1,2,{3}},true,false))}
return {cmsgpack.unpack('\204\255\205\255\255\206\255\255\255\255')}
return {tostring(select(1,cmsgpack.unpack('\207\255\255\255\255\255\255\255\255'))),tostring(select(1,cmsgpack.unpack('\211\255\255\255\255\255\255\255\254')))}
return {cmsgpack.unpack('\208\255\209\255\254\210\255\255\255\253')}
return tostring(cmsgpack.unpack('\202\63\128\0\1'))..tostring(cmsgpack.unpack('\203\63\240\0\0\0\0\0\1'))
return cmsgpack.unpack('\220')
return cmsgpack.unpack('\193')
return cmsgpack.unpack('')
return cmsgpack.unpack()
return cmsgpack.unpack({})
return {cmsgpack.unpack_one(cmsgpack.pack(1,2,3))}
return {cmsgpack.unpack_one(cmsgpack.pack(1,2,3),1)}
return {cmsgpack.unpack_one(cmsgpack.pack(1,2,3),2)}
return {cmsgpack.unpack_one(cmsgpack.pack(1,2,3),4)}
return {cmsgpack.unpack_one(cmsgpack.pack(1,2,3),-1)}
return {cmsgpack.unpack_limit(cmsgpack.pack(1,2,3),2)}
return {cmsgpack.unpack_limit(cmsgpack.pack(1,2,3),2,1)}
return {cmsgpack.unpack_limit(cmsgpack.pack(1,2,3))}
return {cmsgpack.unpack_limit(cmsgpack.pack(1,2,3),0,1)}
return cmsgpack.unpack(cmsgpack.pack({a=1,b={1,2}})).b
return cmsgpack._NAME..cmsgpack._VERSION..cmsgpack._COPYRIGHT..cmsgpack._DESCRIPTION
"""

BIT_AND_STRUCT = r"""
return {bit.band(255,15),bit.bor(1,2,4),bit.bxor(5,1),bit.bnot(0),bit.lshift(1,31),bit.rshift(-1,28),bit.arshift(-8,1),bit.rol(0x12345678,12),bit.ror(0x12345678,12),bit.bswap(0x12345678),bit.tobit(0xffffffff),bit.tobit(2^40+5)}
return {bit.tohex(255),bit.tohex(255,4),bit.tohex(255,-4),bit.tohex(-1,100),bit.tohex(1,0)}
return bit.band()
return bit.band('x')
return bit.band('5',nil)
return bit.band({},1)
return bit.band('0x10',0xff)
return bit.tobit(1.5)
return bit.lshift(1,33)
return bit.rol(1,0)
return struct.pack('>I2i4bBhHlLfdsc3x',1,2,-3,4,5,6,7,8,1.5,2.5,'abc','defg')
return struct.pack('<!4 b i4',1,2)
return struct.pack('!bd',1,2)
return {struct.unpack('>I2i4bBhH',struct.pack('>I2i4bBhH',1,2,-3,4,5,6))}
return {struct.unpack('s',"abc\0def")}
return {struct.unpack('s',"abc")}
return {struct.unpack('Bc0','\3abcd')}
return {struct.unpack('c0','\3abcd')}
return {struct.unpack('i4','abc')}
return {struct.unpack('i4','abcdefgh',3)}
return {struct.unpack('i4','abcdefgh',0)}
return {struct.unpack('c3','abcdefgh',2)}
return struct.size('>!8bdi2')
return struct.size('s')
return struct.size('c0')
return struct.size('!3')
return struct.pack('z',1)
return struct.pack('i33',1)
return struct.pack('i',"x")
return struct.pack('i')
return struct.pack('c5','abc')
return struct.pack('i8',-1)..struct.pack('>I3',2^24-1)..struct.pack('i16',-2)
return {tostring(struct.unpack('l',struct.pack('l',-2^53))),tostring(struct.unpack('L',struct.pack('l',-1)))}
return struct.pack('f',1e300)
return struct.pack()
return struct.unpack('i99999999999','x')
bit.band=1
"""

SANDBOX = r"""
return cjson.encode({a=cjson.null})
return cjson.decode('[1,2,[3],{"a":null}]')
math.randomseed(5) return {math.random(1000),math.random(1000)}
math.randomseed(-5) return {math.random(1000),math.random(1000)}
return math.random(0)
return math.random(2,1)
return math.random(1,2,3)
return math.random('x')
x=1
return x
return _G.x
_G.x=1
setmetatable(_G,{})
local g=getmetatable(_G) g.__index={}
rawset(_G,'a',1)
rawset(redis,'a',1)
return tostring(rawget(_G,'redis')==redis)
return redis.nonexist
return string.nonexist
string.foo=1
getmetatable('').__index=nil
return tostring(getmetatable('').__index==string)
_G={}
return print
return os
return io
return require
return debug
return dofile
return python
return getfenv
return newproxy
return package
return tostring(getmetatable(redis))
local r={} for k,v in pairs(_G) do r[#r+1]=k end table.sort(r) return r
local r={} for k,v in pairs(redis) do r[#r+1]=k end table.sort(r) return r
local r={} for k,v in pairs(math) do r[#r+1]=k end table.sort(r) return r
local r={} for k,v in pairs(cjson) do r[#r+1]=k..type(v) end table.sort(r) return r
local co=coroutine.create(function(a) local b=coroutine.yield(a+1) return b*2 end) local _,x=coroutine.resume(co,1) local _,y=coroutine.resume(co,10) return {x,y,coroutine.status(co)}
local f=coroutine.wrap(function() error('in co') end) f()
coroutine.create(5)
local x = nil + 1
return ('x'):rep(3):upper()
return #'x'..1
local t=nil return t.x
foo()
redis.foo()
return tostring(1e15)..tostring(1.5)
return string.format('%s %d %5.2f %q',"a",5,1.234,"q")
return pairs(nil)
return pairs(5)
return ipairs(nil)
return setmetatable(5,{})
return setmetatable({},5)
return rawset(5)
return next({})
return unpack({1,2,3})
return tostring(nil)..tostring(true)
return loadstring('return 1')()
return loadstring(5)
return loadstring()
return load('x')
return assert(false,'msg')
return assert(false)
return assert(nil,{err='ERR table'})
error('lvl',0)
return error({err='ERR x'})
return KEYS
return ARGV
KEYS[1]='z' return KEYS
KEYS=nil
return 1,2,3
return 'a\0b'
return 12345678901234567890
return -9007199254740993
local t={} for i=1,5000 do t[i]=i end return t
local t={} for i=1,9000 do t[i]={i,'x'} end return t
local s=0 for i=1,100000 do s=s+i end return s
return string.len(string.rep('x',100000))
local function r(n) if n==0 then return 0 end return r(n-1) end return r(100)
local function r(n) return 1+r(n+1) end return r(1)
return string.rep('x',-1)
return ('x'):bad()
return math.max()
return table.concat({1,{}})
return tonumber('0x10')
return redis.sha1hex(nil)
return redis.log(redis.LOG_WARNING,'hello','x')
return redis.status_reply('a b')
return redis.error_reply('a\r\nb')
return redis.error_reply('MY CODE here')
return collectgarbage('count') > 0
return type(gcinfo())
goto x
for i=1,
return 'unfinished
"""

REPLIES = r"""
math.randomseed(7) return {math.random(1000),math.random(1000),math.floor(math.random()*100000), math.random(5,9)}
redis.call=1
local co=coroutine.create(function() redis.call('set','co','1') return redis.call('get','co') end) return {coroutine.resume(co)}
return {pcall(error,'x')}
return {pcall(error,{err='ERR x'})}
return {select(2,pcall(error,{a=1})).a}
return {xpcall(function() error('x') end,function(e) return 'h:'..e end)}
return {xpcall(function() redis.call('foo') end,function(e) return e.err end)}
local function f() return redis.call('foo') end return f()
local function f() local x=redis.call('foo') return x end f()
return {unpack({1,2,3})}
redis.call('set','k',1.5) return redis.call('get','k')
redis.call('set','k',1e20) return redis.call('get','k')
redis.call('set','k',0.1) return redis.call('get','k')
redis.call('set','k',100) return redis.call('get','k')
redis.call('set','k',2^53) return redis.call('get','k')
redis.call('set','k','v') return redis.call('lpush','k','x')
redis.call('set','k','v') return redis.pcall('lpush','k','x')
local e=redis.pcall('lpush','k','x') return e.err
return redis.call('set','k','v')
return redis.call('set','k','v').ok
return redis.call('get','nokey')
return tostring(redis.call('get','nokey'))
redis.call('del','h') redis.call('hset','h','a','1','b','2') return redis.call('hgetall','h')
redis.setresp(3) local m=redis.call('hgetall','h') return m.map.a
redis.setresp(3) return redis.call('hgetall','h')
redis.setresp(3) return redis.call('get','nokey')
redis.setresp(3) return tostring(redis.call('get','nokey'))
redis.setresp(3) return true
redis.setresp(3) return false
redis.setresp(3) return {true,false}
return {double=3.25}
return {double=1/0}
return {double=0.1}
return {map={a=1}}
return {map={a={b=1}}}
return {set={x=true}}
return {big_number='123456789'}
return {verbatim_string={format='txt',string='hello'}}
redis.call('del','s') redis.call('sadd','s','a') redis.setresp(3) local r=redis.call('smembers','s') return tostring(r.set.a)
redis.setresp(3) return redis.call('smembers','s')
redis.call('del','z') redis.call('zadd','z',1.5,'a') return redis.call('zscore','z','a')
redis.setresp(3) return redis.call('zscore','z','a').double*2
redis.setresp(3) return redis.call('zrange','z',0,-1,'withscores')
return redis.call('zrange','z',0,-1,'withscores')
return redis.call('mget','k','nokey','h')
return redis.call('exists','k','nokey')
redis.call('select',1) redis.call('set','indb1','x') return redis.call('get','indb1')
return redis.call('get','indb1')
return redis.call('ping')
return redis.call('echo','x')
return redis.call('PING','x')
return redis.call('config','get','nosuch')
return redis.call('config','foo')
return redis.call('config')
return redis.call('object','encoding','k')
return redis.call('object','foo','k')
return redis.call('multi')
return redis.call('eval','return 1',0)
return redis.call('script','load','x')
return redis.call('client','id','x')
return redis.call('blpop','nolist',0)
redis.call('del','l') redis.call('rpush','l','a') return redis.call('blpop','l',0)
return redis.call('incr','h')
redis.call('set','a1','x') error('after')
return redis.call('get','a1')
redis.call('set','a2','x') redis.call('incr','a2')
return redis.call('get','a2')
return redis.call('time')[1]+0 > 1
return {1,nil,3}
return {a=1}
return {1,2,a=3}
return {[2]=1}
return {{},{{}},{1,{2}}}
return {cjson.null}
return {err='My Err'}
return {err='-x'}
return {ok='OK',err='ERR x'}
return {err=''}
return #redis.call('keys','*') > 0
return redis.call('set','k')
return redis.call('set','k','v','ex')
return {pcall(redis.error_reply,'x')}
"""
