"""Comparisons that the tests share explain themselves when they fail."""

import pytest

pytest.register_assert_rewrite("contract.support")
