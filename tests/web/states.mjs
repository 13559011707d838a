// SPDX-License-Identifier: Apache-2.0
// The live page when things are not as they should be: nothing there yet, still loading, killed,
// damaged, without symbols, without server; and names made by somebody who wants to take over the
// page. Each state is one that a person can tell from the others, and none is an error of the page.
//     node states.mjs --build BUILD [--pictures FOLDER] [TEST...]
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { closePage, frames, launch, openPage, picture, sideways } from './lib/browser.mjs';
import {
  info,
  newFolder,
  options,
  report,
  run,
  sleep,
  Stepped,
  until,
  Viewer,
} from './lib/harness.mjs';
import { details, route, settled, table, waitTotals } from './lib/panel.mjs';

const browser = await launch();
const byId = (page, testId) => page.locator(`[data-testid=${testId}]`);
const stateOf = (page) => byId(page, 'header').locator('[data-testid=state]').first();

async function withView(paths, use, { hash = '', allowed = null, look = {} } = {}) {
  const viewer = await Viewer.open(...paths);
  const page = await openPage(browser, viewer.url + hash, look);
  try {
    await use(page, viewer);
  } catch (error) {
    await picture(page, 'failed');
    error.message += `\n${page.problems.join('\n')}`;
    throw error;
  }
  await closePage(page, allowed);
  await viewer.close();
}

async function finished(...lines) {
  const program = new Stepped();
  for (const line of lines) await program.step(line);
  await program.end();
  return program;
}

/** The stepped program with other symbols, as a program of its own. */
function changedProgram(name, ...commands) {
  const path = join(newFolder(), name);
  copyFileSync(options.stepped, path);
  for (const [command, ...args] of commands) execFileSync(command, [...args, path]);
  return path;
}

// What an attacker would like the page to take for markup or code; no name may hold a NUL.
const EVIL = {
  cache_put: '<script>window.hacked=1</script>',
  insert_node: '"><img src=x onerror=window.hacked=2>',
  handle_request: '\u202egnp.exe\u2066 "quoted" \'single\' & &lt;',
  load_cache: 'L'.repeat(4000),
  hold_buffer: '${window.hacked=3}{{constructor.constructor("window.hacked=4")()}}',
  build_index: 'javascript:window.hacked=5//\u0001\u001b[31m;semicolon blank',
};

