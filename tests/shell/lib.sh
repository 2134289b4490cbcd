# What the shell tests share, to be sourced: a project to search, and the parts of an answer.
#
# AURORA_SHELL_PROJECT names a folder that build_project.sh has filled; without it each test builds
# one for itself and takes it away at the end. `aur` must be on PATH.

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
NAME=$(basename "$0" .sh)
OUTPUT=""
VERDICT=""
OWN=""

in_project() { # enter the project and read it, as the seed's template does
    local world=${AURORA_SHELL_PROJECT:-}
    if [[ -z $world ]]; then
        OWN=$(mktemp -d)
        world=$OWN
        bash "$HERE/build_project.sh" "$world"
    fi
    source "$HERE/world.sh" "$world"
    cd "$world/project"
    aur mem index . >/dev/null
}

results() { # the rows of the answer; none where there is no table
    # Logs are shown with their whole path, and a home may be called anything: it proves nothing.
    sed -n '1{/^File .*| Type .*| Name .*| Lines .*| Score/!q;}; 3,$p' <<<"${OUTPUT//"$HOME"/"~"}"
}

first_result() {
    sed -n '1p' <<<"$(results)"
}

column() { # NUMBER: that cell of every row, counted from 1
    awk -F ' *[|] ' -v number="$1" 'NF >= 5 { print $number }' <<<"$(results)"
}

found() { # PATTERN: a file or a name among the results has it, whatever its case
    grep -Eiq "$1" <<<"$(column 1; column 3)"
}

only_types() { # PATTERN: there are results, and the type of each is one of these
    local types
    types=$(column 2)
    [[ -n $types ]] && ! grep -Evqx "$1" <<<"$types"
}

pass() {
    VERDICT=pass
    echo "✅ PASS: $NAME"
    exit 0
}

fail() { # EXPECTED
    VERDICT=fail
    echo "❌ FAIL: $NAME"
    echo "Expected: $1"
    echo "Got: $OUTPUT"
    exit 1
}

at_the_end() {
    local status=$?
    [[ -z $OWN ]] || rm -rf "$OWN"
    [[ -n $VERDICT ]] || echo "❌ FAIL: $NAME (a command failed with status $status)"
    [[ $VERDICT == pass ]] || exit 1
}
trap at_the_end EXIT
