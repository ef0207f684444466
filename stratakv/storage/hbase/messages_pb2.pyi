from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class UserInformation(_message.Message):
    __slots__ = ("effective_user",)
    EFFECTIVE_USER_FIELD_NUMBER: _ClassVar[int]
    effective_user: str
    def __init__(self, effective_user: _Optional[str] = ...) -> None: ...

class ConnectionHeader(_message.Message):
    __slots__ = ("user_info", "service_name")
    USER_INFO_FIELD_NUMBER: _ClassVar[int]
    SERVICE_NAME_FIELD_NUMBER: _ClassVar[int]
    user_info: UserInformation
    service_name: str
    def __init__(self, user_info: _Optional[_Union[UserInformation, _Mapping]] = ..., service_name: _Optional[str] = ...) -> None: ...

class RequestHeader(_message.Message):
    __slots__ = ("call_id", "method_name", "request_param", "timeout")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    METHOD_NAME_FIELD_NUMBER: _ClassVar[int]
    REQUEST_PARAM_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    call_id: int
    method_name: str
    request_param: bool
    timeout: int
    def __init__(self, call_id: _Optional[int] = ..., method_name: _Optional[str] = ..., request_param: _Optional[bool] = ..., timeout: _Optional[int] = ...) -> None: ...

class ExceptionResponse(_message.Message):
    __slots__ = ("exception_class_name", "stack_trace", "do_not_retry")
    EXCEPTION_CLASS_NAME_FIELD_NUMBER: _ClassVar[int]
    STACK_TRACE_FIELD_NUMBER: _ClassVar[int]
    DO_NOT_RETRY_FIELD_NUMBER: _ClassVar[int]
    exception_class_name: str
    stack_trace: str
    do_not_retry: bool
    def __init__(self, exception_class_name: _Optional[str] = ..., stack_trace: _Optional[str] = ..., do_not_retry: _Optional[bool] = ...) -> None: ...

class ResponseHeader(_message.Message):
    __slots__ = ("call_id", "exception")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    EXCEPTION_FIELD_NUMBER: _ClassVar[int]
    call_id: int
    exception: ExceptionResponse
    def __init__(self, call_id: _Optional[int] = ..., exception: _Optional[_Union[ExceptionResponse, _Mapping]] = ...) -> None: ...

