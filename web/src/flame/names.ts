// SPDX-License-Identifier: Apache-2.0
//
// Long names made to fit: C++ and Rust names run to thousands of characters of template arguments.
// What does not fit loses first the arguments of templates, then those of the call, then its end.

/** Characters of a name that are ever drawn or measured. */
const LONGEST = 400;

/** "a<b<c>>::d(e)" as "a<…>::d(e)"; operators stay whole. */
export function withoutTemplates(name: string): string {
    let depth = 0;
    let result = '';
    for (let i = 0; i < name.length; i++) {
        const char = name[i]!;
        if (char === '<' && i > 0 && (depth > 0 || !endsInOperator(result))) {
            result += depth === 0 ? '<…' : '';
            depth++;
        } else if (char === '>' && depth > 0 && name[i - 1] !== '-') {
            depth--;
            result += depth === 0 ? '>' : '';
        } else if (depth === 0) {
            result += char;
        }
    }
    // Unbalanced: it was no template after all.
    return depth === 0 ? result : name;
}

/** What follows is part of an operator's name: "<", "<<", "<=>". */
function endsInOperator(name: string): boolean {
    return /operator[<>=-]{0,2}$/.test(name.slice(-11));
}

/** Without the last pair of brackets and what follows: "a::b(c) const" as "a::b". */
export function withoutArguments(name: string): string {
    const at = name.indexOf('(', name.startsWith('(') ? name.indexOf(')') : 0);
    return at > 0 && !name.slice(0, at).endsWith('operator') ? name.slice(0, at) : name;
}

/** For lists: without template arguments, and with a short word for what has no name. */
export function shortName(name: string): string {
    const bare = name.includes('<') ? withoutTemplates(name) : name;
    return bare.replaceAll('(anonymous namespace)', '(anon)');
}

/** Shorter and shorter forms of a name, the full one first. */
export function forms(name: string): string[] {
    const full = name.slice(0, 4 * LONGEST);
    const bare = shortName(full);
    const all = [full, bare, withoutArguments(bare)].map((form) => form.slice(0, LONGEST));
    return [...new Set(all)];
}

/** Measures once and remembers: text widths are asked for again on each frame. */
export class Fitter {
    private readonly known = new Map<string, { text: string; width: number }[]>();

    constructor(private readonly measure: (text: string) => number) {}

    /** The form of NAME to draw in WIDTH pixels; empty when not even three letters fit. */
    fit(name: string, width: number): string {
        let sizes = this.known.get(name);
        if (!sizes) {
            sizes = forms(name).map((text) => ({ text, width: this.measure(text) }));
            if (this.known.size > 50000) {
                this.known.clear();
            }
            this.known.set(name, sizes);
        }
        const whole = sizes.find((size) => size.width <= width);
        if (whole) {
            return whole.text;
        }
        const last = sizes[sizes.length - 1]!;
        // Widths of letters differ: take what fits on average, then give way letter by letter.
        let letters = Math.floor((last.text.length * width) / last.width);
        while (letters > 1 && this.measure(`${last.text.slice(0, letters)}…`) > width) {
            letters--;
        }
        return letters >= 2 ? `${last.text.slice(0, letters)}…` : '';
    }
}
