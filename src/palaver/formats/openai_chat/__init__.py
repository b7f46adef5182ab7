"""OpenAI's Chat Completions messages."""

from .reading import read as read
from .writing import write as write
