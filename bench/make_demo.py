"""Make the small spam data set in ``cwlearn/demo`` from the SpamAssassin corpus: ``python -m bench.make_demo``.

The corpus gives itself away in many places that have nothing to do with spam: ham comes from a few mailing lists, of a
few people, in a few months. So a message is its subject and its text alone, without quotations, addresses and notices
of lists; and of its words those are left out that are names, or the words of one sender, or talk of spam filters.
"""

import email
import email.policy
import gzip
import html
import json
import re
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from bench.datasets import _read

FOLDER = Path(__file__).resolve().parents[1] / "cwlearn" / "demo"
N_TRAIN, N_TEST = 2500, 1000
LONGEST = 300  # words of a message that are read, else a few newsletters would fill half of the file
ENGLISH = {"and", "of", "the", "you"}  # a message without any of them is left out
# How the words begin that are left out, a "$" being the end of a word: first the talk of spam filters, and remains of
# headers, lists and names; then what nobody wants a demonstration to print.
ARTEFACTS = (
    r"assassin$|bayes|classifier|corpora$|corpus$|dcc$|ham$|hammie|nonspam|procmail|razor|sa$|spam|tmda"
    r"|com$|eircom|esmtp|eugene|exmh|february|freshrpms|geege|http|ilug|jm$|kevin|maillist|neale|org$|redmond|sat$|sun$"
    r"|sydney|tom$|url$|www|ximian|yahoo|yyy|zzz"
)
INDECENT = (
    r"|anal$|ass$|asses$|bang|bastard|bitch|boob|breast|bullshit|cock|crap|cum$|dick|enlarge|erect|erotic|fuck|gay"
    r"|hardcore|horny|lesbian|naked|nude|oral$|orgasm|penis|piss|porn|pussy|sex|shit|slut|suck|teen|tits|virgin|wet$"
    r"|whore|wtf|xxx"
)
_CUTS = (
    (r"(?s)<!--.*?-->|</?(b|font|i|span|u)\b[^<>]*>", ""),  # these hide a word from filters by cutting it in two
    (r"(?s)<(script|style|title)\b.*?</\1\s*>|</?[a-z!][^<>]*>", " "),
    (r"(?ms)^(-- ?|-+ ?(original|forwarded) message.*?)$.*", ""),  # a signature, or the message that is answered
    (r"(?ms)^[ \t]*[_=*-]{20,}\n.*?(\n[ \t]*\n|\Z)", "\n"),  # a notice of a mailing list, and here are more of them:
    (r"(?ms)^[ -]*yahoo! groups sponsor.*?^-+.*?$|^\s*to unsubscribe( from this group|: send mail).*", ""),
    (r"(?m)^[>|:].*$|^(url|date):.*$|^.*\bwrote:[ \t]*$", ""),  # a quotation, and the heads of news feeds
    (r"\S+@\S+|\w+://\S+|\bwww\.\S+|\S+\.(com|edu|gov|html?|ie|net|org|uk)\b\S*", " "),  # an address
    (r"\w*n['\u2019]t\b|['\u2019](d|ll|m|re|s|ve)\b", " "),  # what would leave half a word
)


def _words(mail: str) -> list[str]:
    """Return the words of a message, written as they are there."""
    message = email.message_from_bytes(mail.encode(), policy=email.policy.default)
    parts = [re.sub(r"\[.*?\]", "", message["Subject"] or "")]  # a mailing list puts its name in brackets
    for part in message.walk():
        if part.get_content_maintype() == "text":
            parts.append(part.get_payload(decode=True).decode(errors="replace"))
    text = html.unescape("\n".join(parts)).replace("\r\n", "\n").replace("\ufffd", "é")  # some letter, but no ASCII
    for pattern, replacement in _CUTS:
        text = re.sub(pattern, replacement, text, flags=re.IGNORECASE)
    return [run for run in re.findall(r"[^\W\d_]+", text) if 2 <= len(run) <= 20 and run.isascii()][:LONGEST]


def _write(name: str, messages: list[tuple[str, set[str]]], words: list[str]) -> None:
    number = {word: j for j, word in enumerate(words, 1)}
    lines = [f"# {name}: words of e-mails, +1 spam, -1 ham; feature j is line j of words.txt; see LICENSE.txt"]
    for label, bag in messages:
        columns = sorted(number[word] for word in bag if word in number)
        lines.append(" ".join(["+1" if label == "spam" else "-1", *(f"{j}:1" for j in columns)]))
    with open(FOLDER / f"{name}.svm.gz", "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write("\n".join([*lines, ""]).encode())


def main() -> None:
    """Write the training part, the test part and the dictionary."""
    mails = [json.loads(line) for line in _read("spamassassin/spamassassin.jsonl.xz").splitlines()]
    texts = [_words(mail["text"]) for mail in mails]
    written = Counter(word for text in texts for word in text)
    total = Counter(word.lower() for text in texts for word in text)
    # What is hardly ever written in lower case is a name: of a person, a place, a company, a list, a month.
    ordinary = {word for word, times in total.items() if times >= 5 and written[word] >= 0.15 * times}
    senders = defaultdict(Counter)  # of each word; in how many messages
    for mail, text in zip(mails, texts, strict=True):
        sender = re.search(r"(?m)^From:.*|\Z", mail["text"])[0]
        for word in {word.lower() for word in text} & ordinary:
            senders[word][sender] += 1
    ordinary = {word for word in ordinary if max(senders[word].values()) <= 0.4 * senders[word].total()}
    distinct = {}
    for mail, text in zip(mails, texts, strict=True):
        bag = {word.lower() for word in text} & ordinary
        if len(bag) >= 20 and bag & ENGLISH:
            key = sorted(bag, key=lambda word: (-len(word), word))[:5]  # the same in the copies of a mass mailing
            distinct.setdefault(tuple(key), (mail["label"], bag))
    messages = list(distinct.values())
    order = np.random.RandomState(0).permutation(len(messages))[: N_TRAIN + N_TEST]  # as in bench.datasets
    train, test = [messages[i] for i in order[:N_TRAIN]], [messages[i] for i in order[N_TRAIN:]]
    frequency = Counter(word for _, bag in train for word in bag if not re.match(ARTEFACTS + INDECENT, word))
    words = [word for word, n in frequency.items() if 4 <= n <= N_TRAIN / 4]  # neither rare nor everywhere
    words.sort(key=lambda word: (-frequency[word], word))
    (FOLDER / "words.txt").write_text("\n".join([*words, ""]), encoding="ascii", newline="\n")
    _write("spam-train", train, words)
    _write("spam-test", test, words)


if __name__ == "__main__":
    main()
