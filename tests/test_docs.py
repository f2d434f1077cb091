"""The documentation: the essay runs, generated pages are up to date, the reference is complete.

That the site can be built, and that its links lead somewhere, is for `mkdocs build --strict` to
check; that the snippets of the pages run, for `test_readme.py`.
"""

import ast
import doctest
import functools
import importlib
import inspect
import json
import re
import subprocess
import sys
import tomllib
import types
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from docs.generate import chart, gallery, pages, reference, rules, versions
from docs.generate import snippets as reading
from wengert.autograd import engine
from wengert.rules.rule import RULES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

NAMESPACES = [
    "wengert", "wengert.amp", "wengert.autograd", "wengert.autograd.forward_ad", "wengert.datasets",
    "wengert.distributed", "wengert.distributions", "wengert.fft", "wengert.func",
    "wengert.implicit", "wengert.linalg", "wengert.nn", "wengert.nn.functional", "wengert.nn.utils",
    "wengert.optim", "wengert.optimize", "wengert.optim.lr_scheduler", "wengert.special",
    "wengert.tape", "wengert.tree", "wengert.utils.data", "wengert.visual",
]  # fmt: skip
"""Where people find names; each of the names comes from a module that the reference describes."""

INSIDE = {"wengert"} | {
    f"wengert.{name}"
    for name in (
        "autograd.forward", "autograd.function_forward", "autograd.record", "functions.arguments",
        "functions.declared", "history.location", "rules.shapes",
    )
}  # fmt: skip
"""Modules of helpers, and the package itself, which makes classes of typed tensors in a loop."""


def test_the_readmes_picture_is_what_explain_draws():
    made = wg.explain("log(x1) + x1*x2 - sin(x2)", 2.0, 5.0).animation()
    command = "wengert trace 'log(x1) + x1*x2 - sin(x2)' x1=2 x2=5 --svg docs/gradient.svg"
    assert (DOCS / "gradient.svg").read_text(encoding="utf-8") == made, f"type {command}"


def test_the_essay_runs_and_its_claims_hold():
    done = subprocess.run(
        [sys.executable, "-W", "error", DOCS / "from_scratch.py"],
        capture_output=True, text=True, timeout=120, cwd=ROOT,
    )  # fmt: skip
    assert done.stderr == ""
    assert re.fullmatch(r"every claim holds; the network reads 9\d\.\d% .*\n", done.stdout)


