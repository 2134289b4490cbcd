#!/bin/bash
# Test ID: test_07_semantic_memory_indexing.sh
# Expected: Indexing-related chunks (code + reasoning + knowledge)

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Setup
in_project

# Execute
OUTPUT=$(aur mem search "memory indexing")

# Validate: Results contain "index" or "memory"
if found 'index|memory'; then
    pass
else
    fail 'index or memory in a file or name'
fi
