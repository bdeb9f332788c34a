# A folder that is something else.
mkdir model
graphrun evaluate model
