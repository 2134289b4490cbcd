from atlas.memory.bm25_scorer import BM25Scorer
from atlas.memory.tokenizer import split_identifier, tokenize


def test_a_rare_word_counts_more():
    scorer = BM25Scorer()
    for text in ("red apple", "red car", "red moon"):
        scorer.add(text)
    assert scorer.idf("moon") > scorer.idf("red")


def test_bm25scorer_prefers_the_shorter_document():
    scorer = BM25Scorer()
    scorer.add("apple")
    scorer.add("apple and many other words beside it")
    assert scorer.score("apple", 0) > scorer.score("apple", 1)


def test_identifiers_are_split():
    assert split_identifier("HTTPServer") == ["http", "server"]
    assert tokenize("load_config") == ["load_config", "load", "config"]
