"""Seed 004's own tests (1.5), with its names and fields, and its table of failures."""

from __future__ import annotations

import pytest

from tests.mcp.conftest import Project, ask, ids

pytestmark = pytest.mark.anyio


async def test_hybrid_search_accuracy(project: Project) -> None:
    """Hybrid search ranks relevant documents higher.

    That its score is above that of meaning alone holds for weights that are fixed, as the seed's
    are, and where a word that is there once counts almost in full.
    """
    for key, value in (("search.fusion", "weighted"), ("search.bm25.k1", "0.2")):
        assert project.shell.run("config", "set", key, value).returncode == 0
    async with project.here() as client:
        await ask(
            client,
            "aurora_ingest",
            content="AuroraKB Phase 1 Database Migration execution plan",
            document_type="decision",
            source="test",
            namespace="test",
        )
        second = await ask(
            client,
            "aurora_ingest",
            content="AuroraKB Phase 2 Project Detection execution plan",
            document_type="decision",
            source="test",
            namespace="test",
        )

        results = await ask(
            client,
            "aurora_search",
            query="Phase 2 project detection plan",
            namespace="test",
            use_hybrid=True,
        )

    assert results["documents"][0]["id"] == second["id"]
    assert results["search_type"] == "hybrid"
    first = results["documents"][0]
    assert first["similarity_score"] > first["embedding_score"]


async def test_keyword_boost(project: Project) -> None:
    """Exact keyword matches get boosted."""
    async with project.here() as client:
        exact = await ask(
            client,
            "aurora_ingest",
            content="Implementation handbook for project detection",
            document_type="document",
            source="test",
            namespace="test",
        )
        await ask(
            client,
            "aurora_ingest",
            content="Guide for identifying project root directories",
            document_type="document",
            source="test",
            namespace="test",
        )

        results = await ask(
            client,
            "aurora_search",
            query="implementation handbook",
            namespace="test",
            use_hybrid=True,
        )

    assert results["documents"][0]["id"] == exact["id"]
    assert results["documents"][0]["keyword_score"] > 0


# Real documents of the kind that the seed searched: the plan must come before those that only
# mention it, however much longer they are.
PLANS = {
    "Phase 1 Plan": "# Phase 1 Plan\n\nExecution plan for the database migration: tables, vectors, "
    "and a rollback. Written by Codex before Phase 2 and its project detection were discussed.",
    "Phase 2 Review": "# Phase 2 Review\n\nReview of what Phase 2 changed. Project detection works "
    "for monorepos; the tests were slow. Open questions go to the next phase.",
    "Handbook Part 4": "# Implementation handbook, part 4\n\nHow agents hand over documents: Codex "
    "writes, Claude Code reads. Names, namespaces, metadata. Detection of duplicates.",
    "Phase 2 Plan": "# Phase 2 Plan\n\nProject detection, by Codex: find the root of a project by "
    "its markers, store it as metadata, prefer documents of the same project in searches.",
}


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Phase 2 project detection Codex plan", "Phase 2 Plan"),
        ("Phase 2 plan", "Phase 2 Plan"),
        ("Phase 1 plan", "Phase 1 Plan"),
        ("implementation handbook", "Handbook Part 4"),
        ("database migration", "Phase 1 Plan"),
    ],
)
async def test_the_plan_comes_before_what_mentions_it(
    project: Project, query: str, first: str
) -> None:
    async with project.here() as client:
        kept = {}
        for name, text in PLANS.items():
            kept[name] = await ask(client, "aurora_ingest", content=text, namespace="plans")

        found = await ask(client, "aurora_search", query=query, namespace="plans")

    assert ids(found)[0] == kept[first]["id"]


async def test_use_hybrid_false_goes_by_meaning_alone(project: Project) -> None:
    async with project.here() as client:
        found = await ask(client, "aurora_search", query="log in a person", use_hybrid=False)

    assert found["search_type"] == "semantic"
    assert "bm25" not in found["signals"]


async def test_filters_of_the_seed_narrow_down(project: Project) -> None:
    async with project.here() as client:
        for status in ("agreed", "open"):
            await ask(
                client,
                "aurora_ingest",
                content=f"Use one queue for all jobs ({status})",
                document_type="decision",
                metadata={"status": status, "votes": 3},
            )
        await ask(client, "aurora_ingest", content="The queue for jobs is full", source="log")

        agreed = await ask(
            client,
            "aurora_search",
            query="queue jobs",
            document_type="decision",
            metadata_filters={"status": "agreed", "votes": 3},
        )
        strict = await ask(client, "aurora_search", query="queue jobs", threshold=0.99)

    assert [found["metadata"] for found in agreed["documents"]] == [
        {"status": "agreed", "votes": 3}
    ]
    assert strict["documents"] == []
