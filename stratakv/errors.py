"""Every error a client can see, in Redis's words; each text stands once, here.

A `CommandError` is raised where the mistake is known and becomes a reply in one place, the
dispatcher. The first word is the error code that clients match on.
"""


class CommandError(Exception):
    """A command was refused; `text` is the error line without the leading '-' and the CRLF."""

    __slots__ = ("text",)

    def __init__(self, text: bytes) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return self.text.decode("utf-8", "replace")

    @property
    def code(self) -> bytes:
        """The first word: ERR, WRONGTYPE, ..."""
        return self.text.split(b" ", 1)[0]


class Redirected(CommandError):
    """The request is a concern of another node of the cluster, or of none; MULTI falls with it."""


class Corrupt(CommandError):
    """A stored row cannot be read; the text names the client's key."""

    def __init__(self, key: bytes, reason: str) -> None:
        super().__init__(b"ERR corrupt value stored at key %b: %b" % (quote(key), reason.encode()))


class Damaged(CommandError):
    """A file of the store cannot be read where a row should be; `place` says which, and where.

    `row` is the wanted row, or the first of a range. The engine knows no keys: whoever tells the
    client puts the key's name in its place (encodings/upkeep/damage.py).
    """

    __slots__ = ("place", "row")

    def __init__(self, row: bytes, place: str, what: bytes = b"") -> None:
        what = what or b"row " + quote(row)
        super().__init__(b"ERR corrupt data at %b: %b" % (what, place.encode()))
        self.row = row
        self.place = place

    def __str__(self) -> str:
        return self.text[4:].decode("latin-1")


class StoreUnavailable(Exception):
    """The store cannot be opened, or refuses to write; the message is for the operator."""


class StoreDamaged(StoreUnavailable):
    """The store refuses to write because of damaged files, and will until it is repaired."""


def quote(raw: bytes) -> bytes:
    """Client bytes made safe for an error line: printable, without CR and LF, at most 128 bytes."""
    shown = raw[:128].decode("latin-1").translate(_ESCAPES)
    return b"'" + shown.encode("latin-1") + b"'"


_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(32), 127)}


