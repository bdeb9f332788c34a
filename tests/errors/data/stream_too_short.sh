# A text with fewer words than a batch has rows.
echo 'a b' > train.txt
graphrun train words.pbtxt --out model --quiet --set data.batch.rows=8
