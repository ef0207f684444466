"""Expire-times of hash fields over the wire.

The redis-server of the other tests does not know these commands: the replies here are those that
Redis 7.4.1 and 8.0.2 gave to the same calls.
"""

import time
from pathlib import Path

import pytest

from stratakv.encodings.upkeep.check import check
from stratakv.storage.leveldb.engine import LevelEngine
from tests.harness.servers import StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import Frame, WireClient

TRANSCRIPT = """
HSET h a 1 b 2 c 3 => 3
HEXPIRE h 100 FIELDS 2 a x => [1 -2]
HTTL h FIELDS 3 a b x => [100 -1 -2]
HEXPIRE h 100 NX FIELDS 3 a b b => [0 1 0]
HEXPIRE h 10 GT FIELDS 2 a c => [0 0]
HEXPIRE h 1000 GT FIELDS 2 a c => [1 0]
HEXPIRE h 500 LT FIELDS 3 a b c => [1 0 1]
HEXPIRE h 500 XX FIELDS 3 a b c => [1 1 1]
HTTL h FIELDS 3 a b c => [500 500 500]
OBJECT ENCODING h => listpackex
HPERSIST h FIELDS 4 a b x b => [1 1 -2 -1]
HTTL h FIELDS 3 a b c => [-1 -1 500]
HSET h c 9 => 0
HTTL h FIELDS 1 c => [-1]
HEXPIREAT h 4000000000 FIELDS 1 a => [1]
HEXPIRETIME h FIELDS 2 a b => [4000000000 -1]
HPEXPIRETIME h FIELDS 2 a b => [4000000000000 -1]
HPEXPIREAT h 4000000000123 FIELDS 1 a => [1]
HEXPIRETIME h FIELDS 2 a b => [4000000001 -1]
HPEXPIRETIME h FIELDS 2 a b => [4000000000123 -1]
HINCRBY h a 5 => 6
HINCRBYFLOAT h a 5.5 => 11.5
HSETNX h a 1 => 0
HPEXPIRETIME h FIELDS 1 a => [4000000000123]
COPY h copy => 1
HPEXPIRETIME copy FIELDS 2 a b => [4000000000123 -1]
RENAME copy named => OK
HPEXPIRETIME named FIELDS 2 a b => [4000000000123 -1]
HDEL named a => 1
HSET named a 1 => 1
HPEXPIRETIME named FIELDS 2 a b => [-1 -1]
HMGET h a b c => [11.5 2 9]
HEXPIRE h 0 FIELDS 1 a => [2]
HMGET h a b c => [nil 2 9]
HLEN h => 2
HPEXPIREAT h 1 FIELDS 3 b c b => [2 2 -2]
EXISTS h => 0
HEXPIRE h 1 FIELDS 2 b c => [-2 -2]
HTTL h FIELDS 2 b c => [-2 -2]
HPERSIST h FIELDS 2 b c => [-2 -2]
SET s 1 => OK
HEXPIRE s 10 FIELDS 1 a => WRONGTYPE Operation against a key holding the wrong kind of value
HEXPIRE s x FIELDS 1 a => WRONGTYPE Operation against a key holding the wrong kind of value
HTTL s FIELDS 1 a => WRONGTYPE Operation against a key holding the wrong kind of value
HTTL s FIELD 1 a => WRONGTYPE Operation against a key holding the wrong kind of value
HPERSIST s FIELDS 1 a => WRONGTYPE Operation against a key holding the wrong kind of value
HSET h a 1 b 2 => 2
HEXPIRE h x FIELDS 1 a => ERR value is not an integer or out of range
HEXPIRE h -1 FIELDS 1 a => ERR invalid expire time, must be >= 0
HEXPIRE h 70368744177 FIELDS 1 a => ERR invalid expire time in 'hexpire' command
HEXPIREAT h 70368744177 FIELDS 1 a => [1]
HEXPIREAT h 70368744178 FIELDS 1 a => ERR invalid expire time in 'hexpireat' command
HPEXPIREAT h 70368744177663 FIELDS 1 a => [1]
HPEXPIREAT h 70368744177664 FIELDS 1 a => ERR invalid expire time in 'hpexpireat' command
HPEXPIRE h 9223372036854775807 FIELDS 1 a => ERR invalid expire time in 'hpexpire' command
HEXPIRE h 10 FIELD 1 a
    => ERR Mandatory argument FIELDS is missing or not at the right position
HEXPIRE h 10 NX FIELD 1 a
    => ERR Mandatory argument FIELDS is missing or not at the right position
HEXPIRE h 10 NX XX FIELDS 1 a
    => ERR Mandatory argument FIELDS is missing or not at the right position
HEXPIRE h 10 FIELDS 0 a => ERR Parameter `numFields` should be greater than 0
HEXPIRE h 10 FIELDS -1 a => ERR Parameter `numFields` should be greater than 0
HEXPIRE h 10 FIELDS x a => ERR Parameter `numFields` should be greater than 0
HEXPIRE h 10 FIELDS 2 a => ERR The `numfields` parameter must match the number of arguments
HEXPIRE h 10 FIELDS 1 a b
    => ERR The `numfields` parameter must match the number of arguments
HEXPIRE h 10 FIELDS => ERR wrong number of arguments for 'hexpire' command
HEXPIRE h 10 nx fields 1 => ERR The `numfields` parameter must match the number of arguments
HTTL h FIELDS 0 a => ERR Number of fields must be a positive integer
HTTL h FIELDS x a => ERR Number of fields must be a positive integer
HTTL h FIELDS 2 a => ERR The `numfields` parameter must match the number of arguments
HTTL h FIELDS 1 => ERR wrong number of arguments for 'httl' command
HPERSIST h FIELDS 0 a => ERR Number of fields must be a positive integer
HPERSIST h FIELDS 2 a => ERR The `numfields` parameter must match the number of arguments
"""

