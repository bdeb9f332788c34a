'use strict';
// The picture is a canvas: boxes within boxes, each laid out beforehand. What is too small to read is drawn as its title
// alone, so that zooming into a box opens it.
const data = JSON.parse(document.getElementById('data').textContent);
const element = id => document.getElementById(id);
const canvas = element('canvas'), context = canvas.getContext('2d');
const FONT = 10, LINE = 13, TITLE = 22, MARGIN = 8;
const READABLE = 4.5;  // pixels of a letter's height
const OPEN = 150;      // pixels of the width from which a box shows what it contains
const COLORS = {group: '#f4f6fb', equation: '#ffffff', input: '#ffffff', variable: '#fff2cc', state: '#fff2cc', output: '#e8e8e8',
                port: '#ffffff', node: '#f5f5f5'};

// ---- the graph of a stage

const lastStage = data.stages[data.stages.length - 1];

// Places boxes in the coordinates of the whole graph: x, y, w, h and the scale of what is inside.
function prepare(stage) {
  if (stage.ready) return stage;
  const boxes = stage.boxes;
  boxes.forEach((b, i) => {
    b.id = i;
    b.a = (b.a || []).map(place => data.places[place]);
    b.children = [];
    b.arrows = [];
    const [x, y, w, h] = b.r;
    if (b.p < 0) {
      Object.assign(b, {x: 0, y: 0, w, h, outer: 1});
    } else {
      const p = boxes[b.p];
      p.children.push(b);
      Object.assign(b, {x: p.ix + x * p.scale, y: p.iy + y * p.scale, w: w * p.scale, h: h * p.scale, outer: p.scale});
    }
    if (b.i) {
      const [iw, ih, s] = b.i;
      b.scale = b.outer * s;
      b.ix = b.x + (b.w - iw * b.scale) / 2;
      b.iy = b.y + b.h - ih * b.scale - MARGIN / 2 * b.outer;
    }
  });
  for (const [group, from, to, feedback, label, points] of stage.arrows) {
    const g = boxes[group], at = [];
    for (let i = 0; i < points.length; i += 2) at.push([g.ix + points[i] * g.scale, g.iy + points[i + 1] * g.scale]);
    g.arrows.push({from, to, feedback, label, at});
  }
  // Sums over what a box contains.
  for (let i = boxes.length - 1; i >= 0; --i) {
    const b = boxes[i], runs = stage === lastStage, [bytes, blocks] = runs && b.k === 'node' && data.memory[b.n] || [0, []];
    b.sum = {nodes: b.k === 'node' ? 1 : 0, parameters: b.k === 'variable' && b.t === 'parameter' ? count(b.e) : 0, bytes,
             ms: runs && b.k === 'node' ? data.milliseconds[b.n] || 0 : 0, operations: 0};
    for (const c of b.children) for (const key in b.sum) b.sum[key] += c.sum[key];
    b.sum.operations = b.f ? value(b.f) : 0;  // the sum of a group is exact, with symbols too
    b.blocks = blocks;
    // A loop's time includes that of its nodes, which have times of their own only if they run one by one.
    if (b.v && runs) b.sum.ms = Math.max(b.sum.ms, data.milliseconds[b.v] || 0);
  }
  stage.ready = true;
  return stage;
}

// The number of elements of "FLOAT[time, batch, 300]"; NaN if a size is not known.
function count(type) {
  const dims = sizes(type);
  return dims ? dims.reduce((a, b) => a * b, 1) : 0;
}
function sizes(type) {
  const m = /\[(.*)\]/.exec(type || '');
  return m ? m[1].split(',').filter(x => x.trim()).map(x => value(x.trim())) : null;
}
// The value of a size such as "2*time+1" for the batch's sizes.
function value(size) {
  if (/^\d+$/.test(size)) return Number(size);
  let left = size.replace(/[A-Za-z_]\w*/g, name => data.sizes && name in data.sizes ? data.sizes[name] : name);
  return /^[\d+*\-/() ]+$/.test(left) ? Math.floor(Function('return ' + left)()) : NaN;
}
function withNumbers(type) {
  if (!data.sizes || !type) return type || '';
  const dims = sizes(type);
  if (!dims || dims.some(isNaN) || /^[^A-Za-z]*$/.test(type.slice(type.indexOf('[')))) return type;
  return type + ' = [' + dims.join(', ') + ']';
}

// ---- what is shown

