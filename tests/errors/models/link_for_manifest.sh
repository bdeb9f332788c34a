# A manifest that is a link.
graphrun train tags.pbtxt --out model --quiet > /dev/null 2>&1
mv model/manifest.json other.json
ln -s ../other.json model/manifest.json
graphrun evaluate model