TOGETHER = """
HSET h a 1 b 2 c 3 => 3
HGETEX h FIELDS 2 a x => [1 nil]
HTTL h FIELDS 3 a b c => [-1 -1 -1]
HGETEX h EX 100 FIELDS 2 a x => [1 nil]
HTTL h FIELDS 3 a b c => [100 -1 -1]
HGETEX h PX 100000 FIELDS 2 b b => [2 2]
HGETEX h EXAT 4000000000 FIELDS 1 c => [3]
HGETEX h PXAT 4000000000123 FIELDS 1 c => [3]
HPEXPIRETIME h FIELDS 1 c => [4000000000123]
HGETEX h PERSIST FIELDS 2 a x => [1 nil]
HTTL h FIELDS 2 a b => [-1 100]
HGETEX h EX 0 FIELDS 1 a => [1]
HGETEX h EX -1 FIELDS 1 a => ERR invalid expire time, must be >= 0
HGETEX h EXAT 1 FIELDS 1 a => [nil]
HGETALL h => [b 2 c 3]
HGETEX h PXAT 1 FIELDS 2 b c => [2 3]
EXISTS h => 0
HGETEX nokey FIELDS 2 a b => [nil nil]
HGETEX nokey EX 10 FIELDS 2 a b => [nil nil]
HGETEX nokey EX x FIELDS 2 a b => ERR value is not an integer or out of range
HGETEX nokey EX 10 => ERR wrong number of arguments for 'hgetex' command
HGETEX nokey EX 10 FIELDS => ERR Number of fields must be a positive integer
HGETEX nokey EX 10 FIELDS 1 => ERR The `numfields` parameter must match the number of arguments
HGETEX nokey EX 10 FIELDS 0 a => ERR Number of fields must be a positive integer
HGETEX nokey EX 10 FIELDS -1 a => ERR Number of fields must be a positive integer
HGETEX nokey EX 10 FIELDS x a => ERR Number of fields must be a positive integer
HGETEX nokey EX 10 FIELDS 2 a => ERR The `numfields` parameter must match the number of arguments
HGETEX nokey EX 10 FIELDS 1 a b => ERR The `numfields` parameter must match the number of arguments
HGETEX nokey EX 10 PX 10 FIELDS 1 a
    => ERR Mandatory argument FIELDS is missing or not at the right position
HGETEX nokey EX 10 PERSIST FIELDS 1 a
    => ERR Mandatory argument FIELDS is missing or not at the right position
HGETEX nokey PERSIST PERSIST FIELDS 1 a
    => ERR Mandatory argument FIELDS is missing or not at the right position
HGETEX nokey KEEPTTL FIELDS 1 a
    => ERR Mandatory argument FIELDS is missing or not at the right position
HGETEX nokey FOO FIELDS 1 a => ERR Mandatory argument FIELDS is missing or not at the right position
HGETEX nokey FIELDS 1 a EX 10 => ERR The `numfields` parameter must match the number of arguments
HGETEX nokey FIELDS 1 a PERSIST => ERR The `numfields` parameter must match the number of arguments
HGETEX nokey FIELDS 1 a FIELDS 1 b
    => ERR The `numfields` parameter must match the number of arguments
HGETEX nokey FIELDS 1 a EX => ERR The `numfields` parameter must match the number of arguments
HGETEX nokey EX => ERR wrong number of arguments for 'hgetex' command
HGETEX nokey EX FIELDS 1 a => ERR value is not an integer or out of range
HGETEX nokey EX 9223372036854775807 FIELDS 1 a => ERR invalid expire time in 'hgetex' command
HGETEX nokey EX 99999999999999 FIELDS 1 a => ERR invalid expire time in 'hgetex' command
HGETEX nokey PXAT 70368744177663 FIELDS 1 a => [nil]
HGETEX nokey PXAT 70368744177664 FIELDS 1 a => ERR invalid expire time in 'hgetex' command
HGETEX nokey PXAT 281474976710655 FIELDS 1 a => ERR invalid expire time in 'hgetex' command
HGETEX nokey PXAT 281474976710656 FIELDS 1 a => ERR invalid expire time in 'hgetex' command
HGETEX nokey EX 10 FIELDS 9223372036854775807 a
    => ERR The `numfields` parameter must match the number of arguments
HGETEX nokey EX 10 FIELDS 9223372036854775808 a => ERR Number of fields must be a positive integer
HGETEX nokey EX 10 FIELDS 2147483648 a
    => ERR The `numfields` parameter must match the number of arguments
HGETEX nokey fields 1 a => [nil]
HGETEX nokey ex 10 fields 1 a => [nil]
HGETEX => ERR wrong number of arguments for 'hgetex' command
HGETEX h => ERR wrong number of arguments for 'hgetex' command
HGETEX h a b => ERR wrong number of arguments for 'hgetex' command
HGETEX h FIELDS 1 => ERR wrong number of arguments for 'hgetex' command
HGETEX h a b c => ERR Mandatory argument FIELDS is missing or not at the right position
HGETEX nokey NX FIELDS 1 a => ERR Mandatory argument FIELDS is missing or not at the right position
SET s 1 => OK
HGETEX s FIELDS 1 a => WRONGTYPE Operation against a key holding the wrong kind of value
HGETEX s FIELDS x a => WRONGTYPE Operation against a key holding the wrong kind of value
HGETEX s EX x FIELDS 1 a => WRONGTYPE Operation against a key holding the wrong kind of value
HGETEX s FOO 1 a b => WRONGTYPE Operation against a key holding the wrong kind of value
HSETEX s FIELDS 1 a 1 => WRONGTYPE Operation against a key holding the wrong kind of value
HSETEX s FOO FIELDS 1 a 1 => ERR unknown argument: FOO
HGETDEL s FIELDS 1 a => WRONGTYPE Operation against a key holding the wrong kind of value
HGETDEL s FOO 1 a => WRONGTYPE Operation against a key holding the wrong kind of value
HGETDEL s FIELDS x a => WRONGTYPE Operation against a key holding the wrong kind of value
FLUSHALL => OK
HSETEX h FIELDS 2 a 1 b 2 => 1
HSETEX h EX 100 FIELDS 2 a 1 c 2 => 1
HTTL h FIELDS 3 a b c => [100 -1 100]
HSETEX h KEEPTTL FIELDS 2 a 5 d 6 => 1
HTTL h FIELDS 4 a b c d => [100 -1 100 -1]
HSETEX h FIELDS 1 a 7 => 1
HTTL h FIELDS 4 a b c d => [-1 -1 100 -1]
HSETEX h FNX EX 100 FIELDS 2 a 8 z 9 => 0
HSETEX h FNX EX 100 FIELDS 2 y 8 z 9 => 1
HSETEX h FXX EX 50 FIELDS 2 y 8 w 9 => 0
HSETEX h FXX EX 50 FIELDS 2 y 8 z 9 => 1
HTTL h FIELDS 6 a b c d y z => [-1 -1 100 -1 50 50]
HGETALL h => [a 7 b 2 c 2 d 6 y 8 z 9]
HSETEX h EX 0 FIELDS 1 a 1 => 1
HSETEX h EX -1 FIELDS 1 a 1 => ERR invalid expire time, must be >= 0
HSETEX h EXAT 1 FIELDS 2 a 1 new 2 => 1
HGETALL h => [b 2 c 2 d 6 y 8 z 9]
HSETEX h PXAT 1 FIELDS 4 b 1 c 2 d 1 y 1 => 1
HSETEX h PXAT 1 FIELDS 1 z 1 => 1
EXISTS h => 0
HSETEX h PXAT 1 FIELDS 1 z 1 => 1
EXISTS h => 0
HSETEX h FXX FIELDS 1 z 1 => 0
EXISTS h => 0
HSETEX h FNX FIELDS 2 z 1 z 2 => 1
HGETALL h => [z 2]
HSETEX h FXX FNX FIELDS 1 z 1 => ERR Only one of FXX or FNX arguments can be specified
HSETEX h FXX FXX FIELDS 1 z 1 => ERR Only one of FXX or FNX arguments can be specified
HSETEX h FNX FXX FIELDS 1 z 1 => ERR Only one of FXX or FNX arguments can be specified
HSETEX h EX 10 FNX FIELDS 1 q 1 => 1
HSETEX h EX 10 PX 10 FIELDS 1 q 1
    => ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified
HSETEX h EX 10 KEEPTTL FIELDS 1 q 1
    => ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified
HSETEX h KEEPTTL KEEPTTL FIELDS 1 q 1
    => ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified
HSETEX h PERSIST FIELDS 1 q 1 => ERR unknown argument: PERSIST
HSETEX h FOO FIELDS 1 q 1 => ERR unknown argument: FOO
HSETEX h FIELDS 1 q 1 EX 10 => ERR wrong number of arguments for 'hsetex' command
HTTL h FIELDS 1 q => [10]
HSETEX h FIELDS 1 q 1 FXX => ERR wrong number of arguments for 'hsetex' command
HSETEX h FIELDS 1 q 1 FNX => ERR wrong number of arguments for 'hsetex' command
HSETEX h FIELDS 1 q 1 EX => ERR wrong number of arguments for 'hsetex' command
HSETEX h FIELDS 1 q 1 FIELDS 1 q 1 => ERR wrong number of arguments for 'hsetex' command
HSETEX h FIELDS 2 q 1 => ERR wrong number of arguments for 'hsetex' command
HSETEX h FIELDS 2 q 1 r => ERR wrong number of arguments for 'hsetex' command
HSETEX h FIELDS 1 q 1 r => ERR wrong number of arguments for 'hsetex' command
HSETEX h FIELDS 1 q 1 r 2 => ERR wrong number of arguments for 'hsetex' command
HSETEX h FIELDS 0 q 1 => ERR invalid number of fields
HSETEX h FIELDS -1 q 1 => ERR invalid number of fields
HSETEX h FIELDS x q 1 => ERR invalid number of fields
HSETEX h EX x FIELDS 1 q 1 => ERR value is not an integer or out of range
HSETEX h EX 9223372036854775807 FIELDS 1 q 1 => ERR invalid expire time in 'hsetex' command
HSETEX h PXAT 70368744177664 FIELDS 1 q 1 => ERR invalid expire time in 'hsetex' command
HSETEX h EX 10 => ERR wrong number of arguments for 'hsetex' command
HSETEX h EX 10 FIELDS 1 a => ERR wrong number of arguments for 'hsetex' command
HSETEX h EX 10 FXX KEEPTTL
    => ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified
HSETEX h a b c d => ERR unknown argument: a
HSETEX h => ERR wrong number of arguments for 'hsetex' command
HSETEX h FIELDS 1 a => ERR wrong number of arguments for 'hsetex' command
HSETEX h FIELDS 9223372036854775807 a b => ERR invalid number of fields
HSETEX h EX FIELDS 1 a b => ERR value is not an integer or out of range
HSETEX h NX FIELDS 1 a b => ERR unknown argument: NX
FLUSHALL => OK
HSET h a 1 b 2 c 3 => 3
HEXPIRE h 100 FIELDS 1 a => [1]
HGETDEL h FIELDS 2 a x => [1 nil]
HGETALL h => [b 2 c 3]
HGETDEL h FIELDS 2 b b => [2 nil]
HGETDEL h FIELDS 1 c => [3]
EXISTS h => 0
HGETDEL h FIELDS 2 a b => [nil nil]
HGETDEL h FIELDS 0 a => ERR Number of fields must be a positive integer
HGETDEL h FIELDS -1 a => ERR Number of fields must be a positive integer
HGETDEL h FIELDS x a => ERR Number of fields must be a positive integer
HGETDEL h FIELDS 2 a => ERR The `numfields` parameter must match the number of arguments
HGETDEL h FIELDS 1 a b => ERR The `numfields` parameter must match the number of arguments
HGETDEL h FOO 1 a => ERR Mandatory argument FIELDS is missing or not at the right position
HGETDEL h EX 10 FIELDS 1 a => ERR Mandatory argument FIELDS is missing or not at the right position
HGETDEL h 1 a => ERR wrong number of arguments for 'hgetdel' command
HGETDEL h FIELDS 1 => ERR wrong number of arguments for 'hgetdel' command
HGETDEL => ERR wrong number of arguments for 'hgetdel' command
HGETDEL h fields 1 a => [nil]
HGETDEL h FIELDS 9223372036854775808 a => ERR Number of fields must be a positive integer
HGETDEL h FIELDS 1 a FIELDS 1 b => ERR The `numfields` parameter must match the number of arguments
FLUSHALL => OK
HSET h a 1 b 2 c 3 => 3
HGETEX h PXAT 1 FIELDS 2 b b => [2 nil]
HGETEX h EX -1 FIELDS 0 a => ERR invalid expire time, must be >= 0
HGETEX h EX x FIELDS 0 a => ERR value is not an integer or out of range
HGETEX h EX x FOO FIELDS 1 a => ERR value is not an integer or out of range
HGETEX h EX -1 FOO FIELDS 1 a => ERR invalid expire time, must be >= 0
HGETEX h EX 9223372036854775807 FOO FIELDS 1 a => ERR invalid expire time in 'hgetex' command
HGETEX h EX 9223372036854775807 FIELDS 2 a => ERR invalid expire time in 'hgetex' command
HGETEX h PERSIST FIELDS 1 => ERR The `numfields` parameter must match the number of arguments
HGETEX h PERSIST FIELDS 1 a b => ERR The `numfields` parameter must match the number of arguments
HGETEX h PX 10 EX FIELDS 1 => ERR Mandatory argument FIELDS is missing or not at the right position
HGETEX h EX 10 1 a => ERR Mandatory argument FIELDS is missing or not at the right position
HGETEX h PERSIST PX 1 FIELDS 1 a
    => ERR Mandatory argument FIELDS is missing or not at the right position
HGETEX h FIELDS FIELDS a => ERR Number of fields must be a positive integer
HGETEX h EX 9223372036854775 FIELDS 1 a => ERR invalid expire time in 'hgetex' command
HGETEX h EXAT 9223372036854775 FIELDS 1 a => ERR invalid expire time in 'hgetex' command
HGETEX h PX 9223372036854775807 FIELDS 1 a => ERR invalid expire time in 'hgetex' command
HSETEX h EX -1 FOO FIELDS 1 a 1 => ERR invalid expire time, must be >= 0
HSETEX h EX x FOO FIELDS 1 a 1 => ERR value is not an integer or out of range
HSETEX h EX -1 FIELDS 2 a 1 => ERR invalid expire time, must be >= 0
HSETEX h EX -1 FIELDS 0 a 1 => ERR invalid expire time, must be >= 0
HSETEX h FIELDS 2147483647 a 1 => ERR wrong number of arguments for 'hsetex' command
HSETEX h FIELDS 1073741823 a 1 => ERR wrong number of arguments for 'hsetex' command
HSETEX h FIELDS 2147483648 a 1 => ERR invalid number of fields
HSETEX h EX 1 => ERR wrong number of arguments for 'hsetex' command
HSETEX h EX 1 EX 1 => ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified
HSETEX h EX 1 FXX EX => ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified
HSETEX h FXX FXX FXX FXX => ERR Only one of FXX or FNX arguments can be specified
HSETEX h EX 10 FXX FNX => ERR Only one of FXX or FNX arguments can be specified
HSETEX h EX 10 EX 10 => ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified
HSETEX h FNX KEEPTTL EX 10
    => ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified
HSETEX h FNX FIELDS 1 a => ERR wrong number of arguments for 'hsetex' command
HSETEX h FNX FIELDS 1 a 1 FIELDS => ERR wrong number of arguments for 'hsetex' command
HSETEX h FNX KEEPTTL FIELDS 1 => ERR wrong number of arguments for 'hsetex' command
HSETEX h FNX KEEPTTL EX => ERR wrong number of arguments for 'hsetex' command
HSETEX h FNX KEEPTTL FIELDS => ERR wrong number of arguments for 'hsetex' command
HSETEX h FNX EX 10 FIELDS => ERR wrong number of arguments for 'hsetex' command
HSETEX h FNX EX 10 EX => ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified
HSETEX h EX 10 FNX EX => ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified
HSETEX h FNX FNX EX 10 FIELDS => ERR Only one of FXX or FNX arguments can be specified
HSETEX h FXX EX 0 FIELDS 1 a 1 => 1
HSETEX h FNX EX 0 FIELDS 1 a 1 => 1
HSETEX s FXX EX -1 FIELDS 1 a 1 => ERR invalid expire time, must be >= 0
HSETEX h EX 99999999999999 FIELDS 2 a 1 => ERR invalid expire time in 'hsetex' command
HSETEX h fxx ex 10 fields 1 nope 1 => 0
HSETEX h Fnx Px 10000 Fields 1 nope 1 => 1
HSETEX h KEEPTTL KEEPTTL FIELDS 1 a 1
    => ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified
HSETEX h FIELDS 1 a 1 KEEPTTL => ERR wrong number of arguments for 'hsetex' command
HSETEX h FIELDS 1 a 1 KEEPTTL KEEPTTL => ERR wrong number of arguments for 'hsetex' command
HSETEX nokey FXX FIELDS 1 a 1 => 0
HSETEX nokey FXX EX 0 FIELDS 1 a 1 => 0
HSETEX nokey KEEPTTL FIELDS 1 a 1 => 1
EXISTS nokey => 1
HSETEX h FNX FIELDS 2 n 1 n 2 => 1
HSETEX h FIELDS 2 d 1 d 2 => 1
HSETEX h EX 100 FIELDS 2 d 1 d 3 => 1
HMGET h d n => [3 2]
HSETEX h EX 0 FIELDS 2 d 1 d 3 => 1
HMGET h d n => [nil 2]
"""
"""Reading and writing fields together with their times, in the replies of Redis 8.0.2."""

