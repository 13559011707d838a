// SPDX-License-Identifier: Apache-2.0
// A small client of WebDriver BiDi (w3c.github.io/webdriver-bidi) for Debian's Firefox, with the
// few commands that the smoke test needs. Firefox says on stderr where it listens.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { environment, scratch, start, within } from './harness.mjs';

export const firefoxPath = ['/usr/bin/firefox-esr', '/usr/bin/firefox'].find((path) =>
  existsSync(path),
);

// Nothing of its own on the network.
const PREFERENCES = {
  'app.normandy.enabled': false,
  'app.update.disabledForTesting': true,
  'browser.safebrowsing.downloads.enabled': false,
  'browser.safebrowsing.malware.enabled': false,
  'browser.safebrowsing.phishing.enabled': false,
  'browser.search.update': false,
  'browser.shell.checkDefaultBrowser': false,
  'browser.startup.page': 0,
  'datareporting.policy.dataSubmissionEnabled': false,
  'dom.push.enabled': false,
  'extensions.update.enabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'services.settings.server': 'http://127.0.0.1:1',
  'toolkit.telemetry.enabled': false,
};

export class Firefox {
  static async launch() {
    const profile = join(scratch, 'firefox');
    mkdirSync(profile);
    writeFileSync(
      join(profile, 'user.js'),
      Object.entries(PREFERENCES)
        .map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`)
        .join(''),
    );
    const firefox = new Firefox();
    firefox.child = start(
      firefoxPath,
      ['--headless', '--no-remote', '--remote-debugging-port=0', '--profile', profile],
      { env: environment({ HOME: profile, MOZ_CRASHREPORTER_DISABLE: '1' }) },
    );
    const address = await within(
      60000,
      new Promise((found) => {
        let text = '';
        firefox.child.stderr.on('data', (part) => {
          text += part;
          const match = /WebDriver BiDi listening on (ws:\/\/\S+)/.exec(text);
          if (match) found(match[1]);
        });
      }),
      'Firefox',
    );
    firefox.waiting = new Map();
    firefox.events = [];
    firefox.count = 0;
    firefox.socket = new WebSocket(`${address}/session`);
    await new Promise((open, fail) => firefox.socket.on('open', open).on('error', fail));
    firefox.socket.on('message', (data) => firefox.receive(JSON.parse(data)));
    await firefox.send('session.new', { capabilities: {} });
    await firefox.send('session.subscribe', {
      events: ['log.entryAdded', 'network.beforeRequestSent'],
    });
    const { contexts } = await firefox.send('browsingContext.getTree', {});
    firefox.context = contexts[0].context;
    return firefox;
  }

  receive(message) {
    if (message.type === 'event') {
      this.events.push(message);
      return;
    }
    const { done, fail } = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (message.type === 'success') done(message.result);
    else fail(new Error(`${message.error}: ${message.message}`));
  }

  send(method, params) {
    const id = ++this.count;
    const answer = new Promise((done, fail) => this.waiting.set(id, { done, fail }));
    this.socket.send(JSON.stringify({ id, method, params }));
    return within(30000, answer, method);
  }

  /** Errors of the page, violations of its policy among them, and requests to other hosts. */
  problems(host) {
    return this.events.flatMap(({ method, params }) => {
      if (method === 'log.entryAdded') return params.level === 'error' ? [params.text] : [];
      const url = params.request.url;
      return url.startsWith(`http://${host}/`) || /^(data|blob|about):/.test(url)
        ? []
        : [`request ${url}`];
    });
  }

  async size(width, height) {
    await this.send('browsingContext.setViewport', {
      context: this.context,
      viewport: { width, height },
    });
  }

  async goto(url) {
    await this.send('browsingContext.navigate', { context: this.context, url, wait: 'complete' });
  }

  /** The value of an expression, which may be a promise; what JSON can say. */
  async evaluate(expression) {
    const answer = await this.send('script.evaluate', {
      target: { context: this.context },
      awaitPromise: true,
      expression: `(async () => JSON.stringify(await (${expression})) ?? 'null')()`,
    });
    if (answer.type === 'exception') throw new Error(answer.exceptionDetails.text);
    return JSON.parse(answer.result.value);
  }

  async pointer(...steps) {
    const actions = steps.map(
      ([type, x, y]) =>
        ({
          move: { type: 'pointerMove', x: Math.round(x), y: Math.round(y), duration: 20 },
          down: { type: 'pointerDown', button: 0 },
          up: { type: 'pointerUp', button: 0 },
        })[type],
    );
    await this.send('input.performActions', {
      context: this.context,
      actions: [{ type: 'pointer', id: 'mouse', actions }],
    });
  }

  async click(x, y) {
    await this.pointer(['move', x, y], ['down'], ['up']);
  }

  async key(value) {
    await this.send('input.performActions', {
      context: this.context,
      actions: [
        {
          type: 'key',
          id: 'keys',
          actions: [
            { type: 'keyDown', value },
            { type: 'keyUp', value },
          ],
        },
      ],
    });
  }

  async screenshot() {
    const { data } = await this.send('browsingContext.captureScreenshot', {
      context: this.context,
    });
    return Buffer.from(data, 'base64');
  }

  async close() {
    await this.send('browser.close', {}).catch(() => {});
    this.socket.close();
    await within(10000, this.child.ended, 'Firefox: end').catch(() => this.child.kill('SIGKILL'));
  }
}
