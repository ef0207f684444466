"""Ordered bytes: engines and the commit pipeline."""
