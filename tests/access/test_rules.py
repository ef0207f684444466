"""The words of ACL SETUSER, valid and not: what Redis makes of them, and how it tells it again."""

from __future__ import annotations

import pytest

from tests.access.pairs import Two, comparable, words

HASH = "34344e4d60c2b6d639b7bd22e18f2b0b91bc34bf0ac5f9952744435093cfb4e6"

RULES = f"""
on
off
ON
nopass
nopass resetpass
>secret
>secret >secret >other
>secret <secret
<secret
>secret nopass
nopass >secret
#{HASH}
#{HASH} !{HASH}
!{HASH}
#{HASH[:-1]}
#{HASH[:-1]}q
#{HASH.upper()}
!12
>
<
sanitize-payload
skip-sanitize-payload
skip-sanitize-payload sanitize-payload
reset
on nopass ~* &* +@all reset
~a
~a ~a ~b*
%R~a %W~a
%RW~a
%WR~a
%rw~a
%R~a %R~b %W~c ~d
%R
%RR~a
%X~a
%~a
%~
%a
%
~
~*
%R~*
%RW~*
~* ~a
allkeys ~a
allkeys resetkeys ~a
ALLKEYS
~a_b
~a\\nb
&a
&a &a &b*
&
&*
allchannels &a
&a resetchannels &b
&a_b
resetchannels
+get
+GET +Set
+get -get
-get
+nosuch
-nosuch
+
-
+@
+@nosuch
-@nosuch
+@read
+@READ
+@all
-@all
allcommands
nocommands
+@all -@all
+@all -get
+@all -get +get
+@all -@string +incr -debug +debug|digest
+@string -incr +acl +debug|digest +debug|segfault
+@read -@hash
+@read +@write -@dangerous
+@all -@dangerous -@admin
+@slow
+@all -@slow
+@fast +@connection -ping
+@keyspace +@read +@write +@set
+@all -@all +@pubsub
+config|get
+config|GET
+CONFIG|get
+config|nosuch
-config|nosuch
+config -config|set
+@all -config|set
+@all -config +config|get
+config|get|x
+config|
+get|
+get|x
+get|x|y
-get|x|y
-select|0
+select|0
+select|0 +select|0 +select|1
+select|A +select|a
+select|0 +select
+select|0 -select
+select|0 +@all
+select|0 -@all
+select|0 +@connection
+debug|a +debug|b -debug
+@all +select|0
+client|id +client|setname -client|id
+command|info
+memory|doctor +memory
+@all -memory|doctor
+@scripting +@transaction
(+get_~a)
(+get_~a) (+set_~b)
( +get ~a )
(+get ~a )
( +get ~a)
(+get
+get (~a
)
()
(_)
_()_
(on)
(nosuch)
(+nosuch)
(&*_&a)
(~*_~a)
(~a) clearselectors
(~a) reset
(~a_(~b)
(%R~a_%W~b_&c_+@read)
(~"a_b")
(~"a)
((~a))
(+@all_-get) +set
clearselectors
nosuch
~a nosuch +get
on\\0x
+get\\0x
>\\0x
junk\\nx
"""


def each(table: str) -> list[str]:
    return table.strip().splitlines()


@pytest.mark.parametrize("rules", each(RULES))
def test_rules_do_what_they_do_in_redis(rules: str, admin: Two) -> None:
    admin.same("ACL", "SETUSER", "u", *words(rules))
    redis, strata = admin.shown("ACL", "GETUSER", "u")
    assert strata == redis
    redis, strata = admin.shown("ACL", "LIST")
    assert strata == redis
    admin.same("ACL", "USERS")


@pytest.mark.parametrize("rules", ["+get ~a", "-get", "~a nosuch", "reset", "(+set ~b)", "%W~k"])
@pytest.mark.parametrize("before", ["on >p ~k* +@read", "on nopass allkeys +@all &* (~x +get)"])
def test_rules_change_those_that_were_there(before: str, rules: str, admin: Two) -> None:
    admin.same("ACL", "SETUSER", "u", *words(before))
    admin.same("ACL", "SETUSER", "u", *words(rules))
    redis, strata = admin.shown("ACL", "GETUSER", "u")
    assert strata == redis


def test_what_is_told_makes_the_same_user_again(admin: Two) -> None:
    for rules in each(RULES):
        wire = admin.strata
        if wire.send("ACL", "SETUSER", "u", "reset", *words(rules)).frame.is_error:
            continue
        line = next(one for one in wire.send("ACL", "LIST").frame.blobs() if b"user u " in one)
        assert wire.send("ACL", "SETUSER", "v", *line.split(b" ")[2:]).raw == b"+OK\r\n"
        first, second = (wire.send("ACL", "GETUSER", name).frame for name in "uv")
        assert comparable(first) == comparable(second), rules
        wire.send("ACL", "DELUSER", "u", "v")


