# A vocabulary and data that are not there.
graphrun check tags.pbtxt --set data.field.words.vocabulary.file=none.txt --set data.field.words.vocabulary.min_count=0 --set data.test=none.conll
