"""The example in `examples` runs from beginning to end, and is kept without outputs."""

import pathlib

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

NOTEBOOK = pathlib.Path(__file__).parents[1] / "examples" / "bisection.ipynb"


def test_the_notebook_runs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    nbclient.NotebookClient(notebook, timeout=240, kernel_name="python3").execute()
    shown = [output for cell in code for output in cell.outputs]
    assert sum("image/png" in output.get("data", {}) for output in shown) == 3
    assert sum("text/html" in output.get("data", {}) for output in shown) >= 3
    assert "Change 11" in str(code[-1].outputs)
