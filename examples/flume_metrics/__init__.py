"""Log metrics of many machines: a store with two row-key orders, a query API, a page."""
