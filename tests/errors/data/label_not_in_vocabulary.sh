# A label of the validation data that the training data lacks, in a closed vocabulary.
printf 'the\tD\nbird\tNN\n' > valid.conll
graphrun train tags.pbtxt --out model --quiet
