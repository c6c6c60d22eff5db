"""Two models of the same variables: one order, one layout, and a sentence where they have not the same variables."""

import pytest
from some_models import LEARNED, model_of, network, rows

import quiltwork as qw
from quiltwork.errors import InputError
from quiltwork.view.compare import compared, renumbered
from quiltwork.view.document import document


def named_arcs(shown):
    names = [variable["name"] for variable in shown["variables"]]
    pairs = zip(shown["arcs"]["from"], shown["arcs"]["to"], strict=True)
    return sorted((names[u], names[v]) for u, v in pairs)


@pytest.fixture(scope="module")
def turned():
    """A network learned from the same rows with the columns in another order."""
    names = [variable.name for variable in rows().variables]
    return qw.learn("bn", rows().select(names[::-1]), search="climb", score="bdeu")


def test_the_second_takes_the_order_and_the_places_of_the_first(turned):
    first, second = compared(model_of("bn"), turned)
    assert [v["name"] for v in second["variables"]] == [v["name"] for v in first["variables"]]
    assert first["positions"] == second["positions"] == document(model_of("bn"))["positions"]
    assert named_arcs(second) == sorted(turned.arcs)
    for v, local in enumerate(second["locals"]):
        name = second["variables"][v]["name"]
        parents = {second["variables"][p]["name"] for p in local["parents"]}
        assert parents == {parent for parent, child in turned.arcs if child == name}


@pytest.mark.parametrize("kind", LEARNED)
def test_renumbering_back_and_forth_changes_nothing(kind):
    shown = document(model_of(kind))
    n = len(shown["variables"])
    place = [(v + 1) % n for v in range(n)]
    back = [place.index(v) for v in range(n)]
    moved = renumbered(shown, place)
    assert n == 1 or moved["variables"] != shown["variables"]
    assert renumbered(moved, back) == shown


def test_models_of_different_kinds_can_be_compared():
    first, second = compared(model_of("bn"), model_of("hrf"))
    assert (first["kind"], second["kind"]) == ("bn", "hrf")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["x0", "x1", "z"], "'x2' is in the first alone and 'z' is in the second alone"),
        (["x0", "x1"], "'x2' is in the first alone"),
        (["x0", "x1", "x2", "z"], "'z' is in the second alone"),
    ],
)
def test_models_of_different_variables_are_refused(names, said):
    other = network(len(names), [()] * len(names), names=names)
    with pytest.raises(InputError, match=said):
        compared(network(3, [()] * 3), other)
