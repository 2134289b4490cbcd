"""Help of a language model: other words for a question, another order of what was found."""
