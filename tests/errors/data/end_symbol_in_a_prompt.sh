# A prompt ends where the network would end the text.
cat >> words.pbtxt <<'JOB'
infer { name: "continue" write: TEXT field: "text"
        generate { scan: "layers.read" feed: "x" score: "logits" begin: "<eos>" end: "<eos>" max_length: "9" } }
JOB
graphrun train words.pbtxt --out model --quiet > /dev/null 2>&1
printf 'the cat\nthe cat <eos> a dog\n' > lines
graphrun infer model lines --rows 1 > answers
