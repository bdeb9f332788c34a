# The figures would replace the job's own test data.
graphrun train tags.pbtxt --out model --quiet > /dev/null 2>&1
graphrun evaluate model --each valid.conll
