"""The phases of a query, in the order in which they run."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PhaseResult:
    name: str
    text: str
    seconds: float


class Phase:
    """One step; it sees what the earlier ones returned."""

    name = ""

    def run(self, query, earlier, orchestrator):
        raise NotImplementedError


class Assess(Phase):
    """Judges how complex a query is: simple ones skip decomposition."""

    name = "Assessment"

    def run(self, query, earlier, orchestrator):
        return "HIGH" if len(query.split()) > 8 else "LOW"


class Retrieve(Phase):
    """Asks the memory for chunks that fit the query."""

    name = "Retrieval"

    def run(self, query, earlier, orchestrator):
        return "\n".join(orchestrator.retriever.search(query, limit=12))


class Respond(Phase):
    """Puts the parts together into one answer."""

    name = "Response"

    def run(self, query, earlier, orchestrator):
        return "\n\n".join(result.text for result in earlier)


PHASES = (Assess(), Retrieve(), Respond())