let stage = prepare(data.stages[0]);
let view = {x: 0, y: 0, zoom: 1};  // canvas = (graph - x, y) * zoom
let selected = null;               // a box
let lit = new Set(), litGradient = new Set(), litLine = null;
const past = [];  // earlier views
let pending = false;

function redraw() {
  if (!pending) requestAnimationFrame(draw);
  pending = true;
}

function draw() {
  pending = false;
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== width * ratio || canvas.height !== height * ratio) canvas.width = width * ratio, canvas.height = height * ratio;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.fillStyle = '#fff';
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.setTransform(view.zoom * ratio, 0, 0, view.zoom * ratio, -view.x * view.zoom * ratio, -view.y * view.zoom * ratio);
  const seen = {left: view.x, top: view.y, right: view.x + width / view.zoom, bottom: view.y + height / view.zoom};
  titles.length = 0;
  drawBox(stage.boxes[0], seen);
  titles.forEach(drawTitle);
}

function isOpen(b) {
  if (!b.children.length) return false;
  return b.k === 'group' ? b.p < 0 || b.w * view.zoom >= OPEN : FONT * b.scale * view.zoom >= READABLE * 1.2;
}
const misses = (b, seen) => b.x > seen.right || b.y > seen.bottom || b.x + b.w < seen.left || b.y + b.h < seen.top;

function outline(b) {
  context.beginPath();
  if (b.k === 'input' || b.k === 'output' || b.k === 'port') {
    context.roundRect(b.x, b.y, b.w, b.h, b.h / 2);
  } else {
    context.roundRect(b.x, b.y, b.w, b.h, (b.children.length ? 8 : 3) * b.outer);
  }
}

function fillOf(b) {
  if (lit.has(b)) return '#fff0b3';
  if (litGradient.has(b)) return '#ffd9d9';
  if (b.k === 'node') return b.c || COLORS.node;
  return b.g && b.k === 'group' ? '#fbf4f4' : COLORS[b.k];
}

function drawBox(b, seen) {
  if (misses(b, seen) || b.w * view.zoom < 1.5) return;
  outline(b);
  context.fillStyle = fillOf(b);
  context.fill();
  context.lineWidth = (b === selected ? 3 : b.u ? 1.6 : 0.8) / Math.max(view.zoom, 0.3) * Math.min(1, b.outer * view.zoom * 1.5);
  context.strokeStyle = b === selected ? '#d9480f' : b.k === 'group' ? '#7a8ab8' : '#666';
  context.setLineDash(b.k === 'port' ? [3 * b.outer, 3 * b.outer] : []);
  context.stroke();
  context.setLineDash([]);
  const open = isOpen(b);
  if (open) {
    for (const a of b.arrows) drawArrow(b, a);
    for (const c of b.children) drawBox(c, seen);
  }
  drawText(b, open);
}

// Titles of open groups are drawn last: they are at least readable, so they may lie over other boxes.
const titles = [];
function drawTitle(b) {
  const size = Math.max(FONT * b.outer * 1.1, Math.min(11 / view.zoom, b.h / 6));
  context.font = `bold ${size}px system-ui, sans-serif`;
  context.textAlign = 'left';
  context.textBaseline = 'middle';
  const y = size <= TITLE * b.outer ? b.y + TITLE / 2 * b.outer : b.y + size * 0.2;
  context.lineWidth = size * 0.25;
  context.strokeStyle = '#ffffffd0';
  context.strokeText(b.l[0], b.x + MARGIN * b.outer, y);
  context.fillStyle = b.g ? '#8a1f1f' : '#222';
  context.fillText(b.l[0], b.x + MARGIN * b.outer, y);
}

// The name alone, where there is no room for the text.
function drawName(b) {
  if (!b.s) return;
  context.font = `${FONT}px system-ui, sans-serif`;
  const size = FONT * Math.min(b.h * 0.7 / FONT, b.w * 0.85 / context.measureText(b.s).width, 11 / view.zoom / FONT);
  if (size * view.zoom < READABLE) return;
  context.font = `${size}px system-ui, sans-serif`;
  context.fillText(b.s, b.x + b.w / 2, b.y + b.h / 2);
}

