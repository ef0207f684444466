"""HyperLogLogs, in Redis's own bytes.

    hyperloglog    the operations
    hll_registers  registers, packing and the estimate
    hll_sparse     the sparse form
"""