WRONG_TYPE = b"WRONGTYPE Operation against a key holding the wrong kind of value"
NOT_INTEGER = b"ERR value is not an integer or out of range"
NOT_FLOAT = b"ERR value is not a valid float"
MIN_OR_MAX_NOT_FLOAT = b"ERR min or max is not a float"
MIN_OR_MAX_NOT_LEX = b"ERR min or max not valid string range item"
NAN_OR_INFINITY = b"ERR increment would produce NaN or Infinity"
OVERFLOW = b"ERR increment or decrement would overflow"
OUT_OF_RANGE = b"ERR index out of range"
NOT_POSITIVE = b"ERR value is out of range, must be positive"
SYNTAX = b"ERR syntax error"
NO_SUCH_KEY = b"ERR no such key"
NO_DEBUG = (
    b"ERR DEBUG command not allowed. If the enable-debug-command option is set to"
    b' "local", you can run it from a local connection, otherwise you need to set this option in'
    b" the configuration file, and then restart the server."
)
INVALID_CURSOR = b"ERR invalid cursor"
SAME_OBJECT = b"ERR source and destination objects are the same"
DB_OUT_OF_RANGE = b"ERR DB index is out of range"
STRING_TOO_LONG = b"ERR string exceeds maximum allowed size (proto-max-bulk-len)"
OFFSET_OUT_OF_RANGE = b"ERR offset is out of range"
DECREMENT_OVERFLOW = b"ERR decrement would overflow"
LCS_NOT_STRINGS = b"ERR The specified keys must contain string values"
LCS_LEN_AND_IDX = b"ERR If you want both the length and indexes, please just use IDX."
LCS_TOO_LARGE = b"ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len"
BIT_OFFSET = b"ERR bit offset is not an integer or out of range"
NOT_A_BIT = b"ERR bit is not an integer or out of range"
BIT_ARGUMENT = b"ERR The bit argument must be 1 or 0."
BITOP_NOT = b"ERR BITOP NOT must be called with a single source key."
BITFIELD_TYPE = (
    b"ERR Invalid bitfield type. Use something like i16 u8. "
    b"Note that u64 is not supported but i64 is."
)
BITFIELD_OVERFLOW = b"ERR Invalid OVERFLOW type specified"
BITFIELD_RO = b"ERR BITFIELD_RO only supports the GET subcommand"
NOT_IN_MULTI = b"ERR Command not allowed inside a transaction"
NO_AUTH = b"NOAUTH Authentication required."
NO_SCRIPT = b"NOSCRIPT No matching script. Please use EVAL."
MAX_CLIENTS = b"ERR max number of clients reached"
PROTECTED_MODE = (
    b"DENIED Redis is running in protected mode because protected mode is enabled and no password"
    b" is set for the default user. In this mode connections are only accepted from the loopback"
    b" interface. If you want to connect from external computers to Redis you may adopt one of the"
    b" following solutions: 1) Just disable protected mode sending the command 'CONFIG SET"
    b" protected-mode no' from the loopback interface by connecting to Redis from the same host the"
    b" server is running, however MAKE SURE Redis is not publicly accessible from internet if you"
    b" do so. Use CONFIG REWRITE to make this change permanent. 2) Alternatively you can just"
    b" disable the protected mode by editing the Redis configuration file, and setting the"
    b" protected mode option to 'no', and then restarting the server. 3) If you started the server"
    b" manually just for testing, restart it with the '--protected-mode no' option. 4) Setup a an"
    b" authentication password for the default user. NOTE: You only need to do one of the above"
    b" things in order for the server to start accepting connections from the outside."
)
NX_WITH_OTHERS = b"ERR NX and XX, GT or LT options at the same time are not compatible"
GT_WITH_LT = b"ERR GT and LT options at the same time are not compatible"
NEGATIVE_EXPIRE = b"ERR invalid expire time, must be >= 0"
FIELDS_MISSING = b"ERR Mandatory argument FIELDS is missing or not at the right position"
FIELDS_POSITIVE = b"ERR Number of fields must be a positive integer"
FIELDS_ABOVE_ZERO = b"ERR Parameter `numFields` should be greater than 0"
FIELDS_INVALID = b"ERR invalid number of fields"
ONE_CONDITION = b"ERR Only one of FXX or FNX arguments can be specified"
ONE_EXPIRATION = b"ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified"
FIELDS_MISMATCH = b"ERR The `numfields` parameter must match the number of arguments"
SCORES_NOT_FLOAT = b"ERR One or more scores can't be converted into double"
NO_LFU = (
    b"ERR An LFU maxmemory policy is not selected, access frequency not tracked. "
    b"Please note that when switching between policies at runtime LRU and LFU data "
    b"will take some time to adjust."
)
LFU_INSTEAD = (
    b"ERR An LFU maxmemory policy is selected, idle time not tracked. "
    b"Please note that when switching between policies at runtime LRU and LFU data "
    b"will take some time to adjust."
)

SCORE_NAN = b"ERR resulting score is not a number (NaN)"
NX_WITH_XX = b"ERR XX and NX options at the same time are not compatible"
GT_LT_OR_NX = b"ERR GT, LT, and/or NX options at the same time are not compatible"
INCR_OF_MANY = b"ERR INCR option supports a single increment-element pair"
LIMIT_OF_RANKS = (
    b"ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"
)
SCORES_OF_LEX = b"ERR syntax error, WITHSCORES not supported in combination with BYLEX"
WEIGHT_NOT_FLOAT = b"ERR weight value is not a float"
NUMKEYS = b"ERR numkeys should be greater than 0"
COUNT = b"ERR count should be greater than 0"
NEGATIVE_LIMIT = b"ERR LIMIT can't be negative"
VALUE_OUT_OF_RANGE = b"ERR value is out of range"
NOT_NEGATABLE = (
    b"ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807"
)

