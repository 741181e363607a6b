# Completion of encamp command lines for bash, from version 4.
#
# encamp itself says what fits: it is run with the line up to the cursor in COMP_LINE. The first line of its answer tells
# whether the others are paths, which readline quotes.

_encamp() {
    local program=$1 kind='' word
    COMPREPLY=()
    case $program in
        '~/'*) program=$HOME/${program#'~/'} ;;
    esac
    # An alias or a function is no program.
    type -P -- "$program" >/dev/null || program=encamp
    while IFS= read -r word; do
        if [[ -z $kind ]]; then
            kind=$word
        else
            COMPREPLY+=("$word")
        fi
    done <<<"$(COMP_LINE=${COMP_LINE:0:COMP_POINT} COMP_POINT='' ENCAMP_COMPLETE=bash command "$program" "$@" 2>/dev/null)"
    if [[ $kind == paths ]]; then
        compopt -o filenames
    fi
    # `-flag=` and `directory/` go on.
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/] ]]; then
        compopt -o nospace
    fi
}

complete -F _encamp encamp
