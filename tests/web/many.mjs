// SPDX-License-Identifier: Apache-2.0
// The live page of a folder in which profiles of earlier runs lie: it opens the program that runs,
// shows where that is in the list, and stays with it.
//     node many.mjs --build BUILD [--pictures FOLDER] [TEST...]
import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { closePage, launch, openPage, picture } from './lib/browser.mjs';
import { newFolder, run, Stepped, until, Viewer } from './lib/harness.mjs';

const OLD = 40;
const folder = newFolder();
const old = new Stepped();
await old.step('cache 10');
await old.end();
for (let i = 1; i <= OLD; i++)
  copyFileSync(old.path, join(folder, `memhawk_old_${i}_protobuf.binpb`));
const browser = await launch();
const viewer = await Viewer.open(folder);
const pidOf = (page) => page.locator('[data-testid=pid]').innerText();
const shows = (page, pid) =>
  until(`the page shows ${pid}`, async () => (await pidOf(page)) === `pid ${pid}`);

/** The chosen row of the list, and whether all of it can be seen. */
const rowSeen = (page) =>
  page.evaluate(() => {
    const row = document.querySelector('.process-row[aria-current]');
    const box = row.closest(innerWidth < 600 ? '.process-list' : 'nav').getBoundingClientRect();
    const { top, bottom } = row.getBoundingClientRect();
    return {
      process: Number(row.dataset.process),
      seen: top >= box.top && bottom <= box.bottom + 1 && bottom > top,
    };
  });

const tests = {
  async running() {
    const page = await openPage(browser, viewer.url);
    await shows(page, old.pid);
    // Nothing was asked yet: the page goes over to what starts, and stays with it.
    const program = new Stepped(folder);
    await program.step('cache 20');
    const { id } = await viewer.process(program.pid, 1);
    await shows(page, program.pid);
    const later = new Stepped(folder);
    await later.step('cache 30');
    await viewer.process(later.pid, 1);
    await until('all rows', async () => (await page.locator('.process-row').count()) === OLD + 2);
    assert.equal(await pidOf(page), `pid ${program.pid}`);
    await until('the row can be seen', async () => {
      const { process, seen } = await rowSeen(page);
      return process === id && seen;
    });
    await closePage(page);

    // Opened now, it shows the one that was started last.
    const fresh = await openPage(browser, viewer.url, { viewport: { width: 390, height: 700 } });
    await shows(fresh, later.pid);
    await fresh.locator('[data-testid=process-drawer]').click();
    await until('the row in the drawer', async () => (await rowSeen(fresh)).seen);
    await picture(fresh, 'many');
    await later.end();
    await until('its end', async () =>
      /exit status 0/.test(await fresh.locator('[data-testid=header]').innerText()),
    );
    assert.equal(await pidOf(fresh), `pid ${later.pid}`);
    await closePage(fresh);
    await program.end();
  },
};

await run(tests, async () => {
  await browser.close();
  await viewer.close();
});
