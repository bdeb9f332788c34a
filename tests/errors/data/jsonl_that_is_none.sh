# A line that is no JSON.
printf '{"text": "a b"}\n{"text": \n' > d.jsonl
sed -e 's/format: STREAM/format: JSONL/' -e 's/train.txt/d.jsonl/' -e 's/ window: 3//' words.pbtxt > j.pbtxt
graphrun data j.pbtxt
