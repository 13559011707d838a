// SPDX-License-Identifier: Apache-2.0
//
// Everything that is known of the process and its profile: arguments, settings of the recorder,
// totals, losses, damage, modules with the source of their names.

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { METRICS } from '../api';
import type { Module, ProcessDetail } from '../api';
import { bytes, count, exact, METRIC_NAME, METRIC_UNIT } from '../format';
import { badgeOf, lossWords } from '../shell/facts';
import { detail, go, process, processList } from '../state';
import { clock, dateAndClock, length, shortSeconds } from '../times';

type Entry = [name: string, value: ComponentChildren];

function Facts({ title, rows, testId }: { title: string; rows: Entry[]; testId: string }) {
    return (
        <section class="facts" data-testid={testId}>
            <h3>{title}</h3>
            <dl>
                {rows.map(([name, value]) => (
                    <div key={name}>
                        <dt>{name}</dt>
                        <dd>{value}</dd>
                    </div>
                ))}
            </dl>
        </section>
    );
}

function Parent({ of }: { of: ProcessDetail }) {
    const parent = processList.value?.processes.find((p) => p.id === of.parent_id);
    if (!parent) {
        return <>{of.parent}</>;
    }
    return (
        <button type="button" class="link" onClick={() => go({ process: parent.id })}>
            {parent.name} ({parent.pid})
        </button>
    );
}

function Arguments({ list }: { list: string[] | string }) {
    if (typeof list === 'string') {
        return <code>{list}</code>;
    }
    return (
        <ol class="arguments" data-testid="arguments">
            {list.map((text, i) => (
                <li key={i}>
                    <code>{text}</code>
                </li>
            ))}
        </ol>
    );
}

function processRows(d: ProcessDetail): Entry[] {
    return [
        ['Program', <code class="path">{d.full_path}</code>],
        ['Arguments', <Arguments list={d.arguments} />],
        ['Process id', d.pid],
        ['Parent', <Parent of={d} />],
        ['Host', d.host],
        ['Started', dateAndClock(d.start)],
        ['State', badgeOf(process.value ?? d).text],
        ['Made by', d.forked ? 'fork of its parent' : 'start of the program'],
        ['Allocator', d.allocator || 'not known'],
    ];
}

function recorderRows(d: ProcessDetail): Entry[] {
    return [
        ['File', <code class="path">{d.path}</code>],
        ['File size', bytes(d.file_bytes)],
        ['In memory here', bytes(d.model_bytes)],
        ['Snapshots', count(process.value?.snapshots ?? d.snapshots)],
        ['Interval', length(d.interval_ms * 1000)],
        ['Stacks walked by', d.unwind === 'fp' ? 'frame pointers' : d.unwind],
        ['Depth limit', `${d.max_depth} frames`],
        ['Written by', d.writer],
        ['Names', `${count(d.symbols.done)} of ${count(d.symbols.total)} frames`],
    ];
}

function Losses({ of }: { of: ProcessDetail }) {
    const losses = Object.entries(of.losses);
    return (
        <section class="facts" data-testid="losses">
            <h3>Losses and damage</h3>
            {losses.length + of.damage.length === 0 ? (
                <p class="soft">None: every allocation and release was recorded with its stack.</p>
            ) : (
                <ul class="list">
                    {losses.map(([name, n]) => (
                        <li key={name}>
                            <b>{count(n)}</b> {lossWords(name)}
                        </li>
                    ))}
                    {of.damage.map((damage) => (
                        <li key={damage.offset} class="bad">
                            byte {count(damage.offset)}: {damage.message}
                        </li>
                    ))}
                </ul>
            )}
            {of.warning && <p class="warn-text">{of.warning}</p>}
        </section>
    );
}