const tests = {
  async empty() {
    const folder = newFolder();
    await withView([folder], async (page) => {
      const empty = byId(page, 'empty');
      await until(
        'the waiting state',
        async () => (await empty.getAttribute('data-state')) === 'waiting',
      );
      assert.ok((await byId(page, 'start-hint').innerText()).includes(folder));
      await picture(page, 'state-empty');
      const program = new Stepped(folder); // comes by itself
      await program.step('cache 4');
      await waitTotals(page, [4000]);
      assert.equal(await byId(page, 'process-name').innerText(), 'stepped');
      await program.end();
    });
  },

  async loading() {
    const program = await finished('cache 4');
    await withView([program.path], async (page, viewer) => {
      await page.goto('about:blank');
      const held = [];
      await page.route('**/api/v1/{processes,flame}*', (asked) => {
        held.push(asked);
      });
      await page.goto(viewer.url);
      const state = await byId(page, 'empty').getAttribute('data-state');
      assert.equal(state, 'loading');
      await until('the first question', () => held.length > 0);
      await Promise.all(held.splice(0).map((asked) => asked.continue()));
      await page.waitForSelector('.panel-loading');
      assert.ok((await page.locator('.flame-graph').count()) === 0);
      await picture(page, 'state-loading');
      await until('the question of the flame graph', async () => {
        await Promise.all(held.splice(0).map((asked) => asked.continue()));
        return (await page.locator('.flame-graph').count()) > 0;
      });
      await waitTotals(page, [4000]);
    });
  },

  async 'no-snapshot'() {
    const program = new Stepped(); // its first tick is an hour away
    await until('its file', () => {
      try {
        return readFileSync(program.path).length > 0;
      } catch {
        return false;
      }
    });
    await withView(
      [program.path],
      async (page) => {
        await page.waitForSelector('[data-testid=header]');
        await until('the words', async () =>
          /No snapshot yet/.test(await byId(page, 'timeline').innerText()),
        );
        await picture(page, 'state-no-snapshot');
        await program.step('cache 4');
        await waitTotals(page, [4000]);
      },
      { allowed: /status of 404/ },
    );
    await program.end();
  },

  /** An interval between two snapshots has no peak: said, beside no figures, and no error. */
  async 'no-snapshot-there'() {
    const program = new Stepped();
    const { time } = await program.step('cache 4');
    await sleep(50);
    await program.step('cache 4');
    const view = async (page) => {
      await waitTotals(page, [8000]);
      const from = Number(time / 1000n) + 10000;
      await route(page, { from, to: from + 10000 });
      await until('the words', async () =>
        /No snapshot there/.test(await byId(page, 'panel').innerText()),
      );
      assert.equal(await page.locator('.panel-error, .flame-summary').count(), 0);
      await route(page, {});
      await waitTotals(page, [8000]);
    };
    await withView([program.path], view, { allowed: /status of 404/ });
    await program.end();
  },

  async killed() {
    const program = new Stepped();
    await program.step('cache 4');
    await withView([program.path], async (page) => {
      await waitTotals(page, [4000]);
      assert.equal(await stateOf(page).getAttribute('data-state'), 'running');
      program.child.kill('SIGKILL');
      await until(
        'the state',
        async () => (await stateOf(page).getAttribute('data-state')) === 'gone',
      );
      assert.match(await byId(page, 'notice-killed').innerText(), /was killed/);
      await waitTotals(page, [4000]);
      await picture(page, 'state-killed');
    });
  },

  async crashed() {
    const program = new Stepped();
    await program.step('cache 4');
    await withView([program.path], async (page) => {
      await waitTotals(page, [4000]);
      await program.end('crash');
      await until(
        'the state',
        async () => (await stateOf(page).getAttribute('data-state')) === 'ended',
      );
      assert.match(await stateOf(page).innerText(), /signal/i);
    });
  },

  async damaged() {
    const program = await finished('cache 4', 'index 10', 'requests 3', 'cache 6');
    const bytes = readFileSync(program.path);
    const starts = [];
    for (let at = 0; at < bytes.length; at += 8 + Number(bytes.readBigUInt64BE(at)))
      starts.push(at);
    const third = starts[3];
    bytes.fill(0x55, third + 20, third + 60); // in the record of "requests 3"
    const path = join(newFolder(), 'damaged.binpb');
    writeFileSync(path, bytes);
    await withView([path], async (page) => {
      await page.waitForSelector('[data-testid=notice-damage]');
      const said = info(path).damage;
      const text = (await byId(page, 'notice-damage').innerText()).replaceAll('\u202f', '');
      assert.ok(text.includes(`byte ${said.offset}`), `${text}: ${said.offset}`);
      assert.ok(text.includes(said.message));
      await waitTotals(page, [report(path).sum.live_bytes]);
      await picture(page, 'state-damaged');
    });
  },

  async truncated() {
    const program = await finished('cache 4', 'index 10', 'cache 6');
    const path = join(newFolder(), 'cut.binpb');
    copyFileSync(program.path, path);
    truncateSync(path, readFileSync(path).length - 30); // the end of the run is gone
    await withView([path], async (page) => {
      await waitTotals(page, [10640]);
      assert.equal(await stateOf(page).getAttribute('data-state'), 'gone');
      // While it is followed it becomes shorter: said, and what was read stays.
      truncateSync(path, 40);
      await page.waitForSelector('[data-testid=notice-trouble], [data-testid=notice-damage]');
      await waitTotals(page, [10640]);
      await picture(page, 'state-truncated');
    });
  },

  async deleted() {
    const program = new Stepped();
    await program.step('cache 4');
    const { path } = program;
    await withView([program.folder], async (page, viewer) => {
      await waitTotals(page, [4000]);
      const notice = byId(page, 'notice-deleted');
      assert.equal(await notice.count(), 0);
      renameSync(path, `${path}.away`);
      await notice.waitFor();
      assert.ok((await notice.innerText()).includes(path));
      // It is followed on, and can be saved.
      await program.step('cache 2');
      await waitTotals(page, [6000]);
      await picture(page, 'state-deleted');
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        byId(page, 'save-deleted').click(),
      ]);
      assert.ok(readFileSync(await file.path()).equals(readFileSync(`${path}.away`)));
      // Another file at its path is not what was asked for.
      writeFileSync(path, 'nonsense');
      const { id } = (await viewer.json('processes')).processes.find((p) => p.pid === program.pid);
      const answer = await viewer.fetch('download', { id, format: 'binpb' });
      const bytes = Buffer.from(await answer.arrayBuffer());
      assert.ok(bytes.equals(readFileSync(`${path}.away`)));
      // It comes back.
      renameSync(`${path}.away`, path);
      await notice.waitFor({ state: 'detached' });
    });
    await program.end();
  },

  async 'not-a-profile'() {
    const folder = newFolder();
    const path = join(folder, 'memhawk_x_1_protobuf.binpb');
    writeFileSync(path, 'this is no profile <b>at all</b>');
    await assert.rejects(Viewer.open(path), /is no profile/); // alone, it is refused at once
    const program = new Stepped(folder);
    await program.step('cache 1');
    await withView([folder], async (page) => {
      await waitTotals(page, [1000]);
      assert.ok((await byId(page, 'broken-files').innerText()).includes(path));
      await picture(page, 'state-broken');
    });
    await program.end();
  },

  async 'no-symbols'() {
    const program = changedProgram('bare', ['strip', '-s']);
    const bare = new Stepped(newFolder(), {}, program);
    await bare.step('cache 4');
    await withView([bare.folder], async (page) => {
      await waitTotals(page, [4000]);
      const names = (await table(page)).map((row) => row.name);
      assert.ok(
        names.some((name) => /^0x[0-9a-f]+ \(in bare\)$/.test(name)),
        names.join(),
      );
      const module = info(bare.path).modules.find((m) => m.path.endsWith('/bare'));
      await page.waitForSelector('[data-testid=notice-missing-symbols]');
      await route(page, { view: 'process' });
      const row = byId(page, 'module-row').filter({ hasText: '/bare' });
      assert.ok((await row.innerText()).includes(module.build_id));
      assert.ok((await row.locator('.module-hint').innerText()).length > 10);
      await picture(page, 'state-no-symbols');
    });
    await bare.end();
  },

  async losses() {
    const program = new Stepped(newFolder(), { MEMHAWK_DEPTH: '3' });
    await program.step('cache 4');
    await withView([program.path], async (page) => {
      await waitTotals(page, [4000]);
      assert.match(
        await byId(page, 'notice-losses').innerText(),
        /4 allocations with stacks cut at the depth limit/,
      );
      await route(page, { view: 'process' });
      assert.match(await byId(page, 'losses').innerText(), /4 allocations with stacks cut/);
    });
    await program.end();
  },

  async 'server-gone'() {
    const program = await finished('cache 4', 'index 10');
    const first = await Viewer.open(program.path);
    const page = await openPage(browser, first.url);
    await waitTotals(page, [4640]);
    assert.equal(await byId(page, 'connection').getAttribute('data-state'), 'live');
    await first.close();
    await page.waitForSelector('[data-testid=notice-lost], [data-testid=notice-gone]');
    await page.waitForSelector('[data-testid=notice-gone]', { timeout: 20000 });
    assert.equal(await byId(page, 'live-now').getAttribute('data-value'), '4640');
    await picture(page, 'state-gone');
    await page.getByRole('radio', { name: 'Cumulative count' }).click(); // nobody answers
    await page.waitForSelector('.panel-error');
    await closePage(
      page,
      /ERR_CONNECTION_REFUSED|Failed to load resource|ERR_INCOMPLETE|ERR_EMPTY|ERR_CONNECTION/,
    );
  },

  async 'wrong-token'() {
    const program = await finished('cache 4');
    await withView(
      [program.path],
      async (page, viewer) => {
        await waitTotals(page, [4000]);
        const other = viewer.url.replace(viewer.token, '0'.repeat(viewer.token.length));
        const answer = await page.goto(other);
        const refused = answer.status() === 403;
        if (!refused)
          await until(
            'the words',
            async () => (await byId(page, 'empty').getAttribute('data-state')) === 'error',
          );
        assert.equal(await byId(page, 'header').count(), 0);
      },
      { allowed: /status of 403|favicon/ },
    );
  },

  async policy() {
    const program = await finished('cache 4');
    await withView(
      [program.path],
      async (page, viewer) => {
        const answer = await page.goto(viewer.url);
        const policy = answer.headers()['content-security-policy'];
        assert.match(policy, /default-src 'none'/);
        assert.doesNotMatch(policy, /unsafe|\*|http/);
        // The guard itself: script in the page's markup does not run, and is told as an error.
        await page.evaluate(() => {
          const script = document.createElement('script');
          script.textContent = 'window.hacked = 1';
          document.body.append(script);
        });
        assert.equal(await page.evaluate(() => window.hacked), undefined);
        assert.ok(page.problems.some((text) => /Content Security Policy/.test(text)));
      },
      { allowed: /Content Security Policy/ },
    );
  },

  async 'hostile-names'() {
    const renames = Object.entries(EVIL)
      .map(([name, evil]) => ['--redefine-sym', `${name}=${evil}`])
      .flat();
    const program = changedProgram('<img src=x onerror=window.hacked=6>', [
      'objcopy',
      '--strip-debug',
      ...renames,
    ]);
    const evil = new Stepped(newFolder(), {}, program);
    for (const line of [
      'cache 10',
      'index 20',
      'requests 5',
      'hold 64',
      'window 3 <script>window.hacked=7</script>',
      `window 2 ${'"\'><svg onload=window.hacked=8>\u202e'.repeat(9)}`,
      'mark </title><script>window.hacked=9</script>\u202e',
    ])
      await evil.step(line);
    await withView(
      [evil.folder],
      async (page, viewer) => {
        const {
          processes: [{ id, start }],
        } = await viewer.json('processes');
        await waitTotals(page, [10000 + 1280 + 65536]);
        const names = (await table(page)).map((row) => row.name);
        assert.ok(names.includes(EVIL.cache_put), names.map((name) => name.slice(0, 60)).join());
        assert.ok(names.includes(EVIL.load_cache) || names.some((name) => /^L{500,}/.test(name)));
        assert.ok(
          (await byId(page, 'process-name').innerText()).includes('<img') ||
            (await byId(page, 'command-line').innerText()).includes('<img'),
        );
        await page.locator('.flame-scroll').focus();
        for (let i = 0; i < 12; i++) {
          // walk over all of them, with tooltip and details
          await page.keyboard.press(i % 3 ? 'ArrowDown' : 'ArrowRight');
          await frames(page);
          assert.ok(await details(page));
        }
        const canvas = await page.locator('.flame-graph canvas').first().boundingBox();
        for (let y = 10; y < Math.min(canvas.height, 260); y += 20) {
          await page.mouse.move(canvas.x + canvas.width * 0.2, canvas.y + y);
          await frames(page);
        }
        await picture(page, 'hostile');
        const views = [
          { view: 'functions', top: 40 },
          { view: 'windows', window: '<script>window.hacked=7</script>' },
          { view: 'process' },
          { view: 'compare', 'before-at': start, 'after-at': 'end' },
          { show: 'change' },
          { show: 'temporary', g: 'line' },
          { search: '<script>' },
          { search: '/[<"]/' },
          { filter: '<script>window' },
        ];
        for (const parameters of views) {
          await route(page, parameters);
          await settled(page);
          await frames(page);
          assert.ok((await sideways(page)) <= 0, `${JSON.stringify(parameters)} scrolls sideways`);
        }
        await route(page, { view: 'windows', window: '<script>window.hacked=7</script>' });
        await waitTotals(page, [3 * 120]);
        assert.equal(await page.evaluate(() => window.hacked), undefined);
        assert.equal(
          await page.evaluate(
            () => document.querySelectorAll('img, svg[onload], main script').length,
          ),
          0,
        );
        assert.doesNotMatch(await page.title(), /<script>/);
        assert.ok((await viewer.json('process', { id })).marks[0].text.includes('<script>'));
        // Hostile links do no harm either.
        for (const bad of [
          '#p=99',
          '#view=<script>',
          '#from=9e99&to=-1',
          '#window=<b>&view=windows',
          '#focus=4000000000',
          '#moment=0&show=moment',
          '#pin=1,2,3,99999&view=functions',
          '#from=99999999999999999999',
          '#%',
          '#filter=(',
        ]) {
          await page.goto('about:blank');
          await page.goto(viewer.url + bad);
          await page.waitForSelector('[data-testid=header]');
          await settled(page);
        }
        assert.equal(await page.evaluate(() => window.hacked), undefined);
      },
      { allowed: /status of 40[04]/, look: { viewport: { width: 1000, height: 900 } } },
    );
    await evil.end();
  },
};

await run(tests, async () => {
  await browser.close();
});
