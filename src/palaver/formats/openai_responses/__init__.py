"""Items of OpenAI's Responses API."""

from .reading import read as read
from .writing import write as write
