# A list where text is meant.
printf '{"text": ["a"]}\n' > d.jsonl
sed -e 's/format: STREAM/format: JSONL/' -e 's/train.txt/d.jsonl/' -e 's/ window: 3//' words.pbtxt > j.pbtxt
graphrun data j.pbtxt
