# A compressed file that was cut off.
for i in 1 2 3 4 5 6 7 8; do cat train.conll; done | gzip > whole
head -c 40 whole > train.conll.gz
graphrun check tags.pbtxt --set data.train=train.conll.gz
