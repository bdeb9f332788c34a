# Only reports of the job can be chosen.
graphrun train tags.pbtxt --out model --quiet > /dev/null
graphrun evaluate model --report acuracy
