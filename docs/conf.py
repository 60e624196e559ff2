"""How Sphinx makes the documentation: `sphinx-build -W -b html docs build/docs`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from cwlearn._version import __version__

project, author, copyright = "cwlearn", "the authors of cwlearn", "the authors of cwlearn"
version = release = __version__
extensions = [
    "myst_parser",
    "mathml",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
html_math_renderer = "mathml"
exclude_patterns = ["results/papers-notes.md", "examples/*.rst"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # the docstrings have them
autosummary_generate = True
toc_object_entries_show_parents = "hide"  # the names of methods alone fit beside a page
numpydoc_show_class_members = False  # the methods stand on the page already
templates_path = ["_templates"]

sphinx_gallery_conf = {
    "within_subsection_order": "order.BySubject",
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "min_reported_time": 1,
    "plot_gallery": True,
    "show_memory": False,
    "write_computation_times": False,  # whose page needs jQuery, which Sphinx has no longer
}


def skip_members_of_scikit_learn(app, what, name, obj, skip, options):
    """Leave out what scikit-learn's own pages explain; their links lead nowhere here."""
    of_scikit_learn = (getattr(obj, "__module__", None) or "").startswith("sklearn") or name.endswith("_request")
    return True if of_scikit_learn else None  # None leaves it to autodoc


def setup(app):
    app.connect("autodoc-skip-member", skip_members_of_scikit_learn)


copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "cwlearn"
html_context = {"default_mode": "auto"}  # light or dark as the reader has it
html_static_path = ["_static"]
html_css_files = ["cwlearn.css"]
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
