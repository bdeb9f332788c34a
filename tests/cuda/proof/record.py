"""The record of a proof: what there is of it on disk at any time, made one of several, and told in few lines."""
import json
import os
import re

SECTIONS = ["tests", "benchmarks", "training", "sanitizers"]
SAME = ["commit", "changed", "device", "driver"]  # records of one thing agree in these
OPEN = ["not run", "cut off"]  # says less than whatever is there
SUMMARY = 10500  # characters: of a machine that is asked from afar only the end of the output comes back


class Mismatch(Exception):
    pass


class Record:
    def __init__(self, path, content):
        self.path, self.content = path, content
        for section in SECTIONS:
            content.setdefault(section, {})
        content.setdefault("gpu", [])
        content.setdefault("parts", {})

    def put(self, section, name, entry):
        before = self.content[section].get(name)
        if before is None or before["verdict"] in OPEN or entry["verdict"] not in OPEN:
            self.content[section][name] = entry

    def merge(self, other: dict):
        """What another record of the same build on the same device holds, too; the later entry stays."""
        keys = SAME + (["built"] if self.content.get("changed") else [])
        ours = self.content
        unlike = [f"{key}: {ours.get(key)} and {other.get(key)}" for key in keys if ours.get(key) != other.get(key)]
        if unlike:
            raise Mismatch("records of different things are not merged: " + "; ".join(unlike))
        for section in SECTIONS:
            for name, entry in other.get(section, {}).items():
                before = ours[section].get(name)
                rank = (entry["verdict"] not in OPEN, entry.get("date", ""))
                if before is None or rank >= (before["verdict"] not in OPEN, before.get("date", "")):
                    ours[section][name] = entry
        self.content["gpu"] += [state for state in other.get("gpu", []) if state not in self.content["gpu"]]
        self.content["parts"] = {**other.get("parts", {}), **self.content["parts"]}
        self.content["date"] = min(self.content["date"], other.get("date", self.content["date"]))

    def write(self):
        content = self.content
        # Sections and parts in the order of their tables, whenever they were run.
        for section in SECTIONS:
            order = {name: i for i, name in enumerate(content["parts"].get(section, []))}
            content[section] = dict(sorted(content[section].items(), key=lambda item: order.get(item[0], len(order))))
        content["verdicts"] = {section: verdict(content, section) for section in SECTIONS if content[section]}
        content["seconds"] = round(sum(entry.get("seconds", 0) for section in SECTIONS for entry in content[section].values()))
        beside = self.path.with_name(self.path.name + ".new")
        beside.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        os.replace(beside, self.path)  # what there is survives a cut, whole

    def failed(self) -> bool:
        return any(entry["verdict"] == "FAILED" for section in SECTIONS for entry in self.content[section].values())


def load(path) -> dict:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Mismatch(f"{path} cannot be read as a record: {error}") from error
    if not isinstance(content, dict) or "commit" not in content:
        raise Mismatch(f"{path} is no record")
    return content


def verdict(content, section) -> str:
    """A section in a line: the worst of its parts first."""
    entries, all_parts = content[section], content["parts"].get(section, [])
    by = {state: [name for name, entry in entries.items() if entry["verdict"] == state]
          for state in ["FAILED", "cut off", "not run", "passed", "unavailable"]}
    state = next((state for state in ["FAILED", "cut off", "passed", "unavailable"] if by[state]), "not run")
    told = []
    if state in ("FAILED", "cut off"):
        told.append(f"{len(by[state])} of {len(entries)} parts: {', '.join(by[state])}"[:300])
    done = len(by["FAILED"]) + len(by["passed"]) + len(by["unavailable"]) + len(by["cut off"])
    if done < len(all_parts):
        told.append(f"{done} of {len(all_parts)} parts run")
    if by["unavailable"] and state != "unavailable":
        told.append(f"unavailable: {', '.join(by['unavailable'])}"[:300])
    elif by["unavailable"]:
        told.append(entries[by["unavailable"][0]].get("why", ""))
    if late := [name for name, entry in entries.items() if "peer_late" in entry]:
        told.append(f"peers missing: {', '.join(late)}")
    held = [line["met"] for entry in entries.values() for line in entry.get("lines", []) if "met" in line]
    if held:
        unknown = f", {held.count(None)} not measured" if None in held else ""
        told.append(f"goals met: {held.count(True)} of {len(held)}{unknown}")
    return "; ".join([state, *told])


