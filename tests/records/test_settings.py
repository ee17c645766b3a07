"""A setting is named, explained and bounded in one place."""

from __future__ import annotations

from typing import get_args

import pytest

from explorer.records.settings import CHOICES, TYPICAL, DecodeSettings, about


@pytest.mark.parametrize("name", DecodeSettings.model_fields)
def test_every_setting_has_a_title_and_an_explanation(name):
    field = DecodeSettings.model_fields[name]
    assert field.title
    assert field.description
    assert field.description in about(name)
    assert about(name).startswith("typical acceptance") == (name in TYPICAL)


def test_every_choice_is_explained():
    fields = DecodeSettings.model_fields
    assert list(CHOICES["acceptance"]) == list(get_args(fields["acceptance"].annotation))
    assert list(CHOICES["root_rule"]) == list(get_args(fields["root_rule"].annotation))
