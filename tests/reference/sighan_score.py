#!/usr/bin/python3
"""Words in common of two segmentations, as the score program of the second SIGHAN bakeoff counts them.

Written from its published description: for each sentence it writes the words of both, one a line, and runs diff over the two;
words that diff deletes or changes are missed. `by_place` counts those that stand at the same characters instead. With a list of
words, those of the gold that it lacks are counted too, and how many of them are not missed.

Reads two files of segmented lines, and perhaps a list of words, one a line; prints the counts as JSON.
"""
import json
import subprocess
import sys
import tempfile


def missed(gold, predicted):
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as a, tempfile.NamedTemporaryFile("w", encoding="utf-8") as b:
        a.write("".join(word + "\n" for word in gold))
        b.write("".join(word + "\n" for word in predicted))
        a.flush()
        b.flush()
        lines = subprocess.run(["diff", a.name, b.name], stdout=subprocess.PIPE, check=False).stdout.decode("utf-8").split("\n")
    return [line[2:] for line in lines if line.startswith("< ")]


def places(words):
    found, begin = set(), 0
    for word in words:
        found.add((begin, begin + len(word)))
        begin += len(word)
    return found


def evaluate(gold_lines, predicted_lines, known=None):
    counts = {"gold": 0, "predicted": 0, "correct": 0, "by_place": 0}
    if known is not None:
        counts.update({"unknown": 0, "unknown_found": 0})
    for gold_line, predicted_line in zip(gold_lines, predicted_lines):
        gold, predicted = gold_line.split(), predicted_line.split()
        counts["gold"] += len(gold)
        counts["predicted"] += len(predicted)
        missing = missed(gold, predicted)
        counts["correct"] += len(gold) - len(missing)
        counts["by_place"] += len(places(gold) & places(predicted))
        if known is not None:
            unknown = sum(word not in known for word in gold)
            counts["unknown"] += unknown
            counts["unknown_found"] += unknown - sum(word not in known for word in missing)
    return counts


if __name__ == "__main__":
    texts = []
    for path in sys.argv[1:4]:
        with open(path, encoding="utf-8") as source:
            texts.append(source.read().rstrip("\n").split("\n"))
    if len(texts) > 2:
        texts[2] = set(texts[2])
    print(json.dumps(evaluate(*texts)))
