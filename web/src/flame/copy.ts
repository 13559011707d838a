// SPDX-License-Identifier: Apache-2.0

/** Copies a text; false where the browser forbids it (the clipboard wants a secure context). */
export async function copyText(text: string): Promise<boolean> {
    try {
        await navigator.clipboard.writeText(text);
        return true;
    } catch {
        return copyBySelection(text);
    }
}

function copyBySelection(text: string): boolean {
    const field = document.createElement('textarea');
    field.value = text;
    field.className = 'offscreen';
    document.body.append(field);
    const before = document.activeElement;
    field.select();
    const done = document.execCommand('copy');
    field.remove();
    if (before instanceof HTMLElement) {
        before.focus();
    }
    return done;
}
