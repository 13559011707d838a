// SPDX-License-Identifier: Apache-2.0
// What a person reads on the page, and how a person points at it.
import { layout } from './expect.mjs';
import { until } from './harness.mjs';

export const ROW = 20; // height of a row of the flame graph

/** Goes to a route of the page that is open. */
export async function route(page, parameters) {
  const hash = new URLSearchParams(parameters).toString();
  await page.evaluate((text) => {
    location.hash = text;
  }, hash);
}

export const routeNow = (page) =>
  page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));

/** Totals of what the flame graph shows, one a side, once nothing is being asked for. */
export async function totals(page) {
  await settled(page);
  return page.evaluate(
    () =>
      document.querySelector('.flame-summary strong')?.dataset.totals.split(' ').map(Number) ?? [],
  );
}

export const settled = (page) =>
  until('nothing is busy', () =>
    page.evaluate(
      () =>
        document.querySelector('[data-testid=panel]')?.childElementCount > 0 &&
        document.querySelector('[aria-busy=true], .panel-loading') === null,
    ),
  );

/** Waits until the flame graph's totals are these. */
export async function waitTotals(page, wanted) {
  let last = null;
  try {
    await until('the totals', async () => {
      last = await totals(page);
      return last.join() === wanted.join();
    });
  } catch {
    throw new Error(`the totals are ${last}, not ${wanted}`);
  }
}

/** Rows of the table beside the graph: {name, column: value...}. */
export function table(page, selector = '.top-table') {
  return page.evaluate((css) => {
    const rows = [];
    for (const tr of document.querySelectorAll(`${css} tbody tr`)) {
      // What is written may be shortened: without template arguments.
      const row = { name: tr.dataset.name ?? tr.querySelector('.function span').textContent };
      for (const cell of tr.querySelectorAll('[data-column]'))
        row[cell.dataset.column] = Number(cell.dataset.value);
      rows.push(row);
    }
    return rows;
  }, selector);
}

/** Figures of the selected node: what Details says. */
export function details(page) {
  return page.evaluate(() => {
    const box = document.querySelector('.flame-details');
    if (!box) return null;
    const main = {};
    for (const tr of box.querySelectorAll('.facts-main tr[data-kind]'))
      main[`${tr.dataset.kind} ${tr.dataset.side ?? ''}`.trim()] = Number(
        tr.querySelector('[data-value]').dataset.value,
      );
    const all = {};
    for (const div of box.querySelectorAll('.facts-all [data-metric]'))
      all[div.dataset.metric] = div.querySelector('[data-value]').dataset.value;
    return { name: box.querySelector('.facts-name').textContent, main, all };
  });
}

/** Where a node of ANSWER lies in the window; AT: which of the nodes with that name. */
export async function placeOf(page, answer, name, { side = 0, graph = 0, at = 0 } = {}) {
  const found = layout(answer, side).filter((node) => node.name === name)[at];
  if (!found) throw new Error(`no node ${name}`);
  const canvas = page.locator('.flame-graph canvas').nth(graph);
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  return {
    x: box.x + (box.width * (found.x0 + found.x1)) / 2,
    y: box.y + found.level * ROW + ROW / 2,
    node: found,
  };
}

/** The plot of the timeline: a function from a share of its width to a point. */
export async function plot(page, testId = 'timeline-chart') {
  const over = page.locator(`[data-testid=${testId}] .u-over`);
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  return (part, down = 0.5) => ({ x: box.x + box.width * part, y: box.y + box.height * down });
}

export async function drag(page, from, to) {
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move((from.x + to.x) / 2, to.y);
  await page.mouse.move(to.x, to.y);
  await page.mouse.up();
}