function Marks({ of }: { of: ProcessDetail }) {
    if (of.marks.length === 0) {
        return null;
    }
    return (
        <section class="facts" data-testid="marks">
            <h3>Marks</h3>
            <ul class="list scroll">
                {of.marks.map((mark, i) => (
                    <li key={i}>
                        <button
                            type="button"
                            class="link"
                            onClick={() => go({ view: 'flame', show: 'moment', moment: mark.time })}
                        >
                            {shortSeconds(mark.time, of.start, of.last - of.start)}
                        </button>{' '}
                        {mark.text} <small>{clock(mark.time)}</small>
                    </li>
                ))}
            </ul>
        </section>
    );
}

const SOURCE_WORDS: Record<Module['symbols'], [tone: string, words: string, hint: string]> = {
    dwarf: ['good', 'DWARF', 'Functions, inlined calls, files and lines'],
    symtab: ['plain', 'symbol table', 'Functions, no lines'],
    dynsym: ['warn', 'dynamic symbols', 'Exported functions only'],
    debugdata: ['plain', 'minidebuginfo', 'Functions, no lines'],
    none: ['bad', 'none', 'Addresses only'],
    pending: ['plain', 'pending', 'Not looked at yet'],
};

function ModuleRow({ module: m, start }: { module: Module; start: number }) {
    const [tone, words, meaning] = SOURCE_WORDS[m.symbols] ?? SOURCE_WORDS.none;
    return (
        <tr data-testid="module-row">
            <td>
                <code class="path">{m.path}</code>
                {m.deleted && <span class="badge warn">deleted</span>}
                {m.hint && <p class="module-hint">{m.hint}</p>}
            </td>
            <td>
                <span class={`badge ${tone}`} title={meaning}>
                    {words}
                </span>
            </td>
            <td>
                <code class="build-id">{m.build_id || '–'}</code>
            </td>
            <td class="number">
                {shortSeconds(Math.max(m.loaded, start), start, 5e7)}
                {m.unloaded ? ` – ${shortSeconds(m.unloaded, start, 5e7)}` : ''}
            </td>
        </tr>
    );
}

function Modules({ of }: { of: ProcessDetail }) {
    const [filter, setFilter] = useState('');
    const wanted = filter.toLowerCase();
    const shown = of.modules.filter((m) => m.path.toLowerCase().includes(wanted));
    return (
        <section class="facts wide" data-testid="modules">
            <div class="card-head">
                <h3>
                    Modules <small>{count(of.modules.length)}</small>
                </h3>
                {of.modules.length > 8 && (
                    <input
                        type="search"
                        placeholder="Find a module"
                        value={filter}
                        aria-label="Find a module"
                        data-testid="module-filter"
                        onInput={(event) => setFilter(event.currentTarget.value)}
                    />
                )}
            </div>
            <div class="scroll-x">
                <table>
                    <thead>
                        <tr>
                            <th scope="col">Path</th>
                            <th scope="col">Names from</th>
                            <th scope="col">Build-id</th>
                            <th scope="col" class="number">
                                Loaded
                            </th>
                        </tr>
                    </thead>
                    <tbody>
                        {shown.map((m) => (
                            <ModuleRow
                                key={`${m.path} ${m.loaded} ${m.build_id}`}
                                module={m}
                                start={of.start}
                            />
                        ))}
                    </tbody>
                </table>
            </div>
        </section>
    );
}

export function ProcessPanel() {
    const d = detail.value;
    if (!d) {
        return <div class="placeholder tall">Loading …</div>;
    }
    const totals = METRICS.map(
        (metric): Entry => [METRIC_NAME[metric], exact(d.metrics[metric], METRIC_UNIT[metric])],
    );
    return (
        <div class="process-panel" data-testid="panel-process">
            <div class="fact-columns">
                <Facts title="Process" rows={processRows(d)} testId="process-facts" />
                <Facts title="Profile" rows={recorderRows(d)} testId="profile-facts" />
                <Facts title="Totals at the end" rows={totals} testId="totals" />
                <Losses of={d} />
                <Marks of={d} />
            </div>
            <Modules of={d} />
        </div>
    );
}