EVENTS = """
HGETEX h FIELDS 1 a =>
HGETEX h EX 10 FIELDS 1 a => hexpire
HGETEX h EX 10 FIELDS 1 x =>
HGETEX h EX 10 FIELDS 2 a x => hexpire
HGETEX h EX 0 FIELDS 2 a x => hdel
HGETEX h EX 0 FIELDS 2 a b => hdel del
HGETEX h PERSIST FIELDS 2 a x =>
HEXPIRE h 10 FIELDS 1 a; HGETEX h PERSIST FIELDS 2 a b => hexpire hpersist
HEXPIRE h 10 FIELDS 1 a; HGETEX h EX 0 FIELDS 2 a b => hexpire hdel del
HGETEX none EX 10 FIELDS 1 a =>
HGETDEL none FIELDS 1 a =>
HGETDEL h FIELDS 2 a x => hdel
HGETDEL h FIELDS 1 x =>
HGETDEL h FIELDS 2 a b => hdel del
HSETEX none FIELDS 1 a 1 => new hset
HSETEX none EX 10 FIELDS 1 a 1 => new hset hexpire
HSETEX none EX 0 FIELDS 1 a 1 => new hset hdel del
HSETEX none FNX FIELDS 1 a 1 => new hset
HSETEX none FXX EX 10 FIELDS 1 a 1 =>
HSETEX h EX 0 FIELDS 2 a 1 b 1 => hset hdel del
HSETEX h EX 0 FIELDS 1 c 1 => hset hdel
HSETEX h EX 10 FIELDS 1 a 1 => hset hexpire
HSETEX h KEEPTTL FIELDS 1 a 1 => hset
HEXPIRE h 10 FIELDS 1 a; HSETEX h KEEPTTL FIELDS 1 a 1 => hexpire hset
HEXPIRE h 10 FIELDS 1 a; HSETEX h FIELDS 1 a 1 => hexpire hset
HSETEX h FNX EX 10 FIELDS 1 a 1 =>
HEXPIRE h 0 FIELDS 2 a b => hdel del
HPEXPIRE h 10000 FIELDS 2 a x => hexpire
HEXPIREAT h 4000000000 FIELDS 1 a; HPERSIST h FIELDS 1 a => hexpire hpersist
HPEXPIREAT h 1 FIELDS 1 a; HPERSIST h FIELDS 1 b => hdel
HPERSIST none FIELDS 1 a; HEXPIRE none 10 FIELDS 1 a =>
HTTL none FIELDS 1 a => keymiss
MULTI; HEXPIRE h 10 FIELDS 1 a; HDEL h a b; EXEC => hexpire hdel del
"""
"""What Redis 8.0.2 tells of a hash with the fields a and b."""

