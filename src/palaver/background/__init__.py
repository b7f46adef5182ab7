"""What a store runs beside its verbs: the jobs of maintenance, the watcher, the sign that it lives, its open turns."""
