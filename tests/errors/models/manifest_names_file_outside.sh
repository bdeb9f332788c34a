# A manifest that names a file outside.
graphrun train tags.pbtxt --out model --quiet > /dev/null 2>&1
sed -i "s#graphs/crf.pbtxt#../train.conll#" model/manifest.json
graphrun evaluate model