PACKED_BY_REDIS = (
    b"\x19\x00@\x94R\xa3\x03\x00\x00++\x00\x00\x00\x06\x00\x82f0\x03\x82v0\x03\xf4\x00@\x94R\xa3"
    b"\x03\x00\x00\t\x82f1\x03\x82v1\x03\xf4\xf4A\x94R\xa3\x03\x00\x00\t\xff\x0c\x00]\xfe\x07\xb4\xd7"
    b"!\xe6\xd6"
)
"""What Redis 7.4.1 dumps of a hash whose fields f0 and f1 expire in the year 2096."""

READ_BY_REDIS = (
    b"\x18\x00@\x94R\xa3\x03\x00\x00\x02\x01\x02f0\x02v0A\xf5\x02f1\x02v1\x0c\x00\xaf\xbb\xfe\xbe"
    b"\x98\x00\xe1{"
)
"""The same in the form that we write, which Redis 7.4.1 restores."""


def shown(frame: Frame) -> str:
    if frame.is_null:
        return "nil"
    if frame.items is not None:
        return f"[{' '.join(map(shown, frame.items))}]"
    return (frame.data or b"").decode()


@pytest.mark.parametrize("encoding", range(4))
@pytest.mark.parametrize("transcript", [TRANSCRIPT, TOGETHER], ids=["7.4", "8.0"])
def test_replies_are_those_of_later_redis(
    transcript: str, encoding: int, strata_wire: WireClient
) -> None:
    strata_wire.send("CONFIG", "SET", "hash-encoding", encoding)
    try:
        for line in transcript.replace("\n    =>", " =>").strip().splitlines():
            call, reply = line.split(" => ")
            found = shown(strata_wire.send(*call.split()).frame)
            assert found == reply or _counts_arguments(encoding, call), call
    finally:
        strata_wire.send("CONFIG", "SET", "hash-encoding", 0)


