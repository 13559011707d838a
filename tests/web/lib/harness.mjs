// SPDX-License-Identifier: Apache-2.0
// What the tests of the live page share: options, a scratch folder, the stepped program under the
// recorder, `memhawk view` beside it, the command's own reports, and a runner that prints one line
// per test. Only processes started here are ended here.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

const parsed = parseArgs({
  allowPositionals: true,
  options: {
    memhawk: { type: 'string' },
    library: { type: 'string' },
    build: { type: 'string' },
    pictures: { type: 'string' },
    keep: { type: 'boolean' },
    quick: { type: 'boolean' },
  },
});
const given = parsed.values;
/** Names of tests to run, all when there is none. */
export const wanted = parsed.positionals;
const build = given.build ?? 'build';
export const quick = given.quick ?? false;
export const options = {
  build,
  memhawk: given.memhawk ?? join(build, 'src/cli/memhawk'),
  library: given.library ?? join(build, 'src/runtime/libmemhawk.so'),
  stepped: join(build, 'tests/programs/stepped'),
  scanner: join(build, 'examples/scanner/scanner'),
  makeLongProfile: join(build, 'bench/make_long_profile'),
  pictures: given.pictures,
};

export const scratch = mkdtempSync(join(tmpdir(), 'memhawk-web-'));
const started = new Set();
let folders = 0;
// Also when the script fails before its first test, or is ended from outside: nothing stays behind.
process.on('exit', () => {
  started.forEach((child) => child.kill('SIGKILL'));
  if (!given.keep) rmSync(scratch, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(130));

export function newFolder() {
  const path = join(scratch, `f${++folders}`);
  mkdirSync(path);
  return path;
}

/** The user's environment, less what would make two machines differ; symbols are cached here. */
export function environment(more = {}) {
  const kept = Object.entries(process.env).filter(
    ([name]) =>
      !/^(MEMHAWK_|LD_PRELOAD$|DEBUGINFOD_URLS$|DISPLAY$|WAYLAND_DISPLAY$|BROWSER$)/.test(name),
  );
  return {
    ...Object.fromEntries(kept),
    LC_ALL: 'C.UTF-8',
    XDG_CACHE_HOME: join(scratch, 'cache'),
    ...more,
  };
}

export function start(command, args, how = {}) {
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: environment(),
    ...how,
  });
  child.stdin?.on('error', () => {}); // it may have ended
  started.add(child);
  child.ended = new Promise((done) =>
    child.on('exit', (code, signal) => {
      started.delete(child);
      done({ code, signal });
    }),
  );
  return child;
}

