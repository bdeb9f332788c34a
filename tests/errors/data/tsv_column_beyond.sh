# A column that no line has.
printf 'a b\tc\n' > d.tsv
sed -e 's/format: STREAM/format: TSV/' -e 's/train.txt/d.tsv/' -e 's/ window: 3//' -e 's/name: "text"/name: "text" column: 5/' words.pbtxt > j.pbtxt
graphrun data j.pbtxt