function drawText(b, open) {
  context.fillStyle = b.g ? '#8a1f1f' : '#222';
  context.textBaseline = 'middle';
  if (b.k === 'group' && !open) {  // the title in its middle
    context.font = `bold ${FONT}px system-ui, sans-serif`;
    const size = FONT * Math.min(b.h * 0.4 / FONT, b.w * 0.85 / context.measureText(b.n).width, 16 / view.zoom / FONT);
    if (size * view.zoom < READABLE) return;
    context.font = `bold ${size}px system-ui, sans-serif`;
    context.textAlign = 'center';
    context.fillText(b.n, b.x + b.w / 2, b.y + b.h / 2);
    return;
  }
  if (b.k === 'group') {
    titles.push(b);
    return;
  }
  const size = FONT * b.outer;
  context.textAlign = 'center';
  if (size * view.zoom < READABLE) return drawName(b);
  const top = b.children.length ? b.y + LINE * b.outer * 0.8 : b.y + b.h / 2 - (b.l.length - 1) * LINE * b.outer / 2;
  b.l.forEach((line, i) => {
    const type = i === b.l.length - 1 && b.typed;
    context.font = `${b.k === 'port' ? 'italic ' : ''}${type ? size * 0.85 : size}px system-ui, sans-serif`;
    if (type) context.fillStyle = '#777';
    context.fillText(line, b.x + b.w / 2, top + i * LINE * b.outer);
  });
}

function drawArrow(group, a) {
  const p = a.at;
  if (p.length < 2) return;
  const near = selected && (stage.boxes[a.from] === selected || stage.boxes[a.to] === selected);
  context.strokeStyle = context.fillStyle = near ? '#d9480f' : '#888';
  context.lineWidth = (near ? 1.8 : 0.9) * group.scale;
  context.setLineDash(a.feedback ? [5 * group.scale, 4 * group.scale] : []);
  context.beginPath();
  context.moveTo(...p[0]);
  for (let i = 1; i + 2 < p.length; i += 3) context.bezierCurveTo(...p[i], ...p[i + 1], ...p[i + 2]);
  context.stroke();
  context.setLineDash([]);
  const [x, y] = p[p.length - 1], [fx, fy] = p[p.length - 2];
  const angle = Math.atan2(y - fy, x - fx), s = 7 * group.scale;
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x - s * Math.cos(angle - 0.4), y - s * Math.sin(angle - 0.4));
  context.lineTo(x - s * Math.cos(angle + 0.4), y - s * Math.sin(angle + 0.4));
  context.fill();
}

// ---- moving

function fit(b) {
  const width = canvas.clientWidth || 800, height = canvas.clientHeight || 600;
  const zoom = Math.min(width / b.w, height / b.h) * 0.94;
  return {zoom, x: b.x + b.w / 2 - width / 2 / zoom, y: b.y + b.h / 2 - height / 2 / zoom};
}

function goTo(target) {
  past.push(view);
  if (past.length > 100) past.shift();
  view = target;
  redraw();
}

// Makes a box readable: a group fills the view, and anything smaller is shown among its neighbors.
function show(b) {
  const target = fit(b);
  target.zoom = Math.min(target.zoom, 1.6 / b.outer);
  target.x = b.x + b.w / 2 - canvas.clientWidth / 2 / target.zoom;
  target.y = b.y + b.h / 2 - canvas.clientHeight / 2 / target.zoom;
  goTo(target);
}

function zoomAt(px, py, factor) {
  const zoom = Math.min(Math.max(view.zoom * factor, 0.01), 200);
  view = {zoom, x: view.x + px / view.zoom - px / zoom, y: view.y + py / view.zoom - py / zoom};
  redraw();
}

// The innermost visible box at a point of the canvas.
function boxAt(px, py) {
  const x = view.x + px / view.zoom, y = view.y + py / view.zoom;
  let found = null, among = [stage.boxes[0]];
  while (among.length) {
    const b = among.find(b => x >= b.x && x <= b.x + b.w && y >= b.y && y <= b.y + b.h);
    if (!b) break;
    found = b;
    among = isOpen(b) ? b.children : [];
  }
  return found;
}

// ---- files

const lineElements = [];  // by file, by line
function showFiles() {
  data.files.forEach((file, f) => {
    lineElements[f] = [];
    if (!file.text) return;
    const title = document.createElement('h2');
    title.textContent = file.path;
    element('files').append(title);
    file.text.replace(/\n$/, '').split('\n').forEach((text, i) => {
      const line = document.createElement('div'), number = document.createElement('i');
      line.className = 'line';
      number.textContent = i + 1;
      line.append(number, text);
      line.onclick = () => { lightLine(f, i + 1); select(null); };
      element('files').append(line);
      lineElements[f][i + 1] = line;
    });
  });
}

