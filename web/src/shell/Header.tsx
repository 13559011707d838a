// SPDX-License-Identifier: Apache-2.0
//
// The head of a process: name, state, command line, figures of now, coverage of RSS.

import { bytes, count, share } from '../format';
import type { Process, ProcessDetail } from '../api';
import { bounds, columns, connection, detail, peak, process } from '../state';
import { clock, dateAndClock, length, shortSeconds } from '../times';
import { Download } from './Download';
import { badgeOf, commandLine, coverageOf, coverageShares, isCut } from './facts';
import type { Share } from './facts';

export function StateBadge({ of }: { of: Process }) {
    const badge = badgeOf(of, connection.value !== 'gone');
    return (
        <span
            class={`badge ${badge.tone}`}
            title={badge.hint}
            data-testid="state"
            data-state={of.state}
        >
            {badge.tone === 'good' && <i class="pulse" aria-hidden="true" />}
            {badge.text}
        </span>
    );
}

const SHARE_WORDS: Record<Share['name'], [string, string]> = {
    live: ['live', 'Heap blocks that the program holds'],
    overhead: ['overhead', "The allocator's rounding and headers around them"],
    recorder: [
        'recorder',
        "MemHawk's own memory in the process, as mapped; what it has not touched yet is not resident",
    ],
    other: ['other', 'Code, stacks, mapped files, free memory that the allocator keeps'],
};

function CoverageBar() {
    const coverage = coverageOf(columns.value, detail.value);
    if (!coverage) {
        return <div class="coverage none">RSS not known</div>;
    }
    const shares = coverageShares(coverage);
    return (
        <div class="coverage" data-testid="coverage">
            <div class="coverage-head">
                RSS <b>{bytes(coverage.rss_bytes)}</b>
            </div>
            <div class="bar" role="img" aria-label="Parts of the resident memory">
                {shares.map((s) => (
                    <i
                        key={s.name}
                        class={`part-${s.name}`}
                        style={{ width: `${(s.part * 100).toFixed(2)}%` }}
                    />
                ))}
            </div>
            <ul>
                {shares.map((s) => (
                    <li key={s.name} title={SHARE_WORDS[s.name][1]} data-testid={`rss-${s.name}`}>
                        <i class={`swatch part-${s.name}`} aria-hidden="true" />
                        {SHARE_WORDS[s.name][0]} {bytes(s.bytes)}{' '}
                        <small>
                            {isCut(s, coverage.rss_bytes)
                                ? 'not all resident'
                                : share(s.bytes, coverage.rss_bytes)}
                        </small>
                    </li>
                ))}
            </ul>
        </div>
    );
}

interface FactProps {
    name: string;
    value: string;
    small?: string;
    testId: string;
    raw?: number;
}

function Fact({ name, value, small, testId, raw }: FactProps) {
    return (
        <div class="fact">
            <dt>{name}</dt>
            <dd data-testid={testId} data-value={raw}>
                {value}
                {small && <small>{small}</small>}
            </dd>
        </div>
    );
}

const blockWords = (n: number): string => `${count(n)} ${n === 1 ? 'block' : 'blocks'}`;

function Figures({ of, more }: { of: Process; more: ProcessDetail | null }) {
    const run = bounds.value;
    const top = peak.value;
    const last = columns.value?.time.length ? columns.value : null;
    const at = (name: 'live_count' | 'total_count' | 'total_bytes'): number | null =>
        last ? (last[name][last[name].length - 1] as number) : null;
    const blocks = at('live_count');
    const calls = at('total_count');
    const total = at('total_bytes');
    return (
        <dl class="figures">
            <Fact
                name={of.state === 'running' ? 'Live now' : 'Live at the end'}
                value={bytes(of.live_bytes)}
                {...(blocks === null ? {} : { small: blockWords(blocks) })}
                testId="live-now"
                raw={of.live_bytes}
            />
            <Fact
                name="Peak"
                value={bytes(top?.live_bytes ?? of.peak_bytes)}
                {...(top
                    ? { small: `at ${shortSeconds(top.time, of.start, of.last - of.start)}` }
                    : {})}
                testId="peak"
                raw={top?.live_bytes ?? of.peak_bytes}
            />
            {calls !== null && total !== null && (
                <Fact
                    name="Allocations"
                    value={count(calls)}
                    small={bytes(total)}
                    testId="allocations"
                    raw={calls}
                />
            )}
            <Fact
                name={of.state === 'running' ? 'Running for' : 'Ran for'}
                value={length((run?.to ?? of.last) - of.start)}
                small={`since ${clock(of.start)}`}
                testId="duration"
            />
            <Fact
                name="Snapshots"
                value={count(of.snapshots)}
                {...(more?.interval_ms ? { small: `each ${length(more.interval_ms * 1000)}` } : {})}
                testId="snapshots"
                raw={of.snapshots}
            />
        </dl>
    );
}

export function Header() {
    const p = process.value;
    const more = detail.value;
    if (!p) {
        return null;
    }
    const command = more ? commandLine(more.arguments) : '';
    return (
        <header class="card head" data-testid="header">
            <div class="head-title">
                <h1 data-testid="process-name">{p.name}</h1>
                <StateBadge of={p} />
                <span class="soft" data-testid="pid">
                    pid {p.pid}
                </span>
                <span class="soft started">started {dateAndClock(p.start)}</span>
                <Download />
            </div>
            <p class="command" title={command} data-testid="command-line">
                {command}
            </p>
            <div class="head-body">
                <Figures of={p} more={more} />
                <CoverageBar />
            </div>
        </header>
    );
}
