"""The rules of `talk.json`: whom a sentence is about, what may be asked, how gaps are filled.

A turn is written with {I}, {my}, {me}, {Im}, {s:love}, a question with {who}, {whom}, {whose},
{their}, so that one sentence serves the speaker and somebody near her. {city} is drawn, {city^} has
a capital letter, {pet!} is the general word behind the bar of "a beagle puppy|dog".
"""

import re
from dataclasses import dataclass

SLOT = re.compile(r"\{([\w:]+)([\^!]?)\}")
# What the template of a turn must hold before a question with such words may be asked about it.
NEEDS = (
    (r"\b[Ww]hen\b|At what time|What time|At what hour", r"\{(when|soon|time)\^?\}"),
    (r"^Why .*(relocate|pick|begin|start|change|speak)", r"\{reason\}"),
    (r"How much (?!time)|expensive|price|cost", r"\{money2?\}"),
    (r"How many|How far|How often", r"\{(n|few)\}|every"),
    (r"How long", r"\{(span|n)\}"),
    (r"(?<!\{)[Ww]hom\b|^Who (?!is \{petname)", r"\{(friend|company|doctor|cause)\^?\}"),
    (
        r"^Where|Which city|Which country|[Ww]hat city|which town",
        r"\{(city|country|place|restaurant|shop|school|company|room|cause|friend)\^?\}",
    ),
)


@dataclass(frozen=True, slots=True)
class Person:
    """Whom a fact is about, in the words of the one who tells it and of those who ask."""

    told: dict[str, str]  # {I}, {my}, … in a turn
    asked: dict[str, str]  # {who}, {their}, … in a question of others
    recalled: dict[str, str]  # the same when the speaker asks the assistant


def asked_words(who: str, gender: str) -> dict[str, str]:
    they, their, them = ("she", "her", "her") if gender == "f" else ("he", "his", "him")
    mine = {
        "who": who,
        "whom": who,
        "whose": f"{who}'s",
        "they": they,
        "their": their,
        "them": them,
    }
    return {**mine, "is": "is", "has": "has", "does": "does"}


SELF_ASKED = {
    "who": "I", "whom": "me", "whose": "my", "they": "I", "their": "my", "them": "me",
    "is": "am", "has": "have", "does": "do",
}  # fmt: skip
SELF_TOLD = {
    "I": "I", "my": "my", "me": "me", "myself": "myself", "am": "am", "was": "was", "have": "have",
    "Im": "I'm", "Ive": "I've",
}  # fmt: skip


def told_words(relation: str, gender: str) -> dict[str, str]:
    she, her, him = ("she", "her", "her") if gender == "f" else ("he", "his", "him")
    who = f"my {relation}"
    return {
        "I": who, "my": f"{who}'s", "me": who, "myself": f"{him}self", "am": "is", "was": "was",
        "have": "has", "Im": f"{who} is", "Ive": f"{who} has",
        "later": she, "later my": her, "later me": him,
    }  # fmt: skip


def asks_about(topic: dict[str, list[str]], place: int) -> list[str]:
    """The questions a turn answers: `13: …` belongs to the first and third turn, others to all."""
    bound = (re.fullmatch(r"(?:(\d+): )?(.*)", ask) for ask in topic["ask"])
    return [found[2] for found in bound if found and (not found[1] or str(place + 1) in found[1])]


def may_ask(say: str, ask: str) -> bool:
    """Whether a turn tells what a question asks, and holds everything that it names."""
    held = {key for key, _ in SLOT.findall(say)}
    if {key for key, _ in SLOT.findall(ask)} - held - SELF_ASKED.keys():
        return False
    return all(re.search(need, say) for sign, need in NEEDS if re.search(sign, ask))


def fill_told(template: str, person: dict[str, str], slots: dict[str, str]) -> str:
    """A turn's sentence. The first word for somebody else names her, later ones are pronouns."""
    named = False

    def fill(found: re.Match[str]) -> str:
        nonlocal named
        key, mark = found.groups()
        if key.startswith("s:"):
            return third_person(key[2:]) if "later" in person else key[2:]
        text = slots.get(key, "").partition("|")
        word = (text[2] or text[0]) if mark == "!" else text[0]
        if key in person:
            word = person[key]
            if "later" in person and key in ("I", "my", "me", "Im", "Ive"):
                word = later_word(key, person) if named else word
                named = True
        return word[:1].upper() + word[1:] if mark == "^" else word

    return SLOT.sub(fill, template)


def later_word(key: str, person: dict[str, str]) -> str:
    she = person["later"]
    words = {"I": she, "Im": f"{she} is", "Ive": f"{she} has"}
    return {**words, "my": person["later my"], "me": person["later me"]}[key]


def fill_asked(template: str, person: dict[str, str], slots: dict[str, str]) -> str:
    def fill(found: re.Match[str]) -> str:
        key, mark = found.groups()
        if key in person:
            return person[key]
        said, _, general = slots[key].partition("|")
        return general or said if mark == "!" else said

    text = SLOT.sub(fill, template)
    for wrong, right in OWN_VERBS if person is SELF_ASKED else ():
        text = re.sub(wrong, right, text)
    return text[:1].upper() + text[1:]


OWN_VERBS = (  # questions are written for the third person
    (r"\b([Dd])oes I\b", r"\1o I"),
    (r"\b([Hh])as I\b", r"\1ave I"),
    (r"\bis I\b", "am I"),
    (r"\bIs I\b", "Am I"),
)


def recalled(frame: str, question: str) -> str:
    """A question behind "remind me:" begins with a small letter."""
    if re.search(r"[:,] \{q\}", frame):
        question = question[0].lower() + question[1:]
    return frame.format(q=question)


def third_person(verb: str) -> str:
    if verb == "have":
        return "has"
    return f"{verb}es" if verb.endswith(("s", "sh", "ch", "o", "x")) else f"{verb}s"


def capitals(text: str) -> str:
    """Every sentence begins with a capital letter, and no `a` stands before a vowel."""
    text = re.sub(r"\b([Aa]) (?=[aeio])", r"\1n ", text)
    return re.sub(r"(^|[.!?]\s+)([a-z])", lambda found: found[1] + found[2].upper(), text)
