# Several numbers in a column of one.
printf '0.5 1\n' > numbers.conll
sed -e 's/ split: SPACE//' numbers.pbtxt > j.pbtxt
graphrun data j.pbtxt --set 'data.feed=steps'
