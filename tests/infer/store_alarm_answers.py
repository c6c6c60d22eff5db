"""Writes alarm_pyagrum.json: answers of pyAgrum to random queries on ALARM, to compare ours with.

    python tests/infer/store_alarm_answers.py DATA/bif/alarm.bif.gz      (pip install pyagrum)

Both sides are exact, so equality to 1e-10 is due, provided both have the same numbers: pyAgrum 3.3.1 keeps only
single precision when it reads BIF, so its tables are filled again from the text, each row divided by its sum.
Evidence is drawn from rows of the network, so it is never impossible.
"""

import gzip
import itertools
import json
import random
import re
import sys
import tempfile
from pathlib import Path

NOTE = (
    "pyAgrum's answers to random queries on alarm.bif of the bnlearn repository, written by store_alarm_answers.py. "
    "Both sides are exact, so probabilities are due to agree to 1e-10. The last query axis varies fastest."
)


def main(path):
    import pyagrum as gum

    text = gzip.decompress(Path(path).read_bytes())
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "alarm.bif"
        plain.write_bytes(text)
        net = gum.loadBN(str(plain))
    refill(net, text.decode())
    names = sorted(net.names())
    draw = random.Random(0)
    answers = []
    for k in range(30):
        row = forward(net, draw)
        asked = draw.sample(names, 1 + k % 3)
        given = {n: row[n] for n in draw.sample([n for n in names if n not in asked], draw.randint(0, 8))}
        answers.append(ask(gum, net, asked, given))
    out = {"note": NOTE, "pyagrum": gum.__version__, "answers": answers}
    Path(__file__).with_name("alarm_pyagrum.json").write_text(json.dumps(out) + "\n")


def refill(net, text):
    """The tables again, in double precision."""
    for head, body in re.findall(r"probability \((.*?)\) \{(.*?)\n\}", text, re.S):
        child, *parents = re.split(r"[|,]", head.replace(" ", ""))
        for labels, row in re.findall(r"(?:table|\((.*?)\))(.*?);", body):
            values = [float(p) for p in row.split(",")]
            config = dict(zip(parents, labels.replace(" ", "").split(",")))
            for label, p in zip(net.variable(child).labels(), values):
                net.cpt(child)[{**config, child: label}] = p / sum(values)


def forward(net, draw):
    """One row, parents first."""
    row = {}
    for v in net.topologicalOrder():
        name, labels = net.variable(v).name(), net.variable(v).labels()
        given = {n: row[n] for n in net.cpt(v).names if n != name}
        row[name] = draw.choices(labels, [net.cpt(v)[{**given, name: label}] for label in labels])[0]
    return row


def ask(gum, net, asked, given):
    together = gum.LazyPropagation(net)
    together.setEvidence(given)
    together.addJointTarget(set(asked))
    together.makeInference()
    table = together.jointPosterior(set(asked))
    states = [list(net.variable(n).labels()) for n in asked]
    each = gum.LazyPropagation(net)
    each.setEvidence(given)
    each.makeInference()
    return {
        "variables": asked,
        "evidence": given,
        "states": states,
        "probabilities": [float(table[dict(zip(asked, labels))]) for labels in itertools.product(*states)],
        "evidence_probability": float(each.evidenceProbability()) if given else 1.0,
        "marginals": {n: each.posterior(n).tolist() for n in sorted(net.names())},
    }


if __name__ == "__main__":
    main(sys.argv[1])
