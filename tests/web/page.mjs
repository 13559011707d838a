// SPDX-License-Identifier: Apache-2.0
// What each panel of the live page says, in Chromium, on a program that really runs: against
// figures counted by hand and against the command's reports of the same selection. No test may see
// an error on the console, a violation of the policy or a request elsewhere. What a person does:
// use.mjs.
//     node page.mjs --build BUILD [--pictures FOLDER] [TEST...]
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { closePage, frames, openPage, picture } from './lib/browser.mjs';
import { functions, METRICS, nameOf } from './lib/expect.mjs';
import {
  memhawk,
  newFolder,
  report,
  rfc3339,
  run,
  Stepped,
  until,
  Viewer,
} from './lib/harness.mjs';
import { details, placeOf, plot, route, routeNow, settled, table, waitTotals } from './lib/panel.mjs';
import {
  at,
  browser,
  compareTable,
  HELD,
  id,
  LAST,
  leave,
  oneSided,
  path,
  program,
  reading,
  twoSided,
  viewer,
  withPage,
} from './lib/stage.mjs';

const tests = {
  async header() {
    await withPage({}, async (page) => {
      await until(
        'the head',
        async () => (await reading(page, 'allocations').catch(() => null)) !== null,
      );
      assert.equal(await page.locator('[data-testid=process-name]').innerText(), 'stepped');
      assert.equal(await page.locator('[data-testid=pid]').innerText(), `pid ${program.pid}`);
      assert.equal(
        await page.locator('[data-testid=header] [data-testid=state]').getAttribute('data-state'),
        'running',
      );
      assert.ok(
        (await page.locator('[data-testid=command-line]').innerText()).endsWith('/stepped'),
      );
      const said = report(path, '--at', 'end');
      assert.equal(await reading(page, 'live-now'), LAST);
      assert.equal(await reading(page, 'peak'), HELD);
      assert.equal(await reading(page, 'allocations'), said.totals.total_count);
      assert.equal(await reading(page, 'snapshots'), 11);
      const coverage = (part) => page.locator(`[data-testid=rss-${part}]`).innerText();
      assert.match(await coverage('live'), /134\.4.KiB\s+\d+\.\d.%/);
      for (const part of ['overhead', 'recorder', 'other'])
        assert.match(await coverage(part), /\d[^]*(%|not all resident)/);
      assert.equal(await page.locator('[data-testid=notices]').innerText(), '');
      await picture(page, 'header');
    });
  },

  async peak() {
    await withPage({}, async (page) => {
      await waitTotals(page, [HELD]);
      const reported = report(path);
      compareTable(await table(page), reported, 'live-bytes', oneSided);
      const answer = await viewer.json('flame', { id });
      const place = await placeOf(page, answer, 'hold_buffer');
      await page.mouse.move(place.x, place.y);
      await page.waitForSelector('.flame-tooltip');
      assert.match(await page.locator('.flame-tooltip').innerText(), /hold_buffer[^]*512\.0.KiB/);
      await page.mouse.click(place.x, place.y);
      await frames(page);
      const said = await details(page);
      assert.equal(said.name, 'hold_buffer');
      assert.deepEqual(said.main, { 'total value': 512 << 10, 'self value': 512 << 10 });
      const [stack] = reported.stacks.filter((s) => nameOf(s.frames[0]) === 'hold_buffer');
      for (const metric of METRICS)
        assert.equal(said.all[metric], String(stack[metric.replace('-', '_')]), metric);
      for (const metric of METRICS.slice(1)) {
        await route(page, { metric });
        await waitTotals(page, [reported.sum[metric.replace('-', '_')]]);
        compareTable(await table(page), reported, metric, oneSided);
      }
    });
  },

  async moment() {
    await withPage({ show: 'moment', moment: at[5] }, async (page) => {
      await waitTotals(page, [63440]);
      compareTable(await table(page), report(path, '--at', rfc3339(at[5])), 'live-bytes', oneSided);
      // A click on the timeline chooses another one.
      const point = (await plot(page))(0.3);
      await page.mouse.click(point.x, point.y);
      await until('a new moment', async () => Number((await routeNow(page)).moment) !== at[5]);
      const { moment } = await routeNow(page);
      const reported = report(path, '--at', rfc3339(Number(moment)));
      await waitTotals(page, [reported.sum.live_bytes]);
      await page.click('[data-testid=moment-clear]');
      await waitTotals(page, [HELD]);
    });
  },

  async 'added-and-removed'() {
    await withPage({ show: 'change', from: at[2], to: at[9] }, async (page) => {
      // The cache lost 40 blocks and won 10; 1,000 nodes, 5 nested and 4 window blocks came.
      await waitTotals(page, [64000 + 240 + 160, 30000]);
      const reported = report(path, '--from', rfc3339(at[2]), '--to', rfc3339(at[9]));
      compareTable(await table(page), reported, 'live-bytes', twoSided);
      assert.match(
        await page.locator('.flame-summary').innerText(),
        /added 62\.9.KiB − removed 29\.3.KiB = \+33\.6.KiB[^]*100\.8.KiB → 134\.4.KiB/,
      );
      assert.equal(
        await page
          .locator('[data-side=added] .flame-side-name [data-value]')
          .getAttribute('data-value'),
        '64400',
      );
      assert.equal(
        await page
          .locator('[data-side=removed] .flame-side-name [data-value]')
          .getAttribute('data-value'),
        '30000',
      );
      assert.equal(LAST - 103200, 64400 - 30000);
      // The function that shrank is in the second graph only.
      const answer = await viewer.json('flame', { id, mode: 'between', from: at[2], to: at[9] });
      const place = await placeOf(page, answer, 'cache_put', { side: 1, graph: 1 });
      await page.mouse.click(place.x, place.y);
      await frames(page);
      const said = await details(page);
      assert.equal(said.name, 'cache_put');
      assert.equal(said.main['total removed'], 30000);
      await picture(page, 'change');
      await route(page, { show: 'change', from: at[2], to: at[9], metric: 'live-count' });
      await waitTotals(page, [1009, 30]);
      for (const [show, bytes] of [
        ['total-bytes', 'total_bytes'],
        ['total-count', 'total_count'],
        ['temporary', 'temporary'],
      ]) {
        await route(page, { show, from: at[2], to: at[9] });
        await waitTotals(page, [reported.sum.added[bytes], 0]);
        compareTable(await table(page), reported, show, oneSided);
      }
    });
  },

  async 'peak-inside'() {
    await withPage({ from: at[4], to: at[8] }, async (page) => {
      await waitTotals(page, [73600]);
      compareTable(await table(page), report(path, '--at', rfc3339(at[8])), 'live-bytes', oneSided);
      await page.getByRole('radio', { name: 'Whole run' }).click();
      await waitTotals(page, [HELD]);
    });
  },

  async lines() {
    await withPage({ g: 'line', show: 'moment' }, async (page) => {
      await waitTotals(page, [LAST]);
      const rows = Object.values(functions(report(path, '--at', 'end'), 'live-bytes', 'line'));
      const got = (await table(page))
        .filter((row) => row.total)
        .map((row) => `${row.self} ${row.total}`);
      assert.deepEqual(got.sort(), rows.map(({ self, total }) => `${self[0]} ${total[0]}`).sort());
      assert.ok((await table(page)).some((row) => /stepped\.c:\d+/.test(row.name)));
    });
  },

  async 'functions-over-time'() {
    await withPage({ view: 'functions' }, async (page) => {
      const rows = () =>
        page.evaluate(() =>
          [...document.querySelectorAll('[data-testid=functions-row]')].map((tr) => [
            tr.querySelector('.fn').firstChild.textContent,
            Number(tr.querySelector('[data-value]').dataset.value),
          ]),
        );
      await until('rows', async () => (await rows()).length > 3);
      const byName = async () => Object.fromEntries(await rows());
      const end = await byName();
      assert.equal(end.insert_node, 1050 * 64);
      assert.equal(end.cache_put, 70000);
      assert.equal(end.nest, 240);
      assert.equal(await reading(page, 'functions-total'), LAST);
      // Under the pointer another moment is read; each value is what the report says then.
      const where = await plot(page, 'functions-chart');
      await page.mouse.move(where(0.45).x, where(0.45).y);
      await frames(page);
      const { time } = await viewer.json('timeline', { id });
      const then = await byName(),
        total = await reading(page, 'functions-total');
      const reported = time.map((t) => report(path, '--at', rfc3339(t)));
      const match = reported.find(
        (r) =>
          r.sum.live_bytes === total &&
          Object.entries(functions(r, 'live-bytes')).every(
            ([key, row]) => row.self[0] === 0 || then[key.split('|')[0]] === row.self[0],
          ),
      );
      assert.ok(match, `no snapshot has ${JSON.stringify(then)}`);
      await page.mouse.move(5, 5);
      await page.getByRole('radio', { name: 'With callees' }).click();
      await until('with callees', async () => (await byName()).main === LAST);
      const withCallees = functions(reported.at(-1), 'live-bytes');
      for (const [name, value] of await rows()) {
        const key = Object.keys(withCallees).find((k) => k.startsWith(`${name}|`));
        if (key) assert.equal(value, withCallees[key].total[0], name);
      }
      await page.getByRole('radio', { name: 'Self' }).click();
      await page
        .locator('[data-testid=panel-functions] select')
        .first()
        .selectOption('total-count');
      await until('counts', async () => (await byName()).handle_request === 30);
      // Pinned: its callers come below.
      await page
        .locator('[data-testid=functions-row]', { hasText: 'cache_put' })
        .locator('button.fn')
        .click();
      await page.waitForSelector('[data-direction=callers] h3 [data-value]');
      assert.ok((await routeNow(page)).pin);
      const { sum } = report(path, '--filter', '^cache_put$');
      await until(
        'its callers',
        async () =>
          Number(
            await page
              .locator('[data-direction=callers] h3 [data-value]')
              .getAttribute('data-value'),
          ) === sum.total_count,
      );
      await picture(page, 'functions');
      await page.click('[data-testid=unpin]');
      assert.equal((await routeNow(page)).pin, undefined);
    });
  },

  async process() {
    await withPage({ view: 'process' }, async (page) => {
      await page.waitForSelector('[data-testid=module-row]');
      const detail = await viewer.json('process', { id });
      const text = await page.locator('[data-testid=panel-process]').innerText();
      for (const part of [detail.full_path, String(program.pid), detail.writer, path, 'half way'])
        assert.ok(text.includes(part), part);
      assert.equal(await page.locator('[data-testid=module-row]').count(), detail.modules.length);
      for (const module of detail.modules.filter((m) => m.build_id))
        assert.ok(text.includes(module.build_id));
      const totalsText = (await page.locator('[data-testid=totals]').innerText()).replace(
        /[\s\u202f]/g,
        '',
      );
      for (const metric of METRICS)
        assert.ok(totalsText.includes(String(detail.metrics[metric])), metric);
      await picture(page, 'process');
      // A mark leads to its moment.
      await page.locator('[data-testid=marks] button').click();
      await waitTotals(page, [63600]);
    });
  },

  async downloads() {
    await withPage({ show: 'change', from: at[2], to: at[8], g: 'line' }, async (page) => {
      await waitTotals(page, [240 + 160, 30000]);
      const args = ['--from', rfc3339(at[2]), '--to', rfc3339(at[8]), '--granularity', 'line'];
      const { formats } = await viewer.json('process', { id });
      for (const { name } of formats) {
        await page.click('[data-testid=download]');
        const link = page.locator(`[data-testid=download-${name}]`);
        await link.waitFor();
        if (name === 'heaptrack') {
          // holds whole runs only: below
          await frames(page);
          await page.keyboard.press('Escape');
          await link.waitFor({ state: 'detached' });
          continue;
        }
        const [file] = await Promise.all([page.waitForEvent('download'), link.click()]);
        const bytes = readFileSync(await file.path());
        assert.ok(
          bytes.equals(
            name === 'binpb'
              ? readFileSync(path)
              : memhawk('report', path, '--format', name, ...args),
          ),
          name,
        );
        assert.match(file.suggestedFilename(), /stepped/);
      }
      await page.click('[data-testid=download]');
      await page.click('[data-testid=copy-command]');
      const command = await page.locator('[data-testid=report-command]').innerText();
      assert.equal(command, ['memhawk', 'report', ...args, path].join(' '));
    });
    await withPage({}, async (page) => {
      await waitTotals(page, [HELD]);
      await page.click('[data-testid=download]');
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.click('[data-testid=download-heaptrack]'),
      ]);
      assert.ok(
        readFileSync(await file.path()).equals(memhawk('report', path, '--format', 'heaptrack')),
      );
    });
  },

  async windows() {
    await withPage({ view: 'windows' }, async (page) => {
      const row = page.locator('.windows-panel tr[data-window=load]');
      await row.waitFor();
      const cell = async (column) =>
        await row.locator(`[data-column=${column}]`).getAttribute('data-value');
      // Four iterations of three blocks of 40 bytes, two of which are given back.
      const wanted = {
        iterations: 4,
        'each-allocations': 3,
        'each-bytes': 120,
        peak_bytes: 120,
        allocations: 12,
        bytes: 480,
        frees: 8,
        freed_bytes: 320,
        'each-temporary': 0,
        stacks: 3,
        scope: 'thread',
      };
      for (const [column, value] of Object.entries(wanted))
        assert.equal(await cell(column), String(value), column);
      await row.locator('button').click();
      await waitTotals(page, [480]);
      compareTable(
        await table(page),
        report(path, '--window', 'load', '--metric', 'total-bytes'),
        'total-bytes',
        oneSided,
      );
      assert.equal((await routeNow(page)).window, 'load');
      await picture(page, 'windows');
      await page.click('[data-testid=download]');
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.click('[data-testid=download-json]'),
      ]);
      assert.equal(JSON.parse(readFileSync(await file.path())).view.window.name, 'load');
    });
  },

  async compare() {
    const other = new Stepped(newFolder());
    for (const line of ['cache 150', 'requests 5', 'nest 5']) await other.step(line);
    await other.end();
    const both = await Viewer.open(path, other.path);
    const first = await both.process(program.pid),
      second = await both.process(other.pid);
    const page = await openPage(
      browser,
      `${both.url}#${new URLSearchParams({
        view: 'compare',
        p: first.id,
        'before-at': at[2],
        after: first.id,
        'after-at': at[9],
      })}`,
    );
    const rows = () =>
      page.evaluate(() =>
        [...document.querySelectorAll('.compare-changes tbody tr[data-kind]')].map((tr) =>
          [
            tr.dataset.kind,
            ...[...tr.querySelectorAll('[data-value]')].map((td) => Number(td.dataset.value)),
          ].join(' '),
        ),
      );
    const agrees = async (...args) => {
      const diff = JSON.parse(
        memhawk('diff', ...args, '--metric', 'live-bytes', '--format', 'json'),
      );
      await waitTotals(page, [diff.before.values.live_bytes, diff.after.values.live_bytes]);
      const wanted = diff.rows.map((row) =>
        [
          row.kind,
          row.change,
          row.before?.values.live_bytes ?? 0,
          row.after?.values.live_bytes ?? 0,
        ].join(' '),
      );
      assert.deepEqual((await rows()).sort(), wanted.sort());
      return diff;
    };
    await agrees(path, '--from', rfc3339(at[2]), '--to', rfc3339(at[9]));
    await route(page, {
      view: 'compare',
      p: first.id,
      'before-at': 'end',
      after: second.id,
      'after-at': 'end',
    });
    const diff = await agrees(path, other.path, '--at', 'end');
    assert.equal(diff.after.values.live_bytes - diff.before.values.live_bytes, 150000 + 240 - LAST);
    // One row opened: its frames, and where it differs.
    await page.locator('.compare-changes tbody tr[data-kind]').first().click();
    assert.ok((await page.locator('.compare-frames li').count()) > 3);
    await picture(page, 'compare');
    // A node of the graph says what it was before and after.
    const answer = await both.json('compare', {
      id: first.id,
      at: 'end',
      id2: second.id,
      at2: 'end',
      metric: 'live-bytes',
    });
    assert.ok(answer.labels.function.includes('insert_node'));
    await page.locator('.compare-panel .flame-scroll').focus();
    await page.keyboard.press('ArrowDown');
    const said = await details(page);
    assert.deepEqual([said.main['total before'], said.main['total after']], [LAST, 150240]);
    assert.equal(said.main.change, 150240 - LAST);
    await closePage(page);
    await both.close();
  },

  async 'callers-in-compare'() {
    const other = new Stepped(newFolder());
    await other.step('cache 150');
    await other.end();
    const both = await Viewer.open(path, other.path);
    const first = await both.process(program.pid),
      second = await both.process(other.pid);
    const view = { view: 'compare', p: first.id };
    const interval = { ...view, 'before-at': at[2], 'after-at': at[9] };
    const page = await openPage(browser, `${both.url}#${new URLSearchParams(interval)}`);
    const rows = page.locator('.compare-changes tbody tr[data-kind]');
    /** Opens the first stack with that function and presses its name. */
    const press = async (name, query) => {
      const { rows: listed, labels } = await both.json('compare', query);
      const at = listed.findIndex((row) => row.frames.some((f) => labels.function[f] === name));
      await rows.nth(at).click();
      const frame = page.locator('.compare-frames li button', { hasText: new RegExp(`^${name}$`) });
      await frame.first().click();
    };
    /** Both halves, and the rows below, are of stacks through FUNCTION alone. */
    const agrees = async (name, before, after, ...args) => {
      const sums = [before, after].map(
        ([file, moment]) =>
          report(file, '--at', moment, '--filter', `^${name}$`).sum.live_bytes,
      );
      const half = (direction) => page.locator(`[data-direction=${direction}] h3 [data-totals]`);
      for (const direction of ['callers', 'callees']) {
        await half(direction).waitFor();
        await until(
          `${direction} of ${name}`,
          async () => (await half(direction).getAttribute('data-totals')) === sums.join(' '),
        );
      }
      await settled(page);
      const diff = JSON.parse(
        memhawk('diff', ...args, '--metric', 'live-bytes', '--format', 'json'),
      );
      const through = diff.rows.filter((row) =>
        (row.after ?? row.before).frames.some((f) => f.function === name),
      );
      assert.ok(through.length > 0);
      assert.equal(await rows.count(), through.length);
      assert.equal(await page.locator('.sandwich .facts-name').first().innerText(), name);
    };
    // From a frame of a stack that differs.
    await settled(page);
    await press('insert_node', { id: first.id, at: at[2], id2: first.id, at2: at[9] });
    const span = ['--from', rfc3339(at[2]), '--to', rfc3339(at[9])];
    const ends = [
      [path, rfc3339(at[2])],
      [path, rfc3339(at[9])],
    ];
    await agrees('insert_node', ...ends, path, ...span);
    assert.match((await routeNow(page))['compare-focus'], /^\d+$/);
    await page.reload();
    await agrees('insert_node', ...ends, path, ...span);
    // A search lights up in both halves.
    const field = page.getByRole('searchbox', { name: 'Search or /regex/' });
    await field.fill('build_index');
    await field.press('Enter');
    await picture(page, 'compare-focus');
    await field.fill('');
    // With the keyboard: from a node of the graph, back to it, and the browser's way back.
    await page.getByRole('button', { name: /Back to the whole graph/ }).press('Enter');
    await until('the whole graph', async () => (await page.locator('.sandwich').count()) === 0);
    assert.equal((await routeNow(page))['compare-focus'], undefined);
    assert.ok(
      await page.evaluate(() => document.activeElement.classList.contains('flame-scroll')),
      'the graph has the focus',
    );
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    const { name } = await details(page);
    await page.getByRole('button', { name: 'Callers and callees' }).press('Enter');
    await agrees(name, ...ends, path, ...span);
    assert.match(await page.evaluate(() => document.activeElement.innerText), /Back to the whole/);
    await page.goBack();
    await until('the whole graph', async () => (await page.locator('.sandwich').count()) === 0);
    // A function that only the earlier of two files has; swapped, it is the later one's.
    await route(page, { ...view, 'before-at': 'end', after: second.id, 'after-at': 'end' });
    await settled(page);
    await press('insert_node', { id: first.id, at: 'end', id2: second.id, at2: 'end' });
    const files = [
      [path, 'end'],
      [other.path, 'end'],
    ];
    await agrees('insert_node', ...files, path, other.path, '--at', 'end');
    assert.match((await routeNow(page))['compare-focus'], /^before-\d+$/);
    await page.getByRole('button', { name: 'Swap' }).click();
    await agrees('insert_node', ...files.toReversed(), other.path, path, '--at', 'end');
    assert.match((await routeNow(page))['compare-focus'], /^\d+$/);
    await closePage(page);
    await both.close();
  },
};

await run(tests, leave);
