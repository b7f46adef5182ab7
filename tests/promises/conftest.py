"""Plants the break that the environment names, before any promise is tested."""

from .sabotage import plant_from_environment

plant_from_environment()
