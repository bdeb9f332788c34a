# A SentencePiece model whose map of characters begins outside its table: the size 1024, unit 0, and zeros.
printf '\n\011\n\005<unk>\030\002\032\210\010\022\205\010\000\004\000\000\000\000\004\000' > subwords.model
head -c 1021 /dev/zero >> subwords.model
sed 's/split: SPACE/split: BPE vocabulary { model: "subwords.model" }/' words.pbtxt > job.pbtxt
graphrun data job.pbtxt
