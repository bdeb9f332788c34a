#!/usr/bin/python3
"""Phrase precision, recall and F1 as the CoNLL-2000 shared task's conlleval defines them.

Written from the program's published description: it walks the tokens once, deciding between each two neighbors whether a chunk
ends and whether one starts, in the gold and in the guessed tags, and calls a guessed chunk correct where both start and both end
at the same tokens with the same type. Tags S and E are read as its successors do: S is a chunk of one token, E ends one.

Reads lines "TOKEN GOLD GUESSED", a blank line between sentences; prints the counts as JSON.
"""
import json
import sys


def split_tag(tag):
    if tag in ("O", "."):
        return "O", ""
    place, _, kind = tag.partition("-")
    return place, kind


def chunk_ends(previous, tag):
    place, kind = previous
    following, following_kind = tag
    if place == "O":
        return False
    if place in ("E", "S"):
        return True
    if (place, following) in {("B", "B"), ("B", "S"), ("B", "O"), ("I", "B"), ("I", "S"), ("I", "O")}:
        return True
    return kind != following_kind


def chunk_starts(previous, tag):
    place, kind = previous
    following, following_kind = tag
    if following == "O":
        return False
    if following in ("B", "S"):
        return True
    if (place, following) in {("E", "E"), ("E", "I"), ("S", "E"), ("S", "I"), ("O", "E"), ("O", "I")}:
        return True
    return kind != following_kind


def evaluate(lines):
    counts = {"gold": 0, "predicted": 0, "correct": 0, "tokens": 0, "equal": 0}
    outside = ("O", "")
    last_gold = last_guessed = outside
    inside = False  # of a chunk that has been correct so far
    for line in list(lines) + [""]:
        columns = line.split()
        gold, guessed = (split_tag(columns[-2]), split_tag(columns[-1])) if columns else (outside, outside)
        gold_ends, guessed_ends = chunk_ends(last_gold, gold), chunk_ends(last_guessed, guessed)
        gold_starts, guessed_starts = chunk_starts(last_gold, gold), chunk_starts(last_guessed, guessed)
        if inside:
            if gold_ends and guessed_ends:
                inside = False
                counts["correct"] += 1
            elif gold_ends != guessed_ends or gold[1] != guessed[1]:
                inside = False
        if gold_starts and guessed_starts and gold[1] == guessed[1]:
            inside = True
        counts["gold"] += gold_starts
        counts["predicted"] += guessed_starts
        if columns:
            counts["tokens"] += 1
            counts["equal"] += gold == guessed
        last_gold, last_guessed = gold, guessed
    return counts


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as source:
        print(json.dumps(evaluate(source.read().split("\n"))))
