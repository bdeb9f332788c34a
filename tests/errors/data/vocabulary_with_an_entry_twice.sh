# A given vocabulary that names a word twice.
printf 'the\ncat\nthe\n' > words.txt
graphrun check tags.pbtxt --set data.field.words.vocabulary.file=words.txt --set data.field.words.vocabulary.min_count=0
