// SPDX-License-Identifier: Apache-2.0
// Every figure of the JSON API against two truths: what the stepped program was told to do, counted
// by hand here, and what `memhawk report`, `diff` and `info` say of the same selection.
//     node figures.mjs --build BUILD [TEST...]
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import {
  apiFunctions,
  apiTree,
  checkSums,
  focused,
  functions,
  labelKey,
  METRICS,
  tree,
} from './lib/expect.mjs';
import { info, memhawk, report, rfc3339, run, Stepped, Viewer } from './lib/harness.mjs';

// The plan, and live bytes and blocks after each line, by hand. `hold` writes one snapshot more,
// while it holds. Metrics at the end: see CUMULATIVE.
const PLAN = [
  ['cache 100', 100000, 100],
  ['index 50', 103200, 150],
  ['requests 30', 103200, 150],
  ['hold 512', 103200, 150],
  ['drop 40', 63200, 110],
  ['nest 5', 63440, 115],
  ['window 4 load', 63600, 119],
  ['mark half way', 63600, 119],
  ['cache 10', 73600, 129],
  ['index 1000', 137600, 1129],
];
const SNAPSHOTS = PLAN.length + 1;
const HELD = 103200 + 512 * 1024; // live bytes while `hold` holds
const HELD_COUNT = 151;
const TOTAL_COUNT = 100 + 50 + 30 + 1 + 5 + 4 * 3 + 10 + 1000;
const TOTAL_BYTES = 100000 + 3200 + 9000 + (512 << 10) + 240 + 4 * 120 + 10000 + 64000;
const TEMPORARY = 31; // the requests and the held block

const program = new Stepped();
const at = []; // microseconds, right after each line
for (const [line] of PLAN) at.push(Number((await program.step(line)).time / 1000n));
const viewer = await Viewer.open(program.path);
const { id } = await viewer.process(program.pid, SNAPSHOTS);
const path = program.path;

const CHOICES = METRICS.flatMap((metric) =>
  ['function', 'line'].map((granularity) => ({ metric, granularity })),
);
async function compareWith(reported, selection) {
  for (const { metric, granularity } of CHOICES) {
    const query = { id, ...selection, metric, granularity };
    const table = await viewer.json('functions', { ...query, limit: 10000 });
    assert.deepEqual(
      apiFunctions(table, granularity),
      functions(reported, metric, granularity),
      metric,
    );
    assert.equal(table.row_count, table.rows.label.length);
    for (const inverted of [false, true]) {
      const flame = await viewer.json('flame', {
        ...query,
        inverted: Number(inverted),
        limit: 250000,
      });
      assert.deepEqual(
        apiTree(flame, granularity),
        tree(reported, metric, { granularity, inverted }),
        metric,
      );
      assert.equal(flame.node_count, flame.nodes.label.length);
      checkSums(flame);
      for (const all of METRICS) {
        const member = all.replace('-', '_');
        const sum = reported.sum.added
          ? [reported.sum.added[member], reported.sum.removed[member]]
          : [reported.sum[member]];
        assert.deepEqual(flame.totals[all], sum, all);
        assert.deepEqual(
          flame.nodes.metrics[all].map((side) => side[0]),
          sum,
          all,
        );
      }
    }
  }
}

/** What focused() says of two reports, as the two sides of a comparison. The program itself is the
 * same module on both sides; a path is that of the later one. */
