# A vocabulary that was edited.
graphrun train tags.pbtxt --out model --quiet > /dev/null
echo bird >> model/vocabularies/words.txt
graphrun infer model < /dev/null