NOT_ZERO_OR_ONE = b"ERR value is out of range, value must between 0 and 1"
BEYOND_INT32 = b"ERR value is out of range, value must between -2147483648 and 2147483647"
MONITOR_IN_UNIT = b"ERR MONITOR isn't allowed for DENY BLOCKING client"
REPLICA_AND_KEYS = b"ERR Replica can't interact with the keyspace"
WRONG_PASSWORD = b"WRONGPASS invalid username-password pair or user is disabled."
TOO_MANY_PASSWORDS = (
    b"WRONGPASS too many wrong passwords from this address; try again in %d seconds"
)
REALM_IN_UNIT = b"ERR AUTH to a user of another namespace is not possible within MULTI or a script"
OWN_NAMESPACE = b"ERR users cannot change what namespace they themselves are bound to"
NO_NAMESPACES = b"ERR namespaces of users are not possible with this engine"
NO_NAMESPACE = b"NONAMESPACE the namespace of this user does not exist here"
BAD_NAMESPACE = (
    b"ERR a namespace has 1 to 64 letters, digits, underscores, dots and hyphens in its name"
)
REPLICA_WITHOUT_NAMESPACES = (
    b"ERR this server has namespaces of users, which only replicas of StrataKV can have"
)
REPLICAS_WITHOUT_NAMESPACES = b"ERR replicas are connected that cannot have namespaces of users: %b"
TOO_MANY_NAMESPACES = b"ERR there are %d namespaces already, and no more are possible"
BAD_QUOTA = b"ERR a quota is KEYS, BYTES, OPS or CLIENTS with a number, 0 for no limit"
NO_PERMISSION_FOR_KEYS = (
    b"NOPERM this user has no permissions to access one of the keys used as arguments"
)
NO_PERMISSION_FOR_CHANNELS = (
    b"NOPERM this user has no permissions to access one of the channels used as arguments"
)
NO_LONGER_ALLOWED = (
    b"NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC"
    b" call. This command is no longer allowed for the following reason: %b"
)
SCRIPT_NO_PERMISSION = b"ERR The user executing the script %b"
SORT_NOT_ALLOWED = b"ERR %b option of SORT denied due to insufficient ACL permissions."
NO_ACL_FILE = (
    b"ERR This Redis instance is not configured to use an ACL file. You may want to specify users"
    b" via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis"
    b" configuration file set) in order to store users in the Redis configuration."
)
ACL_NOT_SAVED = (
    b"ERR There was an error trying to save the ACLs. Please check the server logs for more"
    b" information"
)
BAD_USER_NAME = b"ERR Usernames can't contain spaces or null characters"
DEFAULT_USER_STAYS = b"ERR The 'default' user cannot be removed"
GENPASS_BITS = (
    b"ERR ACL GENPASS argument must be the number of bits for the output password, a positive"
    b" number up to %d"
)
NO_PASSWORD_SET = (
    b"ERR AUTH <password> called without any password configured for the default user. "
    b"Are you sure your configuration is correct?"
)
HELLO_NEEDS_AUTH = (
    b"NOAUTH HELLO must be called with the client already authenticated, otherwise the "
    b"HELLO AUTH <user> <pass> option can be used to authenticate the client and "
    b"select the RESP protocol version at the same time"
)
NO_PROTOCOL = b"NOPROTO unsupported protocol version"
BAD_PROTOCOL = b"ERR Protocol version is not an integer or out of range"
BAD_CLIENT_NAME = b"ERR Client names cannot contain spaces, newlines or special characters."
NO_SUCH_CLIENT = b"ERR No such client"
BAD_CLIENT_ID = b"ERR Invalid client ID"
CLIENT_ID_TOO_LOW = b"ERR client-id should be greater than 0"
PAUSE_MODE = b"ERR CLIENT PAUSE mode must be WRITE or ALL"
NO_TRACKING_MODE = (
    b"ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or "
    b"OPTOUT mode enabled"
)
CACHING_NEEDS_OPTIN = (
    b"ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode."
)
CACHING_NEEDS_OPTOUT = (
    b"ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode."
)
TRACKING_ONE_REDIRECT = b"ERR A client can only redirect to a single other client"
TRACKING_NO_SUCH_CLIENT = b"ERR The client ID you want redirect to does not exist"
TRACKING_PREFIX_ALONE = b"ERR PREFIX option requires BCAST mode to be enabled"
TRACKING_BCAST_SWITCH = (
    b"ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then"
    b" re-enabling it with a different mode."
)
TRACKING_BCAST_OPT = b"ERR OPTIN and OPTOUT are not compatible with BCAST"
TRACKING_BOTH_OPT = b"ERR You can't specify both OPTIN mode and OPTOUT mode"
TRACKING_OPT_SWITCH = (
    b"ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then"
    b" re-enabling it with a different mode."
)
TIMEOUT_NOT_INTEGER = b"ERR timeout is not an integer or out of range"
TIMEOUT_NEGATIVE = b"ERR timeout is negative"
NO_MODULES = b"ERR StrataKV has no modules: none can be loaded"
CLUSTER_DISABLED = b"ERR This instance has cluster support disabled"
NO_GROUPS = b"ERR This node has no groups of slots in HBase"
NOT_WITH_GROUPS = b"ERR not on a node with several groups of slots in HBase"
NO_SUCH_GROUP = b"ERR There is no such group of slots"
CROSS_SLOT = b"CROSSSLOT Keys in request don't hash to the same slot"
SLOT_NOT_SERVED = b"CLUSTERDOWN Hash slot not served"
CLUSTER_DOWN = b"CLUSTERDOWN The cluster is down"
CLUSTER_READ_ONLY = b"CLUSTERDOWN The cluster is down and only accepts read commands"
SCRIPT_ON_OTHER_NODE = b"ERR Script attempted to access a non local key in a cluster node"
SCRIPT_CLUSTER_DOWN = b"ERR Script attempted to execute a command while the cluster is down"
SCRIPT_CLUSTER_READ_ONLY = (
    b"ERR Script attempted to execute a write command while the cluster is down and readonly"
)
SCRIPT_CROSS_SLOT = b"ERR Script attempted to access keys that do not hash to the same slot"
SCRIPT_NOT_ON_CLUSTER = b"ERR Can not run script on cluster, 'no-cluster' flag is set."
SELECT_ON_CLUSTER = b"ERR SELECT is not allowed in cluster mode"
SWAPDB_ON_CLUSTER = b"ERR SWAPDB is not allowed in cluster mode"
MOVE_ON_CLUSTER = b"ERR MOVE is not allowed in cluster mode"
SORT_ON_CLUSTER = b"ERR %b option of SORT denied in Cluster mode."
COPY_ON_CLUSTER = b"ERR Copying to another database is not allowed in cluster mode"
SLOTS_ARE_SHARED = (
    b"ERR The nodes share the slots among themselves: start or stop nodes instead, and see"
    b" STRATA CLUSTER"
)
NOT_A_NODE = b"ERR This is for the nodes of a cluster alone"
NOT_THE_KEEPER = (
    b"ERR Functions are kept by the node of slot 0: change them there, or outside of a transaction"
)
NO_KEEPER = b"TRYAGAIN The node of slot 0, which keeps the functions, cannot be reached"
INVALID_SLOT = b"ERR Invalid slot"
INVALID_SLOT_OR_COUNT = b"ERR Invalid slot or number of keys"
DISK_LIMIT = b"OOM command not allowed when used disk > 'maxdisk-bytes'."
SCRIPT_AND_DISK_LIMIT = (
    b"OOM allow-oom flag is not set on the script, can not run it when used disk > 'maxdisk-bytes'"
)
NO_SHUTDOWN = b"ERR No shutdown in progress."
SHUTTING_DOWN = b"ERR the server is shutting down"
BAD_COUNT_FROM_MINUS_ONE = b"ERR count should be greater than or equal to -1"
RELOAD_OPTIONS = b"ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options."
NO_CONFIG_FILE = b"ERR The server is running without a config file"
SAVING = b"ERR Background save already in progress"
NOT_SAVED = b"ERR"
NO_SHUTDOWN_WITHOUT_SAVE = b"ERR Errors trying to SHUTDOWN. Check logs."
NO_REWRITE_OF_LOG = b"ERR there is no append only file here: LevelDB compacts its log by itself"
INVALID_COMMAND = b"ERR Invalid command specified"
COMMAND_WITHOUT_KEYS = b"ERR The command has no key arguments"
COMMAND_ARGUMENT_COUNT = b"ERR Invalid number of arguments specified for command"
COMMAND_ARGUMENTS = b"ERR Invalid arguments specified for command"

