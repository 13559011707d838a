// SPDX-License-Identifier: Apache-2.0
// Opens the HTML reports that export_sample makes in Chromium and uses them as a person would.
// Usage: node export_html.mjs EXPORT_SAMPLE [SCREENSHOT_FOLDER]
// Expected figures are those of the table in tests/unit/export_fake.c. Any script error, console
// error (a violation of the Content-Security-Policy is one) or network request fails the test.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const [sample, pictures] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'memhawk-html-'));
const make = (name, ...options) => {
  const path = join(folder, name + '.html');
  execFileSync(sample, ['html', path, ...options]);
  return 'file://' + path;
};
const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
  .find((path) => existsSync(path));
const browser = await chromium.launch({
  executablePath,
  args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync'],
});

async function open(url, look = {}) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, ...look });
  const page = await context.newPage();
  page.problems = [];
  page.on('pageerror', (e) => page.problems.push(String(e)));
  page.on('console', (m) => { if (m.type() === 'error') page.problems.push(m.text()); });
  page.on('request', (r) => { if (r.url() !== url) page.problems.push('request ' + r.url()); });
  const start = Date.now();
  await page.goto(url);
  await page.waitForSelector('html[data-state=ready]', { timeout: 20000 });
  page.loadMs = Date.now() - start;
  return page;
}
const state = (page) => page.evaluate(() => ({ ...document.documentElement.dataset }));
const frames = (page) => page.evaluate(() => new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(done))));
// The middle of a place on the canvas: row, and part of the width.
async function click(page, row, part) {
  const area = await page.locator('#canvas').boundingBox();
  await page.mouse.click(area.x + area.width * part, area.y + row * 20 + 10);
  await frames(page);
}
async function picture(page, name) {
  if (pictures) await page.screenshot({ path: join(pictures, name + '.png') });
}
async function close(page) {
  assert.deepEqual(page.problems, []);
  await page.context().close();
}

