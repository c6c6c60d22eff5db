"""Learn a network from a table, look at its strongest arcs, ask it questions, keep it.

Run it: python examples/learn_and_ask.py
"""

import quiltwork as qw

# Any table will do: qw.read_table("table.csv"), a pandas, polars or Arrow table, a NumPy array.
truth = qw.textbook("asia")
table = qw.sample(truth, 20_000, seed=0)

learner = qw.BayesianNetwork(max_parents=3).fit(table)
model = learner.model_
print(model)
for parent, child, strength in learner.strengths_:
    print(f"  {parent:7} -> {child:7} {strength:8.1f}")

print("\nA smoker whose X-ray is positive:")
print(qw.query(model, ["lung", "tub"], evidence={"smoke": "yes", "xray": "yes"}))

held_out = qw.sample(truth, 5_000, seed=1)
print(f"\nmean log-likelihood of new rows: learned {qw.log_likelihood(model, held_out).mean():.4f}, ", end="")
print(f"truth {qw.log_likelihood(truth, held_out).mean():.4f}")

qw.save(model, "asia.qw")
qw.write_network(model, "asia.bif")  # for bnlearn, pgmpy, pyAgrum
assert qw.load("asia.qw").arcs == model.arcs