function twoTrees(reports, metric, key, direction) {
  const trees = reports.map((reported) => focused(reported, metric, key, direction));
  const all = {};
  trees.forEach((one, side) => {
    for (const [node, { total, self }] of Object.entries(one)) {
      all[node] ??= { total: [0, 0], self: [0, 0] };
      all[node].total[side] = total[0];
      all[node].self[side] = self[0];
    }
  });
  return Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const tests = {
  async timeline() {
    const line = await viewer.json('timeline', { id });
    assert.equal(line.snapshots, SNAPSHOTS);
    const live = PLAN.map(([, bytes]) => bytes),
      blocks = PLAN.map(([, , count]) => count);
    live.splice(3, 0, HELD);
    blocks.splice(3, 0, HELD_COUNT);
    assert.deepEqual(line.live_bytes, live);
    assert.deepEqual(line.live_count, blocks);
    assert.equal(line.total_count.at(-1), TOTAL_COUNT);
    assert.equal(line.total_bytes.at(-1), TOTAL_BYTES);
    assert.equal(line.temporary.at(-1), TEMPORARY);
    assert.equal(line.peak.live_bytes, HELD);
    assert.equal(line.peak.time, line.time[3]);
    for (const member of ['time', 'kind', 'overhead', 'rss_bytes', 'own_bytes', 'threads'])
      assert.equal(line[member].length, SNAPSHOTS, member);
    assert.ok(line.kind.every((kind) => kind === 3)); // asked for
    assert.ok(line.rss_bytes.every((bytes) => bytes > 1 << 20));
    line.time.forEach((time, i) => {
      const [sum] = [report(path, '--at', rfc3339(time)).sum];
      assert.equal(sum.live_bytes, line.live_bytes[i]);
      assert.equal(sum.overhead, line.overhead[i]);
    });
    // Fewer points: first, last and the peak stay.
    const few = await viewer.json('timeline', { id, points: 4 });
    assert.ok(few.time.length >= 3 && few.time.length < SNAPSHOTS);
    assert.equal(few.time[0], line.time[0]);
    assert.equal(few.time.at(-1), line.time.at(-1));
    assert.ok(few.live_bytes.includes(HELD));
    const part = await viewer.json('timeline', { id, from: at[4], to: at[8] });
    assert.equal(part.snapshots, 4); // the snapshot of line 4 was just before
    assert.deepEqual(
      part.live_bytes,
      PLAN.slice(5, 9).map(([, bytes]) => bytes),
    );
  },

  async moments() {
    for (let i = 0; i < PLAN.length; i++) {
      const flame = await viewer.json('flame', { id, mode: 'moment', at: at[i] });
      assert.deepEqual(flame.totals['live-bytes'], [PLAN[i][1]]);
      assert.deepEqual(flame.totals['live-count'], [PLAN[i][2]]);
    }
    await compareWith(report(path, '--at', rfc3339(at[5])), { mode: 'moment', at: at[5] });
    await compareWith(report(path, '--at', 'end'), { mode: 'moment', at: 'end' });
  },

  async peak() {
    const flame = await viewer.json('flame', { id });
    assert.deepEqual(flame.totals['live-bytes'], [HELD]);
    const held = flame.labels.function.indexOf('hold_buffer');
    assert.equal(flame.nodes.self[0][flame.nodes.label.indexOf(held)], 512 << 10);
    await compareWith(report(path), {});
  },

  async 'peak-inside'() {
    // From the drop on, without the last line, the highest is the snapshot after "cache 10".
    const span = { mode: 'peak', from: at[4], to: at[8] };
    const flame = await viewer.json('flame', { id, ...span });
    assert.deepEqual(flame.totals['live-bytes'], [73600]);
    assert.ok(flame.at > at[7] && flame.at <= at[8]);
    await compareWith(report(path, '--at', rfc3339(at[8])), span);
  },

  async between() {
    // From before `hold` to the end. By stack: the cache lost 40 and won 10, the index won 1,000.
    const span = { mode: 'between', from: at[2], to: at[9] };
    const reported = report(path, '--from', rfc3339(at[2]), '--to', rfc3339(at[9]));
    const flame = await viewer.json('flame', { id, ...span });
    assert.deepEqual(flame.sides, ['added', 'removed']);
    assert.deepEqual(flame.totals['live-bytes'], [64000 + 240 + 160, 30000]);
    assert.deepEqual(flame.totals['live-count'], [1000 + 5 + 4, 30]);
    assert.deepEqual(flame.totals['total-count'], [1 + 5 + 12 + 10 + 1000, 0]);
    assert.deepEqual(flame.totals.temporary, [1, 0]);
    assert.equal(flame.state.from['live-bytes'], PLAN[2][1]);
    assert.equal(flame.state.to['live-bytes'], PLAN[9][1]);
    for (const metric of METRICS) {
      const [added, removed] = flame.totals[metric];
      assert.equal(flame.state.to[metric] - flame.state.from[metric], added - removed, metric);
    }
    await compareWith(reported, span);
  },

  async 'between-whole'() {
    const flame = await viewer.json('flame', { id, mode: 'between' });
    assert.equal(flame.state.from['total-count'], 0);
    assert.deepEqual(flame.totals['total-bytes'], [TOTAL_BYTES, 0]);
    await compareWith(report(path, '--from', 'start', '--to', 'end'), { mode: 'between' });
  },

  async filter() {
    for (const filter of ['cache_put|nest', '^insert_', 'stepped$', 'none of them']) {
      const reported = report(path, '--filter', filter);
      for (const metric of METRICS) {
        const flame = await viewer.json('flame', { id, filter, metric });
        assert.deepEqual(apiTree(flame), tree(reported, metric), filter);
      }
    }
    assert.equal((await viewer.fetch('flame', { id, filter: '(' })).status, 400);
  },

  async limit() {
    const whole = await viewer.json('flame', { id, mode: 'moment', at: 'end' });
    for (const limit of [2, 3, 5, 10, 20]) {
      const cut = await viewer.json('flame', { id, mode: 'moment', at: 'end', limit });
      assert.equal(cut.node_count, whole.node_count);
      assert.ok(cut.nodes.label.length <= limit, `${limit}: ${cut.nodes.label.length}`);
      assert.deepEqual(cut.totals, whole.totals);
      checkSums(cut);
      const hidden = cut.nodes.hidden.reduce((sum, n) => sum + n, 0);
      const others = cut.nodes.label.filter((label) => label === -2).length;
      assert.equal(cut.nodes.label.length - others + hidden, whole.node_count);
    }
    const few = await viewer.json('functions', { id, limit: 3 });
    assert.equal(few.rows.label.length, 3);
    assert.ok(few.row_count > 3);
  },

  async focus() {
    const flame = await viewer.json('flame', {
      id,
      mode: 'moment',
      at: 'end',
      metric: 'total-count',
    });
    const reported = report(path, '--at', 'end');
    for (const name of ['nest', 'obey', 'cache_put', 'main']) {
      const index = flame.labels.function.indexOf(name);
      const key = `${name}|${flame.labels.module[index]}`;
      for (const direction of ['callers', 'callees']) {
        const part = await viewer.json('flame', {
          id,
          mode: 'moment',
          at: 'end',
          metric: 'total-count',
          focus: flame.labels.id[index],
          direction,
        });
        assert.deepEqual(
          apiTree(part),
          focused(reported, 'total-count', key, direction),
          `${direction} of ${name}`,
        );
      }
    }
  },

  async series() {
    const { time } = await viewer.json('timeline', { id });
    for (const by of ['self', 'total']) {
      for (const metric of METRICS) {
        const series = await viewer.json('series', { id, by, metric, top: 4 });
        assert.deepEqual(series.time, time);
        assert.ok(series.series.length <= 4);
        time.forEach((t, i) => {
          const reported = report(path, '--at', rfc3339(t));
          const rows = functions(reported, metric);
          for (const one of series.series) {
            const key = `${series.labels.function[one.label]}|${series.labels.module[one.label]}`;
            assert.equal(one.value[i], rows[key]?.[by][0] ?? 0, `${metric} ${by} ${key} at ${i}`);
          }
          assert.equal(series.total[i], reported.sum[metric.replace('-', '_')]);
          if (by === 'self') {
            const sum = series.series.reduce((n, one) => n + one.value[i], series.other[i]);
            assert.equal(sum, series.total[i]);
          }
        });
        if (by === 'total') assert.equal(series.other, null);
      }
    }
    // A pinned label is there though it is small.
    const { labels } = await viewer.json('functions', { id, mode: 'moment', at: 'end' });
    const pin = labels.id[labels.function.indexOf('nest')];
    const pinned = await viewer.json('series', {
      id,
      by: 'self',
      metric: 'live-bytes',
      top: 1,
      pin,
    });
    const one = pinned.series.find((s) => pinned.labels.function[s.label] === 'nest');
    assert.equal(one.pinned, true);
    assert.equal(one.value.at(-1), 240);
  },

  async compare() {
    const other = new Stepped(); // a second file: more cache, no index, a function of its own
    for (const line of ['cache 150', 'requests 5', 'nest 5', 'exec', 'reap'])
      await other.step(line);
    await other.end();
    const both = await Viewer.open(path, other.path);
    const first = await both.process(program.pid, SNAPSHOTS),
      second = await both.process(other.pid, 5);
    const cases = [
      [
        { id: first.id, at: at[2], id2: first.id, at2: at[9] },
        [path, '--from', rfc3339(at[2]), '--to', rfc3339(at[9])],
      ],
      [
        { id: first.id, at: 'peak', id2: second.id, at2: 'peak' },
        [path, other.path, '--at', 'peak'],
      ],
      [{ id: first.id, at: 'end', id2: second.id, at2: 'end' }, [path, other.path, '--at', 'end']],
    ];
    for (const [query, args] of cases) {
      for (const metric of METRICS) {
        const diff = JSON.parse(memhawk('diff', ...args, '--metric', metric, '--format', 'json'));
        const answer = await both.json('compare', { ...query, metric });
        const value = (side) => side?.values[metric.replace('-', '_')] ?? 0;
        const wanted = diff.rows.map(
          (row) =>
            `${row.kind} ${row.match} ${row.change} ${value(row.before)} ${value(row.after)} ` +
            (row.after ?? row.before).frames.map((f) => f.function).join(' < '),
        );
        const got = answer.rows.map(
          (row) =>
            `${row.kind} ${row.match} ${row.change} ${row.before} ${row.after} ` +
            row.frames.map((f) => answer.labels.function[f]).join(' < '),
        );
        assert.deepEqual(got.sort(), wanted.sort(), `${args[1]} ${metric}`);
        assert.equal(answer.row_count, diff.rows.length);
        assert.deepEqual(answer.sides, ['before', 'after']);
        assert.deepEqual(
          answer.nodes.total.map((side) => side[0]),
          [diff.before.values, diff.after.values].map((v) => v[metric.replace('-', '_')]),
        );
        checkSums(answer);
      }
    }
    await both.close();
  },

  /** Callers and callees in a comparison: what the report says of each side, and the diff's rows. */
  async 'compare-focus'() {
    const other = new Stepped(); // no index, less cache, more nested
    for (const line of ['cache 20', 'nest 7', 'requests 3', 'window 2 load']) await other.step(line);
    await other.end();
    const both = await Viewer.open(path, other.path);
    const first = await both.process(program.pid, SNAPSHOTS),
      second = await both.process(other.pid, 4);
    const cases = [
      [
        { id: first.id, at: at[2], id2: first.id, at2: at[9] },
        [path, '--from', rfc3339(at[2]), '--to', rfc3339(at[9])],
        [report(path, '--at', rfc3339(at[2])), report(path, '--at', rfc3339(at[9]))],
      ],
      [
        { id: first.id, at: 'end', id2: second.id, at2: 'end' },
        [path, other.path, '--at', 'end'],
        [report(path, '--at', 'end'), report(other.path, '--at', 'end')],
      ],
      [
        { id: second.id, at: 'end', id2: first.id, at2: 'end' },
        [other.path, path, '--at', 'end'],
        [report(other.path, '--at', 'end'), report(path, '--at', 'end')],
      ],
    ];
    let earlier = 0;
    for (const [query, args, reports] of cases) {
      for (const metric of ['live-bytes', 'total-count']) {
        const diff = JSON.parse(memhawk('diff', ...args, '--metric', metric, '--format', 'json'));
        assert.ok(diff.rows.every((row) => ['exact', 'none'].includes(row.match)));
        const { labels } = await both.json('compare', { ...query, metric });
        for (let i = 0; i < labels.id.length; i++) {
          const focus =
            labels.id[i] < 0 ? { focus_before: labels.id_before[i] } : { focus: labels.id[i] };
          earlier += labels.id[i] < 0;
          for (const direction of ['callers', 'callees']) {
            const part = await both.json('compare', { ...query, metric, ...focus, direction });
            const said = `${direction} of ${labels.function[i]}, ${metric}`;
            checkSums(part);
            assert.deepEqual(
              apiTree(part),
              twoTrees(reports, metric, labelKey(labels, i), direction),
              said,
            );
            const through = diff.rows.filter((row) =>
              (row.after ?? row.before).frames.some((f) => f.function === labels.function[i]),
            );
            const [before, after] = part.totals[metric];
            assert.equal(
              after - before,
              through.reduce((sum, row) => sum + row.change, 0),
              said,
            );
            assert.equal(part.row_count, through.length, said);
            assert.deepEqual(
              part.rows.map((row) => row.change).sort(),
              through.map((row) => row.change).sort(),
              said,
            );
          }
        }
      }
    }
    assert.ok(earlier >= 2, 'a function that only the earlier side has');
    await both.close();
  },

  async windows() {
    const { windows } = await viewer.json('windows', { id });
    assert.equal(windows.length, 1);
    const [window] = windows;
    // Four iterations: three blocks of 40 bytes, two of them given back.
    const expected = {
      name: 'load',
      scope: 'thread',
      iterations: 4,
      unfinished: 0,
      allocations: 12,
      bytes: 480,
      frees: 8,
      freed_bytes: 320,
      temporary: 0,
      peak_bytes: 120,
      stacks: 3,
    };
    for (const [member, value] of Object.entries(expected))
      assert.equal(window[member], value, member);
    assert.deepEqual(window.per_iteration.allocations, [3, 3, 3]);
    assert.deepEqual(window.per_iteration.bytes, [120, 120, 120]);
    const reported = report(path, '--window', 'load');
    assert.equal(window.duration_ns, reported.view.window.duration_ns);
    for (const metric of METRICS.filter((m) => m !== 'overhead')) {
      const query = { id, mode: 'window', window: 'load', metric };
      assert.deepEqual(apiTree(await viewer.json('flame', query)), tree(reported, metric));
      assert.deepEqual(
        apiFunctions(await viewer.json('functions', query)),
        functions(reported, metric),
      );
    }
    assert.equal((await viewer.fetch('flame', { id, mode: 'window', window: 'none' })).status, 404);
  },

  async process() {
    const detail = await viewer.json('process', { id }),
      said = info(path);
    const equal = {
      name: 'stepped',
      pid: program.pid,
      parent: process.pid,
      state: 'running',
      end: null,
      snapshots: SNAPSHOTS,
      live_bytes: 137600,
      peak_bytes: HELD,
      damaged: false,
      forked: false,
      full_path: said.process.path,
      host: said.process.host,
      arguments: said.process.arguments,
      interval_ms: 3600000,
      unwind: 'cfi',
      writer: said.recorder.writer,
      file_bytes: said.file_bytes,
      allocator: said.process.allocator,
      warning: null,
    };
    for (const [member, value] of Object.entries(equal))
      assert.deepEqual(detail[member], value, member);
    assert.ok(Math.abs(detail.start - said.process.start_ns / 1000) <= 1); // ns do not fit a double
    assert.deepEqual(detail.losses, {});
    assert.deepEqual(
      detail.marks.map((mark) => mark.text),
      ['half way'],
    );
    assert.ok(detail.marks[0].time > at[6] && detail.marks[0].time <= at[7]);
    for (const metric of METRICS)
      assert.equal(detail.metrics[metric], said.run.last[metric.replace('-', '_')]);
    assert.deepEqual(
      detail.modules.map((m) => `${m.path} ${m.build_id} ${m.symbols}`).sort(),
      said.modules.map((m) => `${m.path} ${m.build_id} ${m.names}`).sort(),
    );
    assert.equal(detail.coverage.live_bytes, 137600);
    assert.equal(detail.coverage.usable_bytes, 137600 + said.run.last.overhead);
    assert.equal(detail.coverage.rss_bytes, said.run.rss_bytes);
    assert.equal(detail.coverage.own_bytes, said.run.recorder_bytes);
  },

  async downloads() {
    const { formats } = await viewer.json('process', { id });
    assert.deepEqual(
      formats
        .map((f) => f.name)
        .filter((name) => name !== 'binpb')
        .sort(),
      ['folded', 'heaptrack', 'html', 'json', 'pprof', 'speedscope', 'text'],
    );
    const selections = [
      [{}, []],
      [
        { mode: 'moment', at: at[5], metric: 'live-count' },
        ['--at', rfc3339(at[5]), '--metric', 'live-count'],
      ],
      [
        { mode: 'between', from: at[2], to: at[9], granularity: 'line' },
        ['--from', rfc3339(at[2]), '--to', rfc3339(at[9]), '--granularity', 'line'],
      ],
      [
        { mode: 'window', window: 'load', metric: 'total-count' },
        ['--window', 'load', '--metric', 'total-count'],
      ],
      [{ mode: 'moment', at: 'end', filter: 'nest' }, ['--at', 'end', '--filter', 'nest']],
    ];
    for (const [query, args] of selections) {
      for (const { name, extension } of formats) {
        if (name === 'heaptrack' && args.length) continue; // holds whole runs
        if (name === 'binpb') continue;
        const answer = await viewer.fetch('download', { id, ...query, format: name });
        const body = Buffer.from(await answer.arrayBuffer());
        assert.equal(answer.status, 200, `${name} ${args}: ${body}`);
        assert.ok(
          body.equals(memhawk('report', path, '--format', name, ...args)),
          `${name} ${args}`,
        );
        const disposition = answer.headers.get('content-disposition');
        assert.match(disposition, /^attachment; filename=/);
        assert.ok(disposition.includes('.' + extension), `${disposition}: ${extension}`);
      }
    }
    const file = await viewer.fetch('download', { id, format: 'binpb' });
    assert.ok(Buffer.from(await file.arrayBuffer()).equals(readFileSync(path)));
    assert.equal((await viewer.fetch('download', { id, format: 'none' })).status, 400);
  },
};

await run(tests, async () => {
  await viewer.close();
  await program.end();
});
