"""``python -m rvsim`` is the command ``rvsim``."""

from rvsim.cli import main

if __name__ == "__main__":
    main()
