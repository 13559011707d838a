// SPDX-License-Identifier: Apache-2.0
//
// The page without a process: loading, no answer, a folder that is still empty, files that nobody
// can read.

import { reconnect } from '../live';
import { connection, listError, processList } from '../state';
import { quoted } from './report';

function Waiting({ folders }: { folders: string[] }) {
    const folder = folders[0];
    return (
        <>
            <div class="waiting" aria-hidden="true">
                <i />
                <i />
                <i />
            </div>
            <h1>Waiting for programs</h1>
            <p>
                The page shows each program that writes its profile to
                {folders.length > 1 ? ' one of these folders' : ' this folder'}, as soon as it
                starts:
            </p>
            <ul class="folders">
                {folders.map((path) => (
                    <li key={path}>
                        <code>{path}</code>
                    </li>
                ))}
            </ul>
            <p>Start one with</p>
            <pre data-testid="start-hint">
                memhawk run -o {folder ? quoted(folder) : 'FOLDER'} -- PROGRAM
            </pre>
        </>
    );
}

function Broken({ files }: { files: { path: string; message: string }[] }) {
    return (
        <>
            <h1>{files.length === 1 ? 'The file cannot be read' : 'The files cannot be read'}</h1>
            <ul class="broken" data-testid="broken-files">
                {files.map((file) => (
                    <li key={file.path}>
                        <code>{file.path}</code>
                        <span>{file.message}</span>
                    </li>
                ))}
            </ul>
        </>
    );
}

function Unanswered({ message, forbidden }: { message: string; forbidden: boolean }) {
    return (
        <>
            <h1>{forbidden ? 'This address is not valid any more' : 'No answer'}</h1>
            <p>
                {forbidden
                    ? 'Each memhawk view has a token of its own in its address. Open the one that it printed.'
                    : message}
            </p>
            <button type="button" data-testid="reconnect" onClick={reconnect}>
                Try again
            </button>
        </>
    );
}

export function Empty() {
    const list = processList.value;
    const error = listError.value;
    let state = 'loading';
    let body = <p>Loading …</p>;
    if (!list && error) {
        state = 'error';
        body = <Unanswered message={error.message} forbidden={error.status === 403} />;
    } else if (list && (list.broken?.length ?? 0) > 0 && list.folders.length === 0) {
        state = 'broken';
        body = <Broken files={list.broken ?? []} />;
    } else if (list) {
        state = 'waiting';
        body = <Waiting folders={list.folders} />;
    }
    return (
        <div class="card empty" data-testid="empty" data-state={state}>
            {body}
            {list && connection.value === 'lost' && <p class="hint">Connecting again …</p>}
        </div>
    );
}
