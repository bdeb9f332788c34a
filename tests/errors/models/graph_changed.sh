# A graph of the folder that somebody edited.
graphrun train tags.pbtxt --out model --quiet > /dev/null 2>&1
echo "# mine" >> model/graphs/tagger.pbtxt
graphrun evaluate model
