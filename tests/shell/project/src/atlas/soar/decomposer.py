"""Splits a query that asks for several things."""

import re

_AND = re.compile(r"\b(?:and then|and|then|after that)\b|[;\n]", re.IGNORECASE)


class QueryDecomposer:
    """Cuts a query into subgoals that can be answered one by one."""

    def __init__(self, most=5):
        self.most = most

    def decompose(self, query):
        parts = [part.strip(" ,.") for part in _AND.split(query)]
        return [part for part in parts if part][: self.most]


def order_subgoals(subgoals, depends_on):
    """Subgoals so that each comes after those it needs."""
    done, order = set(), []
    while len(order) < len(subgoals):
        ready = [one for one in subgoals if one not in done and depends_on.get(one, set()) <= done]
        if not ready:
            raise ValueError(f"subgoals wait for each other: {sorted(set(subgoals) - done)}")
        order += ready
        done.update(ready)
    return order
