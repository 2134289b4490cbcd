#!/bin/bash
# Test ID: test_10_semantic_git.sh
# Expected: Git metadata code + git usage knowledge

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Setup
in_project

# Execute
OUTPUT=$(aur mem search "git integration")

# Validate: Results contain "git"
if found '(^|[^a-z])git'; then
    pass
else
    fail 'git in a file or name'
fi
