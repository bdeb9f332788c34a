# Nothing to validate on.
: > valid.conll
graphrun train tags.pbtxt --out model --quiet
