# Text among the numbers of a list, and a list too few.
sed -e 's/CONLL/JSONL/' -e 's/column: 0 //' -e 's/split: SPACE/split: [LIST, LIST]/' numbers.pbtxt > j.pbtxt
printf '{"words": "steps: 1", "steps": [[1, 2], [3, "x"]]}\n' > numbers.conll
graphrun data j.pbtxt || printf '{"steps": [1, 2]}\n' > numbers.conll
graphrun data j.pbtxt
