"""The textbook's traces as one web page, to step through forward and back.

The page needs nothing but itself: a drawing of the computation, the three traces, a few buttons.
Going forward fills in values and tangents, and then the adjoints from the last step back.
"""

from __future__ import annotations

import html
import json
from string import Template
from typing import TYPE_CHECKING

from wengert.explain.graph import COLOURS, STYLE, Drawing, escaped, steps

if TYPE_CHECKING:
    from wengert.explain.explanation import Explanation, Row


def page(e: Explanation) -> str:
    """An explanation as the text of an HTML file; `page.html#7` opens it at a step.

    >>> import wengert as wg
    >>> text = page(wg.explain(lambda x: x * x, 3.0))
    >>> text.startswith("<!DOCTYPE html>") and "http" not in text.replace("www.w3.org", "")
    True
    """
    drawing = Drawing(e)
    return Template(_PAGE).substitute(
        title=escaped(e.title),
        point=escaped(e.point),
        summary=escaped(e.summary()),
        wrt=escaped(e.wrt),
        of=html.escape(e.of),
        drawing=drawing.svg(),
        wide=" class=wide" if drawing.stacked else "",
        primal="\n".join(_row(e, "p", k, row) for k, row in enumerate(e.primal)),
        tangent="\n".join(_row(e, "t", k, row) for k, row in enumerate(e.tangent)),
        adjoint="\n".join(_row(e, "a", k, row) for k, row in enumerate(e.adjoint)),
        data=json.dumps(steps(e)).replace("</", "<\\/"),
        style=COLOURS + STYLE + _STYLE,
        script=_SCRIPT,
    )


def _row(e: Explanation, kind: str, k: int, row: Row) -> str:
    formula = " = ".join(part for part in (row.chain, row.formula) if part)
    cells = [
        f"{row.name} = {formula}",
        row.numbers and f"= {row.numbers}",
        f"= {e.shown(row.value)}",
    ]
    texts = [escaped(cell) for cell in cells]
    return (
        f'<tr id="{kind}{k}"><td>{texts[0]}</td><td class="late">{texts[1]}</td>'
        f'<td class="late value">{texts[2]}</td></tr>'
    )


# ---- the page ----------------------------------------------------------------------------------

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
$style
</style>
</head>
<body>
<header>
<h1>$title</h1>
<p>at $point</p>
</header>
<nav aria-label="Steps">
<button id="first" title="Home">|◀ Start</button>
<button id="back" title="left arrow key">◀ Back</button>
<button id="next" title="right arrow key">Next ▶</button>
<button id="play" title="space bar" aria-pressed="false">Play</button>
<button id="last" title="End">End ▶|</button>
<input id="slider" type="range" min="0" value="0" aria-label="Step">
<span id="count"></span>
</nav>
<p id="says" aria-live="polite"></p>
<div id="drawing">
$drawing
</div>
<p class="legend">In each box: its value; below it on the left the <span class="d">tangent
∂/∂$wrt</span>, on the right the <span class="b">adjoint ∂$of/∂v</span>.</p>
<main$wide>
<section><h2>Forward primal trace</h2><table>
$primal
</table></section>
<section><h2 class="d">Forward tangent trace, ∂/∂$wrt</h2><table>
$tangent
</table></section>
<section><h2 class="b">Reverse adjoint trace of $of, from the last step back</h2><table>
$adjoint
</table></section>
</main>
<p id="summary">$summary</p>
<script>
const data = $data;
$script
</script>
</body>
</html>
"""

_STYLE = """body { margin: 1.5rem auto; max-width: 75rem; padding: 0 1rem; color: var(--ink);
  background: var(--paper); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0; }
