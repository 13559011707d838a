// SPDX-License-Identifier: Apache-2.0
// What is written on the charts, at three widths and in both themes: no text is cut at an edge, and
// the labels of the time axis keep apart. The profiles are made, of three seconds to ten days, each
// as long as its axis likes it, so that a label stands at the very end.
//     node charts.mjs --build BUILD [--pictures FOLDER] [TEST...]
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { closePage, frames, launch, openPage, picture } from './lib/browser.mjs';
import { newFolder, run, Viewer } from './lib/harness.mjs';
import { settled } from './lib/panel.mjs';

const START = 1795983215n * 1000000000n;

/** A profile of that many seconds, whose peak is its end. */
function profile(seconds) {
  const lines = [
    '=== ProcessInfo',
    `processShortName: "s${seconds}" pid: 1 startTimestamp: ${START} formatVersion: 1`,
  ];
  for (let i = 0; i <= 20; i++) {
    const time = START + (BigInt(Math.round(seconds * 1e6)) * 1000n * BigInt(i)) / 20n;
    const size = 1000000 * (i + 1);
    lines.push('=== Snapshot', `timestamp: ${time} kind: ${i === 20 ? 2 : 0}`);
    if (i === 0) lines.push('stacktraces { traceId: 1 flags: 16 }');
    lines.push(
      `changed { traceId: 1 actual { size: ${size} active: ${i + 1} totalBytes: ${size} ` +
        `totalCount: ${i + 1} } } rssBytes: ${2 * size} threads: 1`,
    );
  }
  const text = join(newFolder(), 'text');
  const path = join(newFolder(), `memhawk_s${seconds}_1_protobuf.binpb`);
  writeFileSync(text, lines.join('\n') + '\n');
  execFileSync('python3', [new URL('../make_profile.py', import.meta.url).pathname, text, path]);
  return path;
}

/** Runs in the page: what is written on canvases of charts, in pixels of the canvas. */
function watchTexts() {
  const own = CanvasRenderingContext2D.prototype.fillText;
  const texts = new Map();
  CanvasRenderingContext2D.prototype.fillText = function fillText(text, x, y, ...rest) {
    const { a, d, e, f } = this.getTransform();
    const { actualBoundingBoxLeft: left, actualBoundingBoxRight: right } = this.measureText(text);
    const list = texts.get(this.canvas) ?? [];
    const one = { text, left: (x - left) * a + e, right: (x + right) * a + e, y: y * d + f };
    texts.set(this.canvas, [...list, one]);
    return own.call(this, text, x, y, ...rest);
  };
  const clear = CanvasRenderingContext2D.prototype.clearRect;
  CanvasRenderingContext2D.prototype.clearRect = function clearRect(...box) {
    texts.delete(this.canvas);
    return clear.apply(this, box);
  };
  window.textsOf = (selector) => {
    const canvas = document.querySelector(`${selector} canvas`);
    return { width: canvas.width, height: canvas.height, texts: texts.get(canvas) ?? [] };
  };
}

const browser = await launch();
const SECONDS = [3, 12.5, 120, 3600, 86400, 864000];
const viewer = await Viewer.open(...SECONDS.map(profile));
const { processes } = await viewer.json('processes');
const idOf = (seconds) => processes.find((p) => p.name === `s${seconds}`).id;

/** The same with parts that are zoomed into, in seconds since the start. */
const VIEWS = [
  ...SECONDS.map((seconds) => ({ seconds })),
  { seconds: 3, from: 1, to: 1.002 },
  { seconds: 3, from: 1.0001, to: 1.0003 },
  { seconds: 864000, from: 800000, to: 800000.01 },
  { seconds: 86400, from: 82800, to: 86400 },
];

async function check(page, selector, what) {
  await settled(page);
  await frames(page);
  const { width, height, texts } = await page.evaluate((css) => window.textsOf(css), selector);
  assert.ok(texts.length > 3, `${what}: ${JSON.stringify(texts)}`);
  for (const { text, left, right, y } of texts)
    assert.ok(
      left >= 0 && right <= width && y >= 0 && y <= height,
      `${what}: "${text}" is at ${left} to ${right}, ${y} of ${width} x ${height}`,
    );
  const axis = texts
    .filter(({ y }) => y > height - 26)
    .sort((a, b) => a.left - b.left);
  assert.ok(axis.length >= 2, `${what}: an axis of ${JSON.stringify(axis)}`);
  for (let i = 1; i < axis.length; i++)
    assert.ok(
      axis[i].left - axis[i - 1].right >= 4,
      `${what}: "${axis[i - 1].text}" and "${axis[i].text}" touch`,
    );
  return axis.map(({ text }) => text);
}

const tests = {};
for (const theme of ['light', 'dark']) {
  for (const width of [1280, 768, 360]) {
    tests[`${theme} ${width}`] = async () => {
      const look = { viewport: { width, height: 900 }, colorScheme: theme };
      const page = await openPage(browser, viewer.url, look);
      await page.addInitScript(watchTexts);
      // Colours move no text.
      const views = VIEWS.filter(({ seconds }) => theme === 'light' || seconds === 86400);
      for (const { seconds, from, to } of views) {
        const what = from === undefined ? `s${seconds}` : `s${seconds} from ${from} to ${to}`;
        const hash = new URLSearchParams({ p: idOf(seconds) });
        const start = Number(START / 1000n);
        if (from !== undefined) {
          hash.set('from', String(Math.round(start + from * 1e6)));
          hash.set('to', String(Math.round(start + to * 1e6)));
        }
        await page.goto('about:blank');
        await page.goto(`${viewer.url}#${hash}`);
        await page.waitForSelector('[data-testid=timeline-chart] canvas');
        if (from !== undefined) await page.click('[data-testid=zoom-interval]');
        const labels = await check(page, '[data-testid=timeline-chart]', what);
        if (seconds === 3600 && from === undefined) assert.equal(labels.at(-1), '1:00:00');
        await picture(page, `chart-${theme}-${width}-${what.replaceAll(' ', '-')}`);
        await page.click('[data-testid=tab-functions]');
        await page.waitForSelector('[data-testid=functions-chart] canvas');
        await check(page, '[data-testid=functions-chart]', `${what}, by function`);
      }
      await closePage(page, /status of 404/); // between two snapshots there is no peak
    };
  }
}

await run(tests, async () => {
  await browser.close();
  await viewer.close();
});
