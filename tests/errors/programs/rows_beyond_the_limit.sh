# More rows than a batch can have.
graphrun train tags.pbtxt --out model --quiet --set embed=1 --set hidden=4 --set data.batch.rows=1000000000
