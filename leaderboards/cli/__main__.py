"""`python -m leaderboards.cli` is `gpbandit`."""

from leaderboards.cli.app import main

if __name__ == "__main__":
    main()
