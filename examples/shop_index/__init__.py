"""A shop-ranking index over several StrataKV servers, sharded by the client."""
