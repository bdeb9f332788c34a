# There is nothing to format in it.
mkdir empty
graphrun format empty
