# A checkpoint that was made in another folder.
graphrun train tags.pbtxt --out model --quiet > /dev/null
graphrun train tags.pbtxt --out other --quiet --seed 5 > /dev/null
rm -r model/checkpoints
cp -r other/checkpoints model/checkpoints
graphrun train tags.pbtxt --out model --resume --quiet
