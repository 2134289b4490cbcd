#!/bin/bash
# Test ID: test_03_exact_bm25scorer.sh
# Expected: bm25_scorer.py:BM25Scorer ranks #1

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Setup
in_project

# Execute
OUTPUT=$(aur mem search "BM25Scorer")

# Validate: First result contains "bm25_scorer.py.*BM25Scorer"
if grep -Eq '(^|/)bm25_scorer\.py .*\| BM25Scorer ' <<<"$(first_result)"; then
    pass
else
    fail 'bm25_scorer.py and BM25Scorer in the first row'
fi
