"""Small real applications on StrataKV, each with a README, a command line and a demo."""
