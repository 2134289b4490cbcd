#!/bin/bash
# Test ID: test_04_exact_chunk_id.sh
# Expected: base_chunk.py:BaseChunk.chunk_id ranks #1

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Setup
in_project

# Execute
OUTPUT=$(aur mem search "chunk_id")

# Validate: First result contains "chunk_id"; here also its file and class
if grep -Eq '(^|/)base_chunk\.py .*\| BaseChunk\.chunk_id ' <<<"$(first_result)"; then
    pass
else
    fail 'base_chunk.py and BaseChunk.chunk_id in the first row'
fi
