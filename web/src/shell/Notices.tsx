// SPDX-License-Identifier: Apache-2.0
//
// What a user must know before trusting the figures, one line each: the connection, the process's
// end, damage, losses, names that are missing or still to come. Facts of a finished profile can be
// put away for as long as the page is open; the state of the connection cannot.

import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { downloadUrl } from '../api';
import { count } from '../format';
import { reconnect } from '../live';
import { connection, detail, detailError, go, listError, process, processList } from '../state';
import { symbols, trouble } from '../state';
import { clock } from '../times';
import { lossWords } from './facts';
import type { Tone } from './facts';

const putAway = signal<ReadonlySet<string>>(new Set());

interface NoticeProps {
    id: string;
    tone: Tone;
    /** Stays. */
    lasting?: boolean;
    children: ComponentChildren;
}

function Notice({ id, tone, lasting, children }: NoticeProps) {
    const key = `${process.value?.id ?? 0} ${id}`;
    if (!lasting && putAway.value.has(key)) {
        return null;
    }
    return (
        <div class={`notice ${tone}`} role={tone === 'bad' ? 'alert' : 'status'} data-testid={id}>
            <div class="notice-text">{children}</div>
            {!lasting && (
                <button
                    type="button"
                    class="plain"
                    aria-label="Put this away"
                    onClick={() => {
                        putAway.value = new Set([...putAway.value, key]);
                    }}
                >
                    ×
                </button>
            )}
        </div>
    );
}

function ToProcess({ children }: { children: string }) {
    return (
        <button type="button" class="link" onClick={() => go({ view: 'process' })}>
            {children}
        </button>
    );
}

function ConnectionNotice() {
    const state = connection.value;
    if (state === 'lost') {
        return (
            <Notice id="notice-lost" tone="warn" lasting>
                The connection was lost and is being opened again. Figures stand still until then.
            </Notice>
        );
    }
    if (state !== 'gone') {
        return null;
    }
    const last = process.value?.last;
    return (
        <Notice id="notice-gone" tone="bad" lasting>
            <b>memhawk view has ended.</b>{' '}
            {last ? `The page shows what was there at ${clock(last)}; ` : ''}
            new questions are not answered. Start it again and open the address that it prints.{' '}
            <button type="button" data-testid="reconnect" onClick={reconnect}>
                Try again
            </button>
        </Notice>
    );
}

function ErrorNotice() {
    if (connection.value === 'gone') {
        return null;
    }
    const error = detailError.value ?? (processList.value ? listError.value : null);
    return error ? (
        <Notice id="notice-error" tone="bad" lasting>
            {error.message} <small>({error.code})</small>{' '}
            <button type="button" onClick={reconnect}>
                Try again
            </button>
        </Notice>
    ) : null;
}

function ReadingNotice() {
    const loaded = detail.value?.loaded ?? 1;
    return loaded < 1 ? (
        <Notice id="notice-reading" tone="plain" lasting>
            The file is being read: {Math.floor(loaded * 100)} %{' '}
            <progress value={loaded} max={1} aria-label="Share of the file that has been read" />
        </Notice>
    ) : null;
}

function KilledNotice() {
    const p = process.value;
    return p?.state === 'gone' ? (
        <Notice id="notice-killed" tone="warn">
            The process was killed: its last snapshot is of {clock(p.last)}. What it did after that
            is not known.
        </Notice>
    ) : null;
}

/** What is read stays as long as the server, which has the file open. */
function DeletedNotice() {
    const p = process.value;
    if (!p?.file_deleted || connection.value === 'gone') {
        return null;
    }
    return (
        <Notice id="notice-deleted" tone="warn" lasting>
            The file of this profile was deleted or moved away: <code class="path">{p.path}</code>.
            What it held is shown for as long as memhawk view runs, then it is lost.{' '}
            <a
                class="link"
                href={downloadUrl(p.id, {}, 'binpb')}
                download=""
                data-testid="save-deleted"
            >
                Save a copy
            </a>
        </Notice>
    );
}

function DamageNotice() {
    const damage = detail.value?.damage ?? [];
    const first = damage[0];
    if (!first) {
        const message = detail.value?.message ?? trouble.value;
        return message ? (
            <Notice id="notice-trouble" tone="warn">
                {message}
            </Notice>
        ) : null;
    }
    return (
        <Notice id="notice-damage" tone="bad">
            Not all of the file could be read: at byte {count(first.offset)}, {first.message}.
            {damage.length > 1 ? ` ${damage.length - 1} more.` : ''} <ToProcess>Details</ToProcess>
        </Notice>
    );
}

function LossNotice() {
    const losses = Object.entries(detail.value?.losses ?? {});
    if (losses.length === 0) {
        return null;
    }
    const words = losses.map(([name, n]) => `${count(n)} ${lossWords(name)}`).join(', ');
    return (
        <Notice id="notice-losses" tone="warn">
            The recorder lost something: {words}.
        </Notice>
    );
}

function SymbolNotice() {
    const { done, total } = symbols.value;
    if (total > done && connection.value === 'gone') {
        return null; // nobody looks for them any more
    }
    if (total > done) {
        return (
            <Notice id="notice-symbols" tone="plain" lasting>
                Names are coming: {count(done)} of {count(total)} frames{' '}
                <progress value={done} max={total} aria-label="Names found" />
            </Notice>
        );
    }
    const missing = (detail.value?.modules ?? []).filter((module) => module.hint);
    const first = missing[0];
    if (!first) {
        return null;
    }
    return (
        <Notice id="notice-missing-symbols" tone="plain">
            Names are missing in <code class="path">{first.path}</code>
            {first.build_id ? (
                <small class="build-id"> (build-id {first.build_id})</small>
            ) : null}: {first.hint}{' '}
            {missing.length > 1 && <ToProcess>{`${missing.length - 1} more`}</ToProcess>}
        </Notice>
    );
}

export function Notices() {
    const warning = detail.value?.warning;
    return (
        <div class="notices" data-testid="notices">
            <ConnectionNotice />
            <ErrorNotice />
            <ReadingNotice />
            <KilledNotice />
            <DeletedNotice />
            <DamageNotice />
            {warning && (
                <Notice id="notice-warning" tone="warn">
                    {warning}
                </Notice>
            )}
            <LossNotice />
            <SymbolNotice />
        </div>
    );
}