let passed = 0;
const tests = {
  async small() {
    const page = await open(make('small'));
    // 4 start main build push_back, 3 recurse, 4 cut start main evil, 3 early 0x1000 0x1234, 1 lost
    assert.deepEqual((({ nodes, total }) =>
      ({ nodes: +nodes, total: +total }))(await state(page)), { nodes: 15, total: 1024 });
    await picture(page, 'small');
    await click(page, 1, 0.2); // row 0: everything; row 1: the widest, __libc_start_main
    assert.equal((await state(page)).zoom, '__libc_start_main');
    await click(page, 3, 0.2);
    assert.equal((await state(page)).zoom, 'build(int)');
    await page.keyboard.press('Escape');
    await frames(page);
    assert.equal((await state(page)).zoom, 'everything');
    await page.locator('#canvas').focus();
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowRight', 'Enter'])
      await page.keyboard.press(key);
    await frames(page);
    assert.equal((await state(page)).zoom, 'recurse(int)');
    assert.match(await page.locator('#details').innerText(), /recurse\(int\)[\s\S]*live bytes\s+300 B\s+0 B/);
    await page.locator('#reset').click();
    await frames(page);
    assert.equal((await state(page)).zoom, 'everything');
    await close(page);
  },

  async search() {
    const page = await open(make('search'));
    await page.keyboard.press('/');
    await page.keyboard.type('RECURSE');
    await frames(page);
    assert.equal((await state(page)).match, '29.3 %'); // 300 of 1024, three levels count once
    assert.match(await page.locator('#match').innerText(), /300 B/);
    assert.equal(await page.locator('#rows tr').count(), 1);
    await picture(page, 'search');
    await page.fill('#search', '/^(build|recurse)/');
    assert.equal((await state(page)).match, '87.9 %');
    await page.fill('#search', '/(/');
    assert.match(await page.locator('#match').innerText(), /not a regular expression/);
    await page.fill('#search', '');
    assert.equal((await state(page)).match, undefined);
    await close(page);
  },

  async metrics() {
    const page = await open(make('metrics'));
    const sums = [1024, 12, 6324, 65, 27, 84];
    for (let m = 0; m < 6; m++) {
      await page.selectOption('#metric', String(m));
      assert.equal(+(await state(page)).total, sums[m]);
    }
    await page.selectOption('#metric', '3'); // evil was live at the peak only, but was allocated
    assert.match(await page.locator('#rows').innerText(), /evil;na me<\/script>/);
    await close(page);
  },

  async table() {
    const page = await open(make('table'));
    const row = (name) => page.locator('#rows tr', { hasText: name }).innerText();
    assert.match(await row('recurse(int)'), /300 B 29\.3 %\s+300 B 29\.3 %/); // not 900
    assert.match(await row('__libc_start_main'), /0 B 0\.0 %\s+900 B 87\.9 %/);
    assert.match(await row('push_back'), /600 B 58\.6 %/);
    await page.locator('#heads button', { hasText: 'Subtree' }).click();
    assert.match(await page.locator('#rows tr').first().innerText(), /900 B/);
    await page.locator('#rows tr', { hasText: 'recurse' }).click();
    assert.equal((await state(page)).match, '29.3 %');
    await close(page);
  },

  async inverted() {
    const page = await open(make('inverted', 'inverted=1'));
    assert.equal(await page.inputValue('#order'), 'up');
    await click(page, 1, 0.2); // the widest allocating function
    assert.match((await state(page)).zoom, /push_back/);
    await click(page, 4, 0.5); // push_back, build, main, start
    assert.equal((await state(page)).zoom, '__libc_start_main');
    await page.selectOption('#layout', 'flame');
    await frames(page);
    await page.keyboard.press('Escape');
    await page.selectOption('#order', 'down');
    assert.equal(+(await state(page)).total, 1024);
    await close(page);
  },

  async interval() {
    const page = await open(make('interval', 'interval=1'));
    assert.equal(+(await state(page)).total, 124);
    await page.selectOption('#set', '1');
    assert.equal(+(await state(page)).total, 600);
    await picture(page, 'interval');
    await close(page);
  },

  async diff() {
    const page = await open(make('diff', 'diff=1'));
    assert.match(await page.locator('#sum').innerText(), /3\.0 KiB \u2192 3\.4 KiB, \+464 B/);
    const row = (name) => page.locator('#rows tr', { hasText: name }).innerText();
    assert.match(await row('grows()'), /\+2\.0 KiB\s+1000 B\s+2\.9 KiB/);
    assert.match(await row('gone()'), /\u22122\.0 KiB\s+2\.0 KiB\s+0 B/);
    // Widths: 3000 grows, 2048 gone, 512 new; of 5560. What is gone is there to be clicked.
    await click(page, 2, (3000 + 1024) / 5560);
    assert.equal((await state(page)).zoom, 'gone()');
    await picture(page, 'diff');
    // Red and blue, as pixels: at the two places of the unzoomed graph.
    await page.keyboard.press('Escape');
    await frames(page);
    const pixel = (part) => page.evaluate((p) => {
      const c = document.getElementById('canvas');
      return [...c.getContext('2d').getImageData(Math.round(c.width * p), 46 * devicePixelRatio, 1, 1).data];
    }, part);
    const [r1, , b1] = await pixel(0.4), [r2, , b2] = await pixel(0.7);
    assert.ok(r1 > b1 + 40, 'grown is red');
    assert.ok(b2 > r2 + 40, 'gone is blue');
    await close(page);
  },

  async empty() {
    const page = await open(make('empty', 'profile=empty'));
    assert.ok(await page.locator('#empty').isVisible());
    assert.ok(!(await page.locator('#canvas').isVisible()));
    assert.equal((await state(page)).nodes, '0');
    await picture(page, 'empty');
    await close(page);
  },

  async looks() {
    for (const [name, look] of Object.entries({
      dark: { colorScheme: 'dark' },
      narrow: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 },
      wide: { viewport: { width: 2400, height: 1200 } },
    })) {
      const page = await open(make('looks'), look);
      await page.locator('#canvas').hover({ position: { x: 60, y: 70 } });
      await frames(page);
      const overflow = await page.evaluate(() =>
        document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.ok(overflow <= 0, `${name} scrolls sideways by ${overflow}`);
      await picture(page, name);
      await close(page);
    }
  },

  async large() { // 100,000 nodes: 99,000 leaves below a chain; then depth 1,000
    const page = await open(make('large', 'profile=large', 'stacks=99000', 'depth=40'));
    assert.ok(+(await state(page)).nodes >= 99000);
    assert.equal(+(await state(page)).total, 99000 * 99001 / 2);
    assert.ok(page.loadMs < 15000, `took ${page.loadMs} ms`);
    await page.selectOption('#order', 'up');
    assert.equal(+(await state(page)).total, 99000 * 99001 / 2);
    await picture(page, 'large');
    await close(page);
    const deep = await open(make('deep', 'profile=large', 'stacks=50', 'depth=1000'));
    await deep.locator('#canvas').focus();
    await deep.evaluate(() => { document.getElementById('scroll').scrollTop = 1e6; });
    await frames(deep);
    assert.ok((await deep.evaluate(() => document.getElementById('scroll').scrollTop)) > 19000);
    await click(deep, 20, 0.3);
    assert.notEqual((await state(deep)).zoom, 'everything');
    await close(deep);
  },
};

try {
  for (const [name, test] of Object.entries(tests)) {
    await test();
    passed++;
    console.log('ok', name);
  }
  console.log(`${passed} passed, 0 failed`);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
