"""Make the small spam data set in ``cwlearn/demo`` from the SpamAssassin corpus: ``python -m bench.make_demo``.

Much in the corpus separates spam from ham without being typical of either: ham comes from a few mailing lists, a few
people and a few months.  So a mail is reduced to its subject and the beginning of its text, without quotations,
addresses and notices of mailing lists.  Words about spam filters and mailing lists are cut out.  The sender is left
out, too: the addresses of people are not for a package.  Mails with rude words, and copies of mass mailings, are left
out.
"""

import email
import email.policy
import html
import json
import lzma
import re
from pathlib import Path

import numpy as np

from bench.datasets import read_data_file

FOLDER = Path(__file__).resolve().parents[1] / "cwlearn" / "demo"
N_TRAIN, N_TEST = 700, 300
LONGEST = 150  # words of a mail; otherwise a few newsletters would fill half of the file
ENGLISH = {"and", "of", "the", "you"}  # a message without any of them is left out
# Beginnings of words; "$" is the end of a word.  First words about spam filters, and parts of headers, mailing lists
# and names, which are cut out; then words of mails that a demonstration should not have.
ARTEFACTS = (
    r"assassin$|bayes|classifier|corpora$|corpus$|dcc$|ham$|hammie|nonspam|procmail|razor|sa$|spam|tmda"
    r"|com$|eircom|esmtp|eugene|exmh|february|freshrpms|geege|http|ilug|jm$|kevin|maillist|neale|org$|redmond|sat$|sun$"
    r"|sydney|tom$|url$|www|ximian|yahoo|yyy|zzz"
)
INDECENT = (
    r"anal$|ass$|asses$|bang|bastard|bitch|boob|breast|bullshit|cock|crap|cum$|dick|enlarge|erect|erotic|fuck|gay"
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
)


def _text(mail: str) -> str:
    """Subject and text of a mail, the first words of it."""
    message = email.message_from_bytes(mail.encode(), policy=email.policy.default)
    parts = [re.sub(r"\[.*?\]", "", message["Subject"] or "")]  # a mailing list puts its name in brackets
    for part in message.walk():
        if part.get_content_maintype() == "text":
            parts.append(part.get_payload(decode=True).decode(errors="replace"))
    text = html.unescape("\n".join(parts)).replace("\r\n", "\n").replace("\ufffd", "")
    for pattern, replacement in _CUTS:
        text = re.sub(pattern, replacement, text, flags=re.IGNORECASE)
    text = re.sub(rf"\b(?:{ARTEFACTS.replace('$', chr(92) + 'b')})\w*", "", text, flags=re.IGNORECASE)
    return " ".join(re.findall(r"[!-~]+", text)[:LONGEST])


def _key(text: str) -> tuple[str, ...]:
    """The longest words, which are the same for all copies of a mass mailing."""
    return tuple(sorted({*_words(text)}, key=lambda word: (-len(word), word))[:5])


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


def _write(name: str, mails: list[tuple[str, str]]) -> None:
    lines = [json.dumps({"label": label, "text": text}) for label, text in mails]
    data = "\n".join([*lines, ""]).encode()
    (FOLDER / f"{name}.jsonl.xz").write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))


def main() -> None:
    """Write the training part and the test part."""
    distinct: dict[tuple[str, ...], tuple[str, str]] = {}
    for line in read_data_file("spamassassin/spamassassin.jsonl.xz").splitlines():
        mail = json.loads(line)
        text = _text(mail["text"])
        words = _words(text)
        decent = not any(re.match(INDECENT, word) for word in words)
        if decent and len(words) >= 20 and {*words} & ENGLISH:
            distinct.setdefault(_key(text), (mail["label"], text))
    mails = list(distinct.values())
    order = np.random.RandomState(0).permutation(len(mails))[: N_TRAIN + N_TEST]  # as in bench.datasets
    _write("mails-train", [mails[i] for i in order[:N_TRAIN]])
    _write("mails-test", [mails[i] for i in order[N_TRAIN:]])


if __name__ == "__main__":
    main()