HASH_VALUE_NOT_INTEGER = b"ERR hash value is not an integer"
HASH_VALUE_NOT_FLOAT = b"ERR hash value is not a float"
VALUE_NAN_OR_INFINITY = b"ERR value is NaN or Infinity"
MORE_KEYS_THAN_ARGS = b"ERR Number of keys can't be greater than number of args"

RANK_ZERO = (
    b"ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... "
    b"or use negative to start from the end of the list"
)
COUNT_NEGATIVE = b"ERR COUNT can't be negative"
MAXLEN_NEGATIVE = b"ERR MAXLEN can't be negative"
TIMEOUT_NOT_FLOAT = b"ERR timeout is not a float or out of range"

NOT_HLL = b"WRONGTYPE Key is not a valid HyperLogLog string value."
BROKEN_HLL = b"INVALIDOBJ Corrupted HLL object detected"
KEY_DOES_NOT_EXIST = b"ERR The specified key does not exist"
HLL_NOT_SPARSE = b"ERR HLL encoding is not sparse"

BUSY_KEY = b"BUSYKEY Target key name already exists."
BAD_DUMP_FOOTER = b"ERR DUMP payload version or checksum are wrong"
BAD_DUMP = b"ERR Bad data format"
RESTORE_TTL = b"ERR Invalid TTL value, must be >= 0"
RESTORE_IDLETIME = b"ERR Invalid IDLETIME value, must be >= 0"
RESTORE_FREQ = b"ERR Invalid FREQ value, must be >= 0 and <= 255"

