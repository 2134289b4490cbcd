"""Ready-made ways to set up a SOAROrchestrator for common jobs."""

from atlas.memory.hybrid_retriever import HybridRetriever
from atlas.soar.decomposer import QueryDecomposer
from atlas.soar.orchestrator import SOAROrchestrator


def quick_pattern(store, clock):
    """A SOAROrchestrator for one-line questions: a SOAROrchestrator without decomposition."""
    return SOAROrchestrator(HybridRetriever(store), None, clock)


def careful_pattern(store, clock):
    """A SOAROrchestrator that splits the query first.

    The SOAROrchestrator gets a decomposer; the SOAROrchestrator then runs every subgoal by itself.
    """
    orchestrator = SOAROrchestrator(HybridRetriever(store), QueryDecomposer(), clock)
    assert isinstance(orchestrator, SOAROrchestrator)
    return orchestrator


def pooled_pattern(store, clock, size):
    """Several SOAROrchestrator objects, one SOAROrchestrator for each worker thread.

    A SOAROrchestrator keeps the results of its last query, so no SOAROrchestrator may be shared.
    """
    return [SOAROrchestrator(HybridRetriever(store), QueryDecomposer(), clock) for _ in range(size)]


def replay_pattern(store, clock, log):
    """A SOAROrchestrator fed from a conversation log instead of a person."""
    orchestrator = SOAROrchestrator(HybridRetriever(store), None, clock)
    return [orchestrator.execute(entry.query) for entry in log]