export function within(milliseconds, promise, what) {
  let timer;
  const late = new Promise((_, fail) => {
    timer = setTimeout(
      () => fail(new Error(`${what}: not within ${milliseconds} ms`)),
      milliseconds,
    );
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** Calls until it returns something true, and returns that. */
export async function until(what, check, milliseconds = 10000) {
  const end = Date.now() + milliseconds;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (Date.now() > end) throw new Error(`${what}: not within ${milliseconds} ms`);
    await sleep(20);
  }
}

/** tests/programs/stepped under the recorder: a snapshot after each line, none by the clock. */
export class Stepped {
  constructor(folder = newFolder(), more = {}, executable = options.stepped) {
    this.folder = folder;
    this.child = start(executable, [], {
      env: environment({
        LD_PRELOAD: options.library,
        MEMHAWK_OUTPUT: folder,
        MEMHAWK_INTERVAL_MS: '3600000',
        ...more,
      }),
    });
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }

  get pid() {
    return this.child.pid;
  }

  get path() {
    const mine = readdirSync(this.folder).find((name) =>
      name.endsWith(`_${this.pid}_protobuf.binpb`),
    );
    return join(this.folder, mine ?? `memhawk_stepped_${this.pid}_protobuf.binpb`);
  }

  /** Does one line. Returns when its snapshot was there, in ns as a BigInt, and the last child. */
  async step(line) {
    this.child.stdin.write(line + '\n');
    const { value, done } = await within(20000, this.lines.next(), `stepped: ${line}`);
    if (done) throw new Error(`stepped has ended instead of: ${line}`);
    const [, time, child] = /^done (\d+) (\d+)$/.exec(value);
    return { time: BigInt(time), child: Number(child) };
  }

  async steps(...lines) {
    const all = [];
    for (const line of lines) all.push(await this.step(line));
    return all;
  }

  async end(line = 'exit 0') {
    this.child.stdin.write(line + '\n');
    return within(10000, this.child.ended, 'stepped: end');
  }
}

/** `memhawk view` on loopback; its URL is what it prints. */
export class Viewer {
  static async open(...paths) {
    const viewer = new Viewer();
    viewer.child = start(options.memhawk, ['view', '--no-open', ...paths]);
    viewer.output = '';
    const url = new Promise((found, fail) => {
      const look = (text) => {
        viewer.output += text;
        const match = /http:\/\/[^\s]+token=[\w-]+/.exec(viewer.output);
        if (match) found(match[0]);
      };
      viewer.child.stdout.on('data', look);
      viewer.child.stderr.on('data', look);
      viewer.child.on('exit', () => fail(new Error(`memhawk view ended: ${viewer.output}`)));
    });
    viewer.url = await within(20000, url, 'memhawk view: its URL');
    viewer.token = new URL(viewer.url).searchParams.get('token');
    return viewer;
  }

  api(name, query = {}) {
    const url = new URL(`/api/v1/${name}`, this.url);
    for (const [key, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(key, String(value));
    }
    url.searchParams.set('token', this.token);
    return url;
  }

  async fetch(name, query) {
    return fetch(this.api(name, query));
  }

  async json(name, query) {
    const answer = await this.fetch(name, query);
    const body = await answer.json();
    assert.equal(answer.status, 200, `${name} ${JSON.stringify(query)}: ${JSON.stringify(body)}`);
    return body;
  }

  /** The process with this pid, when it has at least SNAPSHOTS and all names have come. */
  async process(pid, snapshots = 0) {
    const row = await until(`process ${pid} with ${snapshots} snapshots`, async () =>
      (await this.json('processes')).processes.find(
        (p) => p.pid === pid && p.snapshots >= snapshots,
      ),
    );
    await until('names', async () => {
      const { symbols } = await this.json('process', { id: row.id });
      return symbols.done === symbols.total;
    });
    return row;
  }

  async close(signal = 'SIGTERM') {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return undefined;
    this.child.kill(signal);
    return within(10000, this.child.ended, 'memhawk view: end');
  }
}

/** What the command says. */
export function memhawk(...args) {
  return execFileSync(options.memhawk, args, { env: environment(), maxBuffer: 1 << 30 });
}
export const report = (path, ...args) =>
  JSON.parse(memhawk('report', path, '--format', 'json', ...args));
export const info = (path) => JSON.parse(memhawk('info', '--json', path));
export const profilesIn = (folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.binpb'))
    .map((name) => join(folder, name));

/** RFC 3339 with nanoseconds: the end of this microsecond, as the API means a time. */
export function rfc3339(us) {
  const seconds = new Date(Math.floor(us / 1e6) * 1000).toISOString().slice(0, 19);
  return `${seconds}.${String(us % 1e6).padStart(6, '0')}999Z`;
}

/** Runs {name: async function} in order; the exit status says whether all passed. */
export async function run(tests, after = async () => {}, say = console.log) {
  let passed = 0,
    failed = 0;
  try {
    for (const [name, test] of Object.entries(tests)) {
      if (wanted.length && !wanted.includes(name)) continue;
      const begun = Date.now();
      try {
        await test();
        passed++;
        say(`ok ${name} (${Date.now() - begun} ms)`);
      } catch (error) {
        failed++;
        say(`FAILED ${name} (${Date.now() - begun} ms)\n${error.stack ?? error}`);
      }
    }
  } finally {
    await after();
    for (const child of started) child.kill('SIGKILL');
    await Promise.all([...started].map((child) => child.ended));
    if (given.keep) say(`kept ${scratch}`);
    else rmSync(scratch, { recursive: true, force: true });
  }
  say(`${passed} passed, ${failed} failed`);
  process.exitCode = failed || !passed ? 1 : 0;
}
