"""Builds the package with the file of Plotly that its pages draw with.

The file is a fifteenth of Plotly's Python package, which then need not be installed; it is taken from that package
while ours is built, so that no copy is kept in the repository.
"""

from importlib import resources
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

PLACE = Path(__file__).parent / "leaderboards" / "show" / "static" / "plotly.min.js"


class WithPlotly(build_py):
    """`build_py`, which finds the file among the data of `leaderboards.show`; also for editable installs."""

    def run(self) -> None:
        PLACE.write_bytes((resources.files("plotly") / "package_data" / PLACE.name).read_bytes())
        super().run()


setup(cmdclass={"build_py": WithPlotly})
