# The world of the shell tests, to be sourced: nothing of the user who runs them is read or written.
# usage: source world.sh DEST

export HOME="$1/home"
export AURORA_HOME="$HOME/.aurora"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_CEILING_DIRECTORIES="$1"
export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@example.org
export GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@example.org
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
for name in $(compgen -e AURORA_); do # settings of whoever runs this
    case $name in AURORA_HOME | AURORA_SHELL_PROJECT) ;; *) unset "$name" ;; esac
done
export AURORA_UI_VIEW=table # the format of seed 000
mkdir -p "$HOME"