const comesFrom = (b, f, line) => b.a.some(calls => calls.some(([file, at]) => file === f && at === line));
const standsAt = (b, f, line) => b.a.some(calls => calls.length && calls[0][0] === f && calls[0][1] === line);

function unlight() {
  lit = new Set();
  litGradient = new Set();
  for (const e of document.querySelectorAll('.line.lit, .line.gradient')) e.classList.remove('lit', 'gradient');
}

// Lights everything that comes from a line: its equations, or what its calls contain; and its gradient.
function lightLine(f, line) {
  litLine = [f, line];
  unlight();
  for (const b of stage.boxes) {
    if (b.k === 'port' || !comesFrom(b, f, line)) continue;
    (b.g ? litGradient : lit).add(b);
  }
  const e = (lineElements[f] || [])[line];
  if (e) {
    e.classList.add('lit');
    e.scrollIntoView({block: 'nearest'});
  }
  const all = [...lit, ...litGradient];
  const kernels = kernelLines(f, line);
  describe(`${data.files[f].path}:${line}`, [...lit], [...litGradient], kernels);
  if (all.length && !all.some(b => visible(b))) show(all.find(b => standsAt(b, f, line)) || all[0]);
  redraw();
}

const visible = b => {
  const seen = {left: view.x, top: view.y, right: view.x + canvas.clientWidth / view.zoom, bottom: view.y + canvas.clientHeight / view.zoom};
  return !misses(b, seen) && FONT * b.outer * view.zoom >= READABLE;
};

// The generated kernels: lines of the text, each below a comment that names its equation.
function kernelLines(f, line) {
  if (!data.kernels) return '';
  const mark = `// ${data.files[f].path}:${line}:`;
  const found = [];
  let on = false;
  for (const text of data.kernels.split('\n')) {
    const comment = text.trim();
    if (comment.startsWith('// ') && /:\d+: /.test(comment)) {
      on = comment.startsWith(mark);
    } else if (on && comment) {
      found.push(text);
    } else if (!comment) {
      on = false;
    }
  }
  return found.join('\n');
}

// ---- details

function headingOf(level, text) {
  const heading = document.createElement(level);
  heading.textContent = text;
  return heading;
}

// The details' element, with nothing but a title.
function newDetails(title) {
  const details = element('details');
  details.replaceChildren(headingOf('h2', title));
  return details;
}

function showKernels(details, text) {
  if (!text) return;
  const pre = document.createElement('pre');
  pre.textContent = text;
  details.append(headingOf('h3', 'in the kernels'), pre);
}

function row(table, name, text) {
  if (text === '' || text === undefined || text === null) return;
  const r = table.insertRow();
  r.insertCell().textContent = name;
  r.insertCell().textContent = text;
}
const bytesText = n => n < 1024 ? `${n} B` : n < 1 << 20 ? `${(n / 1024).toFixed(1)} KiB` : `${(n / (1 << 20)).toFixed(1)} MiB`;
const numberText = n => Number.isNaN(n) ? '?' : n.toLocaleString('en');

function operationsText(n) {
  if (Number.isNaN(n)) return '? FLOP';
  const [size, unit] = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']].find(([size]) => n >= size) || [1, ''];
  return `${unit ? (n / size).toPrecision(4) : n} ${unit}FLOP`;
}

// The boxes of the last stage, which is what runs, that compute what these boxes compute.
function running(boxes) {
  if (stage === lastStage) return boxes;
  prepare(lastStage);
  const found = new Set(), forward = new Set(), gradient = new Set();
  const collect = b => {
    const same = b.k === 'group' && lastStage.boxes.find(l => l.k === 'group' && !l.g === !b.g && pathOf(l, lastStage) === pathOf(b));
    if (same) found.add(same);
    else if (b.children.length) b.children.forEach(collect);
    else if (b.k === 'node') b.a.forEach(place => (b.g ? gradient : forward).add(place));
  };
  boxes.forEach(collect);
  for (const b of lastStage.boxes) if (b.k === 'node' && b.a.some(place => (b.g ? gradient : forward).has(place))) found.add(b);
  return outermost(found, lastStage);
}
// Of a set of boxes, those that no other contains.
function outermost(set, stage) {
  const within = b => b.p >= 0 && (set.has(stage.boxes[b.p]) || within(stage.boxes[b.p]));
  return [...set].filter(b => !within(b));
}
const total = (boxes, key) => boxes.reduce((sum, b) => sum + b.sum[key], 0);

