"""`python -m quiltwork` is the command line."""

from quiltwork.cli import main

if __name__ == "__main__":
    main()
