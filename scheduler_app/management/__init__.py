"""The command line: each verb declares its arguments, calls one service or query, and prints the answer."""
