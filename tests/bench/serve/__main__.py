"""``python -m tests.bench.serve``: the same with options, for development."""

import argparse

from tests.bench.serve.report import report


def main() -> None:
    """Run at a scale, for development a small one."""
    parser = argparse.ArgumentParser(prog="tests.bench.serve")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--publications", type=int, default=100)
    options = parser.parse_args()
    report(options.scale, options.rounds, options.seconds, options.publications)


if __name__ == "__main__":
    main()
