// SPDX-License-Identifier: Apache-2.0
// The speed of the live page in a real Chromium, for `bench/run --only page` (bench/probes.py):
//
//     node bench/page_bench.mjs --build BUILD [--memhawk CMD --library LIB] [--quick] [PART...]
//
// Prints one JSON array of rows {what, figure, unit, bar}; what happens meanwhile goes to stderr.
// Profiles come from make_long_profile. "Painted" is judged from outside of the page's code: the
// canvas was drawn on, and the frame after that had begun (tests/web/lib/browser.mjs). Times of one
// kind are medians over rounds, or the worst where it says so.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { frames, launch, openPage } from '../tests/web/lib/browser.mjs';
import { layout } from '../tests/web/lib/expect.mjs';
import {
  environment,
  newFolder,
  options,
  quick,
  run,
  sleep,
  start,
  until,
  Viewer,
  within,
} from '../tests/web/lib/harness.mjs';

const MIB = 1 << 20;
const rounds = quick ? 3 : 9;
const rows = [];
const folder = newFolder();
let browser;

const say = (text) => process.stderr.write(`    ${text}\n`);
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
function row(what, figure, unit, bar = null) {
  rows.push({ what, figure, unit, bar });
  say(`${what}: ${figure.toFixed(3)} ${unit}${bar === null ? '' : ` (bar ${bar})`}`);
}

function makeProfile(name, snapshots, ...more) {
  const path = join(folder, name);
  execFileSync(options.makeLongProfile, ['--snapshots', String(snapshots), ...more, '-o', path]);
  return path;
}
const hour = () => (hour.path ??= makeProfile('hour.binpb', 3600));

function memoryOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const field = (name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)[1]) * 1024;
  return { now: field('VmRSS'), highest: field('VmHWM') };
}

/** The first drawing of at least CALLS calls that passes the test; its times. */
const drawn = (page, where, after, calls) =>
  page.evaluate(
    ([box, since, least]) =>
      window.memhawkWatch.log.find(
        (e) => e.where === box && e.at > since && e.frame > 0 && e.calls >= least,
      ) ?? null,
    [where, after, calls],
  );
const waitDrawn = (page, where, after, calls = 20) =>
  until(`a drawing on ${where}`, () => drawn(page, where, after, calls), 60000);

/** Opens a page and returns it with the milliseconds from navigation to the first flame graph. */
async function openFlame(url) {
  const page = await openPage(browser, url, { watch: true });
  const { frame } = await waitDrawn(page, 'flame-graph', 0);
  return { page, ms: frame };
}

/** Until the whole file has been read, to SNAPSHOTS at least, and all names have come. */
async function whenLoaded(viewer, snapshots) {
  await until(
    'the profile and its names',
    async () => {
      const { processes } = await viewer.json('processes');
      if (!processes.length || processes[0].snapshots < snapshots || processes[0].loaded !== 1)
        return false;
      const { symbols } = await viewer.json('process', { id: processes[0].id });
      return symbols.total > 0 && symbols.done === symbols.total;
    },
    120000,
  );
}

async function noProblems(page) {
  if (page.problems.length) throw new Error(page.problems.join('\n'));
  await page.context().close();
}

/** From POINT to POINT with the button down, as fractions of the timeline's plot. */
async function drag(page, from, to) {
  const plot = await page.locator('[data-testid=timeline] .u-over').first().boundingBox();
  const x = (part) => plot.x + plot.width * part,
    y = plot.y + plot.height / 2;
  await page.mouse.move(x(from), y);
  await page.mouse.down();
  await page.mouse.move(x((from + to) / 2), y);
  await page.mouse.move(x(to), y);
  await frames(page);
  const before = await page.evaluate(() => performance.now());
  await page.mouse.up();
  return before;
}

/** Clicks on a node, given what its graph is zoomed to; returns the time of the click. */
async function clickNode(page, node, zoomed) {
  const scroller = page.locator('.flame-scroll').first();
  await scroller.evaluate(
    (element, top) => {
      element.scrollIntoView({ block: 'center' });
      element.scrollTop = top;
    },
    Math.max(0, node.level * 20 - 60),
  );
  const scrolled = await scroller.evaluate((element) => element.scrollTop);
  await frames(page);
  const box = await page.locator('.flame-graph canvas').first().boundingBox();
  const part = ((node.x0 + node.x1) / 2 - zoomed.x0) / (zoomed.x1 - zoomed.x0);
  await page.mouse.move(box.x + box.width * part, box.y + node.level * 20 + 10 - scrolled);
  await sleep(100);
  const before = await page.evaluate(() => performance.now());
  await page.mouse.down();
  await page.mouse.up();
  return before;
}

