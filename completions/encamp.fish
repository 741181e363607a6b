# Completion of encamp command lines for fish, from version 3.1.
#
# encamp itself says what fits: it is run with the line up to the cursor in COMP_LINE.

function __encamp_complete
    set -l program (commandline -opc)[1]
    set program (string replace -r '^~/' "$HOME/" -- $program)
    # An alias or a function is no program.
    command -q -- $program
    or set program encamp
    set -lx COMP_LINE (commandline -cp | string collect)
    set -lx COMP_POINT
    set -lx ENCAMP_COMPLETE fish
    command $program 2>/dev/null
end

complete -c encamp -f -k -a '(__encamp_complete)'