def _counts_arguments(encoding: int, call: str) -> bool:
    """Whether the reply is one that blind encodings give without reading."""
    return encoding in (1, 3) and call.startswith(("HSET ", "HDEL "))


@pytest.mark.parametrize("line", EVENTS.strip().splitlines())
def test_events_of_reading_and_writing_together(line: str, strata_server: StrataServer) -> None:
    calls, events = line.split(" =>")
    with strata_server.client() as wire, strata_server.client() as ears:
        wire.send("FLUSHALL")
        wire.send("HSET", "h", "a", 1, "b", 2)
        wire.send("CONFIG", "SET", "notify-keyspace-events", "EAnm")
        ears.send("PSUBSCRIBE", "__keyevent@0__:*")
        for call in calls.split(";"):
            wire.send(*call.split())
        wire.send("PUBLISH", "__keyevent@0__:end", "")
        heard: list[str] = []
        while "end" not in heard:
            heard.append(ears.read().frame.blobs()[2].decode().partition(":")[2])
        wire.send("CONFIG", "SET", "notify-keyspace-events", "")
    assert heard == [*events.split(), "end"]


def test_dumps_are_exchanged_with_redis_7_4(strata_wire: WireClient) -> None:
    strata_wire.send("RESTORE", "h", 0, PACKED_BY_REDIS)
    times = strata_wire.send("HPEXPIRETIME", "h", "FIELDS", 3, "f0", "f1", "none").frame
    assert shown(times) == "[4000000000000 4000000000500 -2]"
    assert strata_wire.send("DUMP", "h").frame.data == READ_BY_REDIS
    strata_wire.send("RESTORE", "again", 0, READ_BY_REDIS)
    assert strata_wire.send("DUMP", "again").frame.data == READ_BY_REDIS