/** Zooms to where a node stands for others, and clicks on it: then they are shown. */
async function showMore(page, answer) {
  const nodes = layout(answer);
  const path = [],
    found = [];
  for (const node of nodes) {
    path.length = node.level;
    if (node.label === -2) found.push({ node, parent: path.at(-1) });
    path.push(node);
  }
  const width = (node) => node.x1 - node.x0;
  const [best] = found
    .filter(({ node, parent }) => width(node) > width(parent) / 50)
    .sort((a, b) => width(b.parent) - width(a.parent));
  await clickNode(page, best.parent, nodes[0]);
  await sleep(400);
  await clickNode(page, best.node, best.parent);
}

const parts = {
  async first() {
    const cold = await Viewer.open(hour());
    const begun = performance.now();
    const first = await openFlame(cold.url);
    row(
      '60 minutes: page open to first flame graph, names not yet found',
      first.ms / 1000,
      's',
      1.5,
    );
    await whenLoaded(cold, 3600);
    say(`all names after ${((performance.now() - begun) / 1000).toFixed(1)} s`);
    await noProblems(first.page);
    const times = [];
    for (let i = 0; i < rounds; i++) {
      const { page, ms } = await openFlame(cold.url);
      times.push(ms);
      await noProblems(page);
    }
    row('60 minutes: page open to first flame graph', median(times) / 1000, 's', 1.5);
    await cold.close();
    const start = [];
    for (let i = 0; i < (quick ? 1 : 3); i++) {
      const from = performance.now();
      const viewer = await Viewer.open(hour());
      const { page } = await openFlame(viewer.url);
      start.push(performance.now() - from);
      await noProblems(page);
      await viewer.close();
    }
    row('60 minutes: command to first flame graph', median(start) / 1000, 's');
  },

  async interval() {
    const viewer = await Viewer.open(hour());
    await whenLoaded(viewer, 3600);
    for (const show of ['peak', 'change']) {
      const { page } = await openFlame(`${viewer.url}#show=${show}`);
      await sleep(1000);
      const times = [];
      for (let i = 0; i < rounds; i++) {
        const before = await drag(page, 0.1 + i * 0.03, 0.5 + i * 0.04);
        const answered = await until('the answer', () =>
          page.evaluate((since) => {
            const all = performance
              .getEntriesByType('resource')
              .filter(
                (e) =>
                  e.name.includes('/api/v1/flame') && e.startTime >= since && e.responseEnd > 0,
              );
            return all.at(-1)?.responseEnd ?? null;
          }, before),
        );
        const { frame } = await waitDrawn(page, 'flame-graph', answered);
        times.push(frame - before);
        await sleep(400);
        await page.evaluate(() => performance.clearResourceTimings());
      }
      row(
        `interval change to painted, ${show === 'peak' ? 'peak inside' : 'added and removed'}`,
        median(times),
        'ms',
        150,
      );
      await noProblems(page);
    }
    await viewer.close();
  },

  async zoom() {
    const viewer = await Viewer.open(hour());
    await whenLoaded(viewer, 3600);
    const { page } = await openFlame(`${viewer.url}#show=total-bytes`);
    const ask = (limit) =>
      viewer.json('flame', { id: 1, mode: 'between', metric: 'total-bytes', limit });
    let answer = await ask(4000);
    for (let limit = 4000; limit < 250000; ) {
      await showMore(page, answer);
      limit = Math.min(limit * 4, 250000);
      answer = await ask(limit);
      await until(
        `an answer of ${limit} nodes`,
        () =>
          page.evaluate(
            (text) =>
              performance
                .getEntriesByType('resource')
                .some(
                  (e) =>
                    e.name.includes('/api/v1/flame') && e.name.includes(text) && e.responseEnd > 0,
                ),
            `limit=${limit}`,
          ),
        60000,
      );
      await until(
        'it is drawn',
        () => page.evaluate(() => !document.querySelector('[aria-busy=true]')),
        60000,
      );
      await page.locator('.flame-scroll').first().press('Escape');
      await sleep(1500);
    }
    const nodes = answer.nodes.label.length;
    const placed = layout(answer);
    const wide = placed.filter(
      (node) =>
        node.label >= 0 && node.level > 3 && node.x1 - node.x0 > 0.01 && node.x1 - node.x0 < 0.7,
    );
    const times = [];
    const stallsFrom = await page.evaluate(() => performance.now());
    for (let i = 0; i < rounds * 2; i++) {
      const before = await clickNode(page, wide[(i * 7) % wide.length], placed[0]);
      const entry = await waitDrawn(page, 'flame-graph', before, 3);
      times.push(entry.frame - before);
      await sleep(350);
      await page.locator('.flame-scroll').first().press('Escape');
      await sleep(350);
    }
    const worst = await page.evaluate(
      (from) =>
        Math.max(0, ...window.memhawkWatch.stalls.filter((e) => e.at >= from).map((e) => e.ms)),
      stallsFrom,
    );
    row('nodes shown at once', nodes, 'nodes');
    row(`zoom in ${nodes.toLocaleString('en')} nodes, first frame`, median(times), 'ms', 100);
    row(`zoom in ${nodes.toLocaleString('en')} nodes, longest stall`, worst, 'ms', 100);
    const memory = memoryOf(viewer.child.pid);
    row('RSS of the server, 60 minutes, all of the above asked for', memory.now / MIB, 'MiB', 300);
    row('the same, highest', memory.highest / MIB, 'MiB', 300);
    await noProblems(page);
    await viewer.close();
  },

  async tick() {
    const path = join(folder, 'live.binpb');
    const writer = start(options.makeLongProfile, ['--live', '--snapshots', '3600', '-o', path]);
    const lines = createInterface({ input: writer.stdout })[Symbol.asyncIterator]();
    const next = async (name) => {
      for (;;) {
        const { value, done } = await within(60000, lines.next(), name);
        if (done) throw new Error('make_long_profile has ended');
        if (value.startsWith(`${name}=`)) return value.slice(name.length + 1).split(':');
      }
    };
    await next('file_bytes');
    const viewer = await Viewer.open(path);
    await whenLoaded(viewer, 3600);
    const { page } = await openFlame(viewer.url);
    await sleep(2000);
    const times = [];
    for (let i = 0; i < rounds * 2; i++) {
      const before = await page.evaluate(() => performance.now());
      writer.stdin.write('\n');
      const written = Number((await next('tick'))[2]) / 1e6;
      const { frame } = await waitDrawn(page, 'timeline-chart', before, 1);
      const origin = await page.evaluate(() => Date.now() - performance.now());
      times.push(origin + frame - written);
      await sleep(700 + ((i * 137) % 300));
    }
    row('tick of a live profile, written to painted', median(times), 'ms', 100);
    row('the same, worst', Math.max(...times), 'ms');
    await noProblems(page);
    writer.stdin.end();
    await viewer.close();
    await writer.ended;
  },

  async day() {
    const path = makeProfile('day.binpb', 86400);
    const from = performance.now();
    const viewer = await Viewer.open(path);
    const { page } = await openFlame(viewer.url);
    row(
      '24 hours, 86,400 snapshots: command to first flame graph',
      (performance.now() - from) / 1000,
      's',
    );
    await until(
      'the end of the file',
      () =>
        page.evaluate(
          () =>
            document.querySelector('[data-testid=header] [data-testid=state]').dataset.state ===
              'ended' && !document.querySelector('[aria-busy=true]'),
        ),
      120000,
    );
    await frames(page);
    row('the same, whole run shown', (performance.now() - from) / 1000, 's', 10);
    row('RSS of the server, 24 hours', memoryOf(viewer.child.pid).now / MIB, 'MiB');
    await noProblems(page);
    await viewer.close();
    execFileSync('rm', ['-f', path]);
  },

  /** The recorded program alone and with a page that follows it, in turns. */
  async watched() {
    const program = join(options.build, 'bench/scaling');
    const pairs = String(quick ? 20_000_000 : 60_000_000);
    const sample = async (isWatched) => {
      const output = newFolder();
      let viewer, page;
      if (isWatched) {
        viewer = await Viewer.open(output);
        page = await openPage(browser, viewer.url, { watch: true });
      }
      const begun = performance.now();
      const child = start(
        'bash',
        ['-c', 'TIMEFORMAT="%U %S"; time "$@"', '-', program, '1', pairs],
        {
          env: environment({
            LD_PRELOAD: options.library,
            MEMHAWK_OUTPUT: output,
            MEMHAWK_NAME_FILTER: '^scaling$',
          }),
        },
      );
      let errors = '';
      child.stderr.on('data', (text) => {
        errors += text;
      });
      child.stdout.resume();
      await child.ended;
      const wall = (performance.now() - begun) / 1000;
      const [user, system] = /([\d.]+) ([\d.]+)\s*$/.exec(errors).slice(1).map(Number);
      if (isWatched) {
        await noProblems(page);
        await viewer.close();
      }
      return { wall, cpu: user + system };
    };
    await sample(false);
    const alone = [],
      watched = [];
    for (let i = 0; i < rounds; i++) {
      for (const isWatched of i % 2 ? [true, false] : [false, true])
        (isWatched ? watched : alone).push(await sample(isWatched));
    }
    for (const [kind, name, bar] of [
      ['cpu', 'processor time', 1.02],
      ['wall', 'wall time', null],
    ]) {
      const ratio = median(watched.map((s) => s[kind])) / median(alone.map((s) => s[kind]));
      row(`recorded program, watched to not watched, ${name}`, ratio, 'ratio', bar);
    }
  },
};

browser = await launch();
await run(parts, () => browser.close(), say);
process.stdout.write(`${JSON.stringify(rows)}\n`);
