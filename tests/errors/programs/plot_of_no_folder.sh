# A folder that is not there.
graphrun plot nowhere
