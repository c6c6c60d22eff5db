"""Recommend from votes: a network over items, and how often it finds a book that was hidden from it.

Run it: python examples/recommend_books.py
"""

import numpy as np

import quiltwork as qw
from quiltwork.data.samples import planted_votes

votes = planted_votes(seed=0)  # or qw.read_votes("votes.csv"), with the columns user, item and perhaps time
encoder = qw.Encoder.fit(votes.table())
table = encoder.encode(votes.table())
train, test = table.rows(slice(0, 600)), table.rows(slice(600, 800))

model = qw.learn("bn", train, max_parents=4)
print(model)

# Hide one book of every test reader, and see where it is ranked among the books the reader does not have.
rows = test.states().astype(np.int64)
rng = np.random.default_rng(0)
hidden = np.array([rng.choice(np.flatnonzero(row)) for row in rows])
rows[np.arange(len(rows)), hidden] = 0
scores = qw.item_scores(model, rows)
popular = np.broadcast_to(train.states().mean(axis=0), scores.shape)
for name, value in (("network", scores), ("popularity", popular)):
    value = np.where(rows == 1, -np.inf, value)
    rank = 1 + (value > value[np.arange(len(rows)), hidden][:, None]).sum(axis=1)
    print(f"{name:10} found the hidden book in its first ten for {np.mean(rank <= 10):.0%} of the readers")

print("\nFor a reader of 'Forty Quiet Soups' and 'A Year of Beans':")
for title, score in qw.recommend(model, ["Forty Quiet Soups", "A Year of Beans"], n=5):
    print(f"  {title:22} {score:6.2f}")
