"""Runs a query through the nine phases of SOAR."""

from atlas.errors.exceptions import PhaseFailed
from atlas.soar.phases import PHASES, PhaseResult


class SOAROrchestrator:
    """Takes a query from assessment to response and keeps what each phase returned."""

    def __init__(self, retriever, decomposer, clock):
        self.retriever = retriever
        self.decomposer = decomposer
        self.clock = clock
        self.results: list[PhaseResult] = []

    def execute(self, query):
        """Run all phases in order; the last one's text is the answer."""
        self.results.clear()
        for phase in PHASES:
            self.results.append(self._run_phase(phase, query))
        return self.results[-1].text

    def _run_phase(self, phase, query):
        started = self.clock()
        try:
            text = phase.run(query, self.results, self)
        except ValueError as exc:
            raise PhaseFailed(phase.name, query) from exc
        return PhaseResult(phase.name, text, self.clock() - started)