// What some boxes hold and cost together. `symbols`: their operations with symbols.
function sums(details, table, boxes, symbols) {
  const nodes = total(boxes, 'nodes'), parameters = total(boxes, 'parameters'), operations = total(boxes, 'operations');
  if (nodes > 1) row(table, 'operators', numberText(nodes));
  if (parameters || Number.isNaN(parameters)) row(table, 'parameters', numberText(parameters));
  if (operations || Number.isNaN(operations)) {
    const sum = Number.isNaN(operations) ? '' : operationsText(operations);
    row(table, 'matrix products', symbols && !/^\d+$/.test(symbols) ? symbols + (sum ? ' = ' + sum : ' FLOP') : operationsText(operations));
  }
  const runs = running(boxes), bytes = total(runs, 'bytes'), ms = total(runs, 'ms');
  if (bytes) row(table, 'bytes of results', bytesText(bytes));
  if (ms) row(table, 'time in the profile', ms.toFixed(3) + ' ms');
  details.append(table);
  const blocks = [];
  const collect = b => { blocks.push(...b.blocks.map(block => [b, block])); b.children.forEach(collect); };
  runs.forEach(collect);
  showArena(details, blocks);
}

// The arena as a bar, from its first byte to its last, with the blocks of some results.
function showArena(details, blocks) {
  if (!blocks.length) return;
  const bar = document.createElement('div'), list = document.createElement('ul');
  bar.id = 'arena';
  for (const [b, [offset, bytes, first, last]] of blocks) {
    const part = document.createElement('i'), item = document.createElement('li');
    part.style.left = `${100 * offset / data.arena}%`;
    part.style.width = `${100 * bytes / data.arena}%`;
    if (b.g) part.className = 'gradient';
    item.textContent = part.title = `${b.n}: ${bytesText(bytes)} at ${numberText(offset)}, instructions ${first} to ${last}`;
    bar.append(part);
    if (list.children.length < 50) list.append(item);
  }
  details.append(headingOf('h3', `in the arena of ${bytesText(data.arena)}`), bar, list);
}

function link(b) {
  const item = document.createElement('li'), a = document.createElement('a');
  a.textContent = pathOf(b);
  a.onclick = () => { show(b); select(b); };
  item.append(a);
  return item;
}

function pathOf(b, within = stage) {
  const names = [];
  for (let at = b; at && at.p >= 0; at = within.boxes[at.p]) names.unshift(at.k === 'equation' || at.k === 'node' ? at.n || at.t : at.n);
  return names.join(' › ') || b.n;
}

function describe(title, forward, gradient, kernels) {
  const details = newDetails(title);
  const leaves = list => list.filter(b => b.k === 'node');
  const table = document.createElement('table');
  sums(details, table, outermost(new Set([...forward, ...gradient]), stage));
  for (const [name, list] of [['computes', leaves(forward)], ['gradient', leaves(gradient)]]) {
    if (!list.length) continue;
    const ul = document.createElement('ul');
    list.slice(0, 200).forEach(b => ul.append(link(b)));
    details.append(headingOf('h3', `${name}: ${list.length} operator${list.length === 1 ? '' : 's'}`), ul);
  }
  showKernels(details, kernels);
}

function select(b) {
  selected = b;
  redraw();
  if (!b) return;
  unlight();
  const details = newDetails(pathOf(b)), table = document.createElement('table');
  row(table, 'what', b.k === 'node' ? b.o : b.k === 'variable' ? b.t : b.k);
  row(table, 'equation', b.k === 'equation' || b.k === 'node' ? b.t : '');
  if (b.k === 'group' && b.t) row(table, 'loop', b.t);
  row(table, 'type', withNumbers(b.e));
  sums(details, table, [b], b.f);
  const list = document.createElement('ul');
  b.a.forEach((calls, i) => calls.forEach(([f, line], depth) => {
    const item = document.createElement('li'), a = document.createElement('a');
    a.textContent = `${depth ? 'called from ' : ''}${data.files[f].path}:${line}`;
    a.onclick = () => lightLine(f, line);
    item.append(a);
    list.append(item);
    const e = (lineElements[f] || [])[line];
    if (!e) return;
    if (depth === 0) {
      e.classList.add(b.g ? 'gradient' : 'lit');
      if (i === 0) e.scrollIntoView({block: 'center'});
    }
  }));
  details.append(list);
  const lines = b.a.filter(calls => calls.length).map(calls => kernelLines(calls[0][0], calls[0][1]));
  showKernels(details, [...new Set(lines)].filter(text => text).join('\n'));
}

