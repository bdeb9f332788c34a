# A manifest that is damaged.
graphrun train tags.pbtxt --out model --quiet > /dev/null 2>&1
echo "{" > model/manifest.json
graphrun evaluate model