GEO_UNIT = b"ERR unsupported unit provided. please use M, KM, FT, MI"
GEO_RADIUS = b"ERR need numeric radius"
GEO_WIDTH = b"ERR need numeric width"
GEO_HEIGHT = b"ERR need numeric height"
GEO_NEGATIVE_RADIUS = b"ERR radius cannot be negative"
GEO_NEGATIVE_BOX = b"ERR height or width cannot be negative"
GEO_NO_MEMBER = b"ERR could not decode requested zset member"
GEO_COUNT = b"ERR COUNT must be > 0"
GEO_ANY = b"ERR the ANY argument requires COUNT argument"

STREAM_ID = b"ERR Invalid stream ID specified as stream command argument"
STREAM_ID_ZERO = b"ERR The ID specified in XADD must be greater than 0-0"
STREAM_ID_TOO_SMALL = (
    b"ERR The ID specified in XADD is equal or smaller than the target stream top item"
)
STREAM_EXHAUSTED = b"ERR The stream has exhausted the last possible ID, unable to add more items"
STREAM_INTERVAL_START = b"ERR invalid start ID for the interval"
STREAM_INTERVAL_END = b"ERR invalid end ID for the interval"
TRIM_TWICE = b"ERR syntax error, MAXLEN and MINID options at the same time are not compatible"
TRIM_MAXLEN = b"ERR The MAXLEN argument must be >= 0."
TRIM_LIMIT = b"ERR The LIMIT argument must be >= 0."
TRIM_LIMIT_ALONE = b"ERR syntax error, LIMIT cannot be used without specifying a trimming strategy"
TRIM_LIMIT_EXACT = b"ERR syntax error, LIMIT cannot be used without the special ~ option"
TRIM_NOTHING = b"ERR syntax error, XTRIM must be called with a trimming strategy"
XSETID_ADDED = b"ERR entries_added must be positive"
XSETID_GIVEN_DELETED = (
    b"ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id"
)
XSETID_TOP = b"ERR The ID specified in XSETID is smaller than the target stream top item"
XSETID_LENGTH = (
    b"ERR The entries_added specified in XSETID is smaller than the target stream length"
)
GROUP_OF_XREAD = b"ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead."
NOACK_OF_XREAD = b"ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead."
UNBALANCED_STREAMS = (
    b"ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified."
)
GROUP_MISSING = b"ERR Missing GROUP option for XREADGROUP"
LAST_ID_OF_GROUP = (
    b"ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of "
    b"this consumer by specifying a proper ID, or use the > ID to get new messages. The $ ID would "
    b"just return an empty result set."
)
NEW_OF_XREAD = (
    b"ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> "
    b"<consumer> option."
)
GROUP_EXISTS = b"BUSYGROUP Consumer Group name already exists"
GROUP_WITHOUT_KEY = (
    b"ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to "
    b"use the MKSTREAM option to create an empty stream automatically."
)
ENTRIES_READ = b"ERR value for ENTRIESREAD must be positive or -1"
GROUP_GONE = b"NOGROUP the consumer group this client was blocked on no longer exists"
STREAM_GONE = b"UNBLOCKED the stream key no longer exists"
XCLAIM_MIN_IDLE = b"ERR Invalid min-idle-time argument for XCLAIM"
XCLAIM_IDLE = b"ERR Invalid IDLE option argument for XCLAIM"
XCLAIM_TIME = b"ERR Invalid TIME option argument for XCLAIM"
XCLAIM_RETRYCOUNT = b"ERR Invalid RETRYCOUNT option argument for XCLAIM"
XAUTOCLAIM_MIN_IDLE = b"ERR Invalid min-idle-time argument for XAUTOCLAIM"
XAUTOCLAIM_COUNT = b"ERR COUNT must be > 0"
XAUTOCLAIM_MEMORY = b"ERR Insufficient memory, failed allocating transient memory, COUNT too high."

