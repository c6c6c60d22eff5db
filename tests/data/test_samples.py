"""The bundled tables: their shape, and what was planted in them."""

import numpy as np

from quiltwork.data.encode import fit_encode
from quiltwork.data.samples import SHELVES, digits, planted_votes


def test_digits():
    encoder, data = fit_encode(digits())
    assert (data.n_samples, data.n_vars) == (1797, 65)
    assert [v.name for v in encoder.variables][:2] == ["r0c0", "r0c1"]
    assert encoder.variables[-1].states == tuple(range(10))
    assert all(set(v.states) <= {0, 1} for v in encoder.variables[:-1])


def test_planted_votes_are_the_same_for_the_same_seed():
    a, b, c = planted_votes(), planted_votes(0), planted_votes(1)
    assert np.array_equal(a.item, b.item) and np.array_equal(a.times, b.times)
    assert not np.array_equal(a.item[:100], c.item[:100])


def test_books_of_a_shelf_go_together():
    votes = planted_votes()
    assert len(votes.users) == 800
    assert set(votes.items) == {title for shelf in SHELVES.values() for title in shelf}
    assert all((np.diff(votes.times[a:b]) > 0).all() for a, b in zip(votes.indptr, votes.indptr[1:]))
    data = fit_encode(votes.table())[1]
    X = data.states().astype(float)
    shelf_of = {title: name for name, shelf in SHELVES.items() for title in shelf}
    same = np.array([[shelf_of[a] == shelf_of[b] and a != b for b in votes.items] for a in votes.items])
    other = np.array([[shelf_of[a] != shelf_of[b] for b in votes.items] for a in votes.items])
    together = np.corrcoef(X.T)
    assert together[same].mean() > 0.1 > 0 > together[other].mean()
    assert 4 < X.sum(axis=1).mean() < 9
