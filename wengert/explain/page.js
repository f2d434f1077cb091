const rows = data.values.length, total = rows + data.adjoints.length;
const byId = id => document.getElementById(id);
const slider = byId('slider');
const marks = document.querySelector('.upright') ? ['', 'u'] : [''];
const inFrame = location.protocol === 'about:';
let step = 0;
slider.max = total;

// The edges along which values flow at a step: forward into a box, or back along one.
function flowing(k) {
  if (k > rows) return [data.adjoints[k - rows - 1][2]].filter(Boolean);
  return k ? data.links[k - 1].map(source => source + '-' + (k - 1)) : [];
}

function showBoxes(k, mark) {
  const forward = Math.min(k, rows), back = Math.max(0, k - rows);
  const adjoints = {};
  data.adjoints.slice(0, back).forEach(([boxes, value]) => {
    boxes.forEach(box => { adjoints[box] = value; });
  });
  for (let i = 0; i < rows; i++) {
    const known = i < forward, box = byId(mark + 'b' + i);
    const now = k === i + 1 || (back > 0 && data.adjoints[back - 1][0].includes(i));
    box.classList.toggle('known', known);
    box.classList.toggle('now', now);
    box.querySelector('.v').textContent = known ? data.values[i] : '';
    box.querySelector('.d').textContent = known ? data.tangents[i] : '';
    box.querySelector('.b').textContent = i in adjoints ? adjoints[i] : '';
  }
  const lit = new Set(flowing(k));
  data.links.forEach((sources, target) => sources.forEach(source => {
    const edge = source + '-' + target;
    for (const kind of ['e', 'l']) {
      const part = byId(mark + kind + edge);
      if (!part) continue;
      part.classList.toggle('now', lit.has(edge));
      part.classList.toggle('back', back > 0);
    }
  }));
}

function showRows(k) {
  const toggle = (row, known, now) => {
    row.classList.toggle('known', known);
    row.classList.toggle('now', now);
  };
  for (let i = 0; i < rows; i++) {
    for (const kind of ['p', 't']) toggle(byId(kind + i), i < k, k === i + 1);
  }
  data.adjoints.forEach((_, i) => toggle(byId('a' + i), i < k - rows, i === k - rows - 1));
}

// Where the drawing is larger than its frame, the frame goes with the step.
function follow() {
  const frame = byId('drawing');
  const box = [...document.querySelectorAll('.box.now rect')].find(rect => rect.getClientRects().length);
  if (!box) return;
  const place = box.getBoundingClientRect(), around = frame.getBoundingClientRect();
  frame.scrollLeft += place.left + place.width / 2 - around.left - around.width / 2;
}

function sayings(k) {
  if (k === 0) return ['Press Next: values and tangents are computed forward, then adjoints back.'];
  return k > rows ? [data.says.a[k - rows - 1]] : [data.says.p[k - 1], data.says.t[k - 1]];
}

function show(k) {
  step = Math.max(0, Math.min(total, k));
  marks.forEach(mark => showBoxes(step, mark));
  showRows(step);
  follow();
  byId('says').innerHTML = sayings(step).map(text => '<span>' + text + '</span>').join('');
  byId('count').textContent = 'step ' + step + ' of ' + total;
  byId('summary').classList.toggle('known', step === total);
  if (step === total) pause();
  byId('first').disabled = byId('back').disabled = step === 0;
  byId('last').disabled = byId('next').disabled = step === total;
  slider.value = step;
  if (!inFrame) history.replaceState(null, '', step ? '#' + step : '#');
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

// What is said at a step, as text for pictures.
const plain = k => !k ? '' : k <= rows ? text(data.says.p[k - 1]) : text(data.says.a[k - rows - 1]);
function text(formula) {
  const made = document.createElement('span');
  made.innerHTML = formula;
  return made.firstChild.getAttribute('alttext');
}
const visible = () => [...document.querySelectorAll('.picture svg')]
  .find(svg => svg.getClientRects().length);
byId('svg').onclick = () => {
  const svg = alone(visible(), plain(step));
  keep(new Blob([svg], { type: 'image/svg+xml' }), 'step-' + step + '.svg');
};
byId('gif').onclick = async () => {
  const before = step, frames = [], button = byId('gif');
  pause();
  button.disabled = true;
  try {
    for (let k = 0; k <= total; k++) {
      show(k);
      frames.push(await drawn(alone(visible(), plain(k))));
    }
    keep(gif(frames), 'steps.gif');
  } finally {
    button.disabled = false;
    show(before);
  }
};

show(Number(location.hash.slice(1)) || 0);
const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
if (document.documentElement.hasAttribute('data-play') && !calm) play();
if (inFrame && frameElement) frameElement.style.height = document.body.scrollHeight + 80 + 'px';
