"""Prints the page of parameters from the learners' declarations: `python docs/parameters.py > docs/parameters.md`."""

from quiltwork.learn.registry import LEARNERS, learner_class


def cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ")


def main() -> None:
    print("# Parameters\n")
    print("Made from the declarations that also check the values and make the options of `quiltwork learn`.\n")
    for name in LEARNERS:
        cls = learner_class(name)
        print(f"## {cls.__name__} (`{name}`)\n")
        print("| parameter | default | may be | meaning |\n|---|---|---|---|")
        for param in cls.parameters:
            print(f"| `{param.name}` | `{param.default!r}` | {cell(param.must_be())} | {cell(param.doc)} |")
        print()


if __name__ == "__main__":
    main()
