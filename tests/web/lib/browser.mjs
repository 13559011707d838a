// SPDX-License-Identifier: Apache-2.0
// Debian's Chromium by playwright-core, and pages that are watched: any script error, console error
// (a violation of the Content-Security-Policy is one) or request to another host is a problem, and
// closePage() fails on it. `draws` tells when canvases were drawn, from outside of the page's code:
// calls of fillRect and fill are counted per canvas, and a frame later the drawing counts as seen.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { options } from './harness.mjs';

export const executablePath = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find((path) => existsSync(path));

export function launch() {
  return chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-sync',
      '--disable-background-networking',
      '--disable-component-update',
      '--lang=en-US',
    ],
  });
}

/** Runs in the page before its own code. */
function watchCanvases() {
  const log = []; // {where, at, frame}: one a canvas and frame; times of performance.now()
  const open = new Map();
  const note = (context) => {
    const canvas = context.canvas;
    let entry = open.get(canvas);
    if (!entry) {
      entry = { where: '', at: performance.now(), frame: 0, calls: 0 };
      open.set(canvas, entry);
      log.push(entry);
      // The frame that shows it begins after this one's callbacks.
      requestAnimationFrame(() =>
        requestAnimationFrame((time) => {
          const box = canvas.closest?.('[data-testid], .flame-graph');
          entry.where = box ? (box.getAttribute('data-testid') ?? 'flame-graph') : '';
          entry.frame = Math.max(time, entry.at);
          open.delete(canvas);
        }),
      );
    }
    entry.calls++;
  };
  for (const name of ['fillRect', 'fill', 'stroke']) {
    const own = CanvasRenderingContext2D.prototype[name];
    CanvasRenderingContext2D.prototype[name] = function draw(...args) {
      note(this);
      return own.apply(this, args);
    };
  }
  const stalls = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) stalls.push({ at: entry.startTime, ms: entry.duration });
  }).observe({ type: 'longtask', buffered: true });
  window.memhawkWatch = { log, stalls };
}

export async function openPage(browser, url, look = {}) {
  const { watch = false, ...rest } = look;
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    locale: 'en-US',
    ...rest,
  });
  const page = await context.newPage();
  const { host } = new URL(url);
  page.problems = [];
  page.on('pageerror', (error) => page.problems.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error')
      page.problems.push(`console: ${message.text()} ${message.location().url}`);
  });
  page.on('request', (request) => {
    const asked = new URL(request.url());
    if (asked.host !== host && !['data:', 'blob:'].includes(asked.protocol))
      page.problems.push(`request to ${request.url()}`);
  });
  page.on('dialog', (dialog) => {
    page.problems.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  if (watch) await page.addInitScript(watchCanvases);
  await page.goto(url);
  return page;
}

/** Problems that are meant to be there are told by ALLOWED, an expression. */
export async function closePage(page, allowed = null) {
  const rest = page.problems.filter((text) => !(allowed && allowed.test(text)));
  await page.context().close();
  assert.deepEqual(rest, []);
}

export const frames = (page) =>
  page.evaluate(
    () =>
      new Promise((done) => {
        requestAnimationFrame(() => requestAnimationFrame(() => done()));
      }),
  );

export async function picture(page, name) {
  if (options.pictures) await page.screenshot({ path: join(options.pictures, `${name}.png`) });
}

/** Pixels by which the page can be scrolled sideways. */
export const sideways = (page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
