"""The claims of `live` say what they saw."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.opening.live")
