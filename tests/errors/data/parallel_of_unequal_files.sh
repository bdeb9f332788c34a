# Files of unequal numbers of lines.
printf 'a\nb\n' > a.txt
printf 'a\n' > b.txt
sed -e 's/format: STREAM/format: PARALLEL/' -e 's/"train.txt"/["a.txt", "b.txt"]/' -e 's/ window: 3//' -e 's/name: "text"/name: "text" column: 1/' words.pbtxt > j.pbtxt
graphrun data j.pbtxt
