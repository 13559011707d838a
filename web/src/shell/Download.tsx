// SPDX-License-Identifier: Apache-2.0
//
// Takes what is shown along: every format of the server for the present selection, and the command
// that gives the same on a terminal.

import { useEffect, useRef, useState } from 'preact/hooks';
import { api, downloadUrl } from '../api';
import { bounds, detail, process, route, running, selection } from '../state';
import { reportCommand, toTheEnd } from './report';

/** The snapshot that "peak of the interval" means; null: `report` finds it by itself. */
async function peakTime(id: number): Promise<number | null> {
    const s = selection.peek();
    if (s.mode !== 'peak' || s.from === undefined || s.to === undefined) {
        return null;
    }
    const answer = await api.timeline(id, { from: s.from, to: s.to, points: 2 });
    return answer.peak.time;
}

async function copyText(text: string): Promise<boolean> {
    try {
        await navigator.clipboard.writeText(text);
        return true;
    } catch {
        return false; // not allowed, or no secure context: the text is shown to be copied by hand
    }
}

function CopyCommand() {
    const [said, setSaid] = useState<string | null>(null);
    const [shown, setShown] = useState<string | null>(null);
    const copy = async (): Promise<void> => {
        const p = process.peek();
        if (!p) {
            return;
        }
        try {
            const run = bounds.peek();
            const wanted = selection.peek();
            const s = run && !running.peek() ? toTheEnd(wanted, run.to) : wanted;
            const command = reportCommand(p.path, s, await peakTime(p.id));
            setShown(command);
            setSaid((await copyText(command)) ? 'Copied' : 'Select and copy:');
        } catch (error) {
            setSaid(error instanceof Error ? error.message : String(error));
        }
    };
    useEffect(() => {
        setSaid(null);
        setShown(null);
    }, [route.value]);
    return (
        <div class="copy-command">
            <button type="button" data-testid="copy-command" onClick={() => void copy()}>
                Copy the report command
            </button>
            <output data-testid="copy-said">{said}</output>
            {shown !== null && <code data-testid="report-command">{shown}</code>}
        </div>
    );
}

export function Download() {
    const [open, setOpen] = useState(false);
    const box = useRef<HTMLDivElement>(null);
    useEffect(() => {
        if (!open) {
            return undefined;
        }
        const close = (event: Event): void => {
            const inside = event.target instanceof Node && box.current?.contains(event.target);
            if (event instanceof KeyboardEvent ? event.key === 'Escape' : !inside) {
                setOpen(false);
                if (event instanceof KeyboardEvent) {
                    box.current?.querySelector('button')?.focus();
                }
            }
        };
        addEventListener('pointerdown', close);
        addEventListener('keydown', close);
        return () => {
            removeEventListener('pointerdown', close);
            removeEventListener('keydown', close);
        };
    }, [open]);
    const p = process.value;
    const formats = detail.value?.formats ?? [];
    return (
        <div class="menu-box" ref={box}>
            <button
                type="button"
                aria-haspopup="true"
                aria-expanded={open}
                disabled={formats.length === 0}
                data-testid="download"
                onClick={() => setOpen(!open)}
            >
                Download ▾
            </button>
            {open && p && (
                <div class="menu" data-testid="download-menu">
                    <p class="hint">What the flame graph shows, as</p>
                    <ul>
                        {formats.map((format) => (
                            <li key={format.name}>
                                <a
                                    href={downloadUrl(p.id, selection.value, format.name)}
                                    download=""
                                    data-testid={`download-${format.name}`}
                                    onClick={() => setOpen(false)}
                                >
                                    <b>{format.name}</b>
                                    <small>{format.what}</small>
                                </a>
                            </li>
                        ))}
                    </ul>
                    <CopyCommand />
                </div>
            )}
        </div>
    );
}