SCRIPT_NO_ARGUMENT = b"ERR Please specify at least one argument for this redis lib call"
SCRIPT_BAD_ARGUMENT = b"ERR Lua redis lib command arguments must be strings or integers"
SCRIPT_UNKNOWN_COMMAND = b"ERR Unknown Redis command called from script"
SCRIPT_WRONG_ARITY = b"ERR Wrong number of args calling Redis command from script"
SCRIPT_NOT_ALLOWED = b"ERR This Redis command is not allowed from script"
SCRIPT_READ_ONLY = b"ERR Write commands are not allowed from read-only scripts."
SCRIPT_MAY_WRITE = b"ERR Can not execute a script with write flag using *_ro command."
SCRIPT_OUT_OF_MEMORY = b"ERR not enough memory for the script (script-memory-limit)"
SCRIPT_FLUSH_MODE = b"ERR SCRIPT FLUSH only support SYNC|ASYNC option"
SCRIPT_DEBUG_MODE = b"ERR Use SCRIPT DEBUG YES/SYNC/NO"
NO_SCRIPT_RUNS = b"NOTBUSY No scripts in execution right now."
UNKILLABLE = (
    b"UNKILLABLE Sorry the script already executed write commands against the dataset. You can "
    b"either wait the script termination or kill the server in a hard way using the SHUTDOWN "
    b"NOSAVE command."
)
BUSY_SCRIPT = (
    b"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
)
BUSY_FUNCTION = (
    b"BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE."
)
NEGATIVE_KEYS = b"ERR Number of keys can't be negative"
BAD_NUMBER_OF_KEYS = b"ERR Bad number of keys provided"
NO_SUCH_FUNCTION = b"ERR Function not found"
NO_SUCH_LIBRARY = b"ERR Library not found"
FUNCTION_FLUSH_MODE = b"ERR FUNCTION FLUSH only supports SYNC|ASYNC option"
RESTORE_POLICY = b"ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE."


def wrong_type() -> CommandError:
    """The key holds a value of another type."""
    return CommandError(WRONG_TYPE)


def syntax() -> CommandError:
    """An option is unknown, misplaced or contradicts another."""
    return CommandError(SYNTAX)


def not_integer() -> CommandError:
    """An argument should have been a signed 64-bit integer."""
    return CommandError(NOT_INTEGER)


def not_float() -> CommandError:
    """An argument should have been a floating point number."""
    return CommandError(NOT_FLOAT)


def long_replica_address(length: int) -> CommandError:
    """What a replica calls itself is no address."""
    return CommandError(
        b"ERR REPLCONF ip-address provided by replica instance is too long: %d bytes" % length
    )


def wrong_arity(name: str) -> CommandError:
    """The number of arguments does not fit; `name` is `get` or `config|set`."""
    return CommandError(b"ERR wrong number of arguments for '%b' command" % name.encode())


def not_for_tenants(name: str) -> CommandError:
    """The user is bound to a namespace, and the command is for administrators."""
    return CommandError(
        b"NOPERM users of a namespace have no permissions to run the '%b' command" % name.encode()
    )


def over_quota(name: bytes, what: str) -> CommandError:
    """A namespace may not have that much."""
    return CommandError(
        b"QUOTA the namespace '%b' may have no more than %b" % (name, what.encode())
    )


def namespace_exists(name: bytes) -> CommandError:
    """A namespace is called so already."""
    return CommandError(b"ERR the namespace '%b' exists already" % name)


def unknown_node(name: bytes) -> CommandError:
    """No node of the cluster has that id."""
    return CommandError(b"ERR Unknown node %b" % name[:64])


def no_such_namespace(name: bytes) -> CommandError:
    """No namespace is called so."""
    return CommandError(b"ERR there is no namespace '%b'" % name[:64])


def namespace_in_use(name: bytes, users: list[bytes]) -> CommandError:
    """Users are bound to the namespace that is to go."""
    shown = b", ".join(users[:5]) + (b", ..." if len(users) > 5 else b"")
    return CommandError(b"ERR users are bound to the namespace '%b': %b" % (name, shown))


def no_permission(name: str) -> CommandError:
    """The user may not run a command."""
    return CommandError(
        b"NOPERM this user has no permissions to run the '%b' command" % name.encode()
    )


def bad_acl_rule(rule: bytes, reason: bytes) -> CommandError:
    """A word of ACL SETUSER is refused."""
    return CommandError(
        b"ERR Error in ACL SETUSER modifier '%b': %b" % (_without_newlines(rule), reason)
    )


def unmatched_parenthesis(start: bytes) -> CommandError:
    """A selector of ACL SETUSER does not end."""
    shown = _without_newlines(_c_text(start))
    return CommandError(b"ERR Unmatched parenthesis in acl selector starting at '%b'." % shown)


