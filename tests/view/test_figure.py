"""The static figure: drawn without a window, from the document."""

import pytest
from some_models import LEARNED, NASTY, model_of, network, trees

import quiltwork as qw
from quiltwork.errors import InputError, MissingDependencyError

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture
def rendered(tmp_path):
    """Draw a figure to the end; its texts."""

    def render(drawn):
        drawn.savefig(tmp_path / "f.svg")
        drawn.savefig(tmp_path / "f.png", dpi=40)
        assert (tmp_path / "f.png").stat().st_size > 500
        (axes,) = drawn.axes
        return [text.get_text() for text in axes.texts], axes

    return render


@pytest.mark.parametrize("kind", LEARNED)
def test_every_kind_can_be_drawn(kind, rendered):
    model = model_of(kind)
    texts, axes = rendered(qw.figure(model))
    assert {variable.name for variable in model.variables} <= set(texts)
    assert f"{len(model.variables)} variables" in axes.get_title()


def test_arcs_are_drawn_strongest_first(rendered):
    _, axes = rendered(qw.figure(model_of("bn"), n_arcs=3))
    arrows = [text for text in axes.texts if getattr(text, "arrow_patch", None) is not None]
    assert len(arrows) == 3 and "strongest 3 of" in axes.get_title()
    assert rendered(qw.figure(network(1, [()])))[1].get_title() == "Bayesian network: 1 variable, 0 arcs"
    with pytest.raises(InputError, match="'n_arcs' must be a number"):
        qw.figure(model_of("bn"), n_arcs=-1)


def test_a_tree_has_its_splits_and_leaves(rendered):
    texts, axes = rendered(qw.figure(trees()[0], "a"))
    assert {"c", "b", "= no", "= yes", "= 1", "= 0", "30", "50", "20"} <= set(texts)
    assert len(axes.patches) >= 3 * 3


@pytest.mark.parametrize("name", ["b", "c"])
def test_other_local_distributions(name, rendered):
    assert rendered(qw.figure(trees()[0], name))


@pytest.mark.parametrize(("n_parents", "n_states", "cut"), [(2, 2, False), (5, 2, False), (9, 2, True), (1, 40, True)])
def test_text_stays_on_the_page_and_says_what_is_left_out(n_parents, n_states, cut, rendered):
    states = [f"state {s}" for s in range(n_states)]
    model = network(n_parents + 1, [*[()] * n_parents, tuple(range(n_parents))], states=states)
    drawn = qw.figure(model, f"x{n_parents}")
    (text,), axes = rendered(drawn)
    inside, page = axes.texts[0].get_window_extent(), drawn.bbox
    assert page.x0 <= inside.x0 and page.y0 <= inside.y0 and inside.x1 <= page.x1 and inside.y1 <= page.y1
    assert ("…" in text) == cut and ("more lines" in text) == (n_parents == 9)


def test_names_are_no_mathematics(rendered):
    names = ["$x^2$", "$\\frac{", "a\nb", "w" * 500]
    texts, _ = rendered(qw.figure(network(4, [(), (0,), (), ()], names=names)))
    assert "$\\frac{" in texts and "a·b" in texts
    assert max(map(len, texts)) < 30
    rendered(qw.figure(network(4, [()] * 4, names=NASTY)))


def test_it_draws_into_given_axes():
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    assert qw.figure(model_of("bn"), ax=axes) is axes.figure


def test_many_variables_are_drawn_without_names(rendered):
    texts, _ = rendered(qw.figure(network(200, [(), *((v,) for v in range(199))])))
    assert set(texts) == {""}


def test_without_matplotlib_one_sentence_says_what_to_do(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'quiltwork\[plot\]'"):
        qw.figure(model_of("bn"))
