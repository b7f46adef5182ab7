"""Rows with numbers: a session as one row for each message and one for the result of each call, known by a number.

For dialects that see a conversation so. A number is handed out once, in the order of the commits of a session; rows
that came by other verbs get theirs when somebody first asks for them.
"""