header p { margin: .2rem 0 1rem; color: var(--pale); }
h2 { font-size: 1rem; margin: .5rem 0; }
nav { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
button { font: inherit; padding: .3rem .8rem; border: 1px solid var(--line); border-radius: 6px;
  background: none; color: inherit; cursor: pointer; }
button:hover:not(:disabled) { background: var(--now); }
button:disabled { color: var(--pale); cursor: default; }
#slider { flex: 1; min-width: 8rem; }
#count { min-width: 7rem; text-align: right; color: var(--pale); }
#says { min-height: 1.6rem; font-size: 1.15rem; margin: .8rem 0; }
#drawing { overflow-x: auto; border: 1px solid var(--line); border-radius: 8px; padding: .5rem; }
.legend { color: var(--pale); font-size: .9rem; }
main { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: 0 1.5rem; }
@media (max-width: 52rem) { main { grid-template-columns: minmax(0, 1fr); } }
main.wide { grid-template-columns: minmax(0, 1fr); }
main section:last-child { grid-column: 1 / -1; }
table { border-collapse: collapse; width: 100%; font-size: .95rem; }
td { padding: .15rem .5rem; border-bottom: 1px solid var(--line); }
td.value { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
section { overflow-x: auto; }
tr:not(.known) .late { visibility: hidden; }
tr:not(.known) { color: var(--pale); }
tr.now { background: var(--now); }
#summary { font-size: 1.15rem; visibility: hidden; }
#summary.known { visibility: visible; }
.box.known rect { stroke: var(--pale); }
.box.now rect { fill: var(--now); stroke: var(--ink); }
.edge.now { stroke: var(--ink); stroke-width: 2.5; }
"""

_SCRIPT = """const rows = data.values.length, total = rows + data.adjoints.length;
const byId = id => document.getElementById(id);
const slider = byId('slider');
let step = 0;
slider.max = total;

function show(k) {
  step = Math.max(0, Math.min(total, k));
  const forward = Math.min(step, rows), back = Math.max(0, step - rows);
  const adjoints = {};
  data.adjoints.slice(0, back).forEach(([boxes, value]) => {
    boxes.forEach(box => { adjoints[box] = value; });
  });
  for (let i = 0; i < rows; i++) {
    const known = i < forward, now = step === i + 1;
    for (const kind of ['p', 't']) {
      byId(kind + i).classList.toggle('known', known);
      byId(kind + i).classList.toggle('now', now);
    }
    const box = byId('b' + i);
    box.classList.toggle('known', known);
    box.classList.toggle('now', now || (back > 0 && data.adjoints[back - 1][0].includes(i)));
    box.querySelector('.v').textContent = known ? data.values[i] : '';
    box.querySelector('.d').textContent = known ? data.tangents[i] : '';
    box.querySelector('.b').textContent = i in adjoints ? adjoints[i] : '';
    data.links[i].forEach(s => byId('e' + s + '-' + i).classList.toggle('now', now));
  }
  data.adjoints.forEach((_, i) => {
    byId('a' + i).classList.toggle('known', i < back);
    byId('a' + i).classList.toggle('now', i === back - 1);
  });
  const now = document.querySelector('.box.now rect');
  if (now) {
    const drawing = byId('drawing');
    drawing.scrollLeft = Number(now.getAttribute('x')) - drawing.clientWidth / 2;
  }
  byId('says').textContent = step === 0
    ? 'Press Next: values and tangents are computed forward, then adjoints back.'
    : back ? data.says.a[back - 1]
    : data.says.p[step - 1] + ',   ' + data.says.t[step - 1];
  byId('count').textContent = 'step ' + step + ' of ' + total;
  byId('summary').classList.toggle('known', step === total);
  if (step === total) pause();
  byId('first').disabled = byId('back').disabled = step === 0;
  byId('last').disabled = byId('next').disabled = step === total;
  slider.value = step;
  if (location.protocol !== 'about:') history.replaceState(null, '', step ? '#' + step : '#');
}

let playing = null;
function pause() {
  clearInterval(playing);
  playing = null;
  byId('play').textContent = 'Play';
  byId('play').setAttribute('aria-pressed', 'false');
}
function play() {
  if (step === total) show(0);
  playing = setInterval(() => show(step + 1), 1200);
  byId('play').textContent = 'Pause';
  byId('play').setAttribute('aria-pressed', 'true');
}
function go(k) {
  pause();
  show(k);
}

byId('first').onclick = () => go(0);
byId('back').onclick = () => go(step - 1);
byId('next').onclick = () => go(step + 1);
byId('last').onclick = () => go(total);
byId('play').onclick = () => playing ? pause() : play();
slider.oninput = () => go(Number(slider.value));
window.addEventListener('hashchange', () => go(Number(location.hash.slice(1)) || 0));
document.addEventListener('keydown', event => {
  const moves = { ArrowLeft: step - 1, ArrowRight: step + 1, Home: 0, End: total };
  if (event.key in moves && event.target !== slider) {
    go(moves[event.key]);
    event.preventDefault();
  } else if (event.key === ' ' && event.target.tagName !== 'BUTTON') {
    byId('play').click();
    event.preventDefault();
  }
});
document.querySelectorAll('main tr').forEach(row => {
  const kind = row.id[0], k = Number(row.id.slice(1));
  row.onclick = () => go((kind === 'a' ? rows : 0) + k + 1);
});
show(Number(location.hash.slice(1)) || 0);
if (document.documentElement.hasAttribute('data-play')) play();
"""
