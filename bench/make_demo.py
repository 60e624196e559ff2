"""Make the small spam data set in ``cwlearn/demo`` from the SpamAssassin corpus: ``python -m bench.make_demo``.

Much in the corpus separates spam from ham without being typical of either: ham comes from a few mailing lists, a few
people and a few months.  So a message is reduced to its subject and text, without quotations, addresses and notices of
mailing lists.  Names, words that mostly one sender uses, and words about spam filters are left out.
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

from bench.datasets import read_data_file

FOLDER = Path(__file__).resolve().parents[1] / "cwlearn" / "demo"
N_TRAIN, N_TEST = 2500, 1000
LONGEST = 300  # words of a message that are read; otherwise a few newsletters would fill half of the file
ENGLISH = {"and", "of", "the", "you"}  # a message without any of them is left out
# Beginnings of words that are left out; "$" is the end of a word.  First words about spam filters, and parts of
# headers, mailing lists and names; then words that a demonstration should not print.
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
    (r"(?s)<!--.*?-->|</?(b|font|i|span|u)\b[^<>]*>", ""),  # tags inside a word hide it from spam filters
    (r"(?s)<(script|style|title)\b.*?</\1\s*>|</?[a-z!][^<>]*>", " "),
    (r"(?ms)^(-- ?|-+ ?(original|forwarded) message.*?)$.*", ""),  # a signature, or the message that is answered
    (r"(?ms)^[ \t]*[_=*-]{20,}\n.*?(\n[ \t]*\n|\Z)", "\n"),  # notices of mailing lists; more in the next line
    (r"(?ms)^[ -]*yahoo! groups sponsor.*?^-+.*?$|^\s*to unsubscribe( from this group|: send mail).*", ""),
    (r"(?m)^[>|:].*$|^(url|date):.*$|^.*\bwrote:[ \t]*$", ""),  # a quotation, and the heads of news feeds
    (r"\S+@\S+|\w+://\S+|\bwww\.\S+|\S+\.(com|edu|gov|html?|ie|net|org|uk)\b\S*", " "),  # an address
    (r"\w*n['\u2019]t\b|['\u2019](d|ll|m|re|s|ve)\b", " "),  # contractions would leave half a word
)


def _words(mail: str) -> list[str]:
    """The words of a message, as they are spelt there."""
    message = email.message_from_bytes(mail.encode(), policy=email.policy.default)
    parts = [re.sub(r"\[.*?\]", "", message["Subject"] or "")]  # a mailing list puts its name in brackets
    for part in message.walk():
        if part.get_content_maintype() == "text":
            parts.append(part.get_payload(decode=True).decode(errors="replace"))
    text = html.unescape("\n".join(parts)).replace("\r\n", "\n").replace("\ufffd", "é")  # any letter that is not ASCII
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
    mails = [json.loads(line) for line in read_data_file("spamassassin/spamassassin.jsonl.xz").splitlines()]
    texts = [_words(mail["text"]) for mail in mails]
    written = Counter(word for text in texts for word in text)
    total = Counter(word.lower() for text in texts for word in text)
    # A word that is hardly ever in lower case is a name: of a person, place, company, mailing list or month.
    ordinary = {word for word, times in total.items() if times >= 5 and written[word] >= 0.15 * times}
    senders = defaultdict(Counter)  # by word: the number of messages of each sender
    for mail, text in zip(mails, texts, strict=True):
        sender = re.search(r"(?m)^From:.*|\Z", mail["text"])[0]
        for word in {word.lower() for word in text} & ordinary:
            senders[word][sender] += 1
    ordinary = {word for word in ordinary if max(senders[word].values()) <= 0.4 * senders[word].total()}
    distinct = {}
    for mail, text in zip(mails, texts, strict=True):
        bag = {word.lower() for word in text} & ordinary
        if len(bag) >= 20 and bag & ENGLISH:
            key = sorted(bag, key=lambda word: (-len(word), word))[:5]  # the same for all copies of a mass mailing
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
