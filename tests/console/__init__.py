"""The console as a process over real servers, by HTTP and in a browser."""
