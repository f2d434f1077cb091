// The picture at a step as a file of SVG, and all steps as a GIF.

const SCALE = 1.5, CAPTION = 40, SECONDS = 1.2;

// A copy of the drawing that stands alone: with its style, its paper and what is said below it.
function alone(svg, says) {
  const copy = svg.cloneNode(true);
  const [x, y, width, height] = copy.getAttribute('viewBox').split(' ').map(Number);
  copy.setAttribute('xmlns', svg.namespaceURI);
  copy.setAttribute('viewBox', [x, y, width, height + CAPTION].join(' '));
  copy.setAttribute('width', width);
  copy.setAttribute('height', height + CAPTION);
  const part = (name, attributes, text) => {
    const made = document.createElementNS(svg.namespaceURI, name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    made.textContent = text;
    return made;
  };
  const paper = { x, y, width, height: height + CAPTION, fill: 'var(--paper)' };
  const rules = [...document.styleSheets].flatMap(sheet => [...sheet.cssRules])
    .map(rule => rule.cssText)
    .filter(text => /^(:root|\.box|\.edge|\.slope|\.[db] |\.tip|svg |@media \(prefers)/.test(text));
  copy.prepend(part('style', {}, rules.join('\n')), part('rect', paper, ''));
  const below = { x: 0, y: y + height + CAPTION / 2, style: 'fill: var(--ink); font-size: 15px' };
  copy.append(part('text', below, says));
  return new XMLSerializer().serializeToString(copy);
}

// The pixels of a text of SVG.
async function drawn(text) {
  const image = new Image();
  image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(text);
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = Math.round(image.naturalWidth * SCALE);
  canvas.height = Math.round(image.naturalHeight * SCALE);
  const context = canvas.getContext('2d');
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return context.getImageData(0, 0, canvas.width, canvas.height);
}

// A GIF has 256 colours: the commonest, and for every other pixel the nearest of them.
function palette(frames) {
  const counts = new Map();
  for (const frame of frames) {
    new Uint32Array(frame.data.buffer).forEach(c => counts.set(c, (counts.get(c) || 0) + 1));
  }
  const common = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 256).map(pair => pair[0]);
  const places = new Map(common.map((colour, k) => [colour, k]));
  const parts = c => [c & 255, c >> 8 & 255, c >> 16 & 255];
  const place = colour => {
    if (!places.has(colour)) {
      const [r, g, b] = parts(colour);
      let best = 0, least = Infinity;
      common.forEach((other, k) => {
        const [s, h, d] = parts(other);
        const far = (r - s) ** 2 + (g - h) ** 2 + (b - d) ** 2;
        if (far < least) [best, least] = [k, far];
      });
      places.set(colour, best);
    }
    return places.get(colour);
  };
  return { colours: common.map(parts), place };
}

// The pixels' places in the palette by the method of Lempel, Ziv and Welch, as GIF has it.
function packed(places) {
  const bytes = [], clear = 256, end = 257;
  let codes = new Map(), next = 258, size = 9, bits = 0, held = 0;
  const put = code => {
    held |= code << bits;
    for (bits += size; bits >= 8; bits -= 8, held >>>= 8) bytes.push(held & 255);
  };
  put(clear);
  let before = places[0];
  for (let i = 1; i < places.length; i++) {
    const key = before << 8 | places[i];
    if (codes.has(key)) {
      before = codes.get(key);
      continue;
    }
    put(before);
    codes.set(key, next);
    if (next === 1 << size && size < 12) size++;
    if (next++ === 4095) {
      put(clear);
      [codes, next, size] = [new Map(), 258, 9];
    }
    before = places[i];
  }
  put(before);
  put(end);
  if (bits) bytes.push(held & 255);
  return bytes;
}

// Frames of one size as the bytes of a GIF that begins again at its end.
function gif(frames) {
  const { colours, place } = palette(frames);
  const { width, height } = frames[0];
  const short = n => [n & 255, n >> 8];
  const letters = text => [...text].map(letter => letter.charCodeAt(0));
  const parts = [letters('GIF89a'), short(width), short(height), [0xf7, 0, 0]];
  for (let k = 0; k < 256; k++) parts.push(colours[k] || [0, 0, 0]);
  parts.push([0x21, 0xff, 11], letters('NETSCAPE2.0'), [3, 1, 0, 0, 0]);
  frames.forEach((frame, k) => {
    const last = k === frames.length - 1;
    parts.push([0x21, 0xf9, 4, 0], short(Math.round((last ? 4 : 1) * SECONDS * 100)), [0, 0]);
    parts.push([0x2c, 0, 0, 0, 0], short(width), short(height), [0, 8]);
    const data = packed(Array.from(new Uint32Array(frame.data.buffer), place));
    for (let i = 0; i < data.length; i += 255) {
      const block = data.slice(i, i + 255);
      parts.push([block.length], block);
    }
    parts.push([0]);
  });
  parts.push([0x3b]);
  return new Blob(parts.map(part => new Uint8Array(part)), { type: 'image/gif' });
}

function keep(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