def test_single_categories_are_told_in_the_words_of_redis(admin: Two) -> None:
    """Others too, but where a category of ours has commands of later versions as well."""
    for name in admin.redis.send("ACL", "CAT").frame.blobs():
        admin.same("ACL", "SETUSER", "u", "reset", b"+@" + name)
        told = [
            sorted((reply.frame.elements[5].data or b"").split(b" "))
            for reply in admin.send("ACL", "GETUSER", "u")
        ]
        assert told[1] == told[0], name


def test_pairs_of_categories_mean_what_they_do_in_redis(admin: Two) -> None:
    names = [name.decode() for name in admin.redis.send("ACL", "CAT").frame.blobs()]
    for at, first in enumerate(names):
        second = names[(at + 5) % len(names)]
        for rules in (f"+@{first} -@{second}", f"+@all -@{first} +@{second}"):
            admin.same("ACL", "SETUSER", "u", "reset", *rules.split())
            redis, strata = admin.shown("ACL", "GETUSER", "u")
            assert strata == redis, rules


CALLS = """
ACL
ACL nosuch
ACL SETUSER
ACL SETUSER a_b
ACL SETUSER a\\0b
ACL SETUSER a
ACL SETUSER _
ACL SETUSER a (x y
ACL GETUSER
ACL GETUSER nobody
ACL GETUSER a b
ACL DELUSER
ACL DELUSER nobody
ACL DELUSER default
ACL DELUSER a default
ACL DELUSER a a
ACL USERS x
ACL LIST x
ACL WHOAMI
ACL WHOAMI x
ACL CAT
ACL CAT nosuch
ACL CAT a b
ACL GENPASS 0
ACL GENPASS -1
ACL GENPASS 4097
ACL GENPASS x
ACL GENPASS 1 2
ACL LOG
ACL LOG 0
ACL LOG -1
ACL LOG x
ACL LOG reset
ACL LOG RESET x
ACL LOAD
ACL SAVE
ACL LOAD x
ACL DRYRUN
ACL DRYRUN default
ACL DRYRUN default get
ACL DRYRUN default get a
ACL DRYRUN default get a b
ACL DRYRUN nobody get a
ACL DRYRUN default nosuch a
ACL DRYRUN default config
ACL DRYRUN default config get
ACL DRYRUN default config get x
ACL DRYRUN default config nosuch x
ACL DRYRUN default select|0
ACL HELP x
AUTH a
AUTH default a
AUTH nobody a
HELLO 3 AUTH nobody a
HELLO 2 AUTH nobody a nosuch
HELLO 2 AUTH default a nosuch
CONFIG GET acl*
CONFIG SET aclfile x
CONFIG SET acl-pubsub-default x
CONFIG SET acllog-max-len -1
CONFIG SET acllog-max-len x
"""


def test_calls_are_answered_as_redis_does(admin: Two) -> None:
    admin.same_lines(CALLS.replace("CONFIG GET acl*", "CONFIG GET acl-pubsub-default"))


def test_the_commands_of_each_category_are_those_of_redis(admin: Two) -> None:
    for name in admin.redis.send("ACL", "CAT").frame.blobs():
        redis, strata = admin.send("ACL", "CAT", name)
        ours = {one for one in strata.frame.blobs() if one not in redis.frame.blobs()}
        later = ("h", "strata", "wait", "client|")
        assert all(one.decode().startswith(later) for one in ours), name
        assert set(redis.frame.blobs()) - set(strata.frame.blobs()) <= {b"restore-asking"}, name


@pytest.mark.parametrize(("bits", "digits"), [((), 64), ((5,), 2), ((4,), 1), ((4096,), 1024)])
def test_passwords_are_made_of_so_many_bits(bits: tuple[int, ...], digits: int, admin: Two) -> None:
    redis, strata = (reply.frame.data or b"" for reply in admin.send("ACL", "GENPASS", *bits))
    assert len(redis) == len(strata) == digits
    assert set(strata) <= set(b"0123456789abcdef")


def test_new_users_may_use_the_channels_that_the_setting_says(admin: Two) -> None:
    for word in ("allchannels", "resetchannels"):
        admin.same("CONFIG", "SET", "acl-pubsub-default", word)
        admin.same("CONFIG", "GET", "acl-pubsub-default")
        for rules in (["(~a)"], ["reset"], ["&a"], ["(&a)"]):
            admin.same("ACL", "SETUSER", f"u{word}", *rules)
            redis, strata = admin.shown("ACL", "LIST")
            assert strata == redis
