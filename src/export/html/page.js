'use strict';
// The flame graph page of MemHawk: reads the JSON beside it, draws on a canvas, uses no library.
//
// Nodes come in preorder with their own values; sums over subtrees are one pass from the end. The
// tree that is drawn is made of objects, but only of those that are wide enough to be seen: children
// are made when their parent is first drawn. In the order "allocation to callers" a node is the set
// of stacks that share an innermost part, so that tree is grouped on demand too. Only rows in view
// are painted. Widths are weights: one value, or in a difference the larger of before and after of
// each stack, so that what is gone keeps its place.
(() => {
  const root = document.documentElement;
  addEventListener('error', (e) => { root.dataset.error = e.message; });
  const $ = (id) => document.getElementById(id);
  const file = JSON.parse($('data').textContent);
  const data = Object.assign(file.head, { labels: file.labels, nodes: file.nodes });
  const M = data.metrics.length, S = data.sets.length, diff = data.mode === 'diff';
  const ROW = 20, MIN_PX = 0.6;

  // ---- model -------------------------------------------------------------------------------
  const N = data.nodes.length + 1;
  const label = new Int32Array(N), parent = new Int32Array(N), end = new Int32Array(N);
  const own = []; // [set][metric] -> Float64Array over nodes
  for (let s = 0; s < S; s++) {
    own.push([]);
    for (let m = 0; m < M; m++) own[s].push(new Float64Array(N));
  }
  (() => {
    const open = [0];
    label[0] = -1;
    parent[0] = -1;
    data.nodes.forEach((node, i) => {
      const n = i + 1, level = node[0];
      label[n] = node[1];
      parent[n] = open[level - 1];
      open[level] = n;
      for (let s = 0; s < S && node[2 + s]; s++)
        for (let m = 0; m < M; m++) own[s][m][n] = node[2 + s][m];
    });
    for (let n = 0; n < N; n++) end[n] = n + 1;
    for (let n = N - 1; n > 0; n--)
      if (end[n] > end[parent[n]]) end[parent[n]] = end[n];
  })();

  const sums = new Map();
  function subtreeSums(s, m) {
    const key = s * M + m;
    if (!sums.has(key)) {
      const t = own[s][m].slice();
      for (let n = N - 1; n > 0; n--) t[parent[n]] += t[n];
      sums.set(key, t);
    }
    return sums.get(key);
  }

  const state = { metric: data.metric, set: 0, up: data.inverted, flame: false, matcher: null };
  let weight, weightSum; // of nodes, alone and with their subtree

  function weigh() {
    const a = own[state.set][state.metric], b = diff ? own[1][state.metric] : null;
    weight = new Float64Array(N);
    for (let n = 0; n < N; n++) weight[n] = Math.max(0, a[n], b ? b[n] : 0);
    weightSum = weight.slice();
    for (let n = N - 1; n > 0; n--) weightSum[parent[n]] += weightSum[n];
  }

  // ---- figures -----------------------------------------------------------------------------
  const counts = new Intl.NumberFormat('en-US');
  function bytesText(v) {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
    let x = Math.abs(v), u = 0;
    while (x >= (u ? 1023.95 : 1024) && u < units.length - 1) { x /= 1024; u++; }
    return (v < 0 ? '\u2212' : '') + (u ? x.toFixed(1) : x) + ' ' + units[u];
  }
  const valueText = (v, m = state.metric) =>
    data.metrics[m].unit === 'bytes' ? bytesText(v) : (v < 0 ? '\u2212' : '') + counts.format(Math.abs(v));
  const deltaText = (v, m) => (v > 0 ? '+' : '') + valueText(v, m);
  const percentText = (part, whole) => whole ? (100 * part / whole).toFixed(1) + ' %' : '\u2013';
  const place = (l) => [data.labels[l][1], data.labels[l][2]].filter(Boolean).join(' \u00b7 ');
  const nameOf = (l) => l < 0 ? 'everything' : data.labels[l][0];

  // ---- the drawn tree ----------------------------------------------------------------------
  // members: base nodes; down: the one node; up: pairs of a frame and the stack's own node.
  function makeNode(l, up, frames, stacks, above) {
    const node = { label: l, frames, stacks, above, kids: null, weight: 0, depth: above ? above.depth + 1 : 0 };
    if (up) for (const n of stacks) node.weight += weight[n];
    else node.weight = weightSum[frames[0]];
    return node;
  }

  function makeRoot() {
    if (!state.up) return makeNode(-1, false, [0], null, null);
    const stacks = [];
    for (let n = 1; n < N; n++) if (weight[n] > 0) stacks.push(n);
    return makeNode(-1, true, stacks, stacks, null);
  }

  function kidsOf(node) {
    if (node.kids) return node.kids;
    const kids = [];
    if (!state.up) {
      const n = node.frames[0];
      for (let c = n + 1; c < end[n]; c = end[c])
        if (weightSum[c] > 0) kids.push(makeNode(label[c], false, [c], null, node));
    } else {
      const groups = new Map();
      node.frames.forEach((f, i) => {
        const next = node.above ? parent[f] : f;
        if (next <= 0) return;
        let g = groups.get(label[next]);
        if (!g) groups.set(label[next], g = [[], []]);
        g[0].push(next);
        g[1].push(node.stacks[i]);
      });
      for (const [l, g] of groups) kids.push(makeNode(l, true, g[0], g[1], node));
    }
    kids.sort((a, b) => b.weight - a.weight);
    node.kids = kids;
    return kids;
  }

  // Value of a drawn node in any set and metric; up: sum over its stacks, else the subtree.
  function valueOf(node, s, m) {
    if (!state.up) return subtreeSums(s, m)[node.frames[0]];
    let v = 0;
    for (const n of node.stacks) v += own[s][m][n];
    return v;
  }
  function ownOf(node, s, m) {
    if (!state.up) return own[s][m][node.frames[0]];
    if (!node.above) return 0;
    let v = 0; // stacks that begin here: the others go through
    node.frames.forEach((f, i) => { if (f === node.stacks[i]) v += own[s][m][f]; });
    return node.above.above ? 0 : v;
  }

  // ---- colours -----------------------------------------------------------------------------
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const HUES = [24, 205, 152, 268, 338, 88, 46, 186, 232, 4];
  const modules = new Map();
  (() => { // by weight in the first metric shown, so that the program's own module comes first
    const total = new Map();
    weigh();
    for (let n = 1; n < N; n++) {
      const name = data.labels[label[n]][2];
      total.set(name, (total.get(name) || 0) + weightSum[n]);
    }
    [...total].sort((a, b) => b[1] - a[1]).forEach(([name], i) => modules.set(name, i));
  })();
  let deltaMax = 1;

  function fillOf(node) {
    if (node.label < 0) return dark.matches ? '#3a3f48' : '#d9d5cd';
    if (diff) {
      const d = valueOf(node, 1, state.metric) - valueOf(node, 0, state.metric);
      if (!d) return dark.matches ? '#353a43' : '#e4e1db';
      const strength = Math.sqrt(Math.min(1, Math.abs(d) / deltaMax));
      const light = dark.matches ? 26 + 16 * strength : 92 - 26 * strength;
      return `hsl(${d > 0 ? 6 : 212} ${35 + 40 * strength}% ${light}%)`;
    }
    const name = data.labels[node.label][2];
    if (!name) return dark.matches ? '#3f444d' : '#d5d2cc';
    const hue = HUES[modules.get(name) % HUES.length];
    const shade = (node.label * 7) % 5;
    return dark.matches ? `hsl(${hue} 32% ${30 + shade * 1.6}%)` : `hsl(${hue} 58% ${74 + shade * 1.8}%)`;
  }

  // ---- painting ----------------------------------------------------------------------------
  const canvas = $('canvas'), scroll = $('scroll'), pen = canvas.getContext('2d');
  let tree, zoomed, selected = null, boxes = [], rows = 1, chosen = new Uint8Array(0);

  // Boxes from the root to the zoomed node over the full width, then its subtree by weight.
  function arrange(width) {
    boxes = [];
    rows = 1;
    const path = [];
    for (let n = zoomed; n; n = n.above) path.unshift(n);
    path.forEach((n) => boxes.push({ node: n, x: 0, w: width, row: n.depth, above: n !== zoomed }));
    const todo = [boxes[boxes.length - 1]];
    while (todo.length) {
      const box = todo.pop();
      if (box.row + 1 > rows) rows = box.row + 1;
      let x = box.x;
      for (const kid of kidsOf(box.node)) {
        const w = zoomed.weight ? width * kid.weight / zoomed.weight : 0;
        if (w < MIN_PX) break; // sorted: the rest is narrower
        const b = { node: kid, x, w, row: box.row + 1, above: false };
        boxes.push(b);
        todo.push(b);
        x += w;
      }
    }
  }

  function fitText(text, room) {
    if (pen.measureText(text).width <= room) return text;
    let low = 0, high = Math.min(text.length, Math.ceil(room / 3));
    while (low < high) {
      const mid = (low + high + 1) >> 1;
      if (pen.measureText(text.slice(0, mid) + '\u2026').width <= room) low = mid;
      else high = mid - 1;
    }
    return low > 1 ? text.slice(0, low).replace(/[\ud800-\udbff]$/, '') + '\u2026' : '';
  }

  const shortNames = new Map();
  function shortName(l) { // templates and parameters say little in a narrow box
    if (!shortNames.has(l)) {
      let out = '', depth = 0;
      const text = nameOf(l).slice(0, 2000);
      for (let i = 0; i < text.length; i++) {
        const c = text[i];
        if (c === '<' && i && !/operator<?$/.test(text.slice(0, i)) && depth++ === 0) out += '<\u2026';
        else if (c === '>' && depth && text[i - 1] !== '-') depth--;
        if (!depth) out += c;
      }
      shortNames.set(l, depth || !out ? text : out);
    }
    return shortNames.get(l);
  }

  const rowTop = (row) => (state.flame ? (rows - 1 - row) : row) * ROW;

  function paintBox(box, top) {
    const { node, x, w } = box, style = getComputedStyle(root);
    const hit = state.matcher && node.label >= 0 && chosen[node.label];
    pen.globalAlpha = box.above || (state.matcher && !hit) ? 0.42 : 1;
    pen.fillStyle = fillOf(node);
    const gap = w > 3 ? 1 : 0;
    pen.fillRect(x, top, w - gap, ROW - 1);
    pen.globalAlpha = 1;
    if (hit || node === selected) {
      pen.strokeStyle = node === selected ? style.getPropertyValue('--ink') : style.getPropertyValue('--accent');
      pen.lineWidth = 2;
      pen.strokeRect(x + 1, top + 1, Math.max(1, w - gap - 2), ROW - 3);
    }
    if (w < 24) return;
    pen.fillStyle = dark.matches ? '#f1efea' : '#20242a';
    pen.globalAlpha = box.above ? 0.7 : 1;
    const text = node.label < 0 ? 'everything' : shortName(node.label);
    pen.fillText(fitText(text, w - gap - 10), x + 5, top + ROW / 2);
    pen.globalAlpha = 1;
  }

  let queued = false;
  function queuePaint() {
    if (!queued) { queued = true; requestAnimationFrame(() => { queued = false; paint(); }); }
  }

  function paint() {
    const ratio = devicePixelRatio || 1, width = scroll.clientWidth, height = scroll.clientHeight;
    arrange(width);
    $('spacer').style.height = rows * ROW + 'px';
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = width + 'px';
      canvas.style.height = height + 'px';
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = '12px system-ui, "DejaVu Sans", sans-serif';
    pen.textBaseline = 'middle';
    const from = scroll.scrollTop;
    for (const box of boxes) {
      box.y = rowTop(box.row);
      if (box.y + ROW > from && box.y < from + height) paintBox(box, box.y - from);
    }
    root.dataset.drawn = boxes.length;
    root.dataset.zoom = nameOf(zoomed.label);
  }

  function boxAt(event) {
    const area = canvas.getBoundingClientRect();
    const x = event.clientX - area.left, y = event.clientY - area.top + scroll.scrollTop;
    return boxes.find((b) => x >= b.x && x < b.x + b.w && y >= b.y && y < b.y + ROW);
  }

  // ---- words beside the graph --------------------------------------------------------------
  function element(tag, text, className) {
    const e = document.createElement(tag);
    if (text !== undefined) e.textContent = text;
    if (className) e.className = className;
    return e;
  }
  const signClass = (v) => v > 0 ? 'grew' : v < 0 ? 'shrank' : '';

  function figureLine(node) {
    const m = state.metric;
    if (!diff) {
      const v = valueOf(node, state.set, m);
      return `${valueText(v)} (${percentText(v, valueOf(tree, state.set, m))})`;
    }
    const a = valueOf(node, 0, m), b = valueOf(node, 1, m);
    return `${valueText(a)} \u2192 ${valueText(b)}, ${deltaText(b - a)}` +
      (a ? ` (${(100 * (b - a) / a).toFixed(1).replace('-', '\u2212')} %)` : b ? ' (new)' : '');
  }

  function showDetails(node) {
    const box = $('details');
    box.textContent = '';
    if (!node) {
      box.append(element('p', 'Point at a frame to see all of its figures.'));
      return;
    }
    box.append(element('h2', nameOf(node.label)));
    if (node.label >= 0) box.append(element('p', place(node.label)));
    const table = element('table'), head = element('tr');
    const sets = diff ? [0, 1] : [state.set];
    head.append(element('th', ''));
    for (const s of sets) {
      head.append(element('th', (diff ? data.sets[s] + ', ' : '') + 'with callees'));
      head.append(element('th', 'itself'));
    }
    if (state.up) {
      head.textContent = '';
      head.append(element('th', ''));
      for (const s of sets) head.append(element('th', diff ? data.sets[s] : 'through this path'));
    }
    table.append(head);
    for (let m = 0; m < M; m++) {
      const row = element('tr');
      row.append(element('th', data.metrics[m].name));
      for (const s of sets) {
        row.append(element('td', valueText(valueOf(node, s, m), m)));
        if (!state.up) row.append(element('td', valueText(ownOf(node, s, m), m)));
      }
      table.append(row);
    }
    box.append(table);
  }

  function showTip(event, box) {
    const tip = $('tip');
    tip.hidden = !box;
    if (!box) return;
    tip.textContent = '';
    tip.append(element('b', nameOf(box.node.label)));
    if (box.node.label >= 0) tip.append(element('span', place(box.node.label)));
    tip.append(element('span', figureLine(box.node)));
    const area = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - area.width - 8)) + 'px';
    tip.style.top = (event.clientY + 18 + area.height > innerHeight
      ? Math.max(4, event.clientY - area.height - 10) : event.clientY + 18) + 'px';
  }

  function showSum() {
    const p = $('sum'), m = state.metric;
    p.textContent = '';
    p.append(element('b', figureLine(tree).replace(/ \(100\.0 %\)| \(\u2013\)/, '')), ' ');
    p.append(data.metrics[m].name + (data.mode === 'interval' ? ' ' + data.sets[state.set] : '') +
      (diff ? `; width is the larger of ${data.sets[0]} and ${data.sets[1]}` : ''));
    const nothing = !(tree.weight > 0);
    $('empty').hidden = !nothing;
    scroll.hidden = nothing;
    $('legend').hidden = nothing;
    $('empty').textContent = N === 1 ? 'No stack has any figure here: nothing was recorded, or the filter keeps nothing.'
      : `Nothing to show for ${data.metrics[m].name}. Another metric may have something.`;
  }

  function showLegend() {
    const list = $('legend');
    list.textContent = '';
    const entry = (colour, text) => {
      const li = element('li'), i = element('i');
      i.style.background = colour;
      li.append(i, text);
      list.append(li);
    };
    if (diff) {
      entry(dark.matches ? 'hsl(6 75% 42%)' : 'hsl(6 75% 66%)', 'grew');
      entry(dark.matches ? 'hsl(212 75% 42%)' : 'hsl(212 75% 66%)', 'shrank');
      entry(dark.matches ? '#353a43' : '#e4e1db', 'same');
      return;
    }
    for (const [name, i] of [...modules].filter(([name]) => name).slice(0, 8))
      entry(`hsl(${HUES[i % HUES.length]} ${dark.matches ? '32% 33%' : '58% 76%'})`, name);
  }

  // ---- table -------------------------------------------------------------------------------
  let sortBy = 0;
  const COLUMNS = diff ? ['Difference', 'Before', 'After', 'Function'] : ['Self', 'Subtree', 'Function'];

  // Per label: own value and subtree value, where a label below itself adds nothing.
  function labelSums(s) {
    const m = state.metric, total = subtreeSums(s, m), self = new Float64Array(data.labels.length);
    const sub = new Float64Array(data.labels.length), open = new Int32Array(data.labels.length);
    const path = [];
    for (let n = 1; n < N; n++) {
      while (path.length && end[path[path.length - 1]] <= n) open[label[path.pop()]]--;
      const l = label[n];
      self[l] += own[s][m][n];
      if (open[l] === 0) sub[l] += total[n];
      open[l]++;
      path.push(n);
    }
    return { self, sub };
  }

  function tableRows() {
    const list = [];
    const a = labelSums(state.set), b = diff ? labelSums(1) : null;
    for (let l = 0; l < data.labels.length; l++) {
      const cells = diff ? [b.sub[l] - a.sub[l], a.sub[l], b.sub[l]] : [a.self[l], a.sub[l]];
      if (!cells.some((v) => v)) continue;
      if (!state.matcher || chosen[l]) list.push({ l, cells });
    }
    const by = sortBy;
    if (by === COLUMNS.length - 1) list.sort((x, y) => nameOf(x.l) < nameOf(y.l) ? -1 : 1);
    else list.sort((x, y) => Math.abs(y.cells[by]) - Math.abs(x.cells[by]) || x.l - y.l);
    return list;
  }

  function showTable() {
    const heads = $('heads'), body = $('rows'), list = tableRows(), limit = 200;
    const whole = diff ? 0 : subtreeSums(state.set, state.metric)[0];
    heads.textContent = body.textContent = '';
    COLUMNS.forEach((name, i) => {
      const th = element('th'), button = element('button', name);
      if (i === sortBy) th.setAttribute('aria-sort', i === COLUMNS.length - 1 ? 'ascending' : 'descending');
      button.type = 'button';
      button.addEventListener('click', () => { sortBy = i; showTable(); });
      th.append(button);
      heads.append(th);
    });
    for (const { l, cells } of list.slice(0, limit)) {
      const tr = element('tr');
      tr.tabIndex = 0;
      cells.forEach((v, i) => {
        const td = element('td', diff && i === 0 ? deltaText(v) : valueText(v), diff && i === 0 ? signClass(v) : '');
        if (!diff) td.append(' ', element('small', percentText(v, whole)));
        tr.append(td);
      });
      const td = element('td');
      td.title = nameOf(l).slice(0, 2000);
      td.append(element('span', shortName(l)), element('small', place(l)));
      tr.append(td);
      const pick = () => { $('search').value = nameOf(l); search(nameOf(l), l); };
      tr.addEventListener('click', pick);
      tr.addEventListener('keydown', (e) => { if (e.key === 'Enter') pick(); });
      body.append(tr);
    }
    $('more').textContent = list.length > limit ? `${counts.format(list.length - limit)} more functions; search to find them.` : '';
    root.dataset.rows = list.length;
  }

  // ---- search ------------------------------------------------------------------------------
  function search(text, only) {
    const regex = /^\/(.+)\/(i?)$/.exec(text);
    state.matcher = null;
    let bad = '';
    if (only !== undefined) {
      state.matcher = (l) => l === only;
    } else if (regex) {
      try {
        const r = new RegExp(regex[1], regex[2]);
        state.matcher = (l) => r.test(data.labels[l][0]) || r.test(data.labels[l][2]);
      } catch (e) {
        bad = 'not a regular expression';
      }
    } else if (text) {
      const low = text.toLowerCase();
      state.matcher = (l) => data.labels[l][0].toLowerCase().includes(low) || data.labels[l][2].toLowerCase().includes(low);
    }
    chosen = new Uint8Array(data.labels.length);
    if (state.matcher) for (let l = 0; l < chosen.length; l++) chosen[l] = state.matcher(l) ? 1 : 0;
    showMatch(bad);
    showTable();
    queuePaint();
  }

  // What goes through any matching frame: outermost matches only, so nothing counts twice.
  function matchedSum(s) {
    const total = subtreeSums(s, state.metric);
    let sum = 0;
    for (let n = 1; n < N;) {
      if (chosen[label[n]]) { sum += total[n]; n = end[n]; } else n++;
    }
    return sum;
  }

  function showMatch(bad) {
    const out = $('match');
    delete root.dataset.match;
    out.textContent = bad;
    if (!state.matcher) return;
    const whole = subtreeSums(state.set, state.metric)[0], part = matchedSum(state.set);
    const share = percentText(part, whole);
    out.textContent = diff ? `${valueText(part)} \u2192 ${valueText(matchedSum(1))}` : `${share} \u00b7 ${valueText(part)}`;
    root.dataset.match = share;
  }

  // ---- acting ------------------------------------------------------------------------------
  function zoom(node) {
    zoomed = node;
    selected = node.above ? node : null;
    $('reset').disabled = !node.above;
    showDetails(selected);
    arrange(scroll.clientWidth);
    $('spacer').style.height = rows * ROW + 'px';
    scroll.scrollTop = state.flame ? rows * ROW : Math.max(0, (node.depth - 3) * ROW);
    queuePaint();
  }

  function pathOf(node) {
    const path = [];
    for (let n = node; n && n.above; n = n.above) path.unshift(n.label);
    return path;
  }

  function rebuild(keepZoom) {
    const path = keepZoom && zoomed ? pathOf(zoomed) : [];
    weigh();
    tree = makeRoot();
    if (diff) {
      deltaMax = 1;
      const a = subtreeSums(0, state.metric), b = subtreeSums(1, state.metric);
      for (let n = 1; n < N; n++) deltaMax = Math.max(deltaMax, Math.abs(b[n] - a[n]));
    }
    let node = tree;
    for (const l of path) {
      const kid = kidsOf(node).find((k) => k.label === l);
      if (!kid) break;
      node = kid;
    }
    showSum();
    showLegend();
    showMatch('');
    showTable();
    zoomed = tree; // the height that the whole tree takes, so that zooming does not move the page
    arrange(scroll.clientWidth);
    scroll.style.height = `min(62vh, ${Math.max(6, rows) * ROW}px)`;
    zoom(node);
    root.dataset.metric = data.metrics[state.metric].key;
    root.dataset.total = valueOf(tree, state.set, state.metric);
  }

  function select(node) {
    selected = node;
    showDetails(node);
    const y = rowTop(node.depth), view = scroll.clientHeight;
    if (y < scroll.scrollTop) scroll.scrollTop = y;
    else if (y + ROW > scroll.scrollTop + view) scroll.scrollTop = y + ROW - view;
    root.dataset.selected = nameOf(node.label);
    queuePaint();
  }

  function move(key) {
    const now = selected || zoomed, inward = state.flame ? 'ArrowUp' : 'ArrowDown';
    const outward = state.flame ? 'ArrowDown' : 'ArrowUp';
    if (key === inward) return kidsOf(now)[0];
    if (key === outward) return now.above;
    const kids = now.above ? kidsOf(now.above) : [now];
    return kids[kids.indexOf(now) + (key === 'ArrowRight' ? 1 : -1)];
  }

  canvas.addEventListener('keydown', (event) => {
    if (event.key.startsWith('Arrow')) {
      const to = move(event.key);
      if (to) select(to);
      event.preventDefault();
    } else if (event.key === 'Enter' && selected) {
      zoom(selected);
    }
  });
  addEventListener('keydown', (event) => {
    const typing = /INPUT|SELECT/.test(event.target.tagName);
    if (event.key === 'Escape' && typing && $('search').value) {
      $('search').value = '';
      search('');
    } else if (event.key === 'Escape') {
      zoom(tree);
    } else if (event.key === '/' && !typing) {
      $('search').focus();
      event.preventDefault();
    }
  });
  canvas.addEventListener('click', (event) => {
    const box = boxAt(event);
    if (box) zoom(box.node);
  });
  canvas.addEventListener('pointermove', (event) => {
    const box = boxAt(event);
    showTip(event, event.pointerType === 'touch' ? null : box);
    if (box && !selected) showDetails(box.node);
  });
  canvas.addEventListener('pointerleave', (event) => { showTip(event, null); if (!selected) showDetails(null); });
  scroll.addEventListener('scroll', queuePaint);
  addEventListener('resize', queuePaint);
  dark.addEventListener('change', () => { showLegend(); queuePaint(); });
  $('reset').addEventListener('click', () => zoom(tree));
  $('search').addEventListener('input', () => search($('search').value));
  $('metric').addEventListener('change', () => { state.metric = +$('metric').value; rebuild(true); });
  $('set').addEventListener('change', () => { state.set = +$('set').value; rebuild(true); });
  $('order').addEventListener('change', () => { state.up = $('order').value === 'up'; rebuild(false); });
  $('layout').addEventListener('change', () => { state.flame = $('layout').value === 'flame'; zoom(zoomed); });

  // ---- start -------------------------------------------------------------------------------
  $('title').textContent = data.title;
  $('subtitle').textContent = data.subtitle;
  for (const [name, value, more] of data.facts) {
    const div = element('div'), dd = element('dd', value);
    if (more) dd.append(element('small', more));
    div.append(element('dt', name), dd);
    $('facts').append(div);
  }
  for (const note of data.notes) $('notes').append(element('li', note));
  $('notes').hidden = !data.notes.length;
  data.metrics.forEach((metric, i) => $('metric').append(new Option(metric.name, i, false, i === state.metric)));
  if (data.mode === 'interval') {
    data.sets.forEach((name, i) => $('set').append(new Option(name, i)));
    $('set-label').hidden = false;
  }
  $('order').value = state.up ? 'up' : 'down';
  chosen = new Uint8Array(data.labels.length);
  rebuild(false);
  root.dataset.nodes = N - 1;
  root.dataset.state = 'ready';
})();
