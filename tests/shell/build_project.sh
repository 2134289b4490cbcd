#!/bin/bash
# Builds the project that the shell tests search: DEST/project, a git repository with commits of
# its own dates, and DEST/home, with conversation logs and lessons. `aur` must be on PATH.
#
# usage: build_project.sh DEST

set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
DEST=$1
mkdir -p "$DEST/project"
DEST=$(cd "$DEST" && pwd)
source "$HERE/world.sh" "$DEST"

commit() { # DATE SUBJECT PATH[:LINES]…: each file whole, or its first lines
    local date=$1 subject=$2 entry path lines
    shift 2
    for entry in "$@"; do
        IFS=: read -r path lines <<<"$entry"
        mkdir -p "$(dirname "$path")"
        head -n "${lines:-100000}" "$HERE/project/$path" >"$path"
        git add "$path"
    done
    GIT_AUTHOR_DATE="${date}T10:00:00Z" GIT_COMMITTER_DATE="${date}T10:00:00Z" \
        git commit --quiet --message "$subject"
}

learn() { # TYPE SCORE CONTEXT TEXT
    aur mem learn "$4" --type "$1" --score "$2" --context "$3" >/dev/null
}

cd "$DEST/project"
git init --quiet
while IFS=$'\t' read -r date subject entries; do
    # shellcheck disable=SC2086 # a path has no blanks here
    commit "$date" "$subject" $entries
done <"$HERE/history.tsv"
diff --recursive --exclude=.git "$HERE/project" . # every file is in the history, whole

mkdir -p "$AURORA_HOME/logs/conversations"
cp -R "$HERE/conversations/." "$AURORA_HOME/logs/conversations"
aur init >/dev/null 2>&1
while IFS=$'\t' read -r type score context text; do
    learn "$type" "$score" "$context" "$text"
done <"$HERE/lessons.tsv"
aur mem index . >/dev/null

# The seed's complaint: what is used most came before what was asked for.
for use in 1 2 3 4 5; do
    aur mem get src/atlas/soar/soar_patterns.py:careful_pattern >/dev/null 2>&1
done
aur mem get src/atlas/auth/login_view.py:login_api >/dev/null 2>&1
aur mem get src/atlas/memory/search_service.py:SearchService >/dev/null 2>&1
