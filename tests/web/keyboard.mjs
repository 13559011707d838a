// SPDX-License-Identifier: Apache-2.0
// The live page with the keyboard alone: nothing here moves or presses the mouse.
//     node keyboard.mjs --build BUILD [--pictures FOLDER] [TEST...]
import assert from 'node:assert/strict';
import { closePage, launch, openPage, picture } from './lib/browser.mjs';
import { newFolder, run, Stepped, until, Viewer } from './lib/harness.mjs';
import { routeNow, waitTotals } from './lib/panel.mjs';

// A family of four: the program, a child that forked and has a child itself, one of another image.
const folder = newFolder();
const parent = new Stepped(folder);
await parent.step('cache 3');
const viewer = await Viewer.open(folder);
const { id: first } = await viewer.process(parent.pid, 1);
const { child: forked } = await parent.step('fork');
const { child: execed } = await parent.step('exec');
const apart = new Stepped(folder);
await apart.step('cache 5');
const idOf = async (pid) => (await viewer.process(pid, 1)).id;
const ids = { first, forked: await idOf(forked), execed: await idOf(execed), apart: await idOf(apart.pid) };
const nameOf = (wanted) => Object.keys(ids).find((name) => String(ids[name]) === wanted) ?? wanted;
const browser = await launch();

/** What has the focus: a process by its name above, or else what it is. */
const focused = async (page) =>
  nameOf(
    await page.evaluate(() => {
      const element = document.activeElement;
      return element.dataset.process ?? element.dataset.testid ?? element.tagName;
    }),
  );
const rows = async (page) =>
  (
    await page.evaluate(() =>
      [...document.querySelectorAll('[data-testid=process-row]')].map((row) => row.dataset.process),
    )
  ).map(nameOf);
const stops = (page) =>
  page.evaluate(
    () => document.querySelectorAll('[data-testid=process-row][tabindex="0"]').length,
  );
const shows = (page, pid) =>
  until(
    `the page shows ${pid}`,
    async () => (await page.locator('[data-testid=pid]').innerText()) === `pid ${pid}`,
  );

async function tabTo(page, wanted, key = 'Tab') {
  const seen = [];
  for (let i = 0; i < 40; i++) {
    await page.keyboard.press(key);
    seen.push(await focused(page));
    if (seen.at(-1) === wanted) return seen;
  }
  throw new Error(`${wanted} is not reached by ${key}: ${seen}`);
}

/** Presses the keys one by one; what has the focus after each. */
async function walk(page, ...keys) {
  const seen = [];
  for (const key of keys) {
    await page.keyboard.press(key);
    seen.push(await focused(page));
  }
  return seen;
}

const tests = {
  async processes() {
    const page = await openPage(browser, `${viewer.url}#p=${ids.first}`);
    await until('all rows', async () => (await rows(page)).length === 4);
    // One Tab stop, the chosen row; the next Tab leaves the tree, and back comes to it again.
    await tabTo(page, 'first');
    assert.equal(await stops(page), 1);
    await page.keyboard.press('Tab');
    assert.ok(!(await focused(page)).match(/first|forked|execed|apart/), await focused(page));
    await tabTo(page, 'first', 'Shift+Tab');
    const children = (await rows(page)).slice(1, 3);
    assert.deepEqual(children.toSorted(), ['execed', 'forked']);
    const [older, younger] = children;
    assert.deepEqual(
      await walk(page, 'ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowUp'),
      [older, younger, 'apart', 'apart', younger],
    );
    assert.equal(await stops(page), 1);
    assert.deepEqual(await walk(page, 'Home', 'End', 'Home'), ['first', 'apart', 'first']);
    // Moving shows nothing else; Enter does, and leaves the focus.
    assert.equal(await page.locator('[data-testid=pid]').innerText(), `pid ${parent.pid}`);
    await walk(page, 'End', 'Enter');
    await shows(page, apart.pid);
    assert.equal(await focused(page), 'apart');
    assert.equal((await routeNow(page)).p, String(ids.apart));
    await waitTotals(page, [5000]);
    // Left to the parent, folded by Left, unfolded by Right, then into it.
    assert.deepEqual(
      await walk(page, 'ArrowUp', 'ArrowLeft', 'ArrowLeft'),
      [younger, 'first', 'first'],
    );
    const top = page.locator(`[data-process="${ids.first}"]`);
    assert.equal(await top.getAttribute('aria-expanded'), 'false');
    assert.deepEqual(await rows(page), ['first', 'apart']);
    assert.deepEqual(await walk(page, 'ArrowDown', 'ArrowUp'), ['apart', 'first']);
    await walk(page, 'ArrowRight');
    assert.equal(await top.getAttribute('aria-expanded'), 'true');
    assert.deepEqual(await rows(page), ['first', ...children, 'apart']);
    assert.deepEqual(await walk(page, 'ArrowRight', 'Space'), [older, older]);
    await shows(page, older === 'forked' ? forked : execed);
    // The chosen row folded away: its parent is the Tab stop. The browser's Back brings out rows.
    await walk(page, 'ArrowLeft', 'ArrowLeft');
    await walk(page, 'Tab', 'Shift+Tab');
    assert.equal(await focused(page), 'first');
    await walk(page, 'End', 'Enter');
    await shows(page, apart.pid);
    await page.goBack();
    await until('the row that is shown', async () => (await rows(page)).includes(older));
    // Typed: names all begin alike, pids find one.
    await page.locator(`[data-process="${ids.apart}"]`).focus();
    assert.deepEqual(await walk(page, 's', 'End'), ['first', 'apart']);
    for (const digit of String(forked)) await page.keyboard.press(digit);
    assert.equal(await focused(page), 'forked');
    // A row that comes moves nobody's focus. What is not the tree's goes through.
    const late = new Stepped(folder);
    await late.step('cache 1');
    await until('its row', async () => (await rows(page)).length === 5);
    assert.equal(await focused(page), 'forked');
    await late.end();
    await page.keyboard.press('/');
    assert.equal(await focused(page), 'INPUT');
    await picture(page, 'keyboard-tree');
    await closePage(page);
  },

  async 'processes in a drawer'() {
    const look = { viewport: { width: 390, height: 844 } };
    const page = await openPage(browser, `${viewer.url}#p=${ids.first}`, look);
    await until('all rows', async () => (await rows(page)).length >= 4);
    assert.ok(!(await tabTo(page, 'process-drawer')).includes('first'));
    await walk(page, 'Enter');
    assert.deepEqual(await walk(page, 'Tab', 'ArrowDown', 'Escape'), [
      'first',
      (await rows(page))[1],
      'process-drawer',
    ]);
    assert.equal(await page.locator('[role=tree]').isVisible(), false);
    await walk(page, 'Enter', 'Tab', 'End', 'Home', 'ArrowDown', 'Enter');
    assert.equal(await focused(page), 'process-drawer');
    assert.equal(await page.locator('[role=tree]').isVisible(), false);
    assert.equal((await routeNow(page)).p, String(ids[(await rows(page))[1]]));
    await closePage(page);
  },
};

await run(tests, async () => {
  await browser.close();
  await viewer.close();
  await parent.end();
  await apart.end();
});
