import pytest

from explorer.records import numbers


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (numbers.count(12345), "12\u202f345"),
        (numbers.plural(1, "step"), "1 step"),
        (numbers.probability(0.0042), "0.0042"),
        (numbers.probability(0.9999), "over 0.99"),
        (numbers.probability(1e-9), "under 0.0001"),
        (numbers.ordinal(11), "11th"),
        (numbers.ordinal(22), "22nd"),
        (numbers.ordinal(3), "3rd"),
    ],
)
def test_numbers(shown, expected):
    assert shown == expected
