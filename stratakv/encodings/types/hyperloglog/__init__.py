"""HyperLogLogs: strings that count."""
