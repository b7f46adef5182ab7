"""Importers: files of other programs as sessions to graft. Each reads its source and gives `GraftSession`s; what is new
of them, and how it is stored, is `store.graft`'s to know.

    store.graft(palaver.importers.openai(open("chat.json", "rb").read(), id="chat-42"))
"""

from __future__ import annotations

from .conversations import BY_NAME as BY_NAME
from .conversations import aisdk as aisdk
from .conversations import anthropic as anthropic
from .conversations import conversations_in as conversations_in
from .conversations import openai as openai