def wait_until_gone(wire: WireClient, key: str) -> None:
    wait_until(lambda: not wire.send("EXISTS", key).frame.number)


def test_a_field_that_expires_is_gone_for_every_reader(strata_wire: WireClient) -> None:
    wire = strata_wire
    wire.send("DEBUG", "SET-ACTIVE-EXPIRE", 0)
    try:
        wire.send("HSET", "h", "a", 1, "b", 2)
        wire.send("RPUSH", "list", "h")
        wire.send("HPEXPIRE", "h", 5, "FIELDS", 1, "a")
        time.sleep(0.02)
        for call, reply in [
            ("HGET h a", "nil"),
            ("HMGET h a b", "[nil 2]"),
            ("HEXISTS h a", "0"),
            ("HSTRLEN h a", "0"),
            ("HKEYS h", "[b]"),
            ("HVALS h", "[2]"),
            ("HGETALL h", "[b 2]"),
            ("HSCAN h 0", "[0 [b 2]]"),
            ("HRANDFIELD h", "b"),
            ("HRANDFIELD h 5", "[b]"),
            ("HRANDFIELD h -3", "[b b b]"),
            ("HTTL h FIELDS 1 a", "[-2]"),
            ("HPERSIST h FIELDS 1 a", "[-2]"),
            ("SORT list BY nosort GET *->a", "[nil]"),
            ("HINCRBY h a 5", "5"),
            ("HTTL h FIELDS 1 a", "[-1]"),
        ]:
            assert shown(wire.send(*call.split()).frame) == reply, call
    finally:
        wire.send("DEBUG", "SET-ACTIVE-EXPIRE", 1)