class NameBytesPair(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: bytes
    def __init__(self, name: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...

class ServerName(_message.Message):
    __slots__ = ("host_name", "port", "start_code")
    HOST_NAME_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    START_CODE_FIELD_NUMBER: _ClassVar[int]
    host_name: str
    port: int
    start_code: int
    def __init__(self, host_name: _Optional[str] = ..., port: _Optional[int] = ..., start_code: _Optional[int] = ...) -> None: ...

class MetaRegionServer(_message.Message):
    __slots__ = ("server",)
    SERVER_FIELD_NUMBER: _ClassVar[int]
    server: ServerName
    def __init__(self, server: _Optional[_Union[ServerName, _Mapping]] = ...) -> None: ...

class Master(_message.Message):
    __slots__ = ("master",)
    MASTER_FIELD_NUMBER: _ClassVar[int]
    master: ServerName
    def __init__(self, master: _Optional[_Union[ServerName, _Mapping]] = ...) -> None: ...

class TableName(_message.Message):
    __slots__ = ("namespace", "qualifier")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    QUALIFIER_FIELD_NUMBER: _ClassVar[int]
    namespace: bytes
    qualifier: bytes
    def __init__(self, namespace: _Optional[bytes] = ..., qualifier: _Optional[bytes] = ...) -> None: ...

class RegionInfo(_message.Message):
    __slots__ = ("region_id", "table_name", "start_key", "end_key", "offline", "split")
    REGION_ID_FIELD_NUMBER: _ClassVar[int]
    TABLE_NAME_FIELD_NUMBER: _ClassVar[int]
    START_KEY_FIELD_NUMBER: _ClassVar[int]
    END_KEY_FIELD_NUMBER: _ClassVar[int]
    OFFLINE_FIELD_NUMBER: _ClassVar[int]
    SPLIT_FIELD_NUMBER: _ClassVar[int]
    region_id: int
    table_name: TableName
    start_key: bytes
    end_key: bytes
    offline: bool
    split: bool
    def __init__(self, region_id: _Optional[int] = ..., table_name: _Optional[_Union[TableName, _Mapping]] = ..., start_key: _Optional[bytes] = ..., end_key: _Optional[bytes] = ..., offline: _Optional[bool] = ..., split: _Optional[bool] = ...) -> None: ...

class RegionSpecifier(_message.Message):
    __slots__ = ("type", "value")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    type: int
    value: bytes
    def __init__(self, type: _Optional[int] = ..., value: _Optional[bytes] = ...) -> None: ...

class Cell(_message.Message):
    __slots__ = ("row", "family", "qualifier", "timestamp", "value")
    ROW_FIELD_NUMBER: _ClassVar[int]
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    QUALIFIER_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    row: bytes
    family: bytes
    qualifier: bytes
    timestamp: int
    value: bytes
    def __init__(self, row: _Optional[bytes] = ..., family: _Optional[bytes] = ..., qualifier: _Optional[bytes] = ..., timestamp: _Optional[int] = ..., value: _Optional[bytes] = ...) -> None: ...

class Result(_message.Message):
    __slots__ = ("cell", "partial")
    CELL_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_FIELD_NUMBER: _ClassVar[int]
    cell: _containers.RepeatedCompositeFieldContainer[Cell]
    partial: bool
    def __init__(self, cell: _Optional[_Iterable[_Union[Cell, _Mapping]]] = ..., partial: _Optional[bool] = ...) -> None: ...

class Column(_message.Message):
    __slots__ = ("family", "qualifier")
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    QUALIFIER_FIELD_NUMBER: _ClassVar[int]
    family: bytes
    qualifier: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, family: _Optional[bytes] = ..., qualifier: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Get(_message.Message):
    __slots__ = ("row", "column")
    ROW_FIELD_NUMBER: _ClassVar[int]
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    row: bytes
    column: _containers.RepeatedCompositeFieldContainer[Column]
    def __init__(self, row: _Optional[bytes] = ..., column: _Optional[_Iterable[_Union[Column, _Mapping]]] = ...) -> None: ...

class GetRequest(_message.Message):
    __slots__ = ("region", "get")
    REGION_FIELD_NUMBER: _ClassVar[int]
    GET_FIELD_NUMBER: _ClassVar[int]
    region: RegionSpecifier
    get: Get
    def __init__(self, region: _Optional[_Union[RegionSpecifier, _Mapping]] = ..., get: _Optional[_Union[Get, _Mapping]] = ...) -> None: ...

class GetResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: Result
    def __init__(self, result: _Optional[_Union[Result, _Mapping]] = ...) -> None: ...

class Filter(_message.Message):
    __slots__ = ("name", "serialized")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SERIALIZED_FIELD_NUMBER: _ClassVar[int]
    name: str
    serialized: bytes
    def __init__(self, name: _Optional[str] = ..., serialized: _Optional[bytes] = ...) -> None: ...

class KeyOnlyFilter(_message.Message):
    __slots__ = ("length_as_value",)
    LENGTH_AS_VALUE_FIELD_NUMBER: _ClassVar[int]
    length_as_value: bool
    def __init__(self, length_as_value: _Optional[bool] = ...) -> None: ...

class Scan(_message.Message):
    __slots__ = ("column", "start_row", "stop_row", "filter", "cache_blocks", "max_result_size", "reversed", "caching", "mvcc_read_point", "include_start_row", "include_stop_row", "read_type")
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    START_ROW_FIELD_NUMBER: _ClassVar[int]
    STOP_ROW_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    CACHE_BLOCKS_FIELD_NUMBER: _ClassVar[int]
    MAX_RESULT_SIZE_FIELD_NUMBER: _ClassVar[int]
    REVERSED_FIELD_NUMBER: _ClassVar[int]
    CACHING_FIELD_NUMBER: _ClassVar[int]
    MVCC_READ_POINT_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_START_ROW_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_STOP_ROW_FIELD_NUMBER: _ClassVar[int]
    READ_TYPE_FIELD_NUMBER: _ClassVar[int]
    column: _containers.RepeatedCompositeFieldContainer[Column]
    start_row: bytes
    stop_row: bytes
    filter: Filter
    cache_blocks: bool
    max_result_size: int
    reversed: bool
    caching: int
    mvcc_read_point: int
    include_start_row: bool
    include_stop_row: bool
    read_type: int
    def __init__(self, column: _Optional[_Iterable[_Union[Column, _Mapping]]] = ..., start_row: _Optional[bytes] = ..., stop_row: _Optional[bytes] = ..., filter: _Optional[_Union[Filter, _Mapping]] = ..., cache_blocks: _Optional[bool] = ..., max_result_size: _Optional[int] = ..., reversed: _Optional[bool] = ..., caching: _Optional[int] = ..., mvcc_read_point: _Optional[int] = ..., include_start_row: _Optional[bool] = ..., include_stop_row: _Optional[bool] = ..., read_type: _Optional[int] = ...) -> None: ...

class ScanRequest(_message.Message):
    __slots__ = ("region", "scan", "scanner_id", "number_of_rows", "close_scanner", "next_call_seq", "client_handles_partials", "client_handles_heartbeats", "renew", "limit_of_rows")
    REGION_FIELD_NUMBER: _ClassVar[int]
    SCAN_FIELD_NUMBER: _ClassVar[int]
    SCANNER_ID_FIELD_NUMBER: _ClassVar[int]
    NUMBER_OF_ROWS_FIELD_NUMBER: _ClassVar[int]
    CLOSE_SCANNER_FIELD_NUMBER: _ClassVar[int]
    NEXT_CALL_SEQ_FIELD_NUMBER: _ClassVar[int]
    CLIENT_HANDLES_PARTIALS_FIELD_NUMBER: _ClassVar[int]
    CLIENT_HANDLES_HEARTBEATS_FIELD_NUMBER: _ClassVar[int]
    RENEW_FIELD_NUMBER: _ClassVar[int]
    LIMIT_OF_ROWS_FIELD_NUMBER: _ClassVar[int]
    region: RegionSpecifier
    scan: Scan
    scanner_id: int
    number_of_rows: int
    close_scanner: bool
    next_call_seq: int
    client_handles_partials: bool
    client_handles_heartbeats: bool
    renew: bool
    limit_of_rows: int
    def __init__(self, region: _Optional[_Union[RegionSpecifier, _Mapping]] = ..., scan: _Optional[_Union[Scan, _Mapping]] = ..., scanner_id: _Optional[int] = ..., number_of_rows: _Optional[int] = ..., close_scanner: _Optional[bool] = ..., next_call_seq: _Optional[int] = ..., client_handles_partials: _Optional[bool] = ..., client_handles_heartbeats: _Optional[bool] = ..., renew: _Optional[bool] = ..., limit_of_rows: _Optional[int] = ...) -> None: ...

class ScanResponse(_message.Message):
    __slots__ = ("scanner_id", "more_results", "ttl", "results", "more_results_in_region", "heartbeat_message", "mvcc_read_point")
    SCANNER_ID_FIELD_NUMBER: _ClassVar[int]
    MORE_RESULTS_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    MORE_RESULTS_IN_REGION_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    MVCC_READ_POINT_FIELD_NUMBER: _ClassVar[int]
    scanner_id: int
    more_results: bool
    ttl: int
    results: _containers.RepeatedCompositeFieldContainer[Result]
    more_results_in_region: bool
    heartbeat_message: bool
    mvcc_read_point: int
    def __init__(self, scanner_id: _Optional[int] = ..., more_results: _Optional[bool] = ..., ttl: _Optional[int] = ..., results: _Optional[_Iterable[_Union[Result, _Mapping]]] = ..., more_results_in_region: _Optional[bool] = ..., heartbeat_message: _Optional[bool] = ..., mvcc_read_point: _Optional[int] = ...) -> None: ...

class Comparator(_message.Message):
    __slots__ = ("name", "serialized")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SERIALIZED_FIELD_NUMBER: _ClassVar[int]
    name: str
    serialized: bytes
    def __init__(self, name: _Optional[str] = ..., serialized: _Optional[bytes] = ...) -> None: ...

class ByteArrayComparable(_message.Message):
    __slots__ = ("value",)
    VALUE_FIELD_NUMBER: _ClassVar[int]
    value: bytes
    def __init__(self, value: _Optional[bytes] = ...) -> None: ...

class BinaryComparator(_message.Message):
    __slots__ = ("comparable",)
    COMPARABLE_FIELD_NUMBER: _ClassVar[int]
    comparable: ByteArrayComparable
    def __init__(self, comparable: _Optional[_Union[ByteArrayComparable, _Mapping]] = ...) -> None: ...

class Condition(_message.Message):
    __slots__ = ("row", "family", "qualifier", "compare_type", "comparator")
    ROW_FIELD_NUMBER: _ClassVar[int]
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    QUALIFIER_FIELD_NUMBER: _ClassVar[int]
    COMPARE_TYPE_FIELD_NUMBER: _ClassVar[int]
    COMPARATOR_FIELD_NUMBER: _ClassVar[int]
    row: bytes
    family: bytes
    qualifier: bytes
    compare_type: int
    comparator: Comparator
    def __init__(self, row: _Optional[bytes] = ..., family: _Optional[bytes] = ..., qualifier: _Optional[bytes] = ..., compare_type: _Optional[int] = ..., comparator: _Optional[_Union[Comparator, _Mapping]] = ...) -> None: ...

class QualifierValue(_message.Message):
    __slots__ = ("qualifier", "value", "timestamp", "delete_type")
    QUALIFIER_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    DELETE_TYPE_FIELD_NUMBER: _ClassVar[int]
    qualifier: bytes
    value: bytes
    timestamp: int
    delete_type: int
    def __init__(self, qualifier: _Optional[bytes] = ..., value: _Optional[bytes] = ..., timestamp: _Optional[int] = ..., delete_type: _Optional[int] = ...) -> None: ...

class ColumnValue(_message.Message):
    __slots__ = ("family", "cells")
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    CELLS_FIELD_NUMBER: _ClassVar[int]
    family: bytes
    cells: _containers.RepeatedCompositeFieldContainer[QualifierValue]
    def __init__(self, family: _Optional[bytes] = ..., cells: _Optional[_Iterable[_Union[QualifierValue, _Mapping]]] = ...) -> None: ...

class Mutation(_message.Message):
    __slots__ = ("row", "mutate_type", "columns", "timestamp", "durability")
    ROW_FIELD_NUMBER: _ClassVar[int]
    MUTATE_TYPE_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    DURABILITY_FIELD_NUMBER: _ClassVar[int]
    row: bytes
    mutate_type: int
    columns: _containers.RepeatedCompositeFieldContainer[ColumnValue]
    timestamp: int
    durability: int
    def __init__(self, row: _Optional[bytes] = ..., mutate_type: _Optional[int] = ..., columns: _Optional[_Iterable[_Union[ColumnValue, _Mapping]]] = ..., timestamp: _Optional[int] = ..., durability: _Optional[int] = ...) -> None: ...

class MutateRowsRequest(_message.Message):
    __slots__ = ("mutations", "conditions")
    MUTATIONS_FIELD_NUMBER: _ClassVar[int]
    CONDITIONS_FIELD_NUMBER: _ClassVar[int]
    mutations: _containers.RepeatedCompositeFieldContainer[Mutation]
    conditions: _containers.RepeatedCompositeFieldContainer[Condition]
    def __init__(self, mutations: _Optional[_Iterable[_Union[Mutation, _Mapping]]] = ..., conditions: _Optional[_Iterable[_Union[Condition, _Mapping]]] = ...) -> None: ...

class MutateRowsResponse(_message.Message):
    __slots__ = ("processed",)
    PROCESSED_FIELD_NUMBER: _ClassVar[int]
    processed: bool
    def __init__(self, processed: _Optional[bool] = ...) -> None: ...

class CoprocessorServiceCall(_message.Message):
    __slots__ = ("row", "service_name", "method_name", "request")
    ROW_FIELD_NUMBER: _ClassVar[int]
    SERVICE_NAME_FIELD_NUMBER: _ClassVar[int]
    METHOD_NAME_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    row: bytes
    service_name: str
    method_name: str
    request: bytes
    def __init__(self, row: _Optional[bytes] = ..., service_name: _Optional[str] = ..., method_name: _Optional[str] = ..., request: _Optional[bytes] = ...) -> None: ...

class CoprocessorServiceRequest(_message.Message):
    __slots__ = ("region", "call")
    REGION_FIELD_NUMBER: _ClassVar[int]
    CALL_FIELD_NUMBER: _ClassVar[int]
    region: RegionSpecifier
    call: CoprocessorServiceCall
    def __init__(self, region: _Optional[_Union[RegionSpecifier, _Mapping]] = ..., call: _Optional[_Union[CoprocessorServiceCall, _Mapping]] = ...) -> None: ...

class CoprocessorServiceResponse(_message.Message):
    __slots__ = ("region", "value")
    REGION_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    region: RegionSpecifier
    value: NameBytesPair
    def __init__(self, region: _Optional[_Union[RegionSpecifier, _Mapping]] = ..., value: _Optional[_Union[NameBytesPair, _Mapping]] = ...) -> None: ...

class Action(_message.Message):
    __slots__ = ("index", "get")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    GET_FIELD_NUMBER: _ClassVar[int]
    index: int
    get: Get
    def __init__(self, index: _Optional[int] = ..., get: _Optional[_Union[Get, _Mapping]] = ...) -> None: ...

class RegionAction(_message.Message):
    __slots__ = ("region", "actions")
    REGION_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    region: RegionSpecifier
    actions: _containers.RepeatedCompositeFieldContainer[Action]
    def __init__(self, region: _Optional[_Union[RegionSpecifier, _Mapping]] = ..., actions: _Optional[_Iterable[_Union[Action, _Mapping]]] = ...) -> None: ...

class ResultOrException(_message.Message):
    __slots__ = ("index", "result", "exception")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    EXCEPTION_FIELD_NUMBER: _ClassVar[int]
    index: int
    result: Result
    exception: NameBytesPair
    def __init__(self, index: _Optional[int] = ..., result: _Optional[_Union[Result, _Mapping]] = ..., exception: _Optional[_Union[NameBytesPair, _Mapping]] = ...) -> None: ...

class RegionActionResult(_message.Message):
    __slots__ = ("results", "exception")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    EXCEPTION_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[ResultOrException]
    exception: NameBytesPair
    def __init__(self, results: _Optional[_Iterable[_Union[ResultOrException, _Mapping]]] = ..., exception: _Optional[_Union[NameBytesPair, _Mapping]] = ...) -> None: ...

class MultiRequest(_message.Message):
    __slots__ = ("regions",)
    REGIONS_FIELD_NUMBER: _ClassVar[int]
    regions: _containers.RepeatedCompositeFieldContainer[RegionAction]
    def __init__(self, regions: _Optional[_Iterable[_Union[RegionAction, _Mapping]]] = ...) -> None: ...

class MultiResponse(_message.Message):
    __slots__ = ("regions",)
    REGIONS_FIELD_NUMBER: _ClassVar[int]
    regions: _containers.RepeatedCompositeFieldContainer[RegionActionResult]
    def __init__(self, regions: _Optional[_Iterable[_Union[RegionActionResult, _Mapping]]] = ...) -> None: ...

class BytesBytesPair(_message.Message):
    __slots__ = ("first", "second")
    FIRST_FIELD_NUMBER: _ClassVar[int]
    SECOND_FIELD_NUMBER: _ClassVar[int]
    first: bytes
    second: bytes
    def __init__(self, first: _Optional[bytes] = ..., second: _Optional[bytes] = ...) -> None: ...

class ColumnFamilySchema(_message.Message):
    __slots__ = ("name", "attributes")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    attributes: _containers.RepeatedCompositeFieldContainer[BytesBytesPair]
    def __init__(self, name: _Optional[bytes] = ..., attributes: _Optional[_Iterable[_Union[BytesBytesPair, _Mapping]]] = ...) -> None: ...

class TableSchema(_message.Message):
    __slots__ = ("table_name", "attributes", "families")
    TABLE_NAME_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    FAMILIES_FIELD_NUMBER: _ClassVar[int]
    table_name: TableName
    attributes: _containers.RepeatedCompositeFieldContainer[BytesBytesPair]
    families: _containers.RepeatedCompositeFieldContainer[ColumnFamilySchema]
    def __init__(self, table_name: _Optional[_Union[TableName, _Mapping]] = ..., attributes: _Optional[_Iterable[_Union[BytesBytesPair, _Mapping]]] = ..., families: _Optional[_Iterable[_Union[ColumnFamilySchema, _Mapping]]] = ...) -> None: ...

class CreateTableRequest(_message.Message):
    __slots__ = ("schema", "split_keys")
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    SPLIT_KEYS_FIELD_NUMBER: _ClassVar[int]
    schema: TableSchema
    split_keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, schema: _Optional[_Union[TableSchema, _Mapping]] = ..., split_keys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class CreateTableResponse(_message.Message):
    __slots__ = ("procedure_id",)
    PROCEDURE_ID_FIELD_NUMBER: _ClassVar[int]
    procedure_id: int
    def __init__(self, procedure_id: _Optional[int] = ...) -> None: ...

class GetTableDescriptorsRequest(_message.Message):
    __slots__ = ("table_names",)
    TABLE_NAMES_FIELD_NUMBER: _ClassVar[int]
    table_names: _containers.RepeatedCompositeFieldContainer[TableName]
    def __init__(self, table_names: _Optional[_Iterable[_Union[TableName, _Mapping]]] = ...) -> None: ...

class GetTableDescriptorsResponse(_message.Message):
    __slots__ = ("schemas",)
    SCHEMAS_FIELD_NUMBER: _ClassVar[int]
    schemas: _containers.RepeatedCompositeFieldContainer[TableSchema]
    def __init__(self, schemas: _Optional[_Iterable[_Union[TableSchema, _Mapping]]] = ...) -> None: ...
