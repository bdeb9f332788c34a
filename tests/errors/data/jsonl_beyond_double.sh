# A number in an object that no double holds.
sed -e 's/CONLL/JSONL/' -e 's/column: 0 //' -e 's/split: SPACE/split: [LIST, LIST]/' numbers.pbtxt > j.pbtxt
printf '{"words": "1e400", "steps": [[1, 1e400]]}\n' > numbers.conll
graphrun data j.pbtxt
