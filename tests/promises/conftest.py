"""Plants the break that the environment names, before any promise is tested."""

from ..tools.planting import plant_from_environment

plant_from_environment()
