"""Two models laid over each other."""

import quiltwork as qw
from browser.reader import served_model


def test_compares_two_models(reader, every_kind):
    reader.open(every_kind)
    reader.page.get_by_role("button", name="Lay the second model").click()
    reader.has(".legend .dash", 3)
    facts = dict(zip(reader.texts(".facts dt"), reader.texts(".facts dd")))
    assert facts == {"in both": "9", "only in the first": "2", "only in the second": "2", "turned round": "1"}
    assert reader.texts(".legend li") == ["only in the first", "only in the second", "in both"]
    reader.is_at(c=1)
    reader.shot("compare")
    reader.page.reload()
    reader.has(".legend .dash", 3)
    assert reader.page.get_by_role("slider").input_value() == "13"


def test_real_models_are_compared_by_name(reader):
    asia = qw.textbook("asia")
    with served_model(asia, asia) as url:
        reader.open(url, "#c=1")
        reader.has(".legend .dash", 3)
        assert reader.texts(".facts dd")[:2] == ["8", "0"]
