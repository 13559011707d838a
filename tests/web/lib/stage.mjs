// SPDX-License-Identifier: Apache-2.0
// The stage of page.mjs and use.mjs: the stepped program after ten lines of known figures, the
// server beside it, a browser, and pages that are opened on it.
import assert from 'node:assert/strict';
import { closePage, launch, openPage, picture } from './browser.mjs';
import { functions } from './expect.mjs';
import { newFolder, sleep, Stepped, Viewer } from './harness.mjs';

export const HELD = 103200 + (512 << 10); // live while "hold" holds: the peak
export const LAST = 137600;
const folder = newFolder();
export const program = new Stepped(folder);
/** Microseconds, right after each line. */
export const at = [];
for (const line of [
  'cache 100',
  'index 50',
  'requests 30',
  'hold 512',
  'drop 40',
  'nest 5',
  'window 4 load',
  'mark half way',
  'cache 10',
  'index 1000',
]) {
  at.push(Number((await program.step(line)).time / 1000n));
  await sleep(30); // so that the timeline has room between two snapshots
}
export const viewer = await Viewer.open(folder);
export const { id } = await viewer.process(program.pid, 11);
export const { path } = program;
export const browser = await launch();

export async function withPage(parameters, use, look = {}) {
  const hash = new URLSearchParams(parameters).toString();
  const page = await openPage(browser, `${viewer.url}${hash ? `#${hash}` : ''}`, look);
  try {
    await page.waitForSelector('[data-testid=header]');
    await use(page);
  } catch (error) {
    await picture(page, 'failed');
    error.message += `\n${page.problems.join('\n')}`;
    throw error;
  }
  await closePage(page);
}

export const reading = (page, testId) =>
  page.locator(`[data-testid=${testId}]`).getAttribute('data-value').then(Number);

/** Rows of the report as the page's table has them, both sorted. */
export function compareTable(rows, reported, metric, columns) {
  const wanted = Object.entries(functions(reported, metric)).map(
    ([key, row]) => `${key.slice(0, key.lastIndexOf('|'))} ${columns(row).join(' ')}`,
  );
  const width = columns({ self: [0, 0], total: [0, 0] }).length;
  const values = rows.map(({ name, ...row }) => [name, ...Object.values(row)]);
  assert.ok(
    values.every(([, ...all]) => all.some((n) => n !== 0)),
    'a row of zeros',
  );
  // Of overhead a row may have none, in blocks that are there.
  const got = values
    .map((row) => row.slice(0, width + 1))
    .filter(([, ...row]) => row.some((n) => n !== 0))
    .map((row) => row.join(' '));
  assert.deepEqual(got.sort(), wanted.sort());
}
export const oneSided = ({ self, total }) => [self[0], total[0]];
export const twoSided = ({ self, total }) => [
  total[0] - total[1],
  ...total,
  self[0] - self[1],
  ...self,
];

export async function leave() {
  await browser.close();
  await viewer.close();
  await program.end();
}
