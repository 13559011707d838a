// SPDX-License-Identifier: Apache-2.0
// What the page must say, worked out from the stacks of `memhawk report --format json` by code that
// shares nothing with the product: call trees, and tables of functions in which recursion counts
// once. Keys are texts, so that they compare with assert.deepEqual.
import { basename } from 'node:path';

export const METRICS = [
  'live-bytes',
  'live-count',
  'total-bytes',
  'total-count',
  'temporary',
  'overhead',
];
const member = (metric) => metric.replace('-', '_');

/** Figures of one stack or sum, one a side. */
export function sides(values, metric) {
  const of = (o) => o[member(metric)];
  return values.added ? [of(values.added), of(values.removed)] : [of(values)];
}

export const nameOf = (frame) => frame.function ?? `${frame.offset} (in ${basename(frame.module)})`;

function keyOf(frame, granularity) {
  return granularity === 'line'
    ? `${nameOf(frame)}|${frame.module}|${frame.file}|${frame.line ?? 0}`
    : `${nameOf(frame)}|${frame.module}`;
}

/** Frames from the allocating function on: `operator new` and its like own no memory. */
const framesOf = (stack) => stack.frames.slice(stack.site ?? 0);

const add = (a, b) => (a ? a.map((x, i) => x + b[i]) : [...b]);
const nothing = (values) => values.every((x) => x === 0);

/** {path: {total, self}}: labels from the root, joined by " > ". Nodes of only zeros
 * are left out, but for the root. */
export function tree(report, metric, { granularity = 'function', inverted = false } = {}) {
  const nodes = new Map();
  const put = (path, values, self) => {
    const node = nodes.get(path) ?? { total: values.map(() => 0), self: values.map(() => 0) };
    node.total = add(node.total, values);
    if (self) node.self = add(node.self, values);
    nodes.set(path, node);
  };
  put(
    '',
    sides(report.sum, metric).map(() => 0),
    false,
  );
  for (const stack of report.stacks) {
    const values = sides(stack, metric);
    if (nothing(values)) continue;
    const labels = framesOf(stack).map((f) => keyOf(f, granularity));
    if (!inverted) labels.reverse();
    put('', values, labels.length === 0);
    labels.forEach((_, i) =>
      put(labels.slice(0, i + 1).join(' > '), values, i + 1 === labels.length),
    );
  }
  return Object.fromEntries([...nodes].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** {label: {self, total}}. */
export function functions(report, metric, granularity = 'function') {
  const rows = new Map();
  for (const stack of report.stacks) {
    const values = sides(stack, metric);
    if (nothing(values)) continue;
    const labels = framesOf(stack).map((f) => keyOf(f, granularity));
    for (const label of new Set(labels)) {
      const row = rows.get(label) ?? { self: values.map(() => 0), total: values.map(() => 0) };
      row.total = add(row.total, values);
      if (label === labels[0]) row.self = add(row.self, values);
      rows.set(label, row);
    }
  }
  return Object.fromEntries([...rows].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Stacks through LABEL (as functions() keys it): the tree below, or above, its occurrence. */
export function focused(report, metric, label, direction) {
  const stacks = [];
  for (const stack of report.stacks) {
    const frames = framesOf(stack),
      keys = frames.map((f) => keyOf(f, 'function'));
    const outermost = keys.lastIndexOf(label),
      innermost = keys.indexOf(label);
    if (innermost < 0) continue;
    stacks.push({
      ...stack,
      site: 0,
      frames: direction === 'callees' ? frames.slice(0, outermost + 1) : frames.slice(innermost),
    });
  }
  return tree({ sum: report.sum, stacks }, metric, { inverted: direction === 'callers' });
}

// ---- the same shapes, from the API ------------------------------------------------------------

export function labelKey(labels, index, granularity = 'function') {
  const base = `${labels.function[index]}|${labels.module[index]}`;
  return granularity === 'line' ? `${base}|${labels.file[index]}|${labels.line[index]}` : base;
}

export function apiTree(answer, granularity = 'function') {
  const { nodes, labels } = answer;
  const path = [],
    all = {};
  nodes.label.forEach((label, i) => {
    const level = nodes.level[i];
    path.length = Math.max(level - 1, 0);
    if (level > 0) path.push(label >= 0 ? labelKey(labels, label, granularity) : `(${label})`);
    const key = path.join(' > ');
    if (key in all) throw new Error(`two nodes are ${key}`);
    all[key] = {
      total: nodes.total.map((side) => side[i]),
      self: nodes.self.map((side) => side[i]),
    };
  });
  const sorted = Object.entries(all)
    .filter(([key, n]) => key === '' || !nothing(n.total))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(sorted);
}

export function apiFunctions(answer, granularity = 'function') {
  const { rows, labels } = answer;
  const all = rows.label.map((label, i) => [
    labelKey(labels, label, granularity),
    { self: rows.self.map((side) => side[i]), total: rows.total.map((side) => side[i]) },
  ]);
  return Object.fromEntries(
    all.filter(([, row]) => !nothing(row.total)).sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/** Each node is its own value and its children; children lie largest first. Throws otherwise. */
export function checkSums(answer) {
  const { nodes } = answer;
  const count = nodes.label.length;
  nodes.total.forEach((total, side) => {
    const sum = [...nodes.self[side]];
    const parents = [];
    for (let i = 0; i < count; i++) {
      parents.length = nodes.level[i];
      if (i) sum[parents.at(-1)] += total[i];
      parents.push(i);
    }
    for (let i = 0; i < count; i++) {
      if (sum[i] !== total[i])
        throw new Error(`node ${i}, side ${side}: ${sum[i]} is not ${total[i]}`);
    }
  });
  const all = (i) => nodes.total.reduce((n, side) => n + side[i], 0);
  const last = []; // the sibling before, by level
  for (let i = 1; i < count; i++) {
    const level = nodes.level[i];
    if (level > nodes.level[i - 1] + 1) throw new Error(`node ${i} has no parent`);
    last.length = Math.min(last.length, level + 1);
    if (last[level] !== undefined && nodes.label[i] !== -2 && all(i) > last[level])
      throw new Error(`node ${i} is larger than the sibling before`);
    last[level] = all(i);
  }
}

/**
 * Where the page draws each node of one side: {name, label, level, x0, x1}, x from 0 to 1, the
 * largest child first. Kept apart from the page's own layout, so that a click tests it.
 */
export function layout(answer, side = 0) {
  const { nodes, labels } = answer;
  const count = nodes.label.length;
  const weight = nodes.total[side];
  const children = Array.from({ length: count }, () => []);
  const path = [];
  for (let i = 0; i < count; i++) {
    path.length = nodes.level[i];
    if (i && weight[i] > 0) children[path.at(-1)].push(i);
    path.push(i);
  }
  const placed = [];
  const rank = (i) => (nodes.label[i] === -2 ? -1 : weight[i]);
  const place = (i, x0, x1) => {
    const label = nodes.label[i];
    placed.push({
      node: i,
      name: label >= 0 ? labels.function[label] : `(${label})`,
      label,
      level: nodes.level[i],
      x0,
      x1,
    });
    let at = x0;
    for (const child of [...children[i]].sort((a, b) => rank(b) - rank(a) || a - b)) {
      const width = ((x1 - x0) * weight[child]) / weight[i];
      place(child, at, at + width);
      at += width;
    }
  };
  place(0, 0, 1);
  return placed;
}
