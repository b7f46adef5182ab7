"""The narrow waist: named SQL in, tuples out. Everything an engine must do is in `database.py`."""
