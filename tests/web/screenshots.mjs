// SPDX-License-Identifier: Apache-2.0
// Pictures of the live page for the README, from programs that really ran: the parallel scanner of
// `make demo`, twice, and the example with measurement windows. Run by tools/screenshots:
//     node screenshots.mjs --build BUILD --pictures FOLDER
import { execFileSync } from 'node:child_process';
import { basename, join } from 'node:path';
import { closePage, frames, launch, openPage } from './lib/browser.mjs';
import {
  environment,
  newFolder,
  options,
  profilesIn,
  run,
  sleep,
  start,
  Viewer,
} from './lib/harness.mjs';
import { route, settled } from './lib/panel.mjs';

const ROOT = new URL('../..', import.meta.url).pathname;
const folder = newFolder();
let viewer, browser;

async function record(program, args, more = {}) {
  const child = start(program, args, {
    argv0: basename(program),
    env: environment({
      LD_PRELOAD: options.library,
      MEMHAWK_OUTPUT: folder,
      MEMHAWK_INTERVAL_MS: '10',
      ...more,
    }),
  });
  child.stdout.resume();
  child.stderr.resume();
  const { code } = await child.ended;
  if (code !== 0) throw new Error(`${program}: status ${code}`);
  return child.pid;
}

async function makeRuns() {
  const loop = join(newFolder(), 'loop');
  execFileSync('cc', [
    '-O2',
    '-g',
    `-I${ROOT}include`,
    join(ROOT, 'examples/windows/plain_c/loop.c'),
    '-o',
    loop,
  ]);
  const runs = {
    small: await record(options.scanner, ['/usr/share', '8']),
    large: await record(options.scanner, ['/usr', '8']),
    loop: await record(loop, []),
  };
  viewer = await Viewer.open(folder);
  for (const [name, pid] of Object.entries(runs)) runs[name] = (await viewer.process(pid, 1)).id;
  return runs;
}

async function shoot(page, name, theme) {
  await page.mouse.move(2, 2);
  await settled(page);
  await frames(page);
  await page.screenshot({ path: join(options.pictures, `view-${name}-${theme}.png`) });
}

/** The part of the page that has the tabs, from its top edge on. */
async function toPanel(page) {
  await page
    .locator('.tabs')
    .evaluate((element) => scrollTo(0, element.getBoundingClientRect().top + scrollY - 8));
}

/** From before the largest drop on the way up, to the peak: something came, something went. */
async function lively(id) {
  const { time, live_bytes: live, peak } = await viewer.json('timeline', { id });
  const top = live.indexOf(peak.live_bytes);
  const drops = live.slice(1, top).map((bytes, i) => live[i] - bytes);
  return { from: time[drops.indexOf(Math.max(...drops))], to: time[top] };
}

async function pictures(theme, runs) {
  const page = await openPage(
    browser,
    `${viewer.url}#${new URLSearchParams({ p: runs.large, theme })}`,
    { viewport: { width: 1280, height: 1000 }, colorScheme: theme },
  );
  await page.waitForSelector('.flame-graph canvas');
  await settled(page);
  await sleep(500);
  await shoot(page, 'overview', theme);

  await route(page, { p: runs.large, theme, show: 'change', ...(await lively(runs.large)) });
  await settled(page);
  await toPanel(page);
  await shoot(page, 'change', theme);

  await route(page, { p: runs.large, theme, view: 'functions' });
  await settled(page);
  await page.click('[data-testid=to-peak]');
  await settled(page);
  await sleep(300);
  await toPanel(page);
  await shoot(page, 'functions', theme);

  await route(page, { p: runs.loop, theme, view: 'windows', window: 'join_slowly' });
  await page.waitForSelector('.windows-panel .flame-graph canvas');
  await toPanel(page);
  await shoot(page, 'windows', theme);

  await route(page, {
    p: runs.large,
    theme,
    view: 'compare',
    before: runs.small,
    'before-at': 'peak',
    after: runs.large,
    'after-at': 'peak',
  });
  await page.waitForSelector('.compare-panel .flame-graph canvas');
  await settled(page);
  await toPanel(page);
  await shoot(page, 'compare', theme);

  await route(page, { p: runs.large, theme, view: 'process' });
  await page.waitForSelector('[data-testid=module-row]');
  await toPanel(page);
  await shoot(page, 'process', theme);
  await closePage(page);
}

async function phone(theme, runs) {
  const page = await openPage(
    browser,
    `${viewer.url}#${new URLSearchParams({ p: runs.large, theme })}`,
    {
      viewport: { width: 390, height: 844 },
      isMobile: true,
      hasTouch: true,
      deviceScaleFactor: 2,
      colorScheme: theme,
    },
  );
  await page.waitForSelector('.flame-graph canvas');
  await settled(page);
  await sleep(500);
  await shoot(page, 'phone', theme);
  await closePage(page);
}

await run(
  {
    async screenshots() {
      browser = await launch();
      const runs = await makeRuns();
      for (const theme of ['light', 'dark']) {
        await pictures(theme, runs);
        await phone(theme, runs);
      }
      if (profilesIn(folder).length !== 3)
        throw new Error('other profiles than those of the three runs');
    },
  },
  async () => {
    await browser?.close();
    await viewer?.close();
  },
);