def test_the_essay_as_a_page_has_its_text_as_text_and_loses_no_line_of_code():
    program = (DOCS / "from_scratch.py").read_text(encoding="utf-8")
    page = pages.expanded(pages.ESSAY)
    code = "\n".join(re.findall(r"^``` \{\.python\}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE))
    _, *statements = ast.parse(program).body  # without the docstring
    assert [ast.dump(s) for s in statements] == [ast.dump(s) for s in ast.parse(code).body]
    headings = re.findall(r"^## (\d)\. .*[^-]$", page, re.MULTILINE)
    assert headings == list("123456789")
    assert "\nR. E. Wengert (1964): whatever a program computes" in page


ENGINE = (DOCS / "engine.md").read_text(encoding="utf-8")


def test_the_engine_is_as_long_to_read_as_its_page_says():
    table = ENGINE.partition("## What to read")[2].partition("\n## ")[0]
    files = re.findall(r"^\| `(wengert/.+?\.py)`", table, re.MULTILINE)
    length = sum(len((ROOT / file).read_text(encoding="utf-8").splitlines()) for file in files)
    (told,) = re.findall(r"some ([\d,]+) lines together", table)
    assert len(files) == 7
    assert abs(length - int(told.replace(",", ""))) <= 100
    assert length <= 3000


def test_a_product_goes_the_way_that_the_page_on_the_engine_tells():
    table = ENGINE.partition("## One product, from operator to gradient")[2].partition("\n## ")[0]
    told = re.findall(r"\| `wengert/(\S+?)` \| `(\w+)` \|$", table, re.MULTILINE)
    x = wg.tensor([0.5, 1.0], requires_grad=True)
    g = wg.ones(2)
    (np.tanh(x) * x).backward(g)  # recorders are written at their first use
    went = []

    def note(frame, event, _):
        if event == "call":
            file = frame.f_code.co_filename
            went.append((file.rpartition("wengert/")[2], frame.f_code.co_name))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        y = np.tanh(x) * x
        y.backward(g)
    finally:
        sys.setprofile(before)
    assert len(told) == 12
    calls = iter(went)
    assert [step for step in told if step not in calls] == []


def test_pages_show_source_that_exists():
    shown = [page.name for page in PAGES if pages.SOURCE.search(page.read_text(encoding="utf-8"))]
    assert shown == ["engine.md"]
    page = pages.expanded((DOCS / "engine.md").read_text(encoding="utf-8"))
    assert not pages.SOURCE.search(page)
    titled = '``` {.python title="wengert/autograd/engine.py"}\n'
    assert titled + inspect.getsource(engine.sweep).rstrip() + "\n```" in page
    with pytest.raises(LookupError, match=r"no definition of gone: a page .* is out of date"):
        pages.source("wengert/autograd/engine.py", ["sweep", "gone"])


PAGES = sorted(DOCS.glob("*.md"))
DRAWING = [page for page in PAGES if pages.SHOWN.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", DRAWING, ids=lambda page: page.name)
def test_what_pages_show_can_be_drawn(page):
    text = page.read_text(encoding="utf-8")
    values = pages.shown(text, str(page))
    assert len(values) == len(pages.SHOWN.findall(text))
    for value in values:
        if not isinstance(value, str):
            assert "<svg" in pages.as_html(value)
        elif value.startswith("<"):
            assert pages.as_html(value).startswith('<iframe class="shown"')
        else:
            ast.parse(value)


def test_the_site_has_a_folder_for_each_release_and_a_list_of_them(tmp_path, monkeypatch):
    # Whoever had an older version found only the pages of the newest.
    built = []

    def build(source, site):
        built.append(site.name)
        site.mkdir(parents=True, exist_ok=True)

    tags = ["v0.9.0", "draft", "v0.10.0"]
    git = lambda *words: "\n".join(tags) if words == ("tag",) else ""
    monkeypatch.setattr(versions, "build", build)
    monkeypatch.setattr(versions, "_git", git)
    versions.main([str(tmp_path), "--only"])
    assert built == ["dev"]
    assert 'url=dev/"' in (tmp_path / "index.html").read_text(encoding="utf-8")
    versions.main([str(tmp_path)])
    assert built == ["dev", "dev", "v0.10.0", "v0.9.0"]
    tags.append("v0.10.1")
    versions.main([str(tmp_path)])
    assert built[4:] == ["dev", "v0.10.1"]  # what is released changes no more
    listed = json.loads((tmp_path / "versions.json").read_text(encoding="utf-8"))
    assert [entry["version"] for entry in listed] == ["dev", "v0.10.1", "v0.10.0", "v0.9.0"]
    assert [entry["aliases"] for entry in listed] == [[], ["latest"], [], []]
    assert 'url=v0.10.1/"' in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_the_readers_of_pages_do_what_their_docstrings_say():
    for module in (pages, reading, gallery, chart, reference, versions):
        found = doctest.testmod(module)
        assert found.attempted
        assert not found.failed


@pytest.mark.parametrize("example", gallery.examples(), ids=lambda example: example.name)
def test_the_gallery_has_what_each_program_prints_and_draws(example):
    page = gallery.page(example)
    assert page.startswith(f"[All programs](index.md)\n\n# {example.title}\n")
    assert example.code in page
    assert example.printed.strip(), "run python -m docs.generate.gallery"
    assert bool(example.pictures) is example.draws
    assert f'href="{example.name}/"' in gallery.overview()


def test_the_gallery_keeps_no_run_of_a_program_that_is_gone():
    names = {example.name for example in gallery.examples()}
    assert {path.stem for path in gallery.KEPT.iterdir()} == names


def test_the_chart_of_speed_has_a_bar_for_each_time_in_the_readme():
    drawn = chart.speed()
    steps = chart.rows((ROOT / "README.md").read_text(encoding="utf-8"))
    assert drawn.count('class="own"') == len(steps) > 3
    assert drawn.count('class="other"') == sum(len(ratios) for _, ratios in steps) > 6
    assert drawn in pages.expanded((DOCS / "index.md").read_text(encoding="utf-8"))


def test_the_readme_counts_the_examples():
    programs = list((ROOT / "examples").glob("*.py"))
    assert f"[{len(programs)} programs](examples/README.md)" in (ROOT / "README.md").read_text()


def test_no_python_in_a_page_escapes_the_tests():
    for page in [ROOT / "README.md", *PAGES]:
        text = page.read_text(encoding="utf-8")
        assert len(list(reading.snippets(text))) == len(re.findall(r"^ *```+ *py", text, re.M))
        if page.name != "rules.md":  # whose indented blocks are the rules
            outside = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
            assert not re.search(r"^    .*\b(wg|np|torch)\.", outside, re.MULTILINE), page.name


def test_the_readme_of_a_built_package_links_to_no_file(monkeypatch):
    # On PyPI the links of a checkout lead nowhere.
    hatchling = types.SimpleNamespace(MetadataHookInterface=object)
    for name in ("hatchling", "hatchling.metadata", "hatchling.metadata.plugin"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin.interface", hatchling)
    metadata = importlib.import_module("docs.generate.metadata")
    assert doctest.testmod(metadata).failed == 0
    hook = metadata.Metadata()
    hook.root = str(ROOT)
    made = {}
    hook.update(made)
    assert "tutorial" in made["readme"]["text"]
    assert "](docs/" not in made["readme"]["text"]
    hook.update(made | {"urls": {"Source": "https://example.org/wengert"}})


def test_the_extra_all_has_what_programs_may_use():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    (named,) = re.findall(r"wengert\[(.*)\]", extras.pop("all")[0])
    assert {*named.split(",")} == extras.keys() - {"test", "lint", "docs", "parity", "bench"}


def test_files_that_the_texts_name_exist():
    for page in [ROOT / "README.md", DOCS / "from_scratch.py", *PAGES]:
        text = page.read_text(encoding="utf-8")
        for name in re.findall(r"(?<![\w/])[a-z_]+(?:/[a-z_]+)+\.py", text):
            places = [ROOT / name, ROOT / "wengert" / name]  # the package's own may go without it
            assert any(place.exists() for place in places), f"{page.name} names {name}"


def test_the_page_of_rules_is_up_to_date():
    written = (DOCS / "rules.md").read_text(encoding="utf-8")
    assert written == rules.page(), "run python -m docs.generate.rules"


def test_the_page_of_rules_shows_rules_as_they_are_written():
    page = rules.page()
    assert "np.tanh(x)\n    x: t * (1 - y * y)\n" in page
    assert "np.multiply(a, b)\n    a: t * b\n    b: t * a\n" in page
    assert "x: np.real(g)" not in page  # each rule stands under its own function
    assert "| 4 | sqrt x | 0 | ∞ |" in page


@functools.cache
def described():
    pages = "\n".join(page.read_text() for page in (DOCS / "reference").glob("*.md"))
    return set(re.findall(r"^::: (\S+)$", pages, re.MULTILINE))


def names(namespace):
    """What is found in a namespace, though it be imported when it is first asked for."""
    module = importlib.import_module(namespace)
    public = vars(module).get("__all__", dir(module))
    return {name: getattr(module, name) for name in public}


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_the_reference_describes_the_modules_that_public_names_come_from(namespace):
    public = {
        item.__module__
        for name, item in names(namespace).items()
        if not name.startswith("_")
        and not name.endswith("_")  # a method of Tensor, which the reference describes with it
        and (inspect.isfunction(item) or inspect.isclass(item))
    }
    ours = {name for name in public if name and name.split(".")[0] == "wengert"}
    assert ours - described() - INSIDE == set(), "name them in a page of docs/reference"


@pytest.fixture(scope="module")
def read():
    """The package as the reference reads it."""
    griffe = pytest.importorskip("griffe", reason="needs the extra 'docs'")
    from docs.generate.sessions import Sessions

    extensions = griffe.load_extensions(Sessions)
    return griffe.load("wengert", search_paths=[ROOT], extensions=extensions)


def test_the_reference_shows_every_public_function_and_class(read):
    missing = []
    for namespace in NAMESPACES:
        for name, item in names(namespace).items():
            home = getattr(item, "__module__", None)
            if name.startswith("_") or home not in described() - INSIDE or name.endswith("_"):
                continue  # abs_ and its like are said to be abs, in place
            if (inspect.isfunction(item) or inspect.isclass(item)) and item.__doc__:
                made = read[home.removeprefix("wengert.")].members
                own = made.get(item.__name__) or made.get(name)
                if own is None or not (own.docstring or own.members):
                    missing.append(f"{namespace}.{name}")
    assert missing == ["wengert.autograd.forward_ad.wrap"]  # which that module itself uses
    assert long_or_lost(read) == []


def test_every_function_in_the_reference_has_an_example(read):
    # Of 1,022 functions 153 had one.
    lacking = [
        item.path
        for module in sorted(described())
        for item in reference._shown(read[module.removeprefix("wengert.")])
        if item.is_function and "```pycon" not in item.docstring.value
    ]
    norm = read["functions.reductions.norm"].docstring.value
    assert norm.count("```") == 2  # a block of code, and none inside of it
    refused = [path for path in lacking if "NotImplementedError" in running(path).__doc__]
    assert lacking == refused  # what is not there says so, and what to type instead


def test_every_module_in_the_reference_shows_something(read):
    # Of 26 modules there was the title: constraints, which are objects, all of SciPy's names,
    # and what Tensor has from other files.
    shown = {m: list(reference._shown(read[m.removeprefix("wengert.")])) for m in described()}
    assert [m for m, items in shown.items() if not items] == ["wengert.scipy.fft"]  # SciPy's own
    constraints = {item.name for item in shown["wengert.distributions.constraints"]}
    assert {"positive", "simplex", "greater_than", "independent"} <= constraints
    methods = {item.name for item in reference._shown(read["tensor.Tensor"])}
    assert {"backward", "grad", "shape", "add_", "double"} <= methods
    assert "exp" not in methods  # is a function


WITHOUT_EXAMPLE = """
    errors.StudyError errors.DistBackendError errors.RankLostError errors.DistTimeoutError
    distributed.hooks.GradBucket distributed.hooks.PowerSGDState
    serialization.elastic.Commit serialization.elastic.Keeper serialization.elastic.Remembered
    studies.executors.RayExecutor utils.data.loader.Fetcher utils.data.worker_info.WorkerInfo
    autograd.graph.SavedCopies history.node.Extras explain.explanation.Row
    compile.program.program.Value compile.program.program.Statement compile.call.report.Line
"""
"""What takes several processes, or is a part of what another class shows."""


def test_classes_in_the_reference_have_an_example_or_say_which_one_shows_them(read):
    classes = [
        item for module in described()
        for item in reference._shown(read[module.removeprefix("wengert.")]) if item.is_class
    ]  # fmt: skip
    lacking = {c.path for c in classes if not (c.docstring and "```pycon" in c.docstring.value)}
    assert lacking == {f"wengert.{path}" for path in WITHOUT_EXAMPLE.split()}
    used = read["optim.optimizer.Optimizer.step"].docstring.value
    assert "In use in the example of [`" in used
    written = read["tensor.Tensor.atan2_"].docstring.value
    assert ">>> x.atan2_(" in written


def running(path):
    from docs.generate.signatures import running

    return running(path)


def test_examples_of_the_reference_run_and_are_of_something_it_shows(read):
    from docs.generate import examples

    assert not doctest.testmod(examples, optionflags=doctest.ELLIPSIS).failed
    shown = {
        running(item.path)
        for module in described()
        for outer in reference._shown(read[module.removeprefix("wengert.")])
        for item in (outer, *reference._shown(outer))
    }
    lost = [example.code for item, example in examples.examples().items() if item not in shown]
    assert lost == []
    before = dict(RULES)
    sessions = [example.session() for example in examples.examples().values()]
    assert all(session.startswith(">>> ") for session in sessions)
    assert before == RULES, "an example left a rule behind"


def test_signatures_in_the_reference_have_the_types_that_checkers_see(read):
    # What is made while the package is imported had none, nor what a decorator adds.
    exp = read["functions.elementary.exp"]
    assert [(p.name, str(p.annotation)) for p in exp.parameters] == [
        ("input", "TensorLike"), ("out", "Tensor | None"),
    ]  # fmt: skip
    assert str(exp.returns) == "Tensor"
    assert exp.returns.canonical_path == "wengert.tensor.Tensor"
    argnums = read["transforms.reverse.grad"].parameters["argnums"]
    assert str(argnums.annotation) == "int | Sequence[int]"


def test_a_parameter_without_a_type_has_that_of_its_name_in_the_reference(read):
    # NumPy's names, masked reductions and others said no types of `input` and `dtype`.
    masked = read["pytorch.masked.sum"].parameters
    assert str(masked["input"].annotation) == "TensorLike"
    assert str(masked["dtype"].annotation) == "Dtype | None"
    assert str(read["control.branches.cond"].parameters["operands"].annotation) == "Any"  # trees


WITHOUT_SHAPES = """
    autograd.function.FunctionNode:save_for_backward,save_for_forward,mark_dirty
    autograd.function.FunctionNode:mark_non_differentiable
    autograd.function.FunctionCtx:save_for_backward,save_for_forward,mark_dirty
    autograd.function.FunctionCtx:mark_non_differentiable
    autograd.graph.SavedCopies:keep,note,protect compile.call.function.CompiledFunction:gradients
    distributions.constraints.Constraint:check distributions.constraints:cat
    distributions.transform.Transform:log_abs_det_jacobian
    distributions.vector_transforms.CorrCholeskyTransform:log_abs_det_jacobian
    functions.creation:to_dlpack functions.random.Generator:set_state
    history.node.Node:pull,pull_recorded nn.module.Module:forward
    nn.utils.parametrize.ParametrizationList:right_inverse
    nn.utils.prune.BasePruningMethod:compute_mask,prune,apply tensor.Tensor:sparse_mask
    nn.utils.prune.PruningContainer:compute_mask
    nn.utils.prune:l1_unstructured,ln_structured,global_unstructured
    optim.optimizer.Optimizer:update optimize.roots:least_squares,root
    tape.gradient_tape.GradientTape:place tape.variables.Variable:assign_add
    tensor.Tensor:backward,clip_,float_power_ tensor.Tensor:igamma_,module_load,true_divide_
    utils.tensorboard.SummaryWriter:add_scalar,add_image,add_images
"""
"""What takes tensors and is not called by its example: programs define it and wengert calls it
(pruning, parametrizations, `forward`, nodes), or the example shows what came of it.
"""
WITHOUT_ERRORS = """
    autograd.forward_ad:unpack_dual
    autograd.function.FunctionNode:save_for_forward,mark_dirty,mark_non_differentiable
    autograd.function.FunctionCtx:save_for_forward,mark_dirty,mark_non_differentiable
    autograd.graph.SavedCopies:keep,note,protect autograd.graph:increment_version
    compile.call.function.CompiledFunction:gradients distributed.tensors:recv
    distributions.constraints:cat functions.creation:to_dlpack functions.limits:is_tensor,typename
    functions.scattering:unravel_index nn.containers.ParameterList:append
    nn.containers.ParameterDict:setdefault nn.layers.linear.Embedding:from_pretrained
    nn.utils.clip_grad:get_total_norm nn.utils.convert_parameters:parameters_to_vector
    nn.utils.prune:l1_unstructured,ln_structured,custom_from_mask nn.utils.rnn:invert_permutation
    rules.rule:unbroadcast,fact scipy.linalg:circulant
    sparse.tensors:sparse_coo_tensor,sparse_csr_tensor tape.math:sqrt,exp,log
    tape.math:sin,cos,tan tape.math:tanh,sigmoid,square tape.math:abs,negative,maximum
    tape.math:minimum,matmul,zeros_like tape.math:ones_like
    tape.variables.Variable:assign_add,assign_sub tensor.Tensor:backward,clip_,compress
    tensor.Tensor:float_power_,igamma_,is_set_to tensor.Tensor:module_load,to
    tensor.Tensor:true_divide_,type_as utils.data.loader:default_convert
    utils.tensorboard.SummaryWriter:add_scalar,add_images
"""
"""What takes tensors and has no error of its own to tell: it asks nothing of them, keeps them, or
hands them on; what an attribute that is not there says is Python's.
"""


def listed(text):
    """The paths of a list of `module:name,name`.

    >>> sorted(listed("a.b:c,d"))
    ['wengert.a.b.c', 'wengert.a.b.d']
    """
    parts = (part.split(":") for part in text.split())
    return {f"wengert.{home}.{name}" for home, names in parts for name in names.split(",")}


def functions_and_methods(read):
    for module in sorted(described()):
        for item in reference._shown(read[module.removeprefix("wengert.")]):
            yield from (f for f in (item, *reference._shown(item)) if f.is_function)


def test_each_function_in_the_reference_says_its_types_and_its_parameters(read):
    from docs.generate import facts

    # Types stood at 1,003 of 1,683; of 4,858 parameters 1,287 were mentioned.
    lacking = []
    for item in functions_and_methods(read):
        given = [p for p in item.parameters if p.name not in ("self", "cls")]
        text = facts.FENCED.sub("", item.docstring.value)
        said = [re.search(rf"\b{p.name}\b", text) for p in given]
        if not all(said) or any(p.annotation is None for p in given) or item.returns is None:
            lacking.append(item.path)
    assert lacking == []


def test_each_class_in_the_reference_says_what_it_is_made_with(read):
    # 130 parameters of 55 classes had no word; what a dataclass is made with was not looked at.
    from docs.generate import facts

    lacking = []
    for module in sorted(described()):
        for item in reference._shown(read[module.removeprefix("wengert.")]):
            if item.is_class:
                lacking += [f"{item.path}.{name}" for name in facts.unmentioned(item)]
    assert lacking == []


def test_each_function_of_tensors_in_the_reference_says_shapes_and_errors(read):
    shapeless, silent = set(), set()
    for item in functions_and_methods(read):
        text = item.docstring.value
        given = [str(p.annotation) for p in item.parameters if p.name not in ("self", "cls")]
        if any(re.search(r"\bTensor(Like)?\b", kind) for kind in given):
            if "**Shapes**" not in text:
                shapeless.add(item.path)
            if "Error" not in text:
                silent.add(item.path)
    assert shapeless == listed(WITHOUT_SHAPES)
    assert silent == listed(WITHOUT_ERRORS)


def test_names_of_parameters_that_are_explained_are_in_use(read):
    from docs.generate import facts

    used = set()
    for module in described():
        for item in reference._shown(read[module.removeprefix("wengert.")]):
            for part in (item, *reference._shown(item)):
                if part.is_function or part.is_class:
                    used |= {*facts.given(part), *(f"{part.name}.{n}" for n in facts.given(part))}
    assert facts.names().keys() - used == set()
    text = (DOCS / "generate" / "parameters.txt").read_text(encoding="utf-8")
    assert len(facts.names()) == len(text.splitlines())


def test_each_form_of_a_function_has_types_that_readers_know(read):
    # Those of `median` were shown as type checkers have them: `_TensorLike`, `_Out`, `_Any`.
    forms = read["functions.sorting.median"].overloads
    assert [str(form.returns) for form in forms] == ["Tensor", "median_result"]
    assert [str(p.annotation) for p in forms[1].parameters][:3] == ["TensorLike", "int", "bool"]
    for item in functions_and_methods(read):
        for form in item.overloads or ():
            kinds = [str(p.annotation) for p in form.parameters] + [str(form.returns)]
            assert not [kind for kind in kinds if re.search(r"(^|\W)_[A-Z]|builtins", kind)], item


def test_what_the_reference_says_of_errors_is_what_is_raised(read):
    from docs.generate import facts

    assert not doctest.testmod(facts).failed
    sort = read["functions.sorting.sort"].docstring.value
    assert "`IndexError` if `dim` is out of range" in sort
    with pytest.raises(IndexError):
        wg.sort(wg.ones(2), dim=-99)
    assert "**Shapes** in the example: `input` (3,) → (3,), (3,)." in sort
    written = read["tensor.Tensor.addmm_"]
    assert [p.name for p in written.parameters][1:3] == ["mat1", "mat2"]


def test_versions_have_a_list_of_their_pages_by_which_the_selector_stays_on_one(tmp_path):
    # Without an address MkDocs lists no page, and the selector led to the start of the version.
    for page in (tmp_path, tmp_path / "howto"):
        page.mkdir(exist_ok=True)
        (page / "index.html").touch()
    listed = re.findall(r"<loc>(.*?)</loc>", versions.sitemap(tmp_path))
    assert listed == ["http://localhost/", "http://localhost/howto/"]


def long_or_lost(found):
    """Pages of the reference that would be too long, and names that its overviews do not link."""
    wrong = []
    for file in sorted((DOCS / "reference").glob("*.md")):
        collect = lambda path: found[path.removeprefix("wengert.")]
        overview, made = reference.subject(file.read_text(encoding="utf-8"), collect)
        wrong += [p.name for p in made if sum(e.height for e in p.entries) > reference.MOST]
        named = [entry.path for page in made for entry in page.entries if not entry.is_module]
        wrong += [path for path in named if f"][{path}]" not in overview]
    return wrong


def test_modules_in_the_reference_exist_and_stand_in_one_page():
    lines = [
        line for page in (DOCS / "reference").glob("*.md")
        for line in page.read_text().splitlines() if line.startswith("::: ")
    ]  # fmt: skip
    assert len(lines) == len(set(lines))
    for name in described():
        importlib.import_module(name)


# ---- names of files ------------------------------------------------------------------------------

FILES = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.suffix in (".py", ".md")]
FILES = [f"/{file}" for file in FILES if not file.startswith((".", "site/", "build/"))]
ELSEWHERE = {"runs/"}
"""Folders of a reader's own."""


def named(text):
    """What is written as a file of Python or a folder: `plan/roles.py`, `plan/`."""
    return set(re.findall(r"`([\w./]+(?:\.py|\w/))(?:::?[\w.]+)?`", text)) - ELSEWHERE


@pytest.mark.parametrize("folder", ["wengert", "docs", "tests", "benchmarks", "examples"])
def test_files_and_folders_that_are_named_exist(folder):
    gone = []
    for path in (file for file in FILES if file.startswith(f"/{folder}/")):
        for name in named((ROOT / path[1:]).read_text(encoding="utf-8")):
            end = f"/{name}"
            if not any(
                file.endswith(end) if end.endswith(".py") else end in file for file in FILES
            ):
                gone.append(f"{path[1:]}: {name}")
    assert gone == []


def test_exceptions_are_made_for_files_that_exist():
    ruff = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]
    assert [name for name in ruff["per-file-ignores"] if not any(ROOT.glob(name))] == []


COMPILER = ROOT / "wengert" / "compile"


def test_the_page_on_the_compiler_goes_through_its_folders():
    page = (DOCS / "compiler.md").read_text(encoding="utf-8")
    told = re.findall(r"^## \d\. `(\w+)`", page, re.MULTILINE)
    assert told == ["trace", "program", "plan", "llvm", "call"]
    assert set(told) == {path.parent.name for path in COMPILER.glob("*/__init__.py")}
    assert re.findall(r"^    (\w+)/ ", ast.get_docstring(_tree(COMPILER)), re.MULTILINE) == told


PACKAGE = ROOT / "wengert"
BIG = [path.parent for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE]
BIG = [room for room in BIG if COMPILER in room.parents or len([*room.glob("*.py")]) >= 8]


@pytest.mark.parametrize("room", BIG, ids=lambda room: str(room.relative_to(PACKAGE)))
def test_a_big_folder_says_where_to_begin_and_what_it_imports(room):
    told = ast.get_docstring(_tree(room))
    assert 7 <= len(told.splitlines()) <= 22
    assert re.search(r"[Bb]egin|\bRead\b", told)
    assert re.search(r"[Ii]mport|\bleans? on\b", told)


def _tree(folder):
    return ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))
