"""The connection: greeting, databases, CLIENT, COMMAND."""

TABLE = """
PING
PING value
ECHO value
SELECT db
HELLO
!HELLO {'2|'3|'1|'4|'abc|'}
!HELLO {'2|'3} SETNAME value
!HELLO '3 {AUTH 'default 'x|AUTH 'default|'foo|SETNAME}
AUTH value
AUTH 'default value
AUTH 'nobody value
!RESET
CLIENT ID
CLIENT GETNAME
CLIENT SETNAME value
!CLIENT INFO
!CLIENT LIST
!CLIENT LIST TYPE {'normal|'pubsub|'foo}
!CLIENT LIST ID {'abc|'999999999}
!CLIENT LIST 'foo
!CLIENT KILL {'1.2.3.4:5|'foo}
!CLIENT KILL ID {'999999999|'abc|'0|'-1}
!CLIENT KILL TYPE {'pubsub|'foo}
!CLIENT KILL ADDR '1.2.3.4:5 {SKIPME {'yes|'no|'foo}|LADDR '1.2.3.4:5|USER 'nobody|'foo}
!CLIENT REPLY {ON|'foo}
!CLIENT PAUSE {'abc|'-1|'0}
!CLIENT PAUSE '0 {WRITE|ALL|'foo}
CLIENT UNPAUSE
CLIENT NO-EVICT {ON|OFF|'foo}
CLIENT 'foo
COMMAND COUNT
COMMAND INFO {GET|SET|'nosuch}...
!COMMAND DOCS {'get|'nosuch}
!COMMAND LIST
!COMMAND LIST FILTERBY {PATTERN {'ge*|'nosuch*}|MODULE 'x|ACLCAT {'string|'foo}|'foo 'x}
COMMAND GETKEYS GET key
COMMAND GETKEYS MSET {key value}...
COMMAND GETKEYS {ZUNIONSTORE key numkeys key...|SINTERCARD numkeys key...|ZMPOP numkeys key MIN}
COMMAND GETKEYS {SORT key BY by GET get STORE key|BITOP AND key key|OBJECT ENCODING key|MEMORY USAGE key}
COMMAND GETKEYS {PING|'nosuch key|GET}
COMMAND GETKEYS
COMMAND 'foo
"""  # noqa: E501 (a command form is one line)