def bad_acl_file(text: bytes) -> CommandError:
    """ACL LOAD finds mistakes."""
    return CommandError(b"ERR " + _without_newlines(text))


def no_such_user(name: bytes) -> CommandError:
    """ACL DRYRUN knows no such user."""
    return CommandError(b"ERR User '%b' not found" % _without_newlines(_c_text(name)))


def no_such_command(name: bytes) -> CommandError:
    """ACL DRYRUN knows no such command."""
    return CommandError(b"ERR Command '%b' not found" % _without_newlines(_c_text(name)))


def _without_newlines(text: bytes) -> bytes:
    return text.replace(b"\r", b" ").replace(b"\n", b" ")


def exec_abort(reason: CommandError) -> CommandError:
    """EXEC itself was refused, so the transaction is over."""
    text = reason.text.removeprefix(b"ERR ")
    return CommandError(b"EXECABORT Transaction discarded because of: " + text)


def invalid_expire(name: str) -> CommandError:
    """An expire-time is zero, negative or beyond 64 bits."""
    return CommandError(b"ERR invalid expire time in '%b' command" % name.encode())


def unsupported_option(option: bytes) -> CommandError:
    """EXPIRE does not know the option."""
    return CommandError(b"ERR Unsupported option %b" % option.split(b"\0")[0])


def no_input_keys(name: str) -> CommandError:
    """ZUNION and its like were told to take fewer than one key."""
    return CommandError(b"ERR at least 1 input key is needed for '%b' command" % name.encode())


def misconf(reason: str, *, for_good: bool = False) -> CommandError:
    """The store refuses writes, usually because the disk is full; `for_good`: it is damaged."""
    prospect = (
        b"Its files are damaged: reads go on where they can be read; `stratakv check` and "
        b"`stratakv repair` tell and mend it once the server is stopped."
        if for_good
        else b"Reads go on; writes resume by themselves when the store can be written again."
    )
    return CommandError(
        b"MISCONF StrataKV cannot write to its store: %b. %b" % (_one_line(reason), prospect)
    )


NO_REPLICATION = b"ERR replication is not possible with this engine, which keeps copies by itself"


def store_away(reason: str) -> CommandError:
    """A store elsewhere cannot be asked, or is no longer ours to answer from."""
    return CommandError(b"MISCONF StrataKV cannot answer from its store: %b" % _one_line(reason))


def too_much(size: str, most: str) -> CommandError:
    """A unit of work is larger than what the store writes together."""
    told = f"{size} of one command or transaction: this store writes at most {most} at once"
    return CommandError(b"ERR " + told.encode())


def _one_line(reason: str) -> bytes:
    return reason.encode("utf-8", "replace").replace(b"\r", b" ").replace(b"\n", b" ")


def wrong_subcommand(container: str, word: bytes) -> CommandError:
    """A subcommand is unknown or has the wrong number of arguments, found out by the handler."""
    return CommandError(
        b"ERR unknown subcommand or wrong number of arguments for '%b'. Try %b HELP."
        % (word[:128], container.encode())
    )


def unknown_pfdebug(word: bytes) -> CommandError:
    """PFDEBUG knows no such subcommand."""
    return CommandError(b"ERR Unknown PFDEBUG subcommand '%b'" % word.split(b"\0")[0])


def geo_store_shows(option: str) -> CommandError:
    """A search that stores what it finds was asked to show distances or the like, too."""
    return CommandError(
        b"ERR %b is not compatible with WITHDIST, WITHHASH and WITHCOORD options" % option.encode()
    )


def geo_needs_one(options: str, name: str) -> CommandError:
    """A search lacks its centre or its shape."""
    return CommandError(
        b"ERR exactly one of %b can be specified for %b" % (options.encode(), name.encode())
    )


def unknown_client_type(name: bytes) -> CommandError:
    """CLIENT LIST or KILL names a class of clients that Redis does not have."""
    return CommandError(b"ERR Unknown client type '%b'" % name)


def prefixes_overlap(prefix: bytes, which: bytes, other: bytes) -> CommandError:
    """CLIENT TRACKING with two prefixes of which one begins like the other."""
    return CommandError(
        b"ERR Prefix '%b' overlaps with %b prefix '%b'. Prefixes for a single client must not"
        b" overlap." % (_c_text(prefix), which, _c_text(other))
    )


