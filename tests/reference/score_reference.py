#!/usr/bin/python3
"""Writes the figures of the reference programs for the texts in scores/ to scores/expected.json. Run it after either changes.

    python3 -m venv venv && venv/bin/pip install sacrebleu==2.6.0 && venv/bin/python tests/reference/score_reference.py

BLEU, chrF and the paired bootstrap are sacreBLEU's own. multi-bleu.perl's figures and the alignment error rates are computed
here, from their published definitions (Papineni et al. 2002; Och and Ney 2003; Tu et al. 2016); if the first argument is the path
of multi-bleu.perl, its output must equal these figures.

The sentences are from tatoeba.org by way of manythings.org (CC BY 2.0), changed at random; a few hard lines are made up.
"""
import json
import math
import pathlib
import re
import subprocess
import sys
from collections import Counter

from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

FOLDER = pathlib.Path(__file__).parent / "scores"


def lines(name):
    """The lines of a file in scores/."""
    return (FOLDER / name).read_bytes().decode().split("\n")[:-1]


def byte_words(line, lowercase):
    """The words of a line as Perl splits bytes; only ASCII letters get lower case."""
    data = line.encode()
    return re.findall(rb"[^ \t\n\v\f\r]+", data.lower() if lowercase else data)


def ngrams(words):
    """The n-grams of 1 to 4 words, with their counts."""
    return Counter(tuple(words[i:i + n]) for n in range(1, 5) for i in range(len(words) - n + 1))


def multi_bleu(output, references, lowercase):
    """What multi-bleu.perl prints after "BLEU = "."""
    correct, total, length, expected = [0] * 5, [0] * 5, 0, 0
    for i, line in enumerate(output):
        words = byte_words(line, lowercase)
        others = [byte_words(reference[i], lowercase) for reference in references]
        allowed = Counter()
        for other in others:
            allowed |= ngrams(other)
        length += len(words)
        expected += min((abs(len(other) - len(words)), len(other)) for other in others)[1]
        for ngram, count in ngrams(words).items():
            total[len(ngram)] += count
            correct[len(ngram)] += min(count, allowed[ngram])
    precisions = [correct[n] / total[n] for n in range(1, 5)]
    brevity = 1 if length >= expected else math.exp(1 - expected / length)
    bleu = brevity * math.exp(sum(map(math.log, precisions)) / 4)
    figures = "/".join(f"{100 * p:.1f}" for p in precisions)
    return (f"{100 * bleu:.2f}, {figures} (BP={brevity:.3f}, ratio={length / expected:.3f}, "
            f"hyp_len={length}, ref_len={expected})")


def alignment_error_rate(soft):
    """The alignment error rate of links.txt against gold.txt (Och and Ney 2003), or of the weights in weights.txt (Tu et al. 2016)."""
    both = made = golden = 0
    for text, gold in zip(lines("weights.txt" if soft else "links.txt"), lines("gold.txt")):
        sure = {tuple(map(int, link.split("-"))) for link in gold.split() if "-" in link}
        possible = sure | {tuple(map(int, link.split("p"))) for link in gold.split() if "p" in link}
        weights = Counter()
        for target, word in enumerate(text.split()):
            if soft:
                weights.update({(s + 1, target + 1): float(w) for s, w in enumerate(word.split(","))})
            else:
                weights[tuple(int(place) + 1 for place in word.split("-"))] = 1
        both += sum(weights[link] for link in sure) + sum(weights[link] for link in possible)
        made += sum(weights.values())
        golden += len(sure)
    return f"{1 - both / (made + golden):.4f}"


def bootstrap(metric, output, other, references):
    """sacreBLEU's paired bootstrap test of two outputs: "score mean interval | score mean interval p"."""
    results = PairedTest([("a", output), ("b", other)], {"x": metric}, references, test_type="bs", n_samples=200)()[1]
    baseline, system = next(value for key, value in results.items() if key != "System")
    show = lambda r: f"{r.score:.2f} {r.mean:.2f} {r.ci:.2f}"
    return f"{show(baseline)} | {show(system)} {system.p_value:.4f}"


def main():
    """Writes scores/expected.json."""
    output, other, source = lines("output.txt"), lines("other.txt"), lines("source.txt")
    both = [lines("reference.txt"), lines("reference2.txt")]
    expected = {}
    for references in ([both[0]], both):
        n = len(references)
        for lowercase in (False, True):
            case = "lower" if lowercase else "mixed"
            for tokenize in ("13a", "none", "char", "zh"):
                metric = BLEU(tokenize=tokenize, lowercase=lowercase, force=True)
                figures = metric.corpus_score(output, references).format(width=2).split(" = ", 1)[1]
                expected[f"BLEU|refs:{n}|case:{case}|tok:{tokenize}|smooth:exp"] = figures
            for words in (0, 2):
                metric = CHRF(word_order=words, lowercase=lowercase)
                name = f"chrF{'++' if words else ''}|refs:{n}|case:{case}|characters:6|words:{words}|beta:2"
                expected[name] = f"{metric.corpus_score(output, references).score:.2f}"
            expected[f"multi-bleu|refs:{n}|case:{case}"] = multi_bleu(output, references, lowercase)
    if len(sys.argv) > 1:
        with open(FOLDER / "output.txt") as text:
            perl = subprocess.run(["perl", sys.argv[1], FOLDER / "reference.txt"], stdin=text, capture_output=True, text=True)
        assert perl.stdout == "BLEU = " + expected["multi-bleu|refs:1|case:mixed"] + "\n", perl.stdout
    expected["bootstrap"] = {"bleu": bootstrap(BLEU(), output, other, both[:1]), "chrf": bootstrap(CHRF(), output, other, both[:1])}
    expected["by_length"] = {}
    for group in range(3):
        chosen = [i for i, line in enumerate(source) if (max(len(line.split()), 1) - 1) // 5 == group]
        score = BLEU().corpus_score([output[i] for i in chosen], [[both[0][i] for i in chosen]]).score
        expected["by_length"][f"{5 * group + 1}-{5 * group + 5}"] = f"{len(chosen)} {score:.2f}"
    expected["AER"], expected["SAER"] = alignment_error_rate(False), alignment_error_rate(True)
    (FOLDER / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n")


main()
