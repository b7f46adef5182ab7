"""Run coroutines of async peers from the synchronous protocol on one long-lived loop."""

import asyncio


class Loop:
    def __init__(self):
        self.loop = asyncio.new_event_loop()

    def __call__(self, coro):
        return self.loop.run_until_complete(coro)

    def close(self):
        self.loop.close()
