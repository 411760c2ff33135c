"""`python -m leaderboards.cli` is `gpbandit`."""

from leaderboards.cli.entry import main

if __name__ == "__main__":
    main()