def test_a_hash_goes_with_its_last_field(strata_wire: WireClient) -> None:
    strata_wire.send("HSET", "h", *[word for n in range(500) for word in (f"f{n}", n)])
    strata_wire.send("HPEXPIRE", "h", 10, "FIELDS", 500, *[f"f{n}" for n in range(500)])
    wait_until_gone(strata_wire, "h")
    assert strata_wire.send("DBSIZE").frame.number == 0


def test_fields_tell_their_events(strata_server: StrataServer) -> None:
    with strata_server.client() as wire, strata_server.client() as ears:
        wire.send("FLUSHALL")
        wire.send("CONFIG", "SET", "notify-keyspace-events", "Ehg")
        ears.send("PSUBSCRIBE", "__keyevent@0__:*")
        wire.send("HSET", "h", "a", 1, "b", 2, "c", 3)
        wire.send("HEXPIRE", "h", 100, "FIELDS", 2, "a", "none")
        wire.send("HEXPIRE", "h", 100, "NX", "FIELDS", 1, "a")
        wire.send("HPERSIST", "h", "FIELDS", 1, "a")
        wire.send("HPERSIST", "h", "FIELDS", 1, "a")
        wire.send("HEXPIRE", "h", 0, "FIELDS", 2, "a", "b")
        wire.send("HPEXPIRE", "h", 5, "FIELDS", 1, "c")
        heard = [ears.read().frame.blobs()[2].decode().partition(":")[2] for _ in range(7)]
        wire.send("CONFIG", "SET", "notify-keyspace-events", "")
    assert heard == ["hset", "hexpire", "hpersist", "hdel", "hexpire", "hexpired", "del"]


def test_times_survive_kill_9(tmp_path: Path) -> None:
    server = StrataServer(tmp_path / "data").start()
    with server.client() as wire:
        wire.send("HSET", "h", "a", 1, "b", 2)
        wire.send("HPEXPIREAT", "h", 4000000000000, "FIELDS", 1, "a")
        wire.send("HSET", "due", "a", 1)
        wire.send("DEBUG", "SET-ACTIVE-EXPIRE", 0)
        wire.send("HPEXPIRE", "due", 5, "FIELDS", 1, "a")
    server.kill9()
    server.restart()
    with server.client() as wire:
        times = wire.send("HPEXPIRETIME", "h", "FIELDS", 2, "a", "b").frame
        assert shown(times) == "[4000000000000 -1]"
        wait_until_gone(wire, "due")
    server.stop()
    engine = LevelEngine(tmp_path / "data")
    assert list(check(engine)) == []
    engine.close()