def alike(text: str) -> str:
    """What failures of one cause share: neither numbers nor names of tests."""
    return re.sub(r"[0-9a-f]*\d[0-9a-f]*|\w+/\w+\.\w+(/\w+)?|\w+\.\w+/\w+", "#", text)[:160]


def failures(content):
    """A few lines for each cause, the tests that fail alike together."""
    for section in SECTIONS:
        for name, entry in content[section].items():
            if entry["verdict"] != "FAILED":
                continue
            groups = {}
            for test, text in entry.get("failed", {}).items() if section == "tests" else []:
                groups.setdefault(alike(text), []).append((test, text))
            if not groups:
                yield f"{section}, {name}: {entry.get('why', '')}"[:420]
            for tests in groups.values():
                more = f" and {len(tests) - 1} alike ({', '.join(test for test, _ in tests[1:4])})" if len(tests) > 1 else ""
                yield f"{section}, {name}: {tests[0][0]}{more}: {tests[0][1][:300]}"


def bench_line(line, entry) -> str:
    parts = [f"{line['ms']:.4g} ms"]
    if "per_second" in line:
        parts.append(f"{line['per_second']:.0f} words/s")
    for figure, unit in (("millions", "M parameters"), ("over_gru", "x GRU")):
        if figure in line:
            paper = f" (paper {line['paper_' + figure]})" if f"paper_{figure}" in line else ""
            parts.append(f"{line[figure]} {unit}{paper}")
    if "over_products" in line:
        parts.append(f"over products {line['over_products']:.2f}")
    if line.get("over_lstm"):
        parts.append(f"over LSTM {line['over_lstm']:.2f}")
    if line.get("times"):
        by = f" ({line['by'][:24]})" if "by" in line else ""
        parts.append(f"{line['times']:.2f} x {entry.get('peer', '')}{by}")
    if "met" in line:
        aims = [f">= {line['goal']} x"] if "goal" in line else []
        aims += [f"<= {line['most']}"] if "most" in line else []
        parts.append(f"goal {', '.join(aims)} " + {True: "MET", False: "missed", None: "not measured"}[line["met"]])
    return f"  {line['what']}: {', '.join(parts)}"


def summary(content) -> str:
    """What failed, every benchmark, verdicts: cut so that it comes back whole, what has a goal kept longest."""
    end = "\n".join([*(f"{section}: {said}" for section, said in content.get("verdicts", {}).items())])[:2500]
    told, lines, room = list(failures(content)), [], SUMMARY - len(end) - 200
    if told:
        lines.append(f"FAILED, {len(told)} causes:")
    for i, one in enumerate(told):
        one = "- " + one.replace("\n", "\n    ")
        if sum(map(len, lines)) + len(one) > 0.55 * room:
            lines.append(f"... and {len(told) - i} more, in the record")
            break
        lines.append(one)
    room -= sum(len(line) + 1 for line in lines)
    # With a goal first; an entry's lines stay together.
    has_goal = {name: any("met" in line for line in entry.get("lines", [])) for name, entry in content["benchmarks"].items()}
    entries = sorted(content["benchmarks"].items(), key=lambda item: not has_goal[item[0]])
    for i, (name, entry) in enumerate(entries):
        late = f", {entry['peer']} {entry['peer_late']}" if "peer_late" in entry else ""
        block = "\n".join([f"{name}: {entry['verdict']}{late}", *(bench_line(line, entry) for line in entry.get("lines", []))])
        if len(block) + 1 > room:
            lines.append(f"... and {len(entries) - i} more benchmarks, in the record")
            break
        room -= len(block) + 1
        lines.append(block)
    return "\n".join([*lines, end])
