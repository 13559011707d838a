# SPDX-License-Identifier: Apache-2.0
# bash completion for memhawk; sourced, or installed as
# share/bash-completion/completions/memhawk. Works with and without the bash-completion package.

# Replies with the words that begin like $1; the rest are the words.
_memhawk_words() {
    local begin=$1
    shift
    mapfile -t COMPREPLY < <(compgen -W "$*" -- "$begin")
}

# Replies with names of files ($1 = f) or folders (d).
_memhawk_paths() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -"$1" -- "$2")
}

_memhawk_profiles() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -X '!*.binpb' -- "$1"; compgen -d -- "$1")
}

# Values of an option; false when it takes none that can be listed.
_memhawk_value() {
    case $1 in
    --sort) _memhawk_words "$2" count bytes temporary ;;
    --budget | --baseline) _memhawk_paths f "$2" ;;
    --at) _memhawk_words "$2" peak start end ;;
    --from | --to) _memhawk_words "$2" start end ;;
    --metric | -m)
        _memhawk_words "$2" live-bytes live-count total-bytes total-count temporary overhead
        ;;
    --granularity | -g) _memhawk_words "$2" function line ;;
    --format | -f) _memhawk_words "$2" text json folded html pprof speedscope heaptrack ;;
    --follow) _memhawk_words "$2" none all ;;
    --unwind) _memhawk_words "$2" cfi fp ;;
    --sysroot | --debug-dir) _memhawk_paths d "$2" ;;
    --output | -o) _memhawk_paths f "$2" ;;
    --top | -n | --interval | -i | --depth | --filter | --window | -w | --max-* | --tolerance | --port)
        COMPREPLY=()
        ;;
    --listen) _memhawk_words "$2" 127.0.0.1 ::1 0.0.0.0 "${HOSTNAME:-}" ;;
    *) return 1 ;;
    esac
}

# `memhawk run`: options up to the program, then what the program's own completion knows.
_memhawk_run() {
    local i word
    for ((i = 2; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        case $word in
        --) ((i++)) && break ;;
        --output | -o | --interval | -i | --depth | --follow | --unwind | --check) ((i++)) ;;
        -*) ;;
        *) break ;;
        esac
    done
    if ((i <= COMP_CWORD)) && [[ ${COMP_WORDS[i - 1]} == -- || $i -lt $COMP_CWORD ]]; then
        if declare -F _command_offset >/dev/null; then
            _command_offset "$i"
        elif ((i == COMP_CWORD)); then
            mapfile -t COMPREPLY < <(compgen -c -- "$1")
        else
            _memhawk_paths f "$1"
        fi
        return
    fi
    case $2 in
    --check) _memhawk_paths f "$1" ;;
    --follow | --unwind | --output | -o | --interval | -i | --depth) _memhawk_value "$2" "$1" ;;
    *)
        if [[ $1 == -* ]]; then
            _memhawk_words "$1" --output -o --interval -i --depth --follow --unwind --check \
                --view --quiet -q --help -h --
        else
            mapfile -t COMPREPLY < <(compgen -c -- "$1")
        fi
        ;;
    esac
}

_memhawk_report() {
    [[ $2 == --follow ]] || ! _memhawk_value "$2" "$1" || return 0
    if [[ $1 == -* ]]; then
        _memhawk_words "$1" --at --from --to --metric -m --filter \
            --window -w --per-iteration --sort --top -n --granularity -g \
            --inverted --collapse-recursion --full --format -f --output -o --follow -F \
            --sysroot --debug-dir --debuginfod --help -h
    else
        _memhawk_profiles "$1"
    fi
}

_memhawk_info() {
    ! _memhawk_value "$2" "$1" || return 0
    if [[ $1 == -* ]]; then
        _memhawk_words "$1" --json --sysroot --debug-dir --debuginfod --help -h
    else
        _memhawk_profiles "$1"
    fi
}

_memhawk_diff() {
    case $2 in
    --format | -f) _memhawk_words "$1" text json html folded && return ;;
    --metric | -m)
        _memhawk_words "$1" total-count total-bytes temporary live-bytes live-count overhead
        return
        ;;
    esac
    ! _memhawk_value "$2" "$1" || return 0
    if [[ $1 == -* ]]; then
        _memhawk_words "$1" --at --from --to --metric -m --window -w --full --format -f --top -n \
            --output -o --sysroot --debug-dir --debuginfod --help -h
    else
        _memhawk_profiles "$1"
    fi
}

_memhawk_check() {
    case $2 in
    --format | -f) _memhawk_words "$1" text json junit github && return ;;
    --baseline) _memhawk_profiles "$1" && return ;;
    esac
    ! _memhawk_value "$2" "$1" || return 0
    if [[ $1 == -* ]]; then
        _memhawk_words "$1" --max-allocations --max-bytes --max-peak --max-live-at-end \
            --max-temporary --window -w --budget --baseline --tolerance --format -f --output -o \
            --sysroot --debug-dir --debuginfod --help -h
    else
        _memhawk_profiles "$1"
    fi
}

_memhawk_view() {
    ! _memhawk_value "$2" "$1" || return 0
    if [[ $1 == -* ]]; then
        _memhawk_words "$1" --port --listen --no-open --sysroot --debug-dir --debuginfod --help -h
    else
        _memhawk_profiles "$1"
    fi
}

_memhawk_help() {
    _memhawk_words "$1" run view report info diff check help --help -h
}

# The shell takes "--format=js" apart at the sign; here it is two words, as "--format js" is.
_memhawk_join() {
    local -a joined=()
    local i word point=$COMP_CWORD plain=
    for i in "${!COMP_WORDS[@]}"; do
        word=${COMP_WORDS[i]}
        [[ $word != -- ]] || plain=1
        if [[ $word != = || $plain || ${joined[-1]-} != --* ]]; then
            joined+=("$word")
        elif ((i == COMP_CWORD)); then
            joined+=("") # behind the sign
        fi
        ((i != COMP_CWORD)) || point=$((${#joined[@]} - 1))
    done
    COMP_WORDS=("${joined[@]}")
    COMP_CWORD=$point
}

_memhawk() {
    local -a COMP_WORDS=("${COMP_WORDS[@]}")
    local COMP_CWORD=$COMP_CWORD
    _memhawk_join
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _memhawk_words "$current" run view report info diff check help --help -h --version -V
    elif declare -F "_memhawk_${COMP_WORDS[1]}" >/dev/null; then
        "_memhawk_${COMP_WORDS[1]}" "$current" "$previous"
    fi
}

complete -F _memhawk memhawk
