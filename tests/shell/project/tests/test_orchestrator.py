from atlas.soar.orchestrator import SOAROrchestrator


class TestSOAROrchestrator:
    """A SOAROrchestrator with a retriever that always finds the same."""

    def test_the_last_phase_is_the_answer(self):
        orchestrator = SOAROrchestrator(Fixed(["a.py:f"]), None, clock=iter(range(99)).__next__)
        assert "a.py:f" in orchestrator.execute("where is f")

    def test_results_are_those_of_the_last_query(self):
        orchestrator = SOAROrchestrator(Fixed([]), None, clock=iter(range(99)).__next__)
        orchestrator.execute("one")
        orchestrator.execute("two")
        assert len(orchestrator.results) == 3


class Fixed:
    def __init__(self, found):
        self.found = found

    def search(self, query, limit):
        return self.found