def no_group(key: bytes, group: bytes, where: bytes = b"") -> CommandError:
    """A command needs a stream with that group."""
    return CommandError(
        b"NOGROUP No such key '%b' or consumer group '%b'%b" % (_c_text(key), _c_text(group), where)
    )


def no_group_of_key(key: bytes, group: bytes) -> CommandError:
    """The stream is there, the group is not."""
    return CommandError(
        b"NOGROUP No such consumer group '%b' for key name '%b'" % (_c_text(group), _c_text(key))
    )


def unknown_claim_option(option: bytes) -> CommandError:
    """XCLAIM does not know the option, or it is no ID."""
    return CommandError(b"ERR Unrecognized XCLAIM option '%b'" % _c_text(option))


def _c_text(raw: bytes) -> bytes:
    """Bytes as C prints them: up to the first NUL."""
    return raw.split(b"\0", 1)[0]


def unknown_config(name: bytes) -> CommandError:
    """CONFIG SET of a name that is no option."""
    return CommandError(b"ERR Unknown option or number of arguments for CONFIG SET - '%b'" % name)


def config_refused(name: bytes, reason: str) -> CommandError:
    """CONFIG SET changed nothing, because of this argument."""
    return CommandError(
        b"ERR CONFIG SET failed (possibly related to argument '%b') - %b" % (name, reason.encode())
    )


def no_config_rewrite(reason: str) -> CommandError:
    """CONFIG REWRITE of a file that cannot be written."""
    return CommandError(b"ERR Rewriting config file: " + reason.encode("utf-8", "replace"))


def subscriber_only(command: str) -> CommandError:
    """A subscriber of RESP2 can only change its subscriptions, or end."""
    return CommandError(
        b"ERR Can't execute '%b': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET"
        b" are allowed in this context" % command.encode()
    )


def zset_store_away(reason: str) -> CommandError:
    """A sorted set v3 whose scores cannot be reached."""
    return CommandError(
        b"ERR the scores of this sorted set are in the Redis of zset-store-url, and that is not"
        b" available: %b" % reason.encode()
    )


def no_such_version(highest: int) -> CommandError:
    """STRATA REENCODE to a version that no type has."""
    return CommandError(b"ERR no such encode-version: 0 to %d" % highest)


NOTHING_TO_ADOPT = b"ERR the Redis of zset-store-url has not lost the mark of this store"
MIGRATE_KEYS = (
    b"ERR When using MIGRATE KEYS option, the key argument must be set to the empty string"
)
MIGRATE_CONNECT = b"IOERR error or timeout connecting to the client"
MIGRATE_WRITE = b"IOERR error or timeout writing to target instance"
MIGRATE_READ = b"IOERR error or timeout reading to target instance"
BACKING_UP = b"ERR a backup is still being made"
NO_BACKUP_PLACE = b"ERR the place of a backup is an absolute path"
COMPACTING = b"ERR a STRATA COMPACT is still running; see INFO store"
REENCODING = b"ERR a STRATA REENCODE is still running; see STRATA PROGRESS"


def no_block_in_scripts(name: bytes) -> CommandError:
    """XREAD BLOCK in a script."""
    return CommandError(b"ERR %b command is not allowed with BLOCK option from scripts" % name)


# replication

NO_REPLICAS = b"NOREPLICAS Not enough good replicas to write."
READ_ONLY_REPLICA = b"READONLY You can't write against a read only replica."
SCRIPT_ON_REPLICA = b"READONLY Can not run script with write flag on readonly replica"
STALE_SCRIPT = (
    b"MASTERDOWN Link with MASTER is down, replica-serve-stale-data is set to 'no' and "
    b"'allow-stale' flag is not set on the script."
)
STALE_IN_SCRIPT = b"ERR Can not execute the command on a stale replica"
MASTER_DOWN = b"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
NO_MASTER_LINK = b"NOMASTERLINK Can't SYNC while not connected with my master"
SYNC_IN_FAILOVER = b"NOMASTERLINK Can't SYNC while failing over"
SYNC_BEHIND_OUTPUT = b"ERR SYNC and PSYNC are invalid with pending output"
WAIT_ON_REPLICA = (
    b"ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a"
    b" replica is configured to be writable (which is not the default) writes to replicas are just"
    b" local and are not propagated."
)
BAD_MASTER_PORT = b"ERR Invalid master port"
NOT_FOR_REPLICAS = b"ERR Command is not valid when client is a replica."
ROLE_CHANGED = (
    b"UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)"
)
FORCED_FAILOVER = b"ERR FAILOVER with force option requires both a timeout and target HOST and IP."
