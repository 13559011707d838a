// SPDX-License-Identifier: Apache-2.0
// The main flow of the live page in Debian's Firefox: figures, zoom, an interval, a live tick, the
// other tabs, a narrow window. The rest is Chromium's (page.mjs).
//     node firefox.mjs --build BUILD [--pictures FOLDER] [TEST...]
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { functions, layout } from './lib/expect.mjs';
import { Firefox, firefoxPath } from './lib/firefox.mjs';
import { options, report, rfc3339, run, sleep, Stepped, until, Viewer } from './lib/harness.mjs';

if (!firefoxPath) {
  console.log('firefox-esr is missing: tools/bootstrap installs it');
  process.exit(77);
}
const program = new Stepped();
const at = [];
for (const line of [
  'cache 100',
  'index 50',
  'hold 512',
  'drop 40',
  'window 4 load',
  'index 1000',
]) {
  at.push(Number((await program.step(line)).time / 1000n));
  await sleep(30);
}
const HELD = 103200 + (512 << 10),
  LAST = 60000 + 160 + 1050 * 64;
const viewer = await Viewer.open(program.path);
const { id } = await viewer.process(program.pid, 7);
const firefox = await Firefox.launch();
await firefox.size(1280, 900);

const text = (selector) =>
  firefox.evaluate(`document.querySelector(${JSON.stringify(selector)})?.innerText ?? null`);
const box = (selector) =>
  firefox.evaluate(`(() => {
  const element = document.querySelector(${JSON.stringify(selector)});
  element.scrollIntoView({ block: 'center' });
  const { x, y, width, height } = element.getBoundingClientRect();
  return { x, y, width, height };
})()`);
const route = (parameters) =>
  firefox.evaluate(`location.hash = ${JSON.stringify(new URLSearchParams(parameters).toString())}`);
const routeNow = () =>
  firefox.evaluate('Object.fromEntries(new URLSearchParams(location.hash.slice(1)))');
async function waitTotals(...wanted) {
  let last;
  await until('the totals', async () => {
    last = await firefox.evaluate(`document.querySelector('[aria-busy=true]') ? null
      : document.querySelector('.flame-summary strong')?.dataset.totals ?? null`);
    return last === wanted.join(' ');
  }).catch(() => {
    throw new Error(`the totals are ${last}, not ${wanted}`);
  });
}
async function picture(name) {
  if (options.pictures)
    writeFileSync(join(options.pictures, `firefox-${name}.png`), await firefox.screenshot());
}

const tests = {
  async figures() {
    await firefox.goto(viewer.url);
    await waitTotals(HELD);
    assert.equal(await text('[data-testid=process-name]'), 'stepped');
    const wanted = Object.entries(functions(report(program.path), 'live-bytes'))
      .map(([key, row]) => `${key.slice(0, key.lastIndexOf('|'))} ${row.self[0]} ${row.total[0]}`)
      .sort();
    let rows; // the table comes by a request of its own, after the graph
    await until('the table', async () => {
      rows =
        await firefox.evaluate(`[...document.querySelectorAll('.top-table tbody tr')].map((tr) =>
        [tr.querySelector('.function span').textContent, ...['self', 'total'].map((c) =>
          tr.querySelector('[data-column=' + c + ']').dataset.value)].join(' '))`);
      rows = rows.filter((row) => !row.endsWith(' 0')).sort();
      return rows.join('\n') === wanted.join('\n');
    }).catch(() => assert.deepEqual(rows, wanted));
    await picture('peak');
  },

  async zoom() {
    const answer = await viewer.json('flame', { id });
    const node = layout(answer).find((one) => one.name === 'hold_buffer');
    const canvas = await box('.flame-graph canvas');
    await firefox.click(
      canvas.x + (canvas.width * (node.x0 + node.x1)) / 2,
      canvas.y + node.level * 20 + 10,
    );
    await until('the zoomed path', async () =>
      /hold_buffer/.test((await text('.flame-crumbs')) ?? ''),
    );
    assert.match(await text('.flame-details'), /512\.0.KiB/);
    await firefox.key('\uE00C'); // Escape
    await until('no zoom', async () => (await text('.flame-crumbs')) === null);
  },

  async interval() {
    await route({ show: 'change' });
    await waitTotals(LAST, 0);
    const plot = await box('[data-testid=timeline-chart] .u-over');
    const y = plot.y + plot.height / 2,
      x = (part) => plot.x + plot.width * part;
    await firefox.pointer(
      ['move', x(0.3), y],
      ['down'],
      ['move', x(0.5), y],
      ['move', x(0.8), y],
      ['up'],
    );
    const { from, to } = await until('an interval', async () => {
      const now = await routeNow();
      return now.from && now.to ? now : null;
    });
    const { added, removed } = report(
      program.path,
      '--from',
      rfc3339(Number(from)),
      '--to',
      rfc3339(Number(to)),
    ).sum;
    await waitTotals(added.live_bytes, removed.live_bytes);
    await picture('interval');
    await firefox.evaluate('history.back()');
    await waitTotals(LAST, 0);
  },

  async live() {
    await route({ show: 'moment' });
    await waitTotals(LAST);
    await program.step('cache 10');
    await waitTotals(LAST + 10000);
    assert.equal(
      await firefox.evaluate('document.querySelector("[data-testid=live-now]").dataset.value'),
      String(LAST + 10000),
    );
  },

  async tabs() {
    for (const [view, selector] of [
      ['functions', '[data-testid=functions-row]'],
      ['windows', '.windows-panel tr[data-window=load]'],
      ['compare', '.compare-panel .flame-summary strong'],
      ['process', '[data-testid=module-row]'],
    ]) {
      await firefox.evaluate(`document.querySelector('[data-testid=tab-${view}]').click()`);
      await until(view, async () => (await text(selector)) !== null);
      await picture(view);
    }
  },

  async narrow() {
    for (const width of [1280, 768, 390]) {
      await firefox.size(width, 844);
      for (const view of ['flame', 'functions', 'windows', 'compare', 'process']) {
        await route({ view });
        await sleep(250);
        const by = await firefox.evaluate(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        );
        assert.ok(by <= 0, `${view} at ${width} scrolls sideways by ${by}`);
      }
    }
  },

  async problems() {
    assert.deepEqual(firefox.problems(new URL(viewer.url).host), []);
  },
};

await run(tests, async () => {
  await firefox.close();
  await viewer.close();
  await program.end();
});