// ---- search

function search(text) {
  const list = element('found');
  list.replaceChildren();
  list.hidden = !text;
  if (!text) return;
  const lower = text.toLowerCase();
  const hits = stage.boxes.filter(b => b.k !== 'port' && [b.n, b.t, b.o].some(x => x && x.toLowerCase().includes(lower)));
  hits.sort((a, b) => (b.n.toLowerCase() === lower) - (a.n.toLowerCase() === lower) || a.id - b.id);
  for (const b of hits.slice(0, 100)) {
    const item = document.createElement('li'), small = document.createElement('small');
    item.textContent = b.n || b.t;
    small.textContent = `${pathOf(b)}  ${b.o || b.k}  ${b.e || ''}`;
    item.append(small);
    item.onclick = () => { list.hidden = true; show(b); select(b); };
    list.append(item);
  }
  if (!hits.length) list.textContent = 'nothing has this name';
}

// ---- the stages

function chooseStage(index) {
  stage = prepare(data.stages[index]);
  element('stage-name').textContent = `${stage.name}: ${stage.boxes[0].sum.nodes} operators`;
  selected = null;
  unlight();
  view = fit(stage.boxes[0]);
  if (litLine) lightLine(...litLine);
  search(element('search').value);
  redraw();
}

// ---- events

let drag = null;
canvas.addEventListener('pointerdown', e => {
  drag = {x: e.offsetX, y: e.offsetY, view, moved: false};
  canvas.setPointerCapture(e.pointerId);
});
canvas.addEventListener('pointermove', e => {
  if (!drag) return;
  const dx = e.offsetX - drag.x, dy = e.offsetY - drag.y;
  if (Math.abs(dx) + Math.abs(dy) > 3) drag.moved = true;
  if (!drag.moved) return;
  view = {zoom: view.zoom, x: drag.view.x - dx / view.zoom, y: drag.view.y - dy / view.zoom};
  redraw();
});
canvas.addEventListener('pointerup', e => {
  if (drag && !drag.moved) click(e.offsetX, e.offsetY);
  drag = null;
});
// A click selects a box; a click on a box that is closed opens it.
function click(px, py) {
  const b = boxAt(px, py);
  if (!b || b.p < 0) return select(null);
  if (b.children.length && !isOpen(b)) show(b);
  select(b);
}
canvas.addEventListener('dblclick', e => {
  const b = boxAt(e.offsetX, e.offsetY);
  if (b) goTo(fit(b.children.length ? b : stage.boxes[Math.max(b.p, 0)]));
});
canvas.addEventListener('wheel', e => {
  e.preventDefault();
  zoomAt(e.offsetX, e.offsetY, Math.exp(-e.deltaY * (e.deltaMode ? 0.05 : 0.0015)));
}, {passive: false});
canvas.addEventListener('keydown', e => {
  const step = 60 / view.zoom;
  const keys = {ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step]};
  if (keys[e.key]) {
    view = {zoom: view.zoom, x: view.x + keys[e.key][0], y: view.y + keys[e.key][1]};
    redraw();
  } else if (e.key === '+' || e.key === '-') {
    zoomAt(canvas.clientWidth / 2, canvas.clientHeight / 2, e.key === '+' ? 1.3 : 1 / 1.3);
  } else if (e.key === 'Escape') {
    goTo(fit(stage.boxes[0]));
  } else {
    return;
  }
  e.preventDefault();
});
element('whole').onclick = () => goTo(fit(stage.boxes[0]));
element('back').onclick = () => {
  if (past.length) view = past.pop();
  redraw();
};
element('search').oninput = element('search').onfocus = e => search(e.target.value);
element('stage').oninput = e => chooseStage(Number(e.target.value));
new ResizeObserver(redraw).observe(canvas);

element('title').textContent = data.title;
element('stage').max = data.stages.length - 1;
for (const s of data.stages) for (const b of s.boxes) b.typed = Boolean(b.e);
showFiles();
chooseStage(0);
const keys = document.createElement('p');
keys.textContent = 'Click a line of a file or a box to see what it computes. Drag to move, turn the wheel to zoom, double-click to ' +
    'fit a box, Escape to see everything.';
newDetails('Mouse and keyboard').append(keys);
