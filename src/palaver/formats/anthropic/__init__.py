"""Anthropic's Messages."""

from .reading import read as read
from .writing import write as write
